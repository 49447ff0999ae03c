// Repacking against the values before and after, which dequantize() computes, and against bytes that come back.
#include "relayout/cpu/repack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

namespace relayout::cpu {
namespace {

/// The buffers of a packed matrix.
struct Matrix {
  PackedTensor tensor;
  std::map<std::string, std::vector<std::byte>> bytes;

  Matrix(const std::string& format, const Dims& values, int64_t group = 0)
      : tensor{.format = format, .values = values, .group = group} {
    const PackedFormat& packed = packed_format(format);
    for (const std::string_view name : buffers_of(packed))
      bytes[std::string(name)].resize(static_cast<std::size_t>(packed_record(packed, values, name, group).bytes()));
  }
  std::vector<PackedBuffer> sources() const {
    std::vector<PackedBuffer> out;
    for (const auto& [name, data] : bytes) out.emplace_back(name, data);
    return out;
  }
  std::vector<PackedTarget> targets() {
    std::vector<PackedTarget> out;
    for (auto& [name, data] : bytes) out.emplace_back(name, data);
    return out;
  }
  /// The values, always as K,N.
  std::vector<float> values() const {
    const bool turned = packed_format(tensor.format).dims == "nk";
    std::vector<float> out(static_cast<std::size_t>(tensor.values[0] * tensor.values[1]));
    const Layout layout =
        turned ? Layout::strided(tensor.values, {1, tensor.values[0]}) : Layout::contiguous(tensor.values);
    dequantize(tensor, sources(), {layout, DType::f32}, out);
    return out;
  }
};

/// Random codes, finite f16 scales, and zero points that are all `zero` or anything.
Matrix random_matrix(const std::string& format, const Dims& values, std::optional<int> zero, int64_t group = 0) {
  Matrix out(format, values, group);
  std::mt19937 random(11);
  for (auto& [name, data] : out.bytes) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      const bool scale = name == "scales" || name == "s";
      data[i] = static_cast<std::byte>(scale && i % 2 == 1 ? 0x2c | (random() & 0x83) : random());
      if (name == "qzeros" && zero) data[i] = static_cast<std::byte>(*zero * 17);
    }
  }
  return out;
}

std::string refusal(const Matrix& from, Matrix& to) {
  try {
    (void)repack(from.tensor, from.sources(), to.tensor, to.targets());
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Repack, GptqToAwqToMarlinToGptqGivesTheSameBytes) {
  const Dims values{256, 128};
  const Matrix gptq = random_matrix("gptq", values, 7);  // a zero point of 8
  Matrix awq("awq", values), marlin("marlin", values), back("gptq", values);
  EXPECT_TRUE(repack(gptq.tensor, gptq.sources(), awq.tensor, awq.targets()).exact);
  EXPECT_TRUE(repack(awq.tensor, awq.sources(), marlin.tensor, marlin.targets()).exact);
  EXPECT_TRUE(repack(marlin.tensor, marlin.sources(), back.tensor, back.targets()).exact);
  EXPECT_EQ(gptq.values(), awq.values());
  EXPECT_EQ(gptq.values(), marlin.values());
  EXPECT_EQ(gptq.bytes, back.bytes);
}

TEST(Repack, TurnsDimsAndFillsZeroPoints) {
  const Matrix blocks = [] {
    Matrix out("ggml:q4_0", {64, 256});
    std::mt19937 random(12);
    auto& data = out.bytes[""];
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i % 18 == 1 ? 0x2c : random());
    return out;
  }();
  Matrix gptq("gptq", {256, 64}, 32), tensors("compressed-tensors:pack-quantized:asymmetric", {64, 256}, 32);
  EXPECT_TRUE(repack(blocks.tensor, blocks.sources(), gptq.tensor, gptq.targets()).exact);
  EXPECT_EQ(blocks.values(), gptq.values());
  for (const std::byte each : gptq.bytes["qzeros"]) EXPECT_EQ(each, std::byte{0x77});
  // bf16 has 8 bits of a scale's 11.
  EXPECT_NE(refusal(blocks, tensors).find(".s (bf16) cannot hold"), std::string::npos) << refusal(blocks, tensors);
  Matrix back("ggml:q4_0", {64, 256});
  EXPECT_TRUE(repack(gptq.tensor, gptq.sources(), back.tensor, back.targets()).exact);
  EXPECT_EQ(blocks.bytes, back.bytes);
}

TEST(Repack, SaysWhichFieldHasNoPlace) {
  const Dims values{128, 64};
  const Matrix awq = random_matrix("awq", values, std::nullopt);
  Matrix marlin("marlin", values), gptq("gptq", values), minima("ggml:q4_1", {64, 128}), five("ggml:q5_0", {64, 128});
  EXPECT_NE(refusal(awq, marlin).find("marlin has no field for the zero point, which is 8"), std::string::npos);
  EXPECT_NE(refusal(awq, minima).find("has no field for the zero point"), std::string::npos);
  EXPECT_NE(refusal(awq, five).find("are planes: ql + qh<<4"), std::string::npos);
  const Matrix zero = random_matrix("awq", values, 0);  // GPTQ stores one less, which its field does not hold
  EXPECT_NE(refusal(zero, gptq).find("gptq.z (u4) cannot hold -1"), std::string::npos) << refusal(zero, gptq);
  Matrix other("marlin", {128, 128});
  EXPECT_NE(refusal(awq, other).find("has dims 128,64"), std::string::npos);
}

TEST(Repack, RequantisesAndSaysByHowMuch) {
  const Dims values{128, 64};
  const Matrix awq = random_matrix("awq", values, std::nullopt);
  for (const std::string format : {"marlin", "gptq:v2", "ggml:q4_1", "ggml:q4_0", "ggml:q8_0", "mlx:affine:8"}) {
    const bool turned = packed_format(format).dims == "nk";
    Matrix to(format, turned ? Dims{64, 128} : values, 64);
    const Repacked done = repack(awq.tensor, awq.sources(), to.tensor, to.targets(), {.requantise = true});
    const std::vector<float> before = awq.values(), after = to.values();
    double largest = 0, squares = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double error = std::abs(double{after[i]} - double{before[i]});
      largest = std::max(largest, error);
      squares += error * error;
    }
    EXPECT_DOUBLE_EQ(done.largest_error, largest) << format;
    EXPECT_NEAR(done.rms_error, std::sqrt(squares / static_cast<double>(before.size())), 1e-9) << format;
    EXPECT_EQ(done.exact, largest == 0) << format;
    // A step of the coarsest of these grids over values of up to some 2 in size.
    EXPECT_LT(done.largest_error, 0.6) << format;
  }
}

}  // namespace
}  // namespace relayout::cpu
