// Repacking against the values before and after, which dequantize() computes, and against bytes that come back.
#include "relayout/cpu/repack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "relayout/core/float.h"
#include "relayout/cpu/reorder.h"

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

TEST(Repack, TheDestinationHasTheSourcesGroups) {
  const PackedTensor gptq{.format = "gptq", .values = {256, 64}, .group = 32};
  EXPECT_EQ(packed_as(gptq, "mlx:affine").values, (Dims{64, 256}));
  EXPECT_EQ(packed_as(gptq, "mlx:affine").group, 32);
  EXPECT_EQ(packed_as(gptq, "awq", 64).group, 64);
  EXPECT_EQ(packed_as({.format = "ggml:q4_0", .values = {64, 256}}, "gptq").group, 32);
  EXPECT_THROW(packed_as(gptq, "ggml:q4_0", 64), Error);
}

// Scales of one type move with all their bits, and integers that would not fit are an error with the number.
TEST(Repack, CoefficientsMoveAsTheirFieldsElements) {
  Matrix gptq = random_matrix("gptq", {64, 64}, 7, 32), awq("awq", {64, 64}, 32);
  auto& scales = gptq.bytes["scales"];
  const uint16_t odd[] = {0x7e01, 0xfc00, 0x8000, 0x0001};  // NaN, infinity, -0 and the least number
  std::memcpy(scales.data(), odd, sizeof odd);
  repack(gptq.tensor, gptq.sources(), awq.tensor, awq.targets());
  EXPECT_EQ(awq.bytes["scales"], scales);
  EXPECT_EQ(awq.bytes["qzeros"], std::vector<std::byte>(awq.bytes["qzeros"].size(), std::byte{0x88}));
  gptq.bytes["qzeros"][5] = std::byte{0x7f};  // 15, which is the zero point 16
  try {
    repack(gptq.tensor, gptq.sources(), awq.tensor, awq.targets());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot hold 16"), std::string::npos) << error.what();
  }
}

TEST(Repack, SaysWhichFieldHasNoPlace) {
  const Dims values{128, 64};
  const Matrix awq = random_matrix("awq", values, std::nullopt);
  Matrix marlin("marlin", values), gptq("gptq", values), minima("ggml:q4_1", {64, 128}), five("ggml:q5_0", {64, 128});
  EXPECT_NE(refusal(awq, marlin).find("marlin has no field for the zero point, which is 8"), std::string::npos);
  EXPECT_NE(refusal(awq, minima).find("ggml:q4_1.m (f16) cannot hold"), std::string::npos) << refusal(awq, minima);
  EXPECT_NE(refusal(awq, five).find("ggml:q5_0 has no field for the zero point, which is 16"), std::string::npos);
  const Matrix zero = random_matrix("awq", values, 0);  // GPTQ stores one less, which its field does not hold
  EXPECT_NE(refusal(zero, gptq).find("gptq.z (u4) cannot hold -1"), std::string::npos) << refusal(zero, gptq);
  Matrix other("marlin", {128, 128});
  EXPECT_NE(refusal(awq, other).find("has dims 128,64"), std::string::npos);
}

TEST(Repack, ZeroPointsBecomeMinima) {
  const Dims values{128, 64};
  // -s * 8 is a number of the type of s.
  for (const char* format : {"mlx:affine", "ggml:q4_1"}) {
    const int64_t group = std::string(format) == "mlx:affine" ? 64 : 32;
    const Matrix awq = random_matrix("awq", values, 8, group), marlin = random_matrix("marlin", values, 8, group);
    Matrix minima(format, {64, 128}, group == 32 ? 0 : group), others = minima;
    EXPECT_TRUE(repack(awq.tensor, awq.sources(), minima.tensor, minima.targets()).exact);
    EXPECT_EQ(minima.values(), awq.values());
    EXPECT_TRUE(repack(marlin.tensor, marlin.sources(), others.tensor, others.targets()).exact);
    EXPECT_EQ(others.values(), marlin.values());
  }
}

/// Random bytes with finite, positive scales of one sign of exponent, whatever the format.
Matrix random_matrix(const std::string& format, const Dims& values, unsigned seed, int64_t group = 0) {
  Matrix out(format, values, group);
  std::mt19937 random(seed);
  for (auto& [name, data] : out.bytes) {
    for (std::byte& each : data) each = static_cast<std::byte>(random());
    const PackedFormat& packed = packed_format(format);
    for (const PackedField& field : packed.fields) {
      if (field.buffer != name || !is_floating(field.dtype) || bits(field.dtype) < 8) continue;
      const Layout layout = field_layout(packed, field, field_dims(packed, field, values, group));
      const int64_t width = bits(field.dtype) / 8;
      for (int64_t r = 0; r < layout.dim(0); ++r)
        for (int64_t c = 0; c < layout.dim(1); ++c)
          data[static_cast<std::size_t>((layout.offset({r, c}) + 1) * width - 1)] = std::byte{0x2c};
    }
  }
  return out;
}

TEST(Repack, TheSameFormatIsACopyOfAllItsBytes) {
  for (const PackedSystem& system : packed_systems()) {
    for (const PackedFormat& format : system.formats) {
      const Dims values{128, 256};
      const Matrix from = random_matrix(std::string(format.name), values, 21);
      Matrix to(std::string(format.name), values);
      EXPECT_TRUE(repack(from.tensor, from.sources(), to.tensor, to.targets()).exact);
      EXPECT_EQ(from.bytes, to.bytes) << format.name;
    }
  }
}

TEST(Repack, PlanesOfCodesMoveToOtherPlanesWhereTheGridIsTheSame) {
  struct Pair {
    std::string from, to;
    int64_t src_group = 0, dst_group = 0;
  };
  const Dims values{64, 256};
  for (const Pair& pair :
       {Pair{"ggml:q5_0", "ggml:q8_0"}, Pair{"ggml:q4_0", "ggml:q5_0"}, Pair{"ggml:q4_0", "ggml:q8_0"},
        Pair{"ggml:q5_1", "mlx:affine:8", 0, 32}, Pair{"ggml:q5_1", "mlx:affine:6", 0, 32},
        Pair{"ggml:q4_1", "mlx:affine:4", 0, 32}, Pair{"mlx:affine:3", "mlx:affine:3", 64, 32},
        Pair{"mlx:affine:3", "ggml:q5_1", 64, 0}, Pair{"mlx:affine:2", "mlx:affine:3", 64, 64}}) {
    const Matrix from = random_matrix(pair.from, values, 22, pair.src_group);
    Matrix to(pair.to, values, pair.dst_group);
    EXPECT_TRUE(repack(from.tensor, from.sources(), to.tensor, to.targets()).exact);
    EXPECT_EQ(from.values(), to.values()) << pair.from << " " << pair.to;
  }
  const Matrix wide = random_matrix("ggml:q8_0", values, 23);
  Matrix narrow("ggml:q5_0", values);
  EXPECT_NE(refusal(wide, narrow).find("codes are -128 to 127 in ggml:q8_0, which are -112 to 143 there, and 0 to 31"),
            std::string::npos)
      << refusal(wide, narrow);
}

/// Values of one sign, or of both, in groups of 64 along the first dim: 8-bit codes from `least` on.
Matrix values_from(float least, const Dims& nk) {
  Matrix out("mlx:affine:8", nk, 64);
  std::mt19937 random(24);
  for (std::byte& code : out.bytes["weight"]) code = static_cast<std::byte>(random());
  const auto fill = [&](const std::string& name, float value) {
    std::vector<float> all(out.bytes[name].size() / 2, value);
    reorder({Layout::contiguous({static_cast<int64_t>(all.size())}), DType::f32}, all,
            {Layout::contiguous({static_cast<int64_t>(all.size())}), DType::f16}, std::span(out.bytes[name]));
  };
  fill("scales", 0x1p-7F);
  fill("biases", least);
  return out;
}

TEST(Repack, GridsWithZeroPointsAreThoseOfGptqsQuantiser) {
  const Dims nk{32, 256}, kn{256, 32};
  for (const float least : {-1.0F, 0.25F, -4.0F, 0.0F}) {
    const Matrix from = values_from(least, nk);
    const std::vector<float> w = from.values();
    Matrix second("gptq:v2", kn, 64), first("gptq", kn, 64);
    const Repacked done = repack(from.tensor, from.sources(), second.tensor, second.targets(), {.requantise = true});
    const Repacked older = repack(from.tensor, from.sources(), first.tensor, first.targets(), {.requantise = true});
    const std::vector<float> found = second.values();
    float step = 0;
    for (std::size_t n = 0; n < 32; ++n)
      for (std::size_t g = 0; g < 4; ++g) {
        float low = 0, high = 0;
        for (std::size_t k = 64 * g; k < 64 * g + 64; ++k) {
          low = std::min(low, w[k * 32 + n]);
          high = std::max(high, w[k * 32 + n]);
        }
        // The quantiser's own lines, with the scale as the checkpoint has it.
        const float scale = static_cast<float>((high - low) / 15), zero = std::nearbyint(-low / scale);
        const float stored = f16_to_f32(f32_to_f16(scale));
        step = std::max(step, stored);
        for (std::size_t k = 64 * g; k < 64 * g + 64; ++k) {
          const float q = std::clamp(std::nearbyint(w[k * 32 + n] / stored) + zero, 0.0F, 15.0F);
          ASSERT_EQ(found[k * 32 + n], stored * (q - zero)) << least << " " << k << " " << n;
        }
      }
    // The first version has no zero point of 0, so positive values have 14 steps.
    EXPECT_LT(older.largest_error, 0.6 * step * 15 / 14) << least;
    EXPECT_LT(done.largest_error, 0.6 * step + step / 2) << least;
  }
}

TEST(Repack, RequantisesAndSaysByHowMuch) {
  const Dims values{128, 64};
  const Matrix awq = random_matrix("awq", values, std::nullopt);
  for (const std::string format :
       {"marlin", "gptq:v2", "ggml:q4_1", "ggml:q4_0", "ggml:q8_0", "mlx:affine:8", "ggml:q5_0", "mlx:affine:3"}) {
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
