// Winograd's transforms: a convolution by them is the convolution, and their images are MACE's, texel by texel.
#include "relayout/opencl/winograd.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "relayout/opencl/image.h"

namespace relayout::opencl {
namespace {

std::vector<float> random_numbers(std::mt19937& random, int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& one : out) one = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
  return out;
}

/// The convolution by its definition: stride 1, zeros around the input.
double convolved(const WinogradInput& what, std::span<const float> input, std::span<const float> filter, int64_t n,
                 int64_t o, int64_t h, int64_t w) {
  double sum = 0;
  const int64_t channels = what.dims[1], height = what.dims[2], width = what.dims[3];
  for (int64_t i = 0; i < channels; ++i)
    for (int64_t kh = 0; kh < 3; ++kh)
      for (int64_t kw = 0; kw < 3; ++kw) {
        const int64_t y = h + kh - what.pad_top, x = w + kw - what.pad_left;
        if (y < 0 || y >= height || x < 0 || x >= width) continue;
        sum += static_cast<double>(input[static_cast<std::size_t>(((n * channels + i) * height + y) * width + x)]) *
               filter[static_cast<std::size_t>(((o * channels + i) * 3 + kh) * 3 + kw)];
      }
  return sum;
}

TEST(Winograd, AConvolutionByTransformsIsTheConvolution) {
  std::mt19937 random(9);
  for (const int tile : {2, 4}) {
    for (int round = 0; round < 40; ++round) {
      const auto extent = [&](int most) { return 1 + static_cast<int64_t>(random() % static_cast<unsigned>(most)); };
      const int64_t n = extent(2), in = extent(9), out = extent(7);
      WinogradInput what{{n, in, 2 + extent(9), 2 + extent(9)},
                         {},
                         static_cast<int64_t>(random() % 2),
                         static_cast<int64_t>(random() % 2)};
      what.output_dims = {n, out, what.dims[2] - 2 + 2 * what.pad_top, what.dims[3] - 2 + 2 * what.pad_left};
      const std::vector<float> filter = random_numbers(random, out * in * 9);
      const std::vector<float> input = random_numbers(random, n * in * what.dims[2] * what.dims[3]);
      const std::vector<float> u = winograd_filter({out, in, 3, 3}, filter, tile);
      const std::vector<float> v = winograd_input(what, input, tile);
      const int64_t positions = winograd_positions(tile), tiles = winograd_tiles(what.output_dims, tile);
      std::vector<float> products(static_cast<std::size_t>(positions * out * tiles));
      for (int64_t p = 0; p < positions; ++p)
        for (int64_t o = 0; o < out; ++o)
          for (int64_t t = 0; t < tiles; ++t) {
            double sum = 0;
            for (int64_t i = 0; i < in; ++i)
              sum += static_cast<double>(u[static_cast<std::size_t>((p * out + o) * in + i)]) *
                     v[static_cast<std::size_t>((p * in + i) * tiles + t)];
            products[static_cast<std::size_t>((p * out + o) * tiles + t)] = static_cast<float>(sum);
          }
      const std::vector<float> y = winograd_output(what.output_dims, products, tile);
      std::size_t k = 0;
      for (int64_t b = 0; b < n; ++b)
        for (int64_t o = 0; o < out; ++o)
          for (int64_t h = 0; h < what.output_dims[2]; ++h)
            for (int64_t w = 0; w < what.output_dims[3]; ++w)
              ASSERT_NEAR(y[k++], convolved(what, input, filter, b, o, h, w), 2e-4);
    }
  }
}

TEST(Winograd, ImagesAreMaces) {
  // CalWinogradFilterImageShape: [ceil(I/4), (tile + 2)^2 * O]; texel (w,h) of position p: (i / 4, p * O + o).
  const int64_t out = 5, in = 9, positions = winograd_positions(4), tiles = 7;
  const Image filter = Image::make(winograd_filter_format(), {positions, out, in}, ChannelType::f32);
  EXPECT_EQ(filter.width(), 3);
  EXPECT_EQ(filter.height(), 36 * out);
  const Image input = Image::make(winograd_input_format(), {positions, in, tiles}, ChannelType::f32);
  EXPECT_EQ(input.width(), tiles);
  EXPECT_EQ(input.height(), 36 * 3);
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o)
        ASSERT_EQ(filter.desc().layout.offset({p, o, i}), ((p * out + o) * 3 + i / 4) * 4 + i % 4);
      for (int64_t t = 0; t < tiles; ++t)
        ASSERT_EQ(input.desc().layout.offset({p, i, t}), ((p * 3 + i / 4) * tiles + t) * 4 + i % 4);
    }
  }
  // Height-major: what MACE makes of a tensor of three dims.
  EXPECT_EQ(Image::make(Format::parse("mace:in_out_height"), {positions, in, tiles}, ChannelType::f32).height(), 108);
}

TEST(Winograd, ATransformedFilterAsMacesKernelComputesIt) {
  // The first and the last position are the filter's corners; for 2 x 2 tiles position 5 is a quarter of the sum of
  // all.
  std::vector<float> filter(9);
  for (std::size_t k = 0; k < 9; ++k) filter[k] = static_cast<float>(k + 1);
  const std::vector<float> u = winograd_filter({1, 1, 3, 3}, filter, 2);
  EXPECT_EQ(u[0], 1.0f);
  EXPECT_EQ(u[15], 9.0f);
  EXPECT_EQ(u[5], 45.0f / 4);
  EXPECT_EQ(u[1], (1.0f + 2 + 3) / 2);
  EXPECT_EQ(u[4], (1.0f + 4 + 7) / 2);
  const std::vector<float> six = winograd_filter({1, 1, 3, 3}, filter, 4);
  EXPECT_FLOAT_EQ(six[0], 1.0f / 16);
  EXPECT_FLOAT_EQ(six[7], 45.0f / 36);
  EXPECT_FLOAT_EQ(six[3], (1.0f + 2 * 2 + 4 * 3) / 24 / 4);
  EXPECT_EQ(six[35], 9.0f);
}

TEST(Winograd, WhatIsRefused) {
  const std::vector<float> filter(8);
  const auto code = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code([&] { winograd_filter({1, 1, 3, 3}, filter, 6); }), ErrorCode::unsupported);
  EXPECT_EQ(code([&] { winograd_filter({1, 1, 5, 5}, filter, 2); }), ErrorCode::unsupported);
  EXPECT_EQ(code([&] { winograd_filter({1, 1, 3, 3}, filter, 2); }), ErrorCode::buffer_too_small);
  EXPECT_EQ(code([&] { winograd_filter({1, 9}, filter, 2); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { winograd_input({{1, 1, 2, 2}, {2, 1, 2, 2}}, filter, 2); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { winograd_output({1, 1, 2, 2}, filter, 2); }), ErrorCode::buffer_too_small);
}

}  // namespace
}  // namespace relayout::opencl
