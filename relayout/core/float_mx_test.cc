// The types of the OCP Microscaling specification: every value, written down here as the specification has it, and
// every place where rounding changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "relayout/core/float.h"

namespace relayout {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// A type with a sign and without infinity and NaN: its values from 0 on, in the order of their bits.
struct SignedType {
  std::string name;
  std::vector<double> values;
  uint8_t (*narrow)(float);
  float (*widen)(uint8_t);

  uint32_t sign() const { return static_cast<uint32_t>(values.size()); }
};

std::vector<double> scaled(std::vector<double> eighths) {
  for (double& value : eighths) value /= 8;
  return eighths;
}

std::vector<SignedType> signed_types() {
  return {
      {"f4_e2m1",
       {0, 0.5, 1, 1.5, 2, 3, 4, 6},
       [](float v) { return f32_to_f4_e2m1(v); },
       [](uint8_t b) { return f4_e2m1_to_f32(b); }},
      {"f6_e2m3", scaled({0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                          16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 52, 56, 60}),
       [](float v) { return f32_to_f6_e2m3(v); }, [](uint8_t b) { return f6_e2m3_to_f32(b); }},
      {"f6_e3m2", scaled({0,  0.5, 1,  1.5, 2,  2.5, 3,  3.5, 4,  5,  6,  7,   8,   10,  12,  14,
                          16, 20,  24, 28,  32, 40,  48, 56,  64, 80, 96, 112, 128, 160, 192, 224}),
       [](float v) { return f32_to_f6_e3m2(v); }, [](uint8_t b) { return f6_e3m2_to_f32(b); }},
  };
}

TEST(FloatMx, EveryValue) {
  for (const SignedType& type : signed_types()) {
    for (uint32_t b = 0; b < 2 * type.sign(); ++b) {
      const bool negative = b >= type.sign();
      const float value = type.widen(static_cast<uint8_t>(b));
      EXPECT_EQ(std::fabs(value), type.values[b % type.sign()]) << type.name << " " << b;
      EXPECT_EQ(std::signbit(value), negative) << type.name << " " << b;
      EXPECT_EQ(type.narrow(value), b) << type.name;
    }
  }
}

TEST(FloatMx, RoundsToTheNearestValueAndToTheEvenOne) {
  for (const SignedType& type : signed_types()) {
    for (uint32_t b = 0; b + 1 < type.sign(); ++b) {
      const auto middle = static_cast<float>((type.values[b] + type.values[b + 1]) / 2);
      const uint32_t even = b % 2 == 0 ? b : b + 1;
      EXPECT_EQ(type.narrow(middle), even) << type.name << " " << middle;
      EXPECT_EQ(type.narrow(-middle), even | type.sign()) << type.name << " " << middle;
      EXPECT_EQ(type.narrow(std::nextafter(middle, 0.0f)), b) << type.name << " " << middle;
      EXPECT_EQ(type.narrow(std::nextafter(middle, kInf)), b + 1) << type.name << " " << middle;
    }
  }
}

TEST(FloatMx, WhatATypeLacksSaturates) {
  for (const SignedType& type : signed_types()) {
    const uint32_t most = type.sign() - 1;
    for (const float large : {static_cast<float>(type.values[most] * 1.01), 1e9f, 3e38f, kInf}) {
      EXPECT_EQ(type.narrow(large), most) << type.name << " " << large;
      EXPECT_EQ(type.narrow(-large), most | type.sign()) << type.name << " " << large;
    }
    for (const float small : {1e-45f, 1e-38f, 0x1p-20f}) {
      EXPECT_EQ(type.narrow(small), 0u) << type.name;
      EXPECT_EQ(type.narrow(-small), type.sign()) << type.name;
    }
    EXPECT_EQ(type.narrow(kNan), type.sign()) << type.name;
    EXPECT_EQ(type.narrow(-kNan), 0u) << type.name;
  }
}

TEST(FloatMx, ExponentsArePowersOfTwo) {
  for (int b = 0; b < 255; ++b) {
    const double value = std::ldexp(1.0, b - 127);
    const auto exact = static_cast<float>(value), middle = static_cast<float>(value * 1.5);
    EXPECT_EQ(f8_e8m0_to_f32(static_cast<uint8_t>(b)), value) << b;
    EXPECT_EQ(f32_to_f8_e8m0(exact), b);
    EXPECT_EQ(f32_to_f8_e8m0(middle), b + 1);  // the larger of two that are as near
    EXPECT_EQ(f32_to_f8_e8m0(std::nextafter(middle, 0.0f)), b);
    EXPECT_EQ(f32_to_f8_e8m0(-exact), 255);
  }
  EXPECT_TRUE(std::isnan(f8_e8m0_to_f32(255)));
  for (const float none : {0.0f, -0.0f, kInf, -kInf, kNan, -kNan, 3e38f, -1e-45f})
    EXPECT_EQ(f32_to_f8_e8m0(none), 255) << none;
  for (const float small : {1e-45f, 1e-40f, 0x1p-128f}) EXPECT_EQ(f32_to_f8_e8m0(small), 0) << small;
}

}  // namespace
}  // namespace relayout
