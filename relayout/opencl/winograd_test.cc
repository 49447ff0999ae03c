// Winograd's transforms: a convolution by them is the convolution, and their images are MACE's, texel by texel.
#include "relayout/opencl/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "relayout/opencl/image.h"
#include "relayout/opencl/transfer.h"

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

/// Random dims of an input of up to 9 channels, with or without padding, and of the output of up to 7.
WinogradInput random_input(std::mt19937& random) {
  const auto extent = [&](int most) { return 1 + static_cast<int64_t>(random() % static_cast<unsigned>(most)); };
  WinogradInput out{{extent(2), extent(9), 2 + extent(9), 2 + extent(9)}, {}, extent(2) - 1, extent(2) - 1};
  out.output_dims = {out.dims[0], extent(7), out.dims[2] - 2 + 2 * out.pad_top, out.dims[3] - 2 + 2 * out.pad_left};
  return out;
}

/// M(p,o,t): the sums over i of U(p,o,i) * V(p,i,t).
std::vector<float> multiplied(std::span<const float> u, std::span<const float> v, int64_t positions, int64_t out,
                              int64_t in, int64_t tiles) {
  std::vector<float> products;
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t o = 0; o < out; ++o)
      for (int64_t t = 0; t < tiles; ++t) {
        double sum = 0;
        for (int64_t i = 0; i < in; ++i)
          sum += static_cast<double>(u[static_cast<std::size_t>((p * out + o) * in + i)]) *
                 v[static_cast<std::size_t>((p * in + i) * tiles + t)];
        products.push_back(static_cast<float>(sum));
      }
  return products;
}

/// An output from its products, by what Winograd's algorithm is: the products are values of a polynomial at the points
/// 0, 1, -1, 2, -2 (as many as there are) and at infinity, and output r sums them with the points' powers of r.
double output_of(std::span<const float> products, const Dims& output_dims, int tile, int64_t n, int64_t o, int64_t h,
                 int64_t w) {
  const int side = tile + 2;
  const auto weight = [&](int64_t r, int p) {
    if (p == side - 1) return r == tile - 1 ? (tile == 2 ? -1.0 : 1.0) : 0.0;
    constexpr double kPoints[] = {0, 1, -1, 2, -2};
    return std::pow(kPoints[p], static_cast<double>(r));
  };
  const int64_t wide = ceil_div(output_dims[3], tile), tiles = winograd_tiles(output_dims, tile);
  const int64_t t = n * (tiles / output_dims[0]) + h / tile * wide + w / tile;
  double sum = 0;
  for (int row = 0; row < side; ++row)
    for (int col = 0; col < side; ++col)
      sum += weight(h % tile, row) * weight(w % tile, col) *
             products[static_cast<std::size_t>(((row * side + col) * output_dims[1] + o) * tiles + t)];
  return sum;
}

/// Runs what(n, o, h, w) for all indices of these dims, in row-major order.
void for_all(const Dims& dims, const std::function<void(int64_t, int64_t, int64_t, int64_t)>& what) {
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t o = 0; o < dims[1]; ++o)
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t w = 0; w < dims[3]; ++w) what(n, o, h, w);
}

TEST(Winograd, AConvolutionByTransformsIsTheConvolution) {
  std::mt19937 random(9);
  for (const int tile : {2, 4}) {
    for (int round = 0; round < 40; ++round) {
      const WinogradInput what = random_input(random);
      const int64_t in = what.dims[1], out = what.output_dims[1];
      const std::vector<float> filter = random_numbers(random, out * in * 9);
      const std::vector<float> input = random_numbers(random, what.dims[0] * in * what.dims[2] * what.dims[3]);
      const std::vector<float> products =
          multiplied(winograd_filter({out, in, 3, 3}, filter, tile), winograd_input(what, input, tile),
                     winograd_positions(tile), out, in, winograd_tiles(what.output_dims, tile));
      const std::vector<float> y = winograd_output(what.output_dims, products, tile);
      std::size_t k = 0;
      for_all(what.output_dims, [&](int64_t n, int64_t o, int64_t h, int64_t w) {
        const double expected = convolved(what, input, filter, n, o, h, w);
        ASSERT_NEAR(output_of(products, what.output_dims, tile, n, o, h, w), expected, 2e-4);
        ASSERT_NEAR(y[k++], expected, 2e-4);
      });
    }
  }
}

/// An image of f32 texels that a test reads and writes as a kernel does: what lies outside is 0.
struct Texels {
  int64_t width, height;
  std::vector<double> lanes = std::vector<double>(static_cast<std::size_t>(width * height * kLanes));
  double& at(int64_t x, int64_t y, int64_t lane) {
    return lanes.at(static_cast<std::size_t>((y * width + x) * kLanes + lane));
  }
  double read(int64_t x, int64_t y, int64_t lane) {
    return x < 0 || y < 0 || x >= width || y >= height ? 0 : at(x, y, lane);
  }
};

/// The tensor in its image.
Texels in_image(const Format& format, const Dims& dims, std::span<const float> values) {
  const Image image = Image::make(format, dims, ChannelType::f32);
  Texels out{image.width(), image.height()};
  std::size_t k = 0;
  for_all({dims[0], dims[1], dims[2], 1}, [&](int64_t a, int64_t b, int64_t c, int64_t) {
    out.lanes[static_cast<std::size_t>(image.desc().layout.offset({a, b, c}))] = values[k++];
  });
  return out;
}

using Row = std::vector<double>;

/// A transform of one column or row of three numbers of a filter, as MACE's kernels of the two tiles compute it.
Row filter_row(const Row& g, int tile) {
  if (tile == 2) return {g[0], (g[0] + g[2] + g[1]) / 2, (g[0] + g[2] - g[1]) / 2, g[2]};
  const double ends = g[0] + g[2], far = 4 * g[2] + g[0];
  return {g[0] / 4, (ends + g[1]) / -6, (ends - g[1]) / -6, (far + 2 * g[1]) / 24, (far - 2 * g[1]) / 24, g[2]};
}

/// The same of a patch of an input.
Row input_row(const Row& d, int tile) {
  if (tile == 2) return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  const double even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1], twice = 2 * (d[3] - d[1]), near = d[4] - d[2];
  return {even - (d[2] - 4 * d[0]), even + odd, even - odd, near + twice, near - twice, d[5] - 4 * d[3] - odd};
}

/// Writes a patch of rows, transformed along its columns and then its rows, as the kernels do: one texel after the
/// other at column x, each so many rows below the one before.
void write_transformed(std::vector<Row> patch, const std::function<Row(const Row&, int)>& one, int tile, int64_t x,
                       int64_t y, int64_t below, int64_t lane, Texels& image) {
  std::vector<Row> down(static_cast<std::size_t>(tile + 2), Row(patch[0].size()));
  for (std::size_t c = 0; c < patch[0].size(); ++c) {
    Row column;
    for (const Row& row : patch) column.push_back(row[c]);
    const Row transformed = one(column, tile);
    for (std::size_t r = 0; r < transformed.size(); ++r) down[r][c] = transformed[r];
  }
  for (const Row& row : down) {
    for (const double value : one(row, tile)) {
      image.at(x, y, lane) = value;
      y += below;
    }
  }
}

TEST(Winograd, FilterImagesAreThoseOfMacesKernelTexelByTexel) {
  std::mt19937 random(10);
  for (const int tile : {2, 4}) {
    for (const Dims& dims : {Dims{1, 1, 3, 3}, Dims{5, 9, 3, 3}, Dims{4, 8, 3, 3}, Dims{7, 2, 3, 3}}) {
      const int64_t out = dims[0], in = dims[1], positions = winograd_positions(tile);
      const std::vector<float> filter = random_numbers(random, out * in * 9);
      // CalWinogradFilterImageShape, and a work-item for each texel (x, o) of the first position.
      Texels expected{(in + 3) / 4, out * positions};
      for_all({expected.width, out, kLanes, 1}, [&](int64_t x, int64_t o, int64_t lane, int64_t) {
        const int64_t i = 4 * x + lane;
        std::vector<Row> patch(3, Row(3));
        for (std::size_t k = 0; k < 9 && i < in; ++k)
          patch[k / 3][k % 3] = filter[static_cast<std::size_t>((o * in + i) * 9) + k];
        write_transformed(patch, filter_row, tile, x, o, out, lane, expected);
      });
      const Texels image =
          in_image(winograd_filter_format(), {positions, out, in}, winograd_filter(dims, filter, tile));
      ASSERT_EQ(image.width, expected.width);
      ASSERT_EQ(image.height, expected.height);
      for (std::size_t k = 0; k < image.lanes.size(); ++k) ASSERT_NEAR(image.lanes[k], expected.lanes[k], 1e-6) << k;
    }
  }
}

TEST(Winograd, InputImagesAreThoseOfMacesKernelTexelByTexel) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const int tile = round % 2 == 0 ? 2 : 4, side = tile + 2;
    const WinogradInput what = random_input(random);
    const int64_t n = what.dims[0], in = what.dims[1], height = what.dims[2], width = what.dims[3];
    const std::vector<float> input = random_numbers(random, n * in * height * width);
    // The kernel reads a channel-major image.
    const int64_t groups = (in + 3) / 4;
    Texels source{groups * width, n * height};
    std::size_t k = 0;
    for_all(what.dims, [&](int64_t b, int64_t c, int64_t h, int64_t w) {
      source.at(c / 4 * width + w, b * height + h, c % 4) = input[k++];
    });
    const int64_t high = ceil_div(what.output_dims[2], tile), wide = ceil_div(what.output_dims[3], tile);
    Texels expected{n * high * wide, side * side * groups};
    for_all({expected.width, groups, kLanes, 1}, [&](int64_t x, int64_t group, int64_t lane, int64_t) {
      const int64_t b = x / (high * wide), t = x - b * high * wide;
      const int64_t top = t / wide * tile - what.pad_top, left = t % wide * tile - what.pad_left;
      std::vector<Row> patch(static_cast<std::size_t>(side), Row(static_cast<std::size_t>(side)));
      for (int r = 0; r < side; ++r)
        for (int c = 0; c < side; ++c) {
          const bool above = top + r < 0 || top + r >= height, beside = left + c < 0 || left + c >= width;
          patch[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] =
              source.read(beside ? -1 : group * width + left + c, above ? -1 : b * height + top + r, lane);
        }
      write_transformed(patch, input_row, tile, x, group, groups, lane, expected);
    });
    const Dims dims{winograd_positions(tile), in, winograd_tiles(what.output_dims, tile)};
    const Texels image = in_image(winograd_input_format(), dims, winograd_input(what, input, tile));
    ASSERT_EQ(image.width, expected.width);
    ASSERT_EQ(image.height, expected.height);
    for (std::size_t at = 0; at < image.lanes.size(); ++at)
      ASSERT_NEAR(image.lanes[at], expected.lanes[at], 1e-5) << at;
  }
}

std::vector<float> on_device(const opencl::Runtime& runtime, const DeviceTensor& tensor, const Dims& dims) {
  const TensorDesc row_major(Layout::contiguous(dims), DType::f32);
  std::vector<float> out(static_cast<std::size_t>(row_major.layout.elements()));
  download(tensor, row_major, std::as_writable_bytes(std::span(out)));
  runtime.finish();
  return out;
}

TEST(Winograd, AKernelThatReadsTheImagesConvolves) {
  if (list_devices().devices.empty()) GTEST_SKIP() << "no OpenCL: " << list_devices().problem;
  const Runtime runtime;
  // One work-item for each texel of the product: four output channels of a tile.
  constexpr std::string_view kSource = R"(
    __constant sampler_t whole = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    __kernel void multiply(read_only image2d_t u, read_only image2d_t v, write_only image2d_t m) {
      const int positions = 36, out = 5, groups = get_image_width(u), t = get_global_id(0), y = get_global_id(1);
      const int out_groups = get_image_height(m) / positions, p = y / out_groups, o = y % out_groups * 4;
      float4 sum = 0;
      for (int g = 0; g < groups; ++g) {
        const float4 b = read_imagef(v, whole, (int2)(t, p * groups + g));
        sum.x += dot(read_imagef(u, whole, (int2)(g, p * out + o)), b);
        if (o + 1 < out) sum.y += dot(read_imagef(u, whole, (int2)(g, p * out + o + 1)), b);
        if (o + 2 < out) sum.z += dot(read_imagef(u, whole, (int2)(g, p * out + o + 2)), b);
        if (o + 3 < out) sum.w += dot(read_imagef(u, whole, (int2)(g, p * out + o + 3)), b);
      }
      write_imagef(m, (int2)(t, y), sum);
    })";
  std::mt19937 random(12);
  const WinogradInput what{{2, 6, 9, 7}, {2, 5, 9, 7}, 1, 1};
  const int64_t positions = winograd_positions(4), tiles = winograd_tiles(what.output_dims, 4);
  const std::vector<float> filter = random_numbers(random, 5 * 6 * 9);
  const std::vector<float> input = random_numbers(random, Layout::contiguous(what.dims).elements());
  const auto uploaded = [&](const Format& format, const Dims& dims, const std::vector<float>& values) {
    const auto tensor = DeviceTensor::make_image(runtime, Image::make(format, dims, ChannelType::f32));
    upload({Layout::contiguous(dims), DType::f32}, std::as_bytes(std::span(values)), tensor);
    return tensor;
  };
  const Dims product{positions, 5, tiles};
  const auto u = uploaded(winograd_filter_format(), {positions, 5, 6}, winograd_filter({5, 6, 3, 3}, filter, 4));
  const auto v = uploaded(winograd_input_format(), {positions, 6, tiles}, winograd_input(what, input, 4));
  const Image image = Image::make(winograd_input_format(), product, ChannelType::f32);
  const auto m = DeviceTensor::make_image(runtime, image);
  run_kernel(runtime, kSource, "multiply", std::vector{u, v, m},
             {static_cast<std::size_t>(image.width()), static_cast<std::size_t>(image.height()), 1});
  const std::vector<float> y = winograd_output(what.output_dims, on_device(runtime, m, product), 4);
  std::size_t k = 0;
  for_all(what.output_dims, [&](int64_t n, int64_t o, int64_t h, int64_t w) {
    ASSERT_NEAR(y[k++], convolved(what, input, filter, n, o, h, w), 2e-4);
  });
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
  EXPECT_EQ(code([&] { winograd_input({{1, 1, 2, 2}, {1, 1, 2, 2}, -1, 0}, filter, 2); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { winograd_input({{1, 1, 2, 2}, {1, 1, -1, 2}}, filter, 2); }), ErrorCode::invalid_argument);
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(code([&] { winograd_tiles({huge, 1, huge, huge}, 2); }), ErrorCode::overflow);
  EXPECT_EQ(code([&] { winograd_tiles({huge, 0, huge, huge}, 2); }), ErrorCode::overflow);
  EXPECT_EQ(code([&] { winograd_input({{0, 1, 2, 2}, {0, 1, 2, 2}}, filter, 3); }), ErrorCode::unsupported);
  EXPECT_TRUE(winograd_input({{0, 1, 2, 2}, {0, 1, 2, 2}}, filter, 2).empty());
  try {
    winograd_filter({1, 1, 3, 3}, filter, 6);
  } catch (const Error& error) {
    EXPECT_EQ(error.value() + " of " + error.limit(), "6 of 2, 4");
  }
}

}  // namespace
}  // namespace relayout::opencl
