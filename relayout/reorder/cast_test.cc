// Every pair of types, element by element, against the reference's rounding by search; and the table
// of docs/conversions.md.
#include "relayout/reorder/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "relayout/reorder/reference_cast.h"
#include "tests/support/documented_conversions.h"

namespace relayout {
namespace {

template <DType S, DType D, typename C>
uint64_t convert_through(uint64_t bits) {
  uint64_t out = 0;
  write_element<D>(&out, 0, store<D, C>(load<C, S>(read_element<S>(&bits, 0))));
  return out;
}

/// The conversion as kernels do it.
uint64_t convert(DType src, uint64_t bits, DType dst) {
  uint64_t out = bits;
  if (src == dst) return out;
  with_dtype(src, [&](auto s) {
    constexpr DType kSrc = decltype(s)::value;
    with_dtype(dst, [&](auto d) {
      constexpr DType kDst = decltype(d)::value;
      switch (compute_type(src, dst, false)) {
        case ComputeType::f32: out = convert_through<kSrc, kDst, float>(bits); break;
        case ComputeType::f64: out = convert_through<kSrc, kDst, double>(bits); break;
        case ComputeType::i128:
          if constexpr (!kIsFloating<kSrc>) out = convert_through<kSrc, kDst, Int128>(bits);
          break;
      }
    });
  });
  return out;
}

uint64_t mask_of(DType dtype) { return ~uint64_t{0} >> (64 - bits(dtype)); }

/// Values where rounding changes: around each power of two, halves, bounds and midpoints of narrower types.
std::vector<double> interesting_numbers() {
  std::vector<double> out = {0.0,     1e39,    464.0,   465.0,   448.0, 57344.0,
                             61440.0, 65504.0, 65519.9, 65520.0, 1e-40, 1e-300};
  for (int e = -160; e <= 130; ++e) {
    const double p = std::ldexp(1.0, e);
    for (double f : {1.0, 1.5, 1.25, 1.0 + 0x1p-3, 1.0 + 0x1p-4, 1.0 + 0x3p-4, 1.0 + 0x1p-8, 1.0 + 0x3p-8,
                     1.0 + 0x1p-11, 1.0 + 0x3p-11, 1.0 + 0x1p-24, 1.0 + 0x3p-24, 2.0 - 0x1p-24, 2.0 - 0x1p-53}) {
      out.insert(out.end(), {p * f, std::nextafter(p * f, 0.0), std::nextafter(p * f, 1e300),
                             static_cast<double>(std::nextafter(static_cast<float>(p * f), 0.0f)),
                             static_cast<double>(std::nextafter(static_cast<float>(p * f), INFINITY))});
    }
  }
  for (int i = 0; i < 1200; ++i) out.push_back(i / 4.0);
  for (int i = 32760; i < 32776; ++i) out.insert(out.end(), {i - 0.5, i + 0.0, i + 32768 - 0.5, i + 32768.0});
  const std::size_t count = out.size();
  for (std::size_t i = 0; i < count; ++i) out.push_back(-out[i]);
  return out;
}

/// The bits to try: all where there are at most 16, else specials and seeded random ones.
std::vector<uint64_t> values_of(DType dtype) {
  std::vector<uint64_t> out;
  if (bits(dtype) <= 16) {
    for (uint64_t b = 0; b <= mask_of(dtype); ++b) out.push_back(b);
    return out;
  }
  std::mt19937_64 random(20);
  for (double x : interesting_numbers()) {
    out.push_back(dtype == DType::f32 ? std::bit_cast<uint32_t>(static_cast<float>(x)) : std::bit_cast<uint64_t>(x));
  }
  for (uint64_t nan : {0x7f800000u, 0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0x7f80ffffu, 0x7f810000u}) {
    out.insert(out.end(), {nan, nan | 0x80000000, nan << 32, nan << 32 | 1, nan << 32 | uint64_t{1} << 63});
  }
  for (uint64_t payload :
       {uint64_t{0}, uint64_t{1}, uint64_t{1} << 28, uint64_t{1} << 29, uint64_t{1} << 45, uint64_t{1} << 51}) {
    out.insert(out.end(), {0x7ff0000000000000 | payload, 0xfff0000000000000 | payload});
  }
  for (int e = 0; e < 64; ++e) {  // integers near each power of two and its midpoints
    for (uint64_t low : {uint64_t{0}, ~uint64_t{0}, uint64_t{1}, uint64_t{1} << e >> 4, uint64_t{1} << e >> 8,
                         uint64_t{1} << e >> 9, uint64_t{3} << e >> 9, uint64_t{1} << e >> 24, uint64_t{1} << e >> 25,
                         uint64_t{1} << e >> 53, uint64_t{1} << e >> 54}) {
      for (uint64_t step : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
        const uint64_t b = (uint64_t{1} << e) + low + step;
        out.insert(out.end(), {b, ~b, 0 - b});
      }
    }
  }
  for (int i = 0; i < 20000; ++i) out.insert(out.end(), {random(), random() >> (random() % 64)});
  for (uint64_t& b : out) b &= mask_of(dtype);
  return out;
}

TEST(Cast, EveryPairOfTypesRoundsAsTheReference) {
  int64_t cases = 0;
  for (DType src : all_dtypes()) {
    const std::vector<uint64_t> values = values_of(src);
    for (DType dst : all_dtypes()) {
      for (uint64_t b : values) {
        const uint64_t have = convert(src, b, dst), want = reference::convert(src, b, dst);
        ASSERT_EQ(have, want) << name(src) << " 0x" << std::hex << b << " -> " << name(dst) << " gave 0x" << have
                              << ", the reference 0x" << want;
        ++cases;
      }
    }
  }
  RecordProperty("cases", std::to_string(cases));
  std::cout << "compared " << cases << " conversions over " << kDTypeCount << "x" << kDTypeCount << " pairs\n";
}

/// Arithmetic uses other compute types than plain conversion, so every compute type is stored to every type here.
TEST(Cast, StoresOfEveryComputeTypeRoundAsTheReference) {
  for (double x : interesting_numbers()) {
    for (DType dst : all_dtypes()) {
      with_dtype(dst, [&](auto d) {
        constexpr DType kDst = decltype(d)::value;
        uint64_t f32 = 0, f64 = 0;
        const auto narrow = static_cast<float>(x);
        write_element<kDst>(&f32, 0, store<kDst, float>(narrow));
        write_element<kDst>(&f64, 0, store<kDst, double>(x));
        ASSERT_EQ(f32, reference::encode(dst, {narrow, false, false, 0}, ComputeType::f32)) << name(dst) << " " << x;
        ASSERT_EQ(f64, reference::encode(dst, {x, false, false, 0}, ComputeType::f64)) << name(dst) << " " << x;
        ASSERT_EQ(encode(dst, x), f64);
      });
    }
  }
}

TEST(Cast, ComputeTypes) {
  EXPECT_EQ(compute_type(DType::s64, DType::u64, false), ComputeType::i128);
  EXPECT_EQ(compute_type(DType::u8, DType::s64, false), ComputeType::i128);
  EXPECT_EQ(compute_type(DType::s64, DType::f16, false), ComputeType::i128);
  EXPECT_EQ(compute_type(DType::s64, DType::f16, true), ComputeType::f64);
  EXPECT_EQ(compute_type(DType::f16, DType::s64, false), ComputeType::f64);
  EXPECT_EQ(compute_type(DType::s32, DType::u32, false), ComputeType::f64);
  EXPECT_EQ(compute_type(DType::s32, DType::s32, true), ComputeType::f64);
  EXPECT_EQ(compute_type(DType::f64, DType::u8, false), ComputeType::f64);
  EXPECT_EQ(compute_type(DType::s32, DType::f32, false), ComputeType::f32);
  EXPECT_EQ(compute_type(DType::boolean, DType::s4, true), ComputeType::f32);
}

TEST(Cast, TheReferencesRuleOfComputeTypesIsTheSame) {
  for (DType src : all_dtypes()) {
    for (DType dst : all_dtypes()) {
      for (bool arithmetic : {false, true}) {
        EXPECT_EQ(compute_type(src, dst, arithmetic), reference::compute_type_of(src, dst, arithmetic))
            << name(src) << " -> " << name(dst);
      }
    }
  }
}

TEST(Cast, NibblesLieLowFirst) {
  uint8_t bytes[2] = {0x8f, 0x70};
  EXPECT_EQ(read_element<DType::s4>(bytes, 0), -1);
  EXPECT_EQ(read_element<DType::s4>(bytes, 1), -8);
  EXPECT_EQ(read_element<DType::u4>(bytes, 1), 8);
  EXPECT_EQ(read_element<DType::u4>(bytes, 2), 0);
  EXPECT_EQ(read_element<DType::s4>(bytes, 3), 7);
  write_element<DType::s4>(bytes, 2, int8_t{-3});
  EXPECT_EQ(bytes[1], 0x7d);
  write_element<DType::u4>(bytes, 1, uint8_t{5});
  EXPECT_EQ(bytes[0], 0x5f);
}

TEST(Cast, CanonicalNaNIsPositiveAndQuiet) {
  const float nan = canonical_nan(std::bit_cast<float>(0xff812345u));
  EXPECT_EQ(std::bit_cast<uint32_t>(nan), 0x7fc00000u);
  EXPECT_EQ(std::bit_cast<uint64_t>(canonical_nan(-std::numeric_limits<double>::quiet_NaN())), 0x7ff8000000000000u);
  EXPECT_EQ(canonical_nan(-0.5f), -0.5f);
}

TEST(Cast, TheDocumentedTable) {
  int checked = 0;
  for (const test::DocumentedConversion& row : test::documented_conversions()) {
    EXPECT_EQ(convert(row.from, row.source, row.to), row.want) << row.text << " to " << name(row.to);
    EXPECT_EQ(reference::convert(row.from, row.source, row.to), row.want) << row.text << " to " << name(row.to);
    ++checked;
  }
  EXPECT_GE(checked, 150) << "the tables are there";
}

}  // namespace
}  // namespace relayout
