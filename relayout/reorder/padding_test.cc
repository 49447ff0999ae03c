// Padding: what is written and what is found, for every type, beside elements and gaps that stay as they are.
#include "relayout/reorder/padding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "relayout/reorder/cast.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::desc;
using test::error_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::byte> filled(const TensorDesc& desc, int value) {
  return std::vector<std::byte>(static_cast<std::size_t>(desc.span_bytes()), static_cast<std::byte>(value));
}
/// Writes an element's bits.
void put(const TensorDesc& desc, std::vector<std::byte>& data, int64_t offset, uint64_t value) {
  with_dtype(desc.dtype, [&]<DType D>(std::integral_constant<DType, D>) {
    write_element<D>(data.data(), offset, read_element<D>(&value, 0));
  });
}

TEST(Padding, ThePagesExample) {
  const TensorDesc padded = desc("nChw8c", {2, 17, 5, 4});
  std::vector<float> data(960);
  fill_padding(padded, data.data());
  EXPECT_FALSE(first_dirty_padding(padded, data.data()));
  for (float& x : data) x = std::exp(x);  // over the raw buffer
  EXPECT_EQ(first_dirty_padding(padded, data.data()), (PaddingElement{{0, 17, 0, 0}, 321}));
  fill_padding(padded, data.data());
  EXPECT_FALSE(first_dirty_padding(padded, data.data()));
  EXPECT_EQ(data[320], 1);
  EXPECT_EQ(data[321], 0);
}

TEST(Padding, ElementsAndGapsStay) {
  // Rows of 24 channels, 30 apart: 17 elements, 7 places of padding and 6 of a gap each, 4-bit elements at odd offsets.
  const std::vector<Digits> digits = {Digits{{3, 31}}, Digits{{8, 1}, {3, 8}}};
  for (DType dtype : all_dtypes()) {
    const TensorDesc rows(Layout::from_digits({3, 17}, digits, 1), dtype);
    auto data = filled(rows, 0xa5);
    EXPECT_EQ(first_dirty_padding(rows, data.data()), (PaddingElement{{0, 17}, 18})) << name(dtype);
    fill_padding(rows, data.data());
    EXPECT_FALSE(first_dirty_padding(rows, data.data())) << name(dtype);
    auto expected = filled(rows, 0xa5);
    for (int64_t i = 0; i < rows.layout.span(); ++i) {
      if (rows.layout.inverse(i, nullptr) == Slot::padding) put(rows, expected, i, 0);
    }
    EXPECT_EQ(data, expected) << name(dtype);
  }
}

TEST(Padding, ValuesAreThoseOfTheType) {
  for (DType dtype : all_dtypes()) {
    const TensorDesc padded = desc("aB8b", {2, 5}, dtype);
    for (double value : {0., 1., -3., 1e30, kNan, 0.1}) {
      auto data = filled(padded, 0x5a);
      try {
        (void)padding_bits(value, dtype);
      } catch (const Error&) {
        EXPECT_EQ(code_of([&] { fill_padding(padded, data.data(), Padding::of(value)); }), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of([&] { first_dirty_padding(padded, data.data(), Padding::of(value)); }),
                  ErrorCode::invalid_argument);
        EXPECT_EQ(data, filled(padded, 0x5a));
        continue;
      }
      fill_padding(padded, data.data(), Padding::of(value));
      auto expected = filled(padded, 0x5a);
      const bool none = dtype == DType::f8_e8m0 && value == 0;  // the type has no 0
      for (int64_t i : {5, 6, 7, 13, 14, 15}) put(padded, expected, i, none ? 0 : encode(dtype, value));
      EXPECT_EQ(data, expected) << name(dtype) << " " << value;
      EXPECT_FALSE(first_dirty_padding(padded, data.data(), Padding::of(value))) << name(dtype) << " " << value;
    }
    auto data = filled(padded, 0x5a);
    fill_padding(padded, data.data(), Padding::keep());
    EXPECT_EQ(data, filled(padded, 0x5a));
    EXPECT_FALSE(first_dirty_padding(padded, data.data(), Padding::keep()));
  }
}

TEST(Padding, NegativeZeroIsZeroAndNanIsNot) {
  for (DType dtype : all_dtypes()) {
    if (!is_floating(dtype)) continue;
    const TensorDesc padded = desc("aB8b", {1, 5}, dtype);
    auto data = filled(padded, 0);
    if (dtype != DType::f8_e8m0) put(padded, data, 6, encode(dtype, -0.0));
    EXPECT_FALSE(first_dirty_padding(padded, data.data())) << name(dtype);
    if (bits(dtype) < 8) continue;  // no NaN
    put(padded, data, 7, encode(dtype, kNan));
    EXPECT_EQ(first_dirty_padding(padded, data.data()), (PaddingElement{{0, 7}, 7})) << name(dtype);
    // Padding of NaN is found by being no NaN; the sign and the payload of a NaN do not matter.
    fill_padding(padded, data.data(), Padding::of(kNan));
    if (dtype != DType::f8_e8m0) put(padded, data, 5, encode(dtype, kNan) | uint64_t{1} << (bits(dtype) - 1));
    EXPECT_FALSE(first_dirty_padding(padded, data.data(), Padding::of(kNan))) << name(dtype);
    put(padded, data, 6, encode(dtype, 1));
    EXPECT_EQ(first_dirty_padding(padded, data.data(), Padding::of(kNan)), (PaddingElement{{0, 6}, 6}));
  }
}

TEST(Padding, SmallestBitsAreSeen) {
  for (DType dtype : all_dtypes()) {
    const TensorDesc padded = desc("aB8b", {1, 5}, dtype);
    auto data = filled(padded, 0);
    put(padded, data, 7, 1);  // a denormal number, 1, or true
    EXPECT_EQ(first_dirty_padding(padded, data.data()), (PaddingElement{{0, 7}, 7})) << name(dtype);
    put(padded, data, 7, 0);
    put(padded, data, 4, 1);  // an element, in 4-bit types the other half of padding's byte
    EXPECT_FALSE(first_dirty_padding(padded, data.data())) << name(dtype);
  }
  const TensorDesc flags = desc("aB8b", {1, 5}, DType::boolean);
  auto data = filled(flags, 7);
  EXPECT_FALSE(first_dirty_padding(flags, data.data(), Padding::of(1)));
  EXPECT_TRUE(first_dirty_padding(flags, data.data()));
}

TEST(Padding, TheSmallestOffsetIsTheFirst) {
  // Padding lies before the elements where a dim goes backwards.
  const std::vector<Digits> digits = {Digits{{2, -1}, {3, -2}}, Digits{{2, 10}}};
  const TensorDesc back(Layout::from_digits({4, 2}, digits, 5), DType::u8);
  const auto data = filled(back, 1);
  EXPECT_EQ(first_dirty_padding(back, data.data()), (PaddingElement{{5, 0}, 0}));
}

TEST(Padding, BuffersThatAreTooSmallAreRefused) {
  const TensorDesc padded = desc("nChw8c", {2, 17, 5, 4});
  std::vector<std::byte> data(3840);
  fill_padding(padded, std::span(data));
  EXPECT_FALSE(first_dirty_padding(padded, std::span<const std::byte>(data)));
  data.pop_back();
  const Error error = error_of([&] { fill_padding(padded, std::span(data)); });
  EXPECT_EQ(error.code(), ErrorCode::buffer_too_small);
  EXPECT_EQ(error.value(), "3839");
  EXPECT_EQ(error.limit(), "3840");
  EXPECT_EQ(code_of([&] { first_dirty_padding(padded, std::span<const std::byte>(data)); }),
            ErrorCode::buffer_too_small);
  std::vector<float> elements(960, 1);
  fill_padding(padded, elements);
  EXPECT_FALSE(first_dirty_padding(padded, elements));
  EXPECT_EQ(elements[0], 1);
  std::vector<int> others(960);
  EXPECT_EQ(code_of([&] { fill_padding(padded, others); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { first_dirty_padding(padded, others); }), ErrorCode::invalid_argument);
  const TensorDesc empty = desc("nChw8c", {0, 17, 5, 4});
  fill_padding(empty, nullptr);
  EXPECT_FALSE(first_dirty_padding(empty, nullptr));
}

}  // namespace
}  // namespace relayout
