// Sub-byte elements: blocks of every form against the reference, moved and converted, and their sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::Guarded;

void expect_sub_byte(const TensorDesc& src, const TensorDesc& dst) {
  Guarded from(src.span_bytes(), Guarded::Side::end), to(dst.span_bytes(), Guarded::Side::end);
  std::ranges::copy(counting(src.span_bytes()), from.data());
  // Values are small, so that every type can hold them.
  if (src.dtype == DType::f32) {
    for (int64_t i = 0; i < src.span_bytes() / 4; ++i) {
      const auto value = static_cast<float>(i * 5 % 16);
      std::ranges::copy(std::as_bytes(std::span(&value, 1)), from.data() + 4 * i);
    }
  }
  std::vector<std::byte> expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
  reference_reorder(src, from.data(), dst, expected.data(), {});
  const Plan plan = Plan::make(src, dst);
  for (const auto isa : available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    std::ranges::fill(to.bytes(), std::byte{0x5c});
    run(plan, from.data(), to.data(), {1});
    ASSERT_TRUE(std::ranges::equal(to.bytes(), expected)) << isa << "\n" << plan.explain();
    ASSERT_TRUE(to.intact());
  }
}

TEST(SubByteBlocks, EqualTheReference) {
  struct Pair {
    const char *from, *to;
    Dims dims;
  };
  const Pair pairs[] = {{"ab", "ba", {4099, 3}},           {"ab", "ba", {3, 4099}},
                        {"ab", "ba", {65, 1001}},          {"ab", "ba", {512, 8}},
                        {"ab", "ba", {130, 190}},          {"abcd", "acdb", {3, 67, 13, 31}},
                        {"acdb", "aBcd4b", {3, 67, 9, 7}}, {"abcd", "aBcd16b", {3, 67, 13, 31}},
                        {"aBcd8b", "abcd", {2, 64, 6, 9}}, {"ab", "aB1500b", {5, 1201}},
                        {"abcd", "dcba", {5, 17, 9, 33}},  {"strides:5000,2", "ba", {3, 2100}}};
  for (const auto& [src, dst] : {std::pair(DType::u4, DType::u4),
                                 {DType::s4, DType::s4},
                                 {DType::s4, DType::f32},
                                 {DType::f32, DType::u4},
                                 {DType::f32, DType::s4},
                                 {DType::u4, DType::s8},
                                 {DType::u1, DType::u1},
                                 {DType::s2, DType::s2},
                                 {DType::f6_e3m2, DType::f6_e3m2},
                                 {DType::f4_e2m1, DType::f32},
                                 {DType::f32, DType::f6_e2m3},
                                 {DType::u1, DType::u8},
                                 {DType::u8, DType::u1},
                                 {DType::s2, DType::f8_e8m0},
                                 {DType::f6_e2m3, DType::f4_e2m1},
                                 {DType::f8_e8m0, DType::u2}}) {
    for (const auto& [from, to, dims] : pairs) {
      SCOPED_TRACE(std::string(from) + " -> " + to + " " + join(dims) + " " + std::string(name(src)) + " -> " +
                   std::string(name(dst)));
      expect_sub_byte(desc(from, dims, src), desc(to, dims, dst));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace relayout::cpu
