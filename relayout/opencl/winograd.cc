// Winograd's transforms: see winograd.h. Each is a small matrix on both sides of a patch.
#include "relayout/opencl/winograd.h"

#include <array>

namespace relayout::opencl {
namespace {

/// A matrix, row-major.
struct Matrix {
  int rows, cols;
  std::vector<double> values;
  double at(int r, int c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
};

struct Transforms {
  Matrix filter, input, output;  // G, B^T and A^T
};

const Transforms& transforms(int tile) {
  static const Transforms two{
      {4, 3, {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1}},
      {4, 4, {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1}},
      {2, 4, {1, 1, 1, 0, 0, 1, -1, -1}},
  };
  constexpr double s = 1.0 / 6, t = 1.0 / 24;
  static const Transforms four{
      {6, 3, {0.25, 0, 0, -s, -s, -s, -s, s, -s, t, 2 * t, 4 * t, t, -2 * t, 4 * t, 0, 0, 1}},
      {6, 6, {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
              0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1}},
      {4, 6, {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1}},
  };
  if (tile == 2) return two;
  if (tile == 4) return four;
  throw Error(ErrorCode::unsupported,
              "winograd: tiles of " + std::to_string(tile) + " x " + std::to_string(tile) +
                  " outputs; MACE has images for 2 x 2 and 4 x 4",
              "tile", std::to_string(tile), "2, 4");
}

constexpr int kMostSide = 6;
using Patch = std::array<std::array<double, kMostSide>, kMostSide>;

/// m x m^T for a square patch of m.cols x m.cols numbers.
Patch both_sides(const Matrix& m, const Patch& x) {
  Patch left{}, out{};
  for (int r = 0; r < m.rows; ++r)
    for (int c = 0; c < m.cols; ++c)
      for (int k = 0; k < m.cols; ++k)
        left[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] +=
            m.at(r, k) * x[static_cast<std::size_t>(k)][static_cast<std::size_t>(c)];
  for (int r = 0; r < m.rows; ++r)
    for (int c = 0; c < m.rows; ++c)
      for (int k = 0; k < m.cols; ++k)
        out[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] +=
            left[static_cast<std::size_t>(r)][static_cast<std::size_t>(k)] * m.at(c, k);
  return out;
}

/// Error where there are fewer numbers than these dims have elements.
void check_elements(const char* what, const Dims& dims, std::size_t have) {
  const int64_t need = Layout::contiguous(dims).elements();
  if (static_cast<int64_t>(have) >= need) return;
  throw Error(ErrorCode::buffer_too_small,
              std::string("winograd: the ") + what + " of dims " + join(dims) + " has " + std::to_string(have) +
                  " numbers, but " + std::to_string(need) + " are needed",
              what, std::to_string(need), std::to_string(have));
}

void check_rank(const char* what, const Dims& dims) {
  if (dims.size() == 4) return;
  throw Error(ErrorCode::invalid_argument, std::string("winograd: the ") + what + " has dims " + join(dims), what,
              join(dims), "4 dims");
}

/// The tiles of an output, along its height and its width.
struct TileGrid {
  int64_t high, wide;
};
TileGrid tile_grid(const Dims& output_dims, int tile) {
  return {ceil_div(output_dims[2], tile), ceil_div(output_dims[3], tile)};
}

}  // namespace

int64_t winograd_positions(int tile) {
  transforms(tile);
  return int64_t{tile + 2} * (tile + 2);
}

int64_t winograd_tiles(const Dims& output_dims, int tile) {
  transforms(tile);
  check_rank("output", output_dims);
  Layout::contiguous(output_dims);  // that no dim is negative
  const TileGrid grid = tile_grid(output_dims, tile);
  return Layout::contiguous({output_dims[0], grid.high, grid.wide}).elements();
}

Format winograd_filter_format() { return Format::parse("ab|C4c"); }
Format winograd_input_format() { return Format::parse("aB|c4b"); }

std::vector<float> winograd_filter(const Dims& dims, std::span<const float> filter, int tile) {
  const Matrix& g = transforms(tile).filter;
  check_rank("filter", dims);
  if (dims[2] != 3 || dims[3] != 3)
    throw Error(ErrorCode::unsupported,
                "winograd: a filter of " + std::to_string(dims[2]) + " x " + std::to_string(dims[3]) +
                    "; there are transforms of 3 x 3",
                "filter", join(dims), "o,i,3,3");
  check_elements("filter", dims, filter.size());
  const int64_t pairs = dims[0] * dims[1];
  std::vector<float> out(static_cast<std::size_t>(winograd_positions(tile) * pairs));
  for (int64_t pair = 0; pair < pairs; ++pair) {
    Patch patch{};
    for (std::size_t k = 0; k < 9; ++k) patch[k / 3][k % 3] = filter[static_cast<std::size_t>(pair) * 9 + k];
    const Patch u = both_sides(g, patch);
    for (int r = 0; r < g.rows; ++r)
      for (int c = 0; c < g.rows; ++c)
        out[static_cast<std::size_t>((r * g.rows + c) * pairs + pair)] =
            static_cast<float>(u[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
  }
  return out;
}

std::vector<float> winograd_input(const WinogradInput& what, std::span<const float> input, int tile) {
  const Matrix& b = transforms(tile).input;
  check_rank("input", what.dims);
  check_elements("input", what.dims, input.size());
  if (what.pad_top < 0 || what.pad_left < 0)
    throw Error(ErrorCode::invalid_argument,
                "winograd: padding of " + std::to_string(what.pad_top) + " rows and " + std::to_string(what.pad_left) +
                    " columns; 0 or more",
                what.pad_top < 0 ? "pad_top" : "pad_left",
                std::to_string(what.pad_top < 0 ? what.pad_top : what.pad_left), "0 or more");
  const int64_t tiles = winograd_tiles(what.output_dims, tile);
  if (what.output_dims[0] != what.dims[0])
    throw Error(ErrorCode::invalid_argument,
                "winograd: an input of dims " + join(what.dims) + " and an output of dims " + join(what.output_dims) +
                    " are of two batches",
                "output_dims", std::to_string(what.output_dims[0]), std::to_string(what.dims[0]));
  const TileGrid grid = tile_grid(what.output_dims, tile);
  const int64_t channels = what.dims[1], height = what.dims[2], width = what.dims[3];
  const Dims transformed{winograd_positions(tile), channels, tiles};
  std::vector<float> out(static_cast<std::size_t>(Layout::contiguous(transformed).elements()));
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t n = t / (grid.high * grid.wide), row = t / grid.wide % grid.high, col = t % grid.wide;
    const int64_t top = row * tile - what.pad_top, left = col * tile - what.pad_left;
    for (int64_t c = 0; c < channels; ++c) {
      Patch patch{};
      for (int y = 0; y < b.cols; ++y)
        for (int x = 0; x < b.cols; ++x) {
          const int64_t h = top + y, w = left + x;
          if (h < 0 || h >= height || w < 0 || w >= width) continue;
          patch[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] =
              input[static_cast<std::size_t>(((n * channels + c) * height + h) * width + w)];
        }
      const Patch v = both_sides(b, patch);
      for (int r = 0; r < b.rows; ++r)
        for (int k = 0; k < b.rows; ++k)
          out[static_cast<std::size_t>(((r * b.rows + k) * channels + c) * tiles + t)] =
              static_cast<float>(v[static_cast<std::size_t>(r)][static_cast<std::size_t>(k)]);
    }
  }
  return out;
}

std::vector<float> winograd_output(const Dims& output_dims, std::span<const float> products, int tile) {
  const Matrix& a = transforms(tile).output;
  const int64_t tiles = winograd_tiles(output_dims, tile), channels = output_dims[1];
  check_elements("products", {winograd_positions(tile), channels, tiles}, products.size());
  const TileGrid grid = tile_grid(output_dims, tile);
  const int64_t height = output_dims[2], width = output_dims[3];
  std::vector<float> out(static_cast<std::size_t>(Layout::contiguous(output_dims).elements()));
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t n = t / (grid.high * grid.wide), row = t / grid.wide % grid.high, col = t % grid.wide;
    for (int64_t o = 0; o < channels; ++o) {
      Patch patch{};
      for (int r = 0; r < a.cols; ++r)
        for (int c = 0; c < a.cols; ++c)
          patch[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] =
              products[static_cast<std::size_t>(((r * a.cols + c) * channels + o) * tiles + t)];
      const Patch y = both_sides(a, patch);
      for (int r = 0; r < tile; ++r)
        for (int c = 0; c < tile; ++c) {
          const int64_t h = row * tile + r, w = col * tile + c;
          if (h >= height || w >= width) continue;
          out[static_cast<std::size_t>(((n * channels + o) * height + h) * width + w)] =
              static_cast<float>(y[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
        }
    }
  }
  return out;
}

}  // namespace relayout::opencl
