// The names of AMX, VNNI, ExecuTorch and audio, the mappings of mdspan and chunks against their published formulas.
#include <gtest/gtest.h>

#include "tests/support/formulas.h"

namespace relayout {
namespace {

using test::Case;
using test::column_major;
using test::error_of;
using test::expect_formula;
using test::kImages;
using test::kMatrices;
using test::kOneImage;
using test::kVolumes;
using test::Place;
using test::round_up;
using test::row_major;
using test::up;

// --- processors ------------------------------------------------------------------------------------------------------

/// Tiles of 16 rows of 64 bytes; a row has V elements of k for each of 16 columns.
template <int V>
int64_t amx_b(const Dims& dims, const Dims& i) {
  return Place{{up(dims[1], 16), up(dims[0], 16 * V), 16, 16, V},
               {i[1] / 16, i[0] / (16 * V), i[0] % (16 * V) / V, i[1] % 16, i[0] % V}}
      .offset();
}

template <int V>
int64_t vnni_b(const Dims& dims, const Dims& i) {
  return Place{{up(dims[0], V), dims[1], V}, {i[0] / V, i[1], i[0] % V}}.offset();
}

std::vector<Case> processor_cases() {
  return {{"amx:B", kMatrices, amx_b<2>},
          {"amx:B:s8", kMatrices, amx_b<4>},
          {"vnni:B", kMatrices, vnni_b<4>},
          {"vnni:B:bf16", kMatrices, vnni_b<2>}};
}

TEST(NamedSystems, Processors) {
  for (const Case& test : processor_cases()) expect_formula(test);
}

// --- ExecuTorch ------------------------------------------------------------------------------------------------------

/// A texel (x, y, z) of four lanes, in a texture of w x h texels and any number of slices.
int64_t lane_of(int64_t w, int64_t h, int64_t x, int64_t y, int64_t z, int64_t lane) {
  return ((z * h + y) * w + x) * 4 + lane;
}
int64_t channels_packed(const Dims& d, const Dims& i) {
  return lane_of(d[3], d[2], i[3], i[2], i[0] * up(d[1], 4) + i[1] / 4, i[1] % 4);
}
int64_t height_packed(const Dims& d, const Dims& i) {
  return lane_of(d[3], up(d[2], 4), i[3], i[2] / 4, i[0] * d[1] + i[1], i[2] % 4);
}
int64_t width_packed(const Dims& d, const Dims& i) {
  return lane_of(up(d[3], 4), d[2], i[3] / 4, i[2], i[0] * d[1] + i[1], i[3] % 4);
}
int64_t channels_last(const Dims& d, const Dims& i) {
  return Place{{d[0], d[2], d[3], d[1]}, {i[0], i[2], i[3], i[1]}}.offset();
}

std::vector<Case> executorch_cases() {
  return {{"executorch:CHANNELS_PACKED", kImages, channels_packed},
          {"executorch:HEIGHT_PACKED", kImages, height_packed},
          {"executorch:WIDTH_PACKED", kImages, width_packed},
          {"executorch:dim_order(0,2,3,1)", kImages, channels_last},
          {"executorch:dim_order(0,1,2,3,4)", kVolumes, row_major}};
}

TEST(NamedSystems, ExecuTorch) {
  for (const Case& test : executorch_cases()) expect_formula(test);
}

// --- audio, C++ and stores -------------------------------------------------------------------------------------------

std::vector<Case> audio_cases() {
  const std::vector<Dims> sounds = {{2, 441}, {6, 17}};
  return {{"audio:planar", sounds, row_major}, {"audio:interleaved", sounds, column_major}};
}

TEST(NamedSystems, Audio) {
  for (const Case& test : audio_cases()) expect_formula(test);
}

/// The strides of the C++ working draft, from the innermost dim on; padding is 1 in the plain mappings.
template <bool Left, int Padding>
int64_t mdspan(const Dims& dims, const Dims& i) {
  int64_t offset = 0, stride = 1;
  for (int k = 0; k < dims.size(); ++k) {
    const int d = Left ? k : dims.size() - 1 - k;
    offset += i[d] * stride;
    stride *= k == 0 ? round_up(dims[d], Padding) : dims[d];
  }
  return offset;
}

TEST(NamedSystems, Mdspan) {
  for (const std::vector<Dims>& dims : {std::vector<Dims>{{5}, {9}}, kMatrices, kOneImage, kImages, kVolumes}) {
    const Case cases[] = {{"mdspan:layout_right", dims, mdspan<false, 1>},
                          {"mdspan:layout_left", dims, mdspan<true, 1>},
                          {"mdspan:layout_right_padded<8>", dims, mdspan<false, 8>},
                          {"mdspan:layout_left_padded<8>", dims, mdspan<true, 8>},
                          {"mdspan:layout_left_padded<5>", dims, mdspan<true, 5>}};
    for (const Case& test : cases) expect_formula(test);
  }
  EXPECT_EQ(Format::parse("mdspan:layout_left").bind({}), Layout());
  EXPECT_EQ(Format::parse("mdspan:layout_left").bind(Dims(kMaxDims, 2)).digits(0)[0].stride, 1);
}

int64_t chunks_of_16_by_9(const Dims& dims, const Dims& i) {
  return Place{{up(dims[0], 16), up(dims[1], 9), 16, 9}, {i[0] / 16, i[1] / 9, i[0] % 16, i[1] % 9}}.offset();
}
int64_t chunks_of_1_by_4_by_5(const Dims& dims, const Dims& i) {
  return Place{{dims[0], up(dims[1], 4), up(dims[2], 5), 4, 5}, {i[0], i[1] / 4, i[2] / 5, i[1] % 4, i[2] % 5}}
      .offset();
}

TEST(NamedSystems, Chunks) {
  const Case cases[] = {{"zarr:chunks(16,9)", kMatrices, chunks_of_16_by_9},
                        {"hdf5:chunks(16,9)", kMatrices, chunks_of_16_by_9},
                        {"zarr:chunks(1,4,5)", kOneImage, chunks_of_1_by_4_by_5}};
  for (const Case& test : cases) expect_formula(test);
}

/// Samples of a pixel together, in tiles of 16 rows and 32 columns; planar: sample by sample.
int64_t tiles(const Dims& dims, const Dims& i) {
  return Place{{up(dims[0], 16), up(dims[1], 32), 16, 32, dims[2]}, {i[0] / 16, i[1] / 32, i[0] % 16, i[1] % 32, i[2]}}
      .offset();
}
int64_t planar_tiles(const Dims& dims, const Dims& i) {
  return Place{{dims[2], up(dims[0], 16), up(dims[1], 32), 16, 32}, {i[2], i[0] / 16, i[1] / 32, i[0] % 16, i[1] % 32}}
      .offset();
}
int64_t planar_strips(const Dims& dims, const Dims& i) {
  return Place{{dims[2], dims[0], dims[1]}, {i[2], i[0], i[1]}}.offset();
}

TEST(NamedSystems, Tiff) {
  const std::vector<Dims> images = {{48, 64, 3}, {17, 33, 4}, {5, 70, 1}};
  const Case cases[] = {{"tiff:tiles(16,32)", images, tiles},
                        {"tiff:tiles(16,32):planar", images, planar_tiles},
                        {"tiff:strips", images, row_major},
                        {"tiff:strips:planar", images, planar_strips}};
  for (const Case& test : cases) expect_formula(test);
  EXPECT_EQ(Format::parse("tiff:tiles(16,32)").dim_names(3), "hwc");
}

TEST(NamedSystems, EveryNameOfSmallSystemsHasACase) {
  std::vector<Case> cases;
  for (const auto& list : {processor_cases(), executorch_cases(), audio_cases()})
    cases.insert(cases.end(), list.begin(), list.end());
  const std::string_view systems[] = {"amx", "vnni", "executorch", "audio"};
  test::expect_all_names(systems, cases);
}

TEST(NamedSystems, RefusalsOfTextsWithNumbers) {
  const auto refusal = [](std::string_view text) { return error_of([&] { Format::parse(text); }).message(); };
  EXPECT_EQ(refusal("executorch:dim_order(0,2)"),
            "layout: dim 1 is missing from the dim_order\n  executorch:dim_order(0,2)\n             ^");
  EXPECT_EQ(refusal("executorch:dim_order(0,0)"),
            "layout: this dim stands here a second time\n  executorch:dim_order(0,0)\n                         ^");
  EXPECT_EQ(refusal("executorch:dim_order(12)").substr(0, 27), "layout: a dim is 0 to 11\n  ");
  EXPECT_EQ(refusal("mdspan:layout_stride").substr(0, 30), "layout: mdspan's mappings here");
  EXPECT_EQ(refusal("mdspan:layout_left_padded<0>").substr(0, 40), "layout: the padding value is 1 or more\n ");
  EXPECT_EQ(refusal("zarr:chunks(0,4)").substr(0, 44), "layout: the extent of a chunk is 1 or more\n ");
  EXPECT_EQ(refusal("zarr:64,32").substr(0, 29), "layout: chunks are written as");
  EXPECT_EQ(refusal("tiff:tiles(8,16)").substr(0, 55), "layout: the length of a tile is a multiple of 16 of up ");
  EXPECT_EQ(refusal("tiff:rows").substr(0, 48), "layout: TIFF's data are tiles(LENGTH,WIDTH), as ");
  EXPECT_EQ(refusal("audio:stereo"),
            "layout: Audio has no such format; there are planar, interleaved\n  audio:stereo\n        ^");
}

}  // namespace
}  // namespace relayout
