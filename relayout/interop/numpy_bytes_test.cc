// Elements of one a byte against the bits of each, which are taken one by one.
#include "relayout/interop/numpy_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace relayout::numpy {
namespace {

TEST(NumpyBytes, EachElementsLowBitsFollowEachOther) {
  std::mt19937 random(3);
  for (const DType dtype : {DType::u1, DType::u2, DType::s2, DType::s4, DType::u4, DType::f4_e2m1, DType::f6_e2m3}) {
    for (const std::size_t count : {0, 1, 3, 7, 8, 65}) {
      std::vector<std::byte> elements(count);
      for (std::byte& each : elements) each = static_cast<std::byte>(random());
      const std::vector<std::byte> out = packed(elements, dtype);
      const auto width = static_cast<std::size_t>(bits(dtype));
      ASSERT_EQ(out.size(), (count * width + 7) / 8);
      for (std::size_t bit = 0; bit < 8 * out.size(); ++bit) {
        const unsigned found = std::to_integer<unsigned>(out[bit / 8]) >> bit % 8 & 1;
        const std::size_t i = bit / width;
        EXPECT_EQ(found, i < count ? std::to_integer<unsigned>(elements[i]) >> bit % width & 1 : 0U) << bit;
      }
    }
  }
}

TEST(NumpyBytes, OnlyVoidsWithAnOrderOfBytesHaveOneAByte) {
  EXPECT_TRUE(has_one_a_byte("<V1", DType::s4));
  EXPECT_FALSE(has_one_a_byte("|V1", DType::s4));
  EXPECT_FALSE(has_one_a_byte("|u1", DType::s4));
  EXPECT_FALSE(has_one_a_byte("<V1", DType::f8_e4m3));
}

}  // namespace
}  // namespace relayout::numpy
