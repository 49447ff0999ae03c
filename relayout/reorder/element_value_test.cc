// Numbers for elements: exactly held or refused, for every type.
#include "relayout/reorder/element_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "relayout/reorder/attributes.h"
#include "relayout/reorder/cast.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::error_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ErrorCode refused(const ElementValue& value, DType dtype) {
  const Error error = error_of([&] { (void)element_bits(value, dtype, "padding"); });
  EXPECT_EQ(error.field(), "padding");
  EXPECT_EQ(error.value(), value.text());
  EXPECT_FALSE(error.limit().empty());
  return error.code();
}

TEST(ElementValue, IntegersAreHeldExactlyOrRefused) {
  for (DType dtype : all_dtypes()) {
    if (is_floating(dtype)) continue;
    const bool is_signed = kind(dtype) == DTypeKind::signed_integer;
    const int magnitude = dtype == DType::boolean ? 1 : bits(dtype) - (is_signed ? 1 : 0);
    const uint64_t highest = ~uint64_t{0} >> (64 - magnitude), mask = ~uint64_t{0} >> (64 - bits(dtype));
    EXPECT_EQ(element_bits(highest, dtype, "x"), highest) << name(dtype);
    EXPECT_EQ(element_bits(0, dtype, "x"), 0u);
    EXPECT_EQ(element_bits(1.0, dtype, "x"), 1u);
    EXPECT_EQ(element_bits(-0.0, dtype, "x"), 0u);
    if (highest != ~uint64_t{0}) {
      EXPECT_EQ(refused(highest + 1, dtype), ErrorCode::invalid_argument) << name(dtype);
    }
    if (is_signed) {
      const int64_t lowest = -static_cast<int64_t>(highest) - 1;
      EXPECT_EQ(element_bits(lowest, dtype, "x"), static_cast<uint64_t>(lowest) & mask) << name(dtype);
      EXPECT_EQ(element_bits(-1, dtype, "x"), mask);
      if (bits(dtype) < 64) {
        EXPECT_EQ(refused(lowest - 1, dtype), ErrorCode::invalid_argument) << name(dtype);
      }
    } else {
      EXPECT_EQ(refused(-1, dtype), ErrorCode::invalid_argument) << name(dtype);
    }
    for (const double value : {0.5, 1e30, -1e30, kInfinity, -kInfinity, std::nan("")})
      EXPECT_EQ(refused(value, dtype), ErrorCode::invalid_argument) << name(dtype) << " " << value;
  }
  // A double no longer says which whole number is meant, an integer does.
  EXPECT_EQ(element_bits(9007199254740993, DType::s64, "x"), 9007199254740993u);
  EXPECT_EQ(refused(9007199254740992.0, DType::s64), ErrorCode::invalid_argument);
  EXPECT_EQ(element_bits(9007199254740991.0, DType::s64, "x"), 9007199254740991u);
}

TEST(ElementValue, FloatsAreTheNearestAndStayFinite) {
  for (DType dtype : all_dtypes()) {
    if (!is_floating(dtype) || bits(dtype) < 8 || dtype == DType::f8_e8m0) continue;
    for (const double value : {0.0, -0.0, 0.1, -3.3, 7.5, 0.02}) {
      EXPECT_EQ(element_bits(value, dtype, "x"), encode(dtype, value)) << name(dtype) << " " << value;
    }
    EXPECT_EQ(element_bits(std::nan(""), dtype, "x"), encode(dtype, std::nan("")));
    EXPECT_EQ(element_bits(3, dtype, "x"), encode(dtype, 3.0));
    if (dtype == DType::f8_e4m3)
      EXPECT_EQ(refused(-kInfinity, dtype), ErrorCode::invalid_argument);
    else
      EXPECT_EQ(element_bits(-kInfinity, dtype, "x"), encode(dtype, -kInfinity));
    if (dtype == DType::f64) continue;
    EXPECT_EQ(refused(1e39, dtype), ErrorCode::invalid_argument) << name(dtype);
    EXPECT_EQ(refused(-1e-60, dtype), ErrorCode::invalid_argument) << name(dtype);
    EXPECT_EQ(refused(16777217, dtype), ErrorCode::invalid_argument) << name(dtype);
  }
  EXPECT_EQ(refused(9007199254740993, DType::f64), ErrorCode::invalid_argument);
  EXPECT_EQ(element_bits(16777217.0, DType::f32, "x"), encode(DType::f32, 16777216.0));
}

TEST(ElementValue, TypesWithoutInfinityTakeWhatIsNear) {
  struct Case {
    DType dtype;
    std::vector<double> taken, refused;
  };
  const Case cases[] = {
      {DType::f4_e2m1, {0.0, -0.0, 0.3, -3.3, 6.0, 6.9, -6.9}, {0.1, 7.0, 1e39, -7.5}},
      {DType::f6_e2m3, {0.1, -3.3, 7.5, 7.7}, {0.05, 7.75, 1e39}},
      {DType::f6_e3m2, {0.1, 0.04, 28.0, 29.9}, {0.03, 30.0, -1e39}},
      {DType::f8_e8m0, {1.0, 0.1, 3e-39, 2.5e38}, {0.0, -0.0, -1.0, 2.6e38}},
  };
  for (const auto& [dtype, taken, refuses] : cases) {
    for (const double value : taken) EXPECT_EQ(element_bits(value, dtype, "x"), encode(dtype, value)) << value;
    for (const double value : refuses) EXPECT_EQ(refused(value, dtype), ErrorCode::invalid_argument) << value;
    EXPECT_EQ(refused(kInfinity, dtype), ErrorCode::invalid_argument);
    if (dtype == DType::f8_e8m0)
      EXPECT_EQ(element_bits(std::nan(""), dtype, "x"), 255u);
    else
      EXPECT_EQ(refused(std::nan(""), dtype), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(element_bits(4, DType::f4_e2m1, "x"), 6u);
  EXPECT_EQ(refused(5, DType::f4_e2m1), ErrorCode::invalid_argument);  // a whole number is exact
  EXPECT_EQ(padding_bits(0, DType::f8_e8m0), 0u);
  EXPECT_EQ(padding_bits(2, DType::f8_e8m0), 128u);
}

TEST(ElementValue, TextsSayWhatTheyMean) {
  EXPECT_EQ(ElementValue::parse("18446744073709551615", "x"), ElementValue(~uint64_t{0}));
  EXPECT_EQ(ElementValue::parse("-9223372036854775808", "x"), ElementValue(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(ElementValue::parse("+7", "x"), ElementValue(7));
  EXPECT_EQ(ElementValue::parse("-0", "x"), ElementValue(0));
  EXPECT_EQ(ElementValue::parse("-0.0", "x"), ElementValue(-0.0));
  EXPECT_FALSE(ElementValue::parse("-0.0", "x") == ElementValue(0.0));
  EXPECT_EQ(ElementValue::parse("1e16", "x"), ElementValue(1e16));
  EXPECT_EQ(ElementValue::parse("-inf", "x"), ElementValue(-kInfinity));
  EXPECT_EQ(ElementValue::parse("nan", "x"), ElementValue(std::numeric_limits<double>::quiet_NaN()));
  for (const char* text : {"", "-", "--1", "+-1", "1x", "0x10", " 1", "1e999", "18446744073709551616", "1,5"})
    EXPECT_EQ(error_of([&] { ElementValue::parse(text, "--pad"); }).field(), "--pad") << text;
  for (const ElementValue& value : {ElementValue(-12), ElementValue(~uint64_t{0}), ElementValue(3.0), ElementValue(0.1),
                                    ElementValue(1e300), ElementValue(-0.0), ElementValue(kInfinity)})
    EXPECT_EQ(ElementValue::parse(value.text(), "x"), value) << value.text();
}

TEST(ElementValue, ValuesOfBitsAreWritableAgain) {
  std::mt19937_64 rng(7);
  for (DType dtype : all_dtypes()) {
    const uint64_t mask = ~uint64_t{0} >> (64 - bits(dtype));
    for (int i = 0; i < 300; ++i) {
      const uint64_t element = dtype == DType::boolean ? rng() & 1 : rng() & mask;
      const ElementValue value = value_of(element, dtype);
      if (!value.whole() && std::isnan(value.real())) continue;
      EXPECT_EQ(element_bits(value, dtype, "x"), element) << name(dtype) << " " << value.text();
    }
  }
}

TEST(Attributes, OfAPartAreThoseOfItsIndices) {
  Attributes whole;
  whole.src_scale = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 1u << 0 | 1u << 2};  // dims 3 and 4 of 3x2x4
  whole.mean = {{7, 8}, 1u << 1};
  whole.dst_scale = {{2.5}, 0};
  const Attributes part = part_of(whole, {3, 2, 4}, {1, 0, 2}, {2, 1, 2});
  EXPECT_EQ(part.src_scale.values, (std::vector<double>{6, 7, 10, 11}));
  EXPECT_EQ(part.src_scale.mask, 5u);
  EXPECT_EQ(part.mean.values, (std::vector<double>{7}));
  EXPECT_EQ(part.dst_scale.values, (std::vector<double>{2.5}));
}

}  // namespace
}  // namespace relayout
