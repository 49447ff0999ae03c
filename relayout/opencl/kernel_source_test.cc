// What generated kernels are made of, without a device: divisions, widths of numbers, work-items. What they compute is
// tested on a device by transfer_test.cc.
#include "relayout/opencl/kernel_source.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/opencl/kernel_values.h"
#include "relayout/opencl/magic.h"
#include "relayout/opencl/ways.h"

namespace relayout::opencl {
namespace {

TEST(Magic, QuotientsAreExact) {
  constexpr uint32_t kMost = 0x7fffffff;
  std::mt19937 random(1);
  std::vector<uint32_t> divisors;
  for (uint32_t d = 1; d <= 3000; ++d) divisors.push_back(d);
  for (int k = 0; k < 3000; ++k) divisors.push_back(1 + random() % kMost);
  for (const uint32_t d : {kMost, kMost - 1, 0x40000000u, 0x40000001u, 0x3fffffffu}) divisors.push_back(d);
  for (const uint32_t d : divisors) {
    const Magic magic = magic_division(d);
    // The quotient changes at multiples of the divisor: there an inexact one is wrong first.
    for (int k = 0; k < 200; ++k) {
      const uint32_t multiple =
          k < 100 ? random() % (kMost / d + 1) * d : (kMost / d - std::min(kMost / d, k - 100u)) * d;
      for (const uint32_t n : {multiple, multiple + d - 1, multiple - 1, kMost}) {
        if (n > kMost) continue;
        ASSERT_EQ(magic_quotient(n, magic), n / d) << n << " / " << d;
      }
    }
  }
}

Operand buffer(std::string_view tag, const Dims& dims, DType dtype = DType::f32) {
  return {TensorDesc(Format::parse(tag).bind(dims), dtype), std::nullopt};
}
Operand image(std::string_view tag, const Dims& dims, ChannelType type = ChannelType::f32) {
  const Image made = Image::make(Format::parse(tag), dims, type);
  return {made.desc(), made};
}

TEST(KernelSource, NumbersHave32BitsWhereTheyFit) {
  EXPECT_NE(kernel_source(buffer("ab", {1000, 1000}), buffer("ba", {1000, 1000})).text.find("typedef int I"),
            std::string::npos);
  // 2^31 elements: offsets and divisions of 64 bits.
  const std::string wide = kernel_source(buffer("ab", {1 << 16, 1 << 15}), buffer("ba", {1 << 16, 1 << 15})).text;
  EXPECT_NE(wide.find("typedef long I"), std::string::npos);
  EXPECT_EQ(wide.find("mul_hi"), std::string::npos);
}

TEST(KernelSource, AnImageIsWalkedTexelByTexel) {
  const Dims dims{2, 9, 4, 5};
  for (const auto& [src, dst] : {std::pair(buffer("nchw", dims), image("nh|Cw4c", dims)),
                                 std::pair(image("nh|Cw4c", dims), buffer("nchw", dims))}) {
    const KernelSource source = kernel_source(src, dst);
    std::size_t items = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      EXPECT_EQ(source.global[a] % source.local[a], 0u);
      items *= source.global[a];
    }
    EXPECT_GE(items, 15u * 8u);
    EXPECT_LE(items, 15u * 8u + 16u);
  }
}

TEST(KernelSource, FourNeighboursAreMovedTogether) {
  const Dims dims{1, 8, 4, 5};
  EXPECT_NE(kernel_source(buffer("nhwc", dims), image("nh|Cw4c", dims)).text.find("vload4"), std::string::npos);
  EXPECT_NE(kernel_source(image("nh|Cw4c", dims), buffer("nhwc", dims)).text.find("vstore4"), std::string::npos);
  // In blocks of 8 the four lanes are neighbours too.
  EXPECT_NE(kernel_source(image("nh|Cw4c", dims), buffer("nChw8c", dims)).text.find("vstore4"), std::string::npos);
  EXPECT_EQ(kernel_source(buffer("nchw", dims), image("nh|Cw4c", dims)).text.find("vload4"), std::string::npos);
}

TEST(KernelSource, TypesThatADeviceDoesNotConvertAreRefused) {
  const Dims dims{4, 4};
  const std::pair<DType, DType> pairs[] = {
      {DType::f32, DType::bf16}, {DType::s4, DType::s4}, {DType::s32, DType::f32}, {DType::u8, DType::s8}};
  for (const auto& [src, dst] : pairs) {
    EXPECT_FALSE(device_converts(src, dst));
    EXPECT_THROW(kernel_source(buffer("ab", dims, src), buffer("ba", dims, dst)), Error);
  }
}

}  // namespace
}  // namespace relayout::opencl
