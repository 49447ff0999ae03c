// Winograd's transforms for 3x3 filters, as MACE keeps their results in images.
//
// Winograd's algorithm computes a tile of t x t outputs of a 3x3 convolution from a patch of (t + 2) x (t + 2) inputs
// by (t + 2)^2 products a channel instead of 9 t^2. A transformed filter is no layout of the filter, because each of
// its elements is a sum of nine. So the transform comes first and makes an ordinary tensor, with dims of its own, and a
// tag says how that lies in an image:
//
//     U = G g G^T      filter (o,i,3,3)  -> (p,o,i)   image ab|C4c: x = i / 4, y = p * O + o, lane i % 4
//     V = B^T d B      input (n,c,h,w)   -> (p,c,t)   image aB|c4b: x = t, y = p * ceil(C/4) + c / 4, lane c % 4
//     Y = A^T M A      products (p,o,t)  -> (n,o,h,w), where M(p,o,t) = sum over i of U(p,o,i) * V(p,i,t)
//
//     const std::vector<float> u = winograd_filter({64, 32, 3, 3}, weights, 4);
//     const Image image = Image::make(winograd_filter_format(), {36, 64, 32}, ChannelType::f16);    // 8 x 2304 texels
//
// Position p is (t + 2) * row + column of the patch. Tiles are counted row by row in each image of the batch, and a
// tile that reaches over the output's border computes what is dropped. The two images are MACE's WINOGRAD_FILTER and
// the output of its WinogradTransform, which is in_out_height for n,h,w = p,c,t.
//
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015 (the matrices); MACE,
// buffer_to_image.cl, winograd_transform.cl and docs "Memory layout" (the images). All sums are in f64 and rounded
// once.
#pragma once

#include <span>
#include <vector>

#include "relayout/core/format.h"

namespace relayout::opencl {

/// (tile + 2)^2: 16 or 36. Error{unsupported} for tiles other than 2 and 4; so have all functions here.
int64_t winograd_positions(int tile);
/// Tiles of an output of these dims n,o,h,w: n * ceil(h / tile) * ceil(w / tile).
int64_t winograd_tiles(const Dims& output_dims, int tile);

/// The images' tags, of dims p,o,i and p,c,t.
Format winograd_filter_format();
Format winograd_input_format();

/// A filter (o,i,3,3), row-major, as (p,o,i), row-major. Errors: unsupported (another filter than 3x3),
/// buffer_too_small.
std::vector<float> winograd_filter(const Dims& dims, std::span<const float> filter, int tile);

/// What a convolution of stride 1 reads: `pad_top` rows of zeros above the input and `pad_left` columns before it, as
/// many below and after it as the output needs.
struct WinogradInput {
  Dims dims;         // n,c,h,w
  Dims output_dims;  // n,o,h,w; o does not count here
  int64_t pad_top = 0, pad_left = 0;
};
/// The input (n,c,h,w), row-major, as (p,c,t), row-major. Errors: invalid_argument (other dims than four, other n),
/// buffer_too_small.
std::vector<float> winograd_input(const WinogradInput& what, std::span<const float> input, int tile);

/// The products (p,o,t) as the output (n,o,h,w), both row-major. Error{buffer_too_small}.
std::vector<float> winograd_output(const Dims& output_dims, std::span<const float> products, int tile);

}  // namespace relayout::opencl
