// Tests every value of every small floating type, and every place where rounding to it can go wrong, against an oracle
// that knows only a table of the type's values.
#include "relayout/core/float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace relayout {
namespace {

/// What the oracle knows of a type. A type without infinities has one NaN of each sign, whose other bits are all set.
struct SmallType {
  std::string name;
  int bits, mantissa, bias;
  bool has_inf;
  std::function<uint32_t(float)> narrow;
  std::function<float(uint32_t)> widen;

  uint32_t sign() const { return 1u << (bits - 1); }
  uint32_t quiet() const { return 1u << (mantissa - 1); }
  /// The smallest magnitude that is no number: infinity, or f8_e4m3's NaN.
  uint32_t end() const { return has_inf ? (((1u << (bits - 1 - mantissa)) - 1) << mantissa) : sign() - 1; }
  bool nan(uint32_t b) const { return (b & (sign() - 1)) > end() || (!has_inf && (b & (sign() - 1)) == end()); }
};

const std::vector<SmallType>& small_types() {
  static const std::vector<SmallType> types = {
      {"f16", 16, 10, 15, true, [](float v) { return uint32_t{f32_to_f16(v)}; },
       [](uint32_t b) { return f16_to_f32(static_cast<uint16_t>(b)); }},
      {"bf16", 16, 7, 127, true, [](float v) { return uint32_t{f32_to_bf16(v)}; },
       [](uint32_t b) { return bf16_to_f32(static_cast<uint16_t>(b)); }},
      {"f8_e5m2", 8, 2, 15, true, [](float v) { return uint32_t{f32_to_f8_e5m2(v)}; },
       [](uint32_t b) { return f8_e5m2_to_f32(static_cast<uint8_t>(b)); }},
      {"f8_e4m3", 8, 3, 7, false, [](float v) { return uint32_t{f32_to_f8_e4m3(v)}; },
       [](uint32_t b) { return f8_e4m3_to_f32(static_cast<uint8_t>(b)); }},
  };
  return types;
}

/// The magnitude that these bits mean. For end(), it is the magnitude that they would mean if exponents went on.
double magnitude(const SmallType& type, uint32_t abs) {
  const int exponent = static_cast<int>(abs >> type.mantissa);
  const int fraction = static_cast<int>(abs & ((1u << type.mantissa) - 1));
  const int one = 1 << type.mantissa;
  return exponent == 0 ? std::ldexp(fraction, 1 - type.bias - type.mantissa)
                       : std::ldexp(one + fraction, exponent - type.bias - type.mantissa);
}

/// All magnitudes from 0 to end(), where end() stands for everything larger.
std::vector<double> magnitudes(const SmallType& type) {
  std::vector<double> all;
  for (uint32_t b = 0; b <= type.end(); ++b) all.push_back(magnitude(type, b));
  return all;
}

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

/// The bits that the narrow type has for this NaN of f32.
uint32_t narrow_nan(const SmallType& type, uint32_t f32_bits) {
  const uint32_t sign = f32_bits >> 31 ? type.sign() : 0;
  if (!type.has_inf) return sign | type.end();
  const uint32_t payload = (f32_bits & 0x7fffff) >> (23 - type.mantissa);
  return sign | type.end() | type.quiet() | payload;
}

/// Finds the nearest value by search. Of two values that are equally near, the even one is taken.
uint32_t narrow_oracle(const SmallType& type, const std::vector<double>& table, float value) {
  if (std::isnan(value)) return narrow_nan(type, bits_of(value));
  const uint32_t sign = std::signbit(value) ? type.sign() : 0;
  const double abs = std::fabs(static_cast<double>(value));
  const auto above = std::lower_bound(table.begin(), table.end(), abs);
  if (above == table.end()) return sign | type.end();
  const auto i = static_cast<uint32_t>(above - table.begin());
  if (*above == abs) return sign | i;
  const double up = table[i] - abs, down = abs - table[i - 1];
  if (up != down) return sign | (up < down ? i : i - 1);
  return sign | (i % 2 == 0 ? i : i - 1);
}

TEST(Float, EveryValueWidensToItsMagnitude) {
  for (const SmallType& type : small_types()) {
    for (uint32_t b = 0; b < 2 * type.sign(); ++b) {
      const float wide = type.widen(b);
      const uint32_t abs = b & (type.sign() - 1);
      ASSERT_EQ(std::signbit(wide), (b & type.sign()) != 0) << type.name << " " << b;
      if (type.nan(b)) {
        ASSERT_TRUE(std::isnan(wide)) << type.name << " " << b;
        uint32_t payload = type.has_inf ? (abs & (type.end() ^ (type.sign() - 1))) << (23 - type.mantissa) : 0;
        if (type.name != "bf16") payload |= 0x400000;  // bf16's bits are only moved
        ASSERT_EQ(bits_of(wide) & 0x7fffff, payload) << type.name << " " << b;
      } else if (abs == type.end()) {
        ASSERT_TRUE(std::isinf(wide)) << type.name << " " << b;
      } else {
        ASSERT_EQ(std::fabs(static_cast<double>(wide)), magnitude(type, abs)) << type.name << " " << b;
      }
    }
  }
}

TEST(Float, WideningThenNarrowingIsTheIdentityButQuietsNaN) {
  for (const SmallType& type : small_types()) {
    for (uint32_t b = 0; b < 2 * type.sign(); ++b) {
      const uint32_t expected = type.nan(b) ? b | type.quiet() : b;
      ASSERT_EQ(type.narrow(type.widen(b)), expected) << type.name << " " << b;
    }
  }
}

TEST(Float, EveryMidpointAndItsNeighbours) {
  for (const SmallType& type : small_types()) {
    const std::vector<double> table = magnitudes(type);
    for (std::size_t i = 0; i + 1 < table.size(); ++i) {
      for (double point : {table[i], (table[i] + table[i + 1]) / 2}) {
        const float value = static_cast<float>(point);
        ASSERT_EQ(static_cast<double>(value), point) << "midpoints are exact in f32";
        for (float near : {value, std::nextafter(value, -INFINITY), std::nextafter(value, INFINITY)}) {
          for (float v : {near, -near}) {
            ASSERT_EQ(type.narrow(v), narrow_oracle(type, table, v)) << type.name << " " << v;
          }
        }
      }
    }
  }
}

TEST(Float, OverflowBeginsHalfWayToTheNextValue) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(static_cast<float>(-1e39)), 0xfc00);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_bf16(float_of(0x7f7f7fff)), 0x7f7f);
  EXPECT_EQ(f32_to_f8_e5m2(61439.996f), 0x7b);
  EXPECT_EQ(f32_to_f8_e5m2(61440.0f), 0x7c);
  EXPECT_EQ(f32_to_f8_e4m3(464.0f), 0x7e);
  EXPECT_EQ(f32_to_f8_e4m3(464.00003f), 0x7f);
  EXPECT_EQ(f32_to_f8_e4m3(-INFINITY), 0xff);
  EXPECT_EQ(f32_to_f8_e4m3(1e30f), 0x7f);
}

TEST(Float, NaNKeepsItsSignAndUpperPayload) {
  for (const SmallType& type : small_types()) {
    for (uint32_t payload : {0x1u, 0x1fffu, 0x2000u, 0xffffu, 0x10000u, 0x200000u, 0x3fffffu, 0x400000u, 0x7fffffu}) {
      for (uint32_t sign : {0u, 0x80000000u}) {
        const uint32_t bits = sign | 0x7f800000 | payload;
        const uint32_t narrow = type.narrow(float_of(bits));
        EXPECT_TRUE(type.nan(narrow)) << type.name << " " << payload;
        EXPECT_EQ(narrow, narrow_nan(type, bits)) << type.name << " " << payload;
      }
    }
  }
}

TEST(Float, RandomBits) {
  std::mt19937 random(1);
  for (const SmallType& type : small_types()) {
    const std::vector<double> table = magnitudes(type);
    for (int i = 0; i < 300000; ++i) {
      const float v = float_of(random());
      ASSERT_EQ(type.narrow(v), narrow_oracle(type, table, v)) << type.name << " " << bits_of(v);
    }
  }
}

/// Round to odd by its definition: the truncated value, with the last bit set if that lost anything.
float odd_oracle(double value) {
  if (std::isnan(value) || std::isinf(value)) return static_cast<float>(value);
  float nearest = static_cast<float>(value);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) nearest = std::nextafter(nearest, 0.0f);
  return static_cast<double>(nearest) == value ? nearest : float_of(bits_of(nearest) | 1);
}

TEST(Float, RoundToOdd) {
  EXPECT_EQ(f64_to_f32_odd(1.0), 1.0f);
  EXPECT_EQ(bits_of(f64_to_f32_odd(1.0 + 1e-12)), 0x3f800001u);
  EXPECT_EQ(bits_of(f64_to_f32_odd(-1e-300)), 0x80000001u);
  EXPECT_EQ(bits_of(f64_to_f32_odd(-0.0)), 0x80000000u);
  EXPECT_EQ(f64_to_f32_odd(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(f64_to_f32_odd(INFINITY), std::numeric_limits<float>::infinity());
  EXPECT_EQ(bits_of(f64_to_f32_odd(std::bit_cast<double>(0xfff0000000000001u))), 0xffc00000u);
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000000; ++i) {
    uint64_t bits = random();
    if (i % 2) {  // an exponent that f32 has, or nearly
      const uint64_t exponent = 1023 - 155 + random() % 290;
      bits = (bits & 0x800fffffffffffff) | exponent << 52;
    }
    if (i % 3 == 0) bits &= ~uint64_t{0x1fffffff};  // often exact
    const double value = std::bit_cast<double>(bits);
    ASSERT_EQ(bits_of(f64_to_f32_odd(value)), bits_of(odd_oracle(value))) << bits;
  }
}

/// Every f64 next to a midpoint of every type rounds through round-to-odd as it does directly.
TEST(Float, RoundToOddThenNarrowRoundsOnce) {
  for (const SmallType& type : small_types()) {
    const std::vector<double> table = magnitudes(type);
    for (std::size_t i = 0; i + 1 < table.size(); ++i) {
      const double middle = (table[i] + table[i + 1]) / 2;
      const uint32_t even = static_cast<uint32_t>(i + i % 2);
      EXPECT_EQ(type.narrow(f64_to_f32_odd(middle)), even) << type.name << " " << i;
      EXPECT_EQ(type.narrow(f64_to_f32_odd(std::nextafter(middle, 0.0))), i) << type.name;
      EXPECT_EQ(type.narrow(f64_to_f32_odd(std::nextafter(middle, 1e300))), i + 1) << type.name;
    }
  }
}

#if defined(__x86_64__)
bool has_f16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
__attribute__((target("f16c"))) uint16_t hardware_narrow(float value) {
  return static_cast<uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}
__attribute__((target("f16c"))) float hardware_widen(uint16_t bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}

TEST(Float, EveryHalfAsF16CHasIt) {
  if (!has_f16c()) GTEST_SKIP() << "this CPU has no F16C";
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const auto half = static_cast<uint16_t>(b);
    ASSERT_EQ(bits_of(f16_to_f32(half)), bits_of(hardware_widen(half))) << b;
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0xffffu}) {
      const float v = float_of(b << 16 | low);
      ASSERT_EQ(f32_to_f16(v), hardware_narrow(v)) << b << " " << low;
    }
  }
}
#endif

bool slow_tests() {
  const char* wanted = std::getenv("RELAYOUT_SLOW_TESTS");
  return wanted && std::string(wanted) == "1";
}
constexpr const char* kWhySkipped = "slow: set RELAYOUT_SLOW_TESTS=1 to run every f32";

/// Tests every f32. As magnitudes grow, a pointer into the table of values moves up at each midpoint. `narrow` is the
/// function of that type; called by way of SmallType::narrow, it could be neither inlined nor vectorized.
template <typename Narrow>
void check_every_f32(const std::string& name, Narrow narrow) {
  const auto found = std::ranges::find(small_types(), name, &SmallType::name);
  ASSERT_NE(found, small_types().end()) << name;
  const SmallType& type = *found;
  const std::vector<double> table = magnitudes(type);
  uint32_t at = 0;
  uint64_t wrong = 0;
  for (uint32_t b = 0; b <= 0x7f800000; ++b) {
    const auto value = static_cast<double>(float_of(b));
    while (at < type.end()) {
      const double middle = (table[at] + table[at + 1]) / 2;
      if (value < middle || (value == middle && at % 2 == 0)) break;
      ++at;
    }
    wrong += narrow(float_of(b)) != at;
    wrong += narrow(float_of(b | 0x80000000)) != (at | type.sign());
  }
  for (uint32_t b = 0x7f800001; b <= 0x7fffffff; ++b) {
    wrong += narrow(float_of(b)) != narrow_nan(type, b);
    wrong += narrow(float_of(b | 0x80000000)) != narrow_nan(type, b | 0x80000000);
  }
  EXPECT_EQ(wrong, 0u) << type.name;
}

TEST(FloatSlow, EveryF32AgainstTheTable) {
  if (!slow_tests()) GTEST_SKIP() << kWhySkipped;
  EXPECT_EQ(small_types().size(), 4u) << "each type needs a line here";
  check_every_f32("f16", [](float v) { return uint32_t{f32_to_f16(v)}; });
  check_every_f32("bf16", [](float v) { return uint32_t{f32_to_bf16(v)}; });
  check_every_f32("f8_e5m2", [](float v) { return uint32_t{f32_to_f8_e5m2(v)}; });
  check_every_f32("f8_e4m3", [](float v) { return uint32_t{f32_to_f8_e4m3(v)}; });
}

#if defined(__x86_64__)
TEST(FloatSlow, EveryF32AsF16CHasIt) {
  if (!slow_tests()) GTEST_SKIP() << kWhySkipped;
  if (!has_f16c()) GTEST_SKIP() << "this CPU has no F16C";
  uint64_t wrong = 0;
  for (uint64_t b = 0; b < uint64_t{1} << 32; ++b) {
    const float v = float_of(static_cast<uint32_t>(b));
    wrong += f32_to_f16(v) != hardware_narrow(v);
  }
  EXPECT_EQ(wrong, 0u);
}
#endif

}  // namespace
}  // namespace relayout
