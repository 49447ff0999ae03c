// holds_all() against conversions of every value of the types with up to 16 bits, there and back.
#include "relayout/checkpoint/values_held.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

/// Elements of another type with the values of these.
std::vector<std::byte> as_type(const std::vector<std::byte>& bytes, DType from, DType to, int64_t count) {
  const Layout layout = Layout::contiguous(Dims{count});
  const TensorDesc src(layout, from), dst(layout, to);
  std::vector<std::byte> out(static_cast<std::size_t>(dst.span_bytes()));
  cpu::run(cpu::make_plan(src, dst), bytes.data(), out.data());
  return out;
}

/// Every value of a type of up to 16 bits, one after the other.
std::vector<std::byte> all_values(DType dtype, int64_t count) {
  std::vector<std::byte> out(static_cast<std::size_t>(count * bits(dtype) + 7) / 8);
  for (int64_t value = 0; value < count; ++value) {
    for (int bit = 0; bit < bits(dtype); ++bit) {
      const auto at = static_cast<std::size_t>(value * bits(dtype) + bit);
      if (value >> bit & 1) out[at / 8] |= std::byte{1} << (at % 8);
    }
  }
  return out;
}

std::vector<double> numbers(const std::vector<std::byte>& bytes, DType dtype, int64_t count) {
  const std::vector<std::byte> wide = as_type(bytes, dtype, DType::f64, count);
  std::vector<double> out(static_cast<std::size_t>(count));
  std::memcpy(out.data(), wide.data(), wide.size());
  return out;
}

TEST(ValuesHeld, AreThoseThatComeBack) {
  for (const DTypeRow& narrow : kDTypeRows) {
    if (narrow.bits > 16) continue;
    const int64_t count = narrow.dtype == DType::boolean ? 2 : int64_t{1} << narrow.bits;
    const std::vector<std::byte> values = all_values(narrow.dtype, count);
    const std::vector<double> before = numbers(values, narrow.dtype, count);
    for (const DTypeRow& wide : kDTypeRows) {
      const std::vector<double> after = numbers(as_type(values, narrow.dtype, wide.dtype, count), wide.dtype, count);
      bool all = true;
      for (std::size_t i = 0; i < before.size(); ++i)
        all = all && (before[i] == after[i] || (std::isnan(before[i]) && std::isnan(after[i])));
      EXPECT_EQ(holds_all(wide.dtype, narrow.dtype), all) << narrow.name << " in " << wide.name;
    }
  }
}

TEST(ValuesHeld, OfWideTypes) {
  EXPECT_TRUE(holds_all(DType::f64, DType::s32));
  EXPECT_TRUE(holds_all(DType::s64, DType::u32));
  EXPECT_TRUE(holds_all(DType::f64, DType::f32));
  EXPECT_FALSE(holds_all(DType::f64, DType::s64));
  EXPECT_FALSE(holds_all(DType::f32, DType::s32));
  EXPECT_FALSE(holds_all(DType::u64, DType::s64));
  EXPECT_FALSE(holds_all(DType::s64, DType::f32));
}

}  // namespace
}  // namespace relayout::checkpoint
