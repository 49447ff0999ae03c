// The names of TensorRT, cuBLASLt, Ascend, Tenstorrent and vLLM against their published formulas, and what names of
// several ranks are.
#include <gtest/gtest.h>

#include "tests/support/formulas.h"

namespace relayout {
namespace {

using test::Case;
using test::code_of;
using test::column_major;
using test::each_index;
using test::error_of;
using test::expect_formula;
using test::kImages;
using test::kMatrices;
using test::kOneImage;
using test::kOneVolume;
using test::kVolumes;
using test::Place;
using test::round_up;
using test::row_major;
using test::up;

// --- TensorRT --------------------------------------------------------------------------------------------------------

/// [N][ceil(C/V)][H][W][V], also without N.
template <int V>
int64_t chw(const Dims& dims, const Dims& i) {
  const bool batch = dims.size() == 4;
  const int c = batch ? 1 : 0;
  return Place{{batch ? dims[0] : 1, up(dims[c], V), dims[c + 1], dims[c + 2], V},
               {batch ? i[0] : 0, i[c] / V, i[c + 1], i[c + 2], i[c] % V}}
      .offset();
}

/// [N][H][W][ceil(C/V)*V], also without N.
template <int V>
int64_t hwc(const Dims& dims, const Dims& i) {
  const bool batch = dims.size() == 4;
  const int c = batch ? 1 : 0;
  return Place{{batch ? dims[0] : 1, dims[c + 1], dims[c + 2], round_up(dims[c], V)},
               {batch ? i[0] : 0, i[c + 1], i[c + 2], i[c]}}
      .offset();
}

/// [N][D][H][W][ceil(C/V)*V], also without N.
template <int V>
int64_t dhwc(const Dims& dims, const Dims& i) {
  const bool batch = dims.size() == 5;
  const int c = batch ? 1 : 0;
  return Place{{batch ? dims[0] : 1, dims[c + 1], dims[c + 2], dims[c + 3], round_up(dims[c], V)},
               {batch ? i[0] : 0, i[c + 1], i[c + 2], i[c + 3], i[c]}}
      .offset();
}

int64_t cdhw32(const Dims& dims, const Dims& i) {
  const bool batch = dims.size() == 5;
  const int c = batch ? 1 : 0;
  return Place{{batch ? dims[0] : 1, up(dims[c], 32), dims[c + 1], dims[c + 2], dims[c + 3], 32},
               {batch ? i[0] : 0, i[c] / 32, i[c + 1], i[c + 2], i[c + 3], i[c] % 32}}
      .offset();
}

/// [N][C][H][roundUp(W, 64/size)], also without N.
template <int Size>
int64_t dla_linear(const Dims& dims, const Dims& i) {
  const bool batch = dims.size() == 4;
  const int c = batch ? 1 : 0;
  return Place{{batch ? dims[0] : 1, dims[c], dims[c + 1], round_up(dims[c + 2], 64 / Size)},
               {batch ? i[0] : 0, i[c], i[c + 1], i[c + 2]}}
      .offset();
}

/// [N][H][roundUp(W, 32/C'/size)][C'] with C' = 1 or 4, also without N.
template <int Size>
int64_t dla_hwc4(const Dims& dims, const Dims& i) {
  const bool batch = dims.size() == 4;
  const int c = batch ? 1 : 0;
  const int64_t channels = dims[c] == 1 ? 1 : 4;
  return Place{{batch ? dims[0] : 1, dims[c + 1], round_up(dims[c + 2], 32 / channels / Size), channels},
               {batch ? i[0] : 0, i[c + 1], i[c + 2], i[c]}}
      .offset();
}

std::vector<Case> tensorrt_cases() {
  const std::vector<Dims> pictures = {{2, 3, 5, 7}, {2, 4, 3, 33}, {2, 1, 5, 7}, {3, 1, 2, 37}};
  const std::vector<Dims> one_picture = {{3, 5, 7}, {4, 3, 33}, {1, 5, 7}, {1, 2, 37}};
  return {
      {"tensorrt:LINEAR", kImages, row_major},
      {"tensorrt:CHW", kVolumes, row_major},
      {"tensorrt:CHW2", kImages, chw<2>},
      {"tensorrt:CHW2", kOneImage, chw<2>},
      {"tensorrt:CHW4", kImages, chw<4>},
      {"tensorrt:CHW4", kOneImage, chw<4>},
      {"tensorrt:CHW16", kImages, chw<16>},
      {"tensorrt:CHW16", kOneImage, chw<16>},
      {"tensorrt:CHW32", kImages, chw<32>},
      {"tensorrt:CHW32", kOneImage, chw<32>},
      {"tensorrt:CDHW32", kVolumes, cdhw32},
      {"tensorrt:CDHW32", kOneVolume, cdhw32},
      {"tensorrt:HWC", kImages, hwc<1>},
      {"tensorrt:HWC", kOneImage, hwc<1>},
      {"tensorrt:HWC8", kImages, hwc<8>},
      {"tensorrt:HWC8", kOneImage, hwc<8>},
      {"tensorrt:HWC16", kImages, hwc<16>},
      {"tensorrt:HWC16", kOneImage, hwc<16>},
      {"tensorrt:DHWC", kVolumes, dhwc<1>},
      {"tensorrt:DHWC", kOneVolume, dhwc<1>},
      {"tensorrt:DHWC8", kVolumes, dhwc<8>},
      {"tensorrt:DHWC8", kOneVolume, dhwc<8>},
      {"tensorrt:DLA_LINEAR", kImages, dla_linear<2>},
      {"tensorrt:DLA_LINEAR", kOneImage, dla_linear<2>},
      {"tensorrt:DLA_LINEAR:s8", kImages, dla_linear<1>},
      {"tensorrt:DLA_HWC4", pictures, dla_hwc4<2>},
      {"tensorrt:DLA_HWC4", one_picture, dla_hwc4<2>},
      {"tensorrt:DLA_HWC4:s8", pictures, dla_hwc4<1>},
      {"tensorrt:DLA_HWC4:s8", one_picture, dla_hwc4<1>},
  };
}

TEST(NamedSystems, TensorRt) {
  for (const Case& test : tensorrt_cases()) expect_formula(test);
}

// --- cuBLASLt --------------------------------------------------------------------------------------------------------

int64_t col32(const Dims& dims, const Dims& i) { return i[1] / 32 * 32 * dims[0] + i[0] * 32 + i[1] % 32; }

/// A panel of 32 columns has tiles of 8 rows. A tile has its even rows, then its odd ones; of each, the 8 groups of 4
/// columns one after the other, and in a group 4 rows of 4 columns.
int64_t col4_4r2_8c(const Dims& dims, const Dims& i) {
  const int64_t panel = i[1] / 32, col = i[1] % 32, tile = i[0] / 8, row = i[0] % 8;
  const int64_t leading = 32 * 8 * up(dims[0], 8);
  return panel * leading + tile * 256 + (row % 2) * 128 + (col / 4) * 16 + (row / 2) * 4 + col % 4;
}

/// NVIDIA's formula of a tile of 32 x 32.
int64_t col32_2r_4r4(const Dims& dims, const Dims& i) {
  const int64_t panel = i[1] / 32, col = i[1] % 32, tile = i[0] / 32, row = i[0] % 32;
  const int64_t leading = 32 * 32 * up(dims[0], 32);
  return panel * leading + tile * 1024 + (((row % 8) / 2 * 4 + row / 8) * 2 + row % 2) * 32 + col;
}

std::vector<Case> cublaslt_cases() {
  return {{"cublaslt:COL", kMatrices, column_major},
          {"cublaslt:ROW", kMatrices, row_major},
          {"cublaslt:COL32", kMatrices, col32},
          {"cublaslt:COL4_4R2_8C", kMatrices, col4_4r2_8c},
          {"cublaslt:COL32_2R_4R4", kMatrices, col32_2r_4r4}};
}

TEST(NamedSystems, CublasLt) {
  for (const Case& test : cublaslt_cases()) expect_formula(test);
}

TEST(NamedSystems, CublasLtLeadingDimensionsOfItsDocumentation) {
  const auto leading = [](std::string_view name, const Dims& dims) {
    const Layout layout = Format::parse(name).bind(dims);
    return layout.offset({0, 32}) - layout.offset({0, 0});
  };
  EXPECT_EQ(leading("cublaslt:COL32", {2, 33}), 64) << "33 columns and 2 rows";
  EXPECT_EQ(leading("cublaslt:COL4_4R2_8C", {1, 33}), 256) << "33 columns and 1 row";
  EXPECT_EQ(leading("cublaslt:COL32_2R_4R4", {1, 33}), 1024) << "33 columns and 1 row";
}

// --- Ascend ----------------------------------------------------------------------------------------------------------

template <int C0>
int64_t nc1hwc0(const Dims& dims, const Dims& i) {
  return Place{{dims[0], up(dims[1], C0), dims[2], dims[3], C0}, {i[0], i[1] / C0, i[2], i[3], i[1] % C0}}.offset();
}

template <int C0>
int64_t ndc1hwc0(const Dims& dims, const Dims& i) {
  return Place{{dims[0], dims[2], up(dims[1], C0), dims[3], dims[4], C0},
               {i[0], i[2], i[1] / C0, i[3], i[4], i[1] % C0}}
      .offset();
}

template <int C0>
int64_t fractal_nz(const Dims& dims, const Dims& i) {
  const int m = dims.size() - 2, n = dims.size() - 1;
  int64_t batch = 0;
  for (int d = 0; d < m; ++d) batch = batch * dims[d] + i[d];
  return Place{{1, up(dims[n], C0), up(dims[m], 16), 16, C0}, {batch, i[n] / C0, i[m] / 16, i[m] % 16, i[n] % C0}}
      .offset();
}

/// Weights (o, i, h, w).
template <int C0>
int64_t fractal_z(const Dims& dims, const Dims& i) {
  return Place{{up(dims[1], C0), dims[2], dims[3], up(dims[0], 16), 16, C0},
               {i[1] / C0, i[2], i[3], i[0] / 16, i[0] % 16, i[1] % C0}}
      .offset();
}

/// Weights (o, i, d, h, w).
template <int C0>
int64_t fractal_z_3d(const Dims& dims, const Dims& i) {
  return Place{{dims[2], up(dims[1], C0), dims[3], dims[4], up(dims[0], 16), 16, C0},
               {i[2], i[1] / C0, i[3], i[4], i[0] / 16, i[0] % 16, i[1] % C0}}
      .offset();
}

std::vector<Case> ascend_cases() {
  const std::vector<Dims> batches = {{2, 70, 45}, {3, 33, 17}}, more_batches = {{2, 3, 20, 45}, {3, 1, 33, 17}};
  const std::vector<Dims> weights = {{17, 35, 3, 3}, {33, 20, 1, 5}},
                          weights_3d = {{17, 35, 2, 3, 3}, {33, 20, 3, 1, 5}};
  return {{"ascend:NC1HWC0", kImages, nc1hwc0<16>},
          {"ascend:NC1HWC0:s8", kImages, nc1hwc0<32>},
          {"ascend:NC1HWC0:f32", kImages, nc1hwc0<8>},
          {"ascend:NDC1HWC0", kVolumes, ndc1hwc0<16>},
          {"ascend:NDC1HWC0:s8", kVolumes, ndc1hwc0<32>},
          {"ascend:FRACTAL_NZ", kMatrices, fractal_nz<16>},
          {"ascend:FRACTAL_NZ", batches, fractal_nz<16>},
          {"ascend:FRACTAL_NZ", more_batches, fractal_nz<16>},
          {"ascend:FRACTAL_NZ:s8", batches, fractal_nz<32>},
          {"ascend:FRACTAL_Z", weights, fractal_z<16>},
          {"ascend:FRACTAL_Z:s8", weights, fractal_z<32>},
          {"ascend:FRACTAL_Z_3D", weights_3d, fractal_z_3d<16>},
          {"ascend:FRACTAL_Z_3D:s8", weights_3d, fractal_z_3d<32>}};
}

TEST(NamedSystems, Ascend) {
  for (const Case& test : ascend_cases()) expect_formula(test);
  EXPECT_EQ(Format::parse("ascend:NC1HWC0:bf16").generic_tag(4), "aBcd16b");
}

// --- Tenstorrent -----------------------------------------------------------------------------------------------------

/// Tiles of 32 x 32 by rows, in them faces of 16 x 16 by rows, in them rows of 16.
int64_t tenstorrent_tiles(const Dims& dims, const Dims& i) {
  const int h = dims.size() - 2, w = dims.size() - 1;
  int64_t outer = 0;
  for (int d = 0; d < h; ++d) outer = outer * dims[d] + i[d];
  const int64_t tiles_h = up(dims[h], 32), tiles_w = up(dims[w], 32);
  const int64_t tile = (outer * tiles_h + i[h] / 32) * tiles_w + i[w] / 32;
  const int64_t row = i[h] % 32, col = i[w] % 32, face = row / 16 * 2 + col / 16;
  return tile * 1024 + face * 256 + row % 16 * 16 + col % 16;
}

std::vector<Case> tenstorrent_cases() {
  const std::vector<Dims> three = {{3, 40, 70}, {2, 33, 5}}, four = {{2, 3, 40, 70}, {1, 2, 7, 33}};
  return {{"tenstorrent:ROW_MAJOR", four, row_major},
          {"tenstorrent:TILE", kMatrices, tenstorrent_tiles},
          {"tenstorrent:TILE", three, tenstorrent_tiles},
          {"tenstorrent:TILE", four, tenstorrent_tiles}};
}

TEST(NamedSystems, Tenstorrent) {
  for (const Case& test : tenstorrent_cases()) expect_formula(test);
}

// --- vLLM ------------------------------------------------------------------------------------------------------------

TEST(NamedSystems, Vllm) {
  // The name is the array: its letters from the outermost to the innermost.
  const std::pair<std::string, std::string> names[] = {
      {"LBHNC", "LBHNC"}, {"LBNHC", "LBNHC"}, {"LHBNC", "LHBNC"}, {"BLHNC", "BLHNC"}, {"BLNHC", "BLNHC"},
      {"BHLNC", "BHLNC"}, {"BHNC", "BHNC"},   {"BNHC", "BNHC"},   {"HBNC", "HBNC"},   {"NHD", "LBNHC"},
      {"NHD", "BNHC"},    {"HND", "LBHNC"},   {"HND", "BHNC"}};
  for (const auto& [name, memory] : names) {
    const std::string logical = memory.size() == 5 ? "LBHNC" : "BHNC";
    for (const Dims& all : {Dims{2, 3, 5, 7, 11}, Dims{3, 2, 1, 16, 6}}) {
      Dims dims;
      for (int d = all.size() - static_cast<int>(logical.size()); d < all.size(); ++d) dims.push_back(all[d]);
      const Layout layout = Format::parse("vllm:" + name).bind(dims);
      each_index(dims, [&](const Dims& i) {
        Place place;
        for (const char letter : memory) {
          const int d = static_cast<int>(logical.find(letter));
          place.array.push_back(dims[d]);
          place.subscripts.push_back(i[d]);
        }
        EXPECT_EQ(layout.offset(i), place.offset()) << name;
      });
      EXPECT_TRUE(layout.packed());
    }
  }
  for (const std::string& name : notation_names()) {
    if (!name.starts_with("vllm:")) continue;
    EXPECT_NE(std::ranges::find(names, name.substr(5), [](const auto& pair) { return pair.first; }), std::end(names))
        << name;
  }
  EXPECT_EQ(Format::parse("vllm:NHD").dim_names(5), "lbhnc");
  EXPECT_EQ(Format::parse("vllm:NHD").dim_names(4), "bhnc");
}

// --- all of them -----------------------------------------------------------------------------------------------------

TEST(NamedSystems, EveryNameHasACase) {
  std::vector<Case> cases;
  for (const auto& list : {tensorrt_cases(), cublaslt_cases(), ascend_cases(), tenstorrent_cases()})
    cases.insert(cases.end(), list.begin(), list.end());
  const std::string_view systems[] = {"tensorrt", "cublaslt", "ascend", "tenstorrent"};
  test::expect_all_names(systems, cases);
}

TEST(NamedSystems, OffsetsAlignmentAndViewsGoWithEveryForm) {
  for (const Dims& dims : {Dims{40, 70}, Dims{2, 40, 70}, Dims{3, 2, 40, 70}}) {
    const Layout plain = Format::parse("tenstorrent:TILE").bind(dims);
    const Layout moved = Format::parse("tenstorrent:TILE@7.transpose(0,1)").bind(dims);
    EXPECT_EQ(moved.dims()[0], dims[1]);
    Dims i(dims.size(), 0), turned(dims.size(), 0);
    i[0] = turned[1] = 1;
    EXPECT_EQ(moved.offset(turned), plain.offset(i) + 7);
  }
  EXPECT_EQ(Format::parse("tenstorrent:TILE").rank(), std::nullopt);
  EXPECT_EQ(Format::parse("tenstorrent:TILE").generic_tag(3), "aBC2b2c16b16c");
  EXPECT_EQ(Format::parse("tenstorrent:TILE").generic_tag(5), std::nullopt);
  EXPECT_EQ(Format::parse("tenstorrent:TILE").with_names("xyz").dim_names(3), "xyz");
  EXPECT_EQ(code_of([] { Format::parse("tenstorrent:TILE").with_names("v"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(Format::parse("tensorrt:DLA_HWC4").generic_tag(4), std::nullopt) << "the channels decide";
  EXPECT_EQ(Format::parse("tensorrt:CHW4").dims_from_physical({5, 5, 7, 4}), (Dims{20, 5, 7}));
  EXPECT_EQ(Format::parse("tensorrt:CHW4").dims_from_physical({2, 5, 5, 7, 4}), (Dims{2, 20, 5, 7}));
}

TEST(NamedSystems, Refusals) {
  const auto parsing = [](std::string_view text) { return error_of([&] { Format::parse(text); }).message(); };
  const auto binding = [](std::string_view text, const Dims& dims) {
    return error_of([&] { Format::parse(text).bind(dims); }).message();
  };
  EXPECT_EQ(parsing("cublaslt:COL16"),
            "layout: cuBLASLt has no such format; there are COL, ROW, COL32, COL4_4R2_8C, COL32_2R_4R4\n  "
            "cublaslt:COL16\n           ^");
  EXPECT_EQ(parsing("ascend:NC1HWC0:f99").substr(0, 33), "layout: dtype: unknown type \"f99\"");
  EXPECT_EQ(parsing("tensorrt:CHW4:s8"),
            "layout: CHW4 is the same for every type; leave the type out\n  tensorrt:CHW4:s8\n                ^");
  EXPECT_EQ(
      parsing("vllm:NDH"),
      "layout: vLLM has no such format; there are LBHNC, LBNHC, LHBNC, BLHNC, BLNHC, BHLNC, BHNC, BNHC, HBNC, NHD, "
      "HND; did you mean NHD?\n  vllm:NDH\n       ^");
  EXPECT_EQ(binding("cublaslt:COL32", {2, 3, 4}), "bind: cublaslt:COL32 has 2 dims (m,n), dims 2,3,4 has 3");
  EXPECT_EQ(binding("tenstorrent:TILE", {5}),
            "bind: tenstorrent:TILE has 2 dims (h,w) or 3 dims (c,h,w) or 4 dims (n,c,h,w), dims 5 has 1");
  EXPECT_EQ(binding("tenstorrent:TILE", {1, 1, 1, 1, 1}),
            "bind: tenstorrent:TILE has 2 dims (h,w) or 3 dims (c,h,w) or 4 dims (n,c,h,w), dims 1,1,1,1,1 has 5");
  EXPECT_EQ(binding("vllm:LBHNC", {2, 3, 4, 5}), "bind: vllm:LBHNC has 5 dims (l,b,h,n,c), dims 2,3,4,5 has 4");
  EXPECT_EQ(binding("tensorrt:DLA_HWC4", {2, 2, 5, 7}),
            "bind: tensorrt:DLA_HWC4 is defined for C = 3 to 4 or C = 1 only, dims has C = 2");
  EXPECT_EQ(binding("tensorrt:DLA_HWC4", {5, 5, 7}),
            "bind: tensorrt:DLA_HWC4 is defined for C = 3 to 4 or C = 1 only, dims has C = 5");
}

}  // namespace
}  // namespace relayout
