// Packed formats against loops that pack as each system's own code does: words or blocks are filled value by value.
#include "relayout/core/packed/packed.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "relayout/core/format.h"
#include "relayout/core/record/record_format.h"

namespace relayout {
namespace {

using Codes = std::vector<std::vector<uint32_t>>;

Codes random_codes(int64_t rows, int64_t columns) {
  std::mt19937 random(7);
  Codes out(static_cast<std::size_t>(rows), std::vector<uint32_t>(static_cast<std::size_t>(columns)));
  for (auto& row : out) {
    for (uint32_t& code : row) code = random() % 16;
  }
  return out;
}

/// The nibbles of words, read by a layout.
Codes read(const std::string& layout, const std::vector<uint32_t>& words, int64_t rows, int64_t columns) {
  const Layout bound = Format::parse(layout).bind({rows, columns});
  EXPECT_EQ(bound.span(), static_cast<int64_t>(words.size()) * 8) << layout;
  EXPECT_TRUE(bound.dense()) << layout;
  Codes out(static_cast<std::size_t>(rows), std::vector<uint32_t>(static_cast<std::size_t>(columns)));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>(bound.offset({r, c}));
      out[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = words[at / 8] >> at % 8 * 4 & 15;
    }
  }
  return out;
}

TEST(Packed, GptqIsItsPackingLoop) {
  constexpr std::size_t kK = 64, kN = 48;
  const Codes w = random_codes(kK, kN);
  std::vector<uint32_t> words(kK / 8 * kN), zeros(kK * kN / 8);
  for (std::size_t k = 0; k < kK; ++k)
    for (std::size_t n = 0; n < kN; ++n) words[k / 8 * kN + n] |= w[k][n] << 4 * (k % 8);
  EXPECT_EQ(read("gptq", words, kK, kN), w);
  EXPECT_EQ(Format::parse("gptq").bind({kK, kN}), Format::parse("Ab8a").bind({kK, kN}));
  for (std::size_t k = 0; k < kK; ++k)
    for (std::size_t n = 0; n < kN; ++n) zeros[k * kN / 8 + n / 8] |= w[k][n] << 4 * (n % 8);
  EXPECT_EQ(read("gptq.z", zeros, kK, kN), w);
}

TEST(Packed, AwqIsItsPackingLoop) {
  constexpr std::size_t kK = 40, kN = 64, kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const Codes w = random_codes(kK, kN);
  std::vector<uint32_t> words(kK * kN / 8);
  for (std::size_t k = 0; k < kK; ++k)
    for (std::size_t col = 0; col < kN / 8; ++col)
      for (std::size_t i = 0; i < 8; ++i) words[k * kN / 8 + col] |= w[k][col * 8 + kOrder[i]] << 4 * i;
  EXPECT_EQ(read("awq", words, kK, kN), w);
  EXPECT_EQ(read("awq.z", words, kK, kN), w);
}

/// Marlin's permutation of 1,024 values of four 16 x 16 tiles, as it is built there.
std::vector<std::size_t> marlin_order() {
  std::vector<std::size_t> perm;
  for (std::size_t i = 0; i < 32; ++i) {
    std::vector<std::size_t> one;
    for (std::size_t block = 0; block < 2; ++block)
      for (const std::size_t row : {2 * (i % 4), 2 * (i % 4) + 1, 2 * (i % 4 + 4), 2 * (i % 4 + 4) + 1})
        one.push_back(16 * row + i / 4 + 8 * block);
    for (std::size_t j = 0; j < 4; ++j)
      for (const std::size_t p : one) perm.push_back(p + 256 * j);
  }
  std::vector<std::size_t> out;
  for (std::size_t from = 0; from < perm.size(); from += 8)
    for (const std::size_t k : {0, 2, 4, 6, 1, 3, 5, 7}) out.push_back(perm[from + k]);
  return out;
}

TEST(Packed, MarlinIsItsPackingLoop) {
  constexpr std::size_t kK = 48, kN = 192;
  const Codes w = random_codes(kK, kN);
  const std::vector<std::size_t> order = marlin_order();
  std::vector<uint32_t> words;
  for (std::size_t tile_row = 0; tile_row < kK / 16; ++tile_row) {
    std::vector<uint32_t> tiled;  // (N/16 tiles, 16, 16)
    for (std::size_t n0 = 0; n0 < kN; n0 += 16)
      for (std::size_t k = 0; k < 16; ++k)
        for (std::size_t n = 0; n < 16; ++n) tiled.push_back(w[tile_row * 16 + k][n0 + n]);
    for (std::size_t from = 0; from < tiled.size(); from += 1024)
      for (std::size_t t = 0; t < 1024; ++t) {
        if (t % 8 == 0) words.push_back(0);
        words.back() |= tiled[from + order[t]] << 4 * (t % 8);
      }
  }
  EXPECT_EQ(read("marlin", words, kK, kN), w);
}

TEST(Packed, MarlinsScalesArePermutedByColumns) {
  constexpr int64_t kN = 128;
  const Layout grouped = Format::parse("marlin.s").bind({2, kN});
  const Layout channel = Format::parse("marlin:channel.s").bind({1, kN});
  EXPECT_EQ(Format::parse("marlin.s").bind({1, kN}), channel);  // a group of all rows
  int64_t at = 0;
  for (int64_t n0 = 0; n0 < kN; n0 += 64)
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t j = 0; j < 8; ++j) EXPECT_EQ(grouped.offset({1, n0 + i + 8 * j}), kN + at++);
  at = 0;
  for (int64_t n0 = 0; n0 < kN; n0 += 32)
    for (int64_t i = 0; i < 4; ++i)
      for (const int64_t j : {0, 1, 8, 9, 16, 17, 24, 25}) EXPECT_EQ(channel.offset({0, n0 + 2 * i + j}), at++);
}

TEST(Packed, CompressedTensorsPacksCodesAlongRowsAndZeroPointsAlongColumns) {
  constexpr std::size_t kN = 24, kK = 32;
  const Codes w = random_codes(kN, kK);
  std::vector<uint32_t> codes(kN * kK / 8), zeros(kN / 8 * kK);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t n = 0; n < kN; ++n)
      for (std::size_t k = i; k < kK; k += 8) codes[(n * kK + k) / 8] |= w[n][k] << 4 * i;
  EXPECT_EQ(read("compressed-tensors:pack-quantized", codes, kN, kK), w);
  for (std::size_t n = 0; n < kN; ++n)
    for (std::size_t k = 0; k < kK; ++k) zeros[n / 8 * kK + k] |= w[n][k] << 4 * (n % 8);
  EXPECT_EQ(read("compressed-tensors:pack-quantized.z", zeros, kN, kK), w);
}

TEST(Packed, GgmlsNibblesLieBehindTheScaleOfTheirBlock) {
  const Layout q = Format::parse("ggml:q4_0.q").bind({3, 96}), d = Format::parse("ggml:q4_0.d").bind({3, 3});
  for (int64_t n = 0; n < 3; ++n)
    for (int64_t k = 0; k < 96; ++k) {
      const int64_t block = n * 3 + k / 32, i = k % 32;
      EXPECT_EQ(q.offset({n, k}), (block * 18 + 2 + i % 16) * 2 + i / 16);
      EXPECT_EQ(d.offset({n, k / 32}) * 2, block * 18);
    }
  EXPECT_EQ(Format::parse("ggml:q4_0.q@36").bind({3, 96}).offset({0, 0}), 40);
  EXPECT_EQ(Format::parse("ggml:q4_0.q.transpose(0,1)").bind({3, 96}).dims(), (Dims{96, 3}));
}

TEST(Packed, EveryFormatOfOneBufferFillsIt) {
  int formats = 0;
  for (const PackedSystem& system : packed_systems()) {
    for (const PackedFormat& format : system.formats) {
      for (const std::string_view buffer : buffers_of(format)) {
        const Record record = packed_record(format, {512, 512}, buffer);
        EXPECT_EQ(record.free_bits(), 0) << format.name << " " << buffer;
        EXPECT_EQ(RecordFormat::parse(expression_of(record)).bind({}), record) << format.name;
        ++formats;
      }
      std::set<std::string_view> names;
      for (const PackedField& field : format.fields) {
        EXPECT_TRUE(names.insert(field.name).second) << format.name;
        EXPECT_EQ(Format::parse(std::string(format.name) + "." + std::string(field.name)).element_type(), field.dtype);
      }
      if (!format.one_buffer()) continue;
      const std::string_view scale = format.name == "ggml:mxfp4" ? "e" : "d";
      const Dims scales = field_dims(format, format.field(scale), {512, 512});
      const int64_t blocks = scales[0] * scales[1] / item_of(format, format.field(scale)).block(1);
      EXPECT_EQ(RecordFormat::parse(format.name).bind({512, 512}).bytes(), blocks * format.block_bytes);
    }
  }
  EXPECT_GT(formats, 8);
}

/// "s32 16,128", as the loader of the format's system declares its tensor for weights of K = 256 and N = 128.
std::string array_text(const std::string& format, const std::string& buffer, const Dims& values, int64_t group) {
  const PackedArray array = packed_array(packed_format(format), values, buffer, group);
  return std::string(name(array.dtype)) + " " + join(array.shape);
}

TEST(Packed, ArraysOfCheckpointsAreThoseOfEachLoader) {
  const Dims kn{256, 128}, nk{128, 256};
  for (const std::string gptq : {"gptq", "gptq:v2"}) {
    EXPECT_EQ(array_text(gptq, "qweight", kn, 64), "s32 32,128");
    EXPECT_EQ(array_text(gptq, "qzeros", kn, 64), "s32 4,16");
    EXPECT_EQ(array_text(gptq, "scales", kn, 64), "f16 4,128");
  }
  EXPECT_EQ(array_text("awq", "qweight", kn, 64), "s32 256,16");
  EXPECT_EQ(array_text("awq", "qzeros", kn, 64), "s32 4,16");
  EXPECT_EQ(array_text("awq", "scales", kn, 64), "f16 4,128");
  EXPECT_EQ(array_text("marlin", "B", kn, 64), "s32 16,256");
  EXPECT_EQ(array_text("marlin", "s", kn, 64), "f16 4,128");
  EXPECT_EQ(array_text("marlin", "s", kn, 256), "f16 1,128");
  EXPECT_EQ(array_text("marlin:channel", "s", kn, 0), "f16 1,128");
  const std::string ct = "compressed-tensors:pack-quantized:asymmetric";
  EXPECT_EQ(array_text(ct, "weight_packed", nk, 64), "s32 128,32");
  EXPECT_EQ(array_text(ct, "weight_zero_point", nk, 64), "s32 16,4");
  EXPECT_EQ(array_text(ct, "weight_scale", nk, 64), "bf16 128,4");
  for (const int width : {2, 3, 4, 6, 8}) {
    const std::string mlx = "mlx:affine:" + std::to_string(width);
    EXPECT_EQ(array_text(mlx, "weight", nk, 64), "u32 128," + std::to_string(256 * width / 32));
    EXPECT_EQ(array_text(mlx, "scales", nk, 64), "f16 128,4");
  }
  EXPECT_EQ(array_text("mxfp4", "blocks", nk, 0), "u8 128,8,16");
  EXPECT_EQ(array_text("mxfp4", "scales", nk, 0), "u8 128,8");
  EXPECT_EQ(array_text("nvfp4", "weight", nk, 0), "u8 128,128");
  EXPECT_EQ(array_text("nvfp4", "weight_scale", nk, 0), "f8_e4m3 128,16");
  EXPECT_EQ(array_text("nvfp4", "weight_scale_2", nk, 0), "f32 ");
  EXPECT_EQ(array_text("ggml:q4_0", "", nk, 0), "u8 128,144");
  EXPECT_THROW(array_text("gptq", "qzeros", {128, 4}, 0), Error);  // half a word
}

TEST(Packed, BuffersHaveTheNamesThatCheckpointsHave) {
  const auto names = [](const std::string& format, const std::string& buffer) {
    std::string out;
    for (const std::string_view name : names_of_buffer(packed_format(format), buffer)) out += std::string(name) + " ";
    return out;
  };
  EXPECT_EQ(names("gptq", "qweight"), "qweight ");
  EXPECT_EQ(names("marlin", "B"), "B qweight ");
  EXPECT_EQ(names("marlin:channel", "s"), "s scales ");
  EXPECT_EQ(names("mxfp4", "blocks"), "blocks weight_packed weight ");
}

TEST(Packed, RefusesWhatIsNoFieldAndSaysWhatThereIs) {
  const auto message = [](const std::string& text, const Dims& dims) -> std::string {
    try {
      (void)Format::parse(text).bind(dims);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_NE(message("ggml:q4_0", {1, 32}).find("write ggml:q4_0.NAME with a name of d, q"), std::string::npos);
  EXPECT_NE(message("ggml:q4_0.x", {1, 32}).find("has no field x; there are d, q"), std::string::npos);
  EXPECT_NE(message("ggml:q4_2.q", {1, 32}).find("did you mean ggml:q4_"), std::string::npos);
  EXPECT_NE(message("ggml:iq2_xs.q", {1, 256}).find("codebook"), std::string::npos);
  EXPECT_EQ(message("ggml:q4_0.q", {1, 33}), "ggml:q4_0.q: K = 33 is no multiple of its blocks, 32");
  EXPECT_NE(message("gptq", {8}).find("2 dims"), std::string::npos);
  EXPECT_NE(message("marlin", {16, 32}).find("no multiple of its blocks, 64"), std::string::npos);
  EXPECT_NE(message("gptqx", {8, 8}), "");
}

}  // namespace
}  // namespace relayout
