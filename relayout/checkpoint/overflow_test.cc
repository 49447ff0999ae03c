// Values beyond the range of a type, against all numbers that a type of at most 16 bits has: a value is beyond where it
// is not nearer to the largest or the least of them than to the number that would come next.
#include "relayout/checkpoint/overflow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

constexpr DType kSmallTypes[] = {DType::f16, DType::bf16, DType::f8_e5m2, DType::f8_e4m3, DType::s16,
                                 DType::s8,  DType::u16,  DType::u8,      DType::f6_e3m2, DType::f6_e2m3,
                                 DType::s4,  DType::u4,   DType::f4_e2m1, DType::f8_e8m0, DType::s2};

std::vector<std::byte> stored_as(const std::vector<double>& values, DType dtype) {
  const Layout layout = Layout::contiguous({static_cast<int64_t>(values.size())});
  std::vector<std::byte> out(static_cast<std::size_t>(*bytes_for(dtype, layout.elements())));
  cpu::run(Plan::make({layout, DType::f64}, {layout, dtype}), values.data(), out.data());
  return out;
}

/// All finite numbers of a type, in order.
std::vector<double> numbers_of(DType dtype) {
  const int64_t count = int64_t{1} << bits(dtype);
  std::vector<std::byte> all(static_cast<std::size_t>(count * bits(dtype) / 8 + 1));
  for (int64_t i = 0; i < count; ++i)
    for (int b = 0; b < bits(dtype); ++b) {
      const int64_t at = i * bits(dtype) + b;
      if ((i >> b & 1) != 0) all[static_cast<std::size_t>(at / 8)] |= static_cast<std::byte>(1 << at % 8);
    }
  const Layout layout = Layout::contiguous({count});
  std::vector<double> out(static_cast<std::size_t>(count));
  cpu::run(Plan::make({layout, dtype}, {layout, DType::f64}), all.data(), out.data());
  std::erase_if(out, [](double value) { return !std::isfinite(value); });
  std::ranges::sort(out);
  return out;
}

TEST(Overflow, ValuesThatNoNumberIsNearToAreBeyond) {
  std::mt19937_64 random(7);
  for (const DType dtype : kSmallTypes) {
    const std::vector<double> numbers = numbers_of(dtype);
    const double most = numbers.back(), least = numbers.front();
    const double half = (most - numbers[numbers.size() - 2]) / 2;
    std::vector<double> values{most, least, most + half, most + half / 2, least - half, 0, 3 * most, -3 * most};
    for (int n = 0; n < 1000; ++n) values.push_back(most * std::uniform_real_distribution<double>(-1.5, 1.5)(random));
    for (const double value : values) {
      // Half a step further is a tie: with an odd number where the type has a sign, and with an even one, that is no
      // overflow, at an integer's least.
      bool beyond = value >= most + half;
      if (dtype == DType::f8_e8m0) {
        beyond = value <= 0 || value >= 1.5 * most;
      } else {
        beyond = beyond || (is_floating(dtype) ? value <= least - half : value < least - half);
      }
      EXPECT_EQ(beyond_range({&value, 1}, dtype), beyond ? 1 : 0) << name(dtype) << " " << value;
      EXPECT_TRUE(!beyond || has_extremes(stored_as({value}, dtype), DType::f64, dtype)) << name(dtype) << " " << value;
    }
  }
}

TEST(Overflow, ElementsInTheMiddleOfTheRangeAreNoExtremes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::s32, DType::s16, DType::s8,
                            DType::u8, DType::u16}) {
    const std::vector<double> values{1, 2, 100, 8, 16};
    EXPECT_FALSE(has_extremes(stored_as(values, dtype), DType::s32, dtype)) << name(dtype);
    EXPECT_EQ(beyond_range(values, dtype), 0);
  }
  const std::vector<double> wide{1e39, -1e39, 4e9, -4e9, INFINITY, NAN};
  EXPECT_TRUE(has_extremes(stored_as({1, 1e39}, DType::f32), DType::f64, DType::f32));
  EXPECT_EQ(beyond_range(wide, DType::f32), 2);
  EXPECT_EQ(beyond_range(wide, DType::s32), 6);
  EXPECT_EQ(beyond_range(wide, DType::f8_e4m3), 5);  // it has NaN
  EXPECT_EQ(beyond_range(wide, DType::f8_e5m2), 4);
  EXPECT_EQ(beyond_range(wide, DType::f4_e2m1), 6);
  EXPECT_EQ(beyond_range(wide, DType::boolean), 0);
  EXPECT_TRUE(has_extremes(stored_as({1, 2}, DType::s8), DType::f32, DType::s8));  // one may have been NaN
  EXPECT_TRUE(has_extremes(stored_as({0, -4e9}, DType::s32), DType::s64, DType::s32));
}

TEST(Overflow, TypesThatHoldAllOfAnotherCannotOverflow) {
  EXPECT_TRUE(may_overflow(DType::f32, DType::f16));
  EXPECT_TRUE(may_overflow(DType::bf16, DType::f16));
  EXPECT_TRUE(may_overflow(DType::f16, DType::f8_e5m2));
  EXPECT_TRUE(may_overflow(DType::s8, DType::u8));
  EXPECT_TRUE(may_overflow(DType::s32, DType::f16));
  EXPECT_TRUE(may_overflow(DType::f8_e4m3, DType::s16));  // NaN
  EXPECT_FALSE(may_overflow(DType::f16, DType::bf16));
  EXPECT_FALSE(may_overflow(DType::f16, DType::f16));
  EXPECT_FALSE(may_overflow(DType::u8, DType::f8_e4m3));
  EXPECT_FALSE(may_overflow(DType::u8, DType::s16));
  EXPECT_FALSE(may_overflow(DType::f32, DType::boolean));
}

}  // namespace
}  // namespace relayout::checkpoint
