// Arrays go to the checked form of a function, though they could become pointers.
#include "relayout/cpu/arrays.h"

#include <gtest/gtest.h>

#include <vector>

#include "relayout/cpu/reorder.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::code_of;
using test::desc;

TEST(Arrays, AreCheckedByRun) {
  const Plan plan = make_plan(desc("ab", {2, 3}), desc("ba", {2, 3}));
  const float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
  float columns[6] = {}, few[5] = {};
  int32_t others[6] = {};
  std::vector<float> list(6);
  run(plan, rows, columns);
  EXPECT_EQ(columns[1], 4);
  run(plan, rows, list);
  EXPECT_EQ(list[2], 2);
  EXPECT_EQ(code_of([&] { run(plan, rows, few); }), ErrorCode::buffer_too_small);
  EXPECT_EQ(code_of([&] { run(plan, few, list); }), ErrorCode::buffer_too_small);
  EXPECT_EQ(code_of([&] { run(plan, list, others); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { run(plan, others, columns); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { run(plan, columns, columns); }), ErrorCode::overlap);
  // Pointers are the caller's own affair.
  run(plan, &rows[0][0], columns + 0);
  EXPECT_EQ(columns[5], 6);
}

TEST(Arrays, WhichArgumentsTheConceptTakes) {
  EXPECT_TRUE((ArrayAmongRanges<const float[6], float[6]>));
  EXPECT_TRUE((ArrayAmongRanges<const std::vector<float>, float[2][3]>));
  EXPECT_TRUE((ArrayAmongRanges<const float[6], std::vector<float>>));
  EXPECT_FALSE((ArrayAmongRanges<const std::vector<float>, std::vector<float>>)) << "they become no pointers";
  EXPECT_FALSE((ArrayAmongRanges<const float[6], const float[6]>)) << "a destination is written";
  EXPECT_FALSE((ArrayAmongRanges<const float[6], float*>));
}

}  // namespace
}  // namespace relayout::cpu
