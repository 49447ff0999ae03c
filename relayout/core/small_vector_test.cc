// Short vectors: inline, on the heap, and on their way between the two.
#include "relayout/core/small_vector.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace relayout {
namespace {

using Few = SmallVector<int, 4>;

std::vector<int> list(const Few& values) { return {values.begin(), values.end()}; }

Few counting(int count) {
  Few out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

TEST(SmallVector, HoldsWhatAVectorWould) {
  for (int count = 0; count < 20; ++count) {
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    Few values = counting(count), copy = values, assigned{7, 8, 9}, moved_to{1};
    EXPECT_EQ(list(values), expected);
    assigned = values;
    values = *&values;
    EXPECT_EQ(list(assigned), expected);
    moved_to = std::move(values);
    EXPECT_EQ(list(moved_to), expected);
    EXPECT_TRUE(values.empty());
    // A vector that was moved from can be used again, and copies do not share elements.
    values.push_back(5);
    EXPECT_EQ(list(values), std::vector{5});
    for (int& value : moved_to) value = -1;
    EXPECT_EQ(list(copy), expected);
    const Few constructed = std::move(copy);
    EXPECT_EQ(list(constructed), expected);
  }
}

TEST(SmallVector, GrowsAndShrinks) {
  Few values = counting(4);
  for (int i = 0; i < 3; ++i) values.push_back(values.front());  // the vector grows while its own element is added
  EXPECT_EQ(list(values), (std::vector{0, 1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(*values.erase(values.begin() + 1), 2);
  erase_if(values, [](int v) { return v == 0; });
  EXPECT_EQ(list(values), (std::vector{2, 3}));
  values.resize(5);
  EXPECT_EQ(list(values), (std::vector{2, 3, 0, 0, 0}));
  values.resize(1);
  values.pop_back();
  EXPECT_TRUE(values.empty());
  const int more[] = {4, 5, 6, 7, 8, 9};
  values.insert(values.end(), std::begin(more), std::end(more));
  EXPECT_EQ(values.emplace_back(10), 10);
  EXPECT_EQ(std::vector(values.rbegin(), values.rend()), (std::vector{10, 9, 8, 7, 6, 5, 4}));
  EXPECT_EQ(values.back(), 10);
}

}  // namespace
}  // namespace relayout
