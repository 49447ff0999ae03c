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
// tile that reaches over the output's border computes what is dropped. In MACE the first image is WINOGRAD_FILTER, the
// second what its kernel winograd_transform writes, and a product of the two, dims (p,o,t), has the second one's tag.
// That tag is in_out_height for three dims n,h,w = p,c,t. So a transformed tensor is uploaded as any other is.
//
// MACE rounds in between, after each of the two matrices, so that its last bits differ. It takes 2 x 2 outputs instead
// of 4 x 4 where the images would be too large for the device, and none where those are too large as well; its check
// counts channels and not groups of four, so it gives up earlier than the images of the input and the product need. Its
// kernel for filters of 6 x 6 outputs is never used: its convolution takes 2 and 4 alone. Where the output channels are
// no multiple of 4, its product holds numbers of the next position in the unused lanes, which are 0 here.
//
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015 (the matrices); MACE,
// mace/ops/opencl/cl/buffer_to_image.cl and winograd_transform.cl, mace/ops/opencl/image/winograd_conv2d.cc and
// conv_2d.cc (the images; the page "Memory layout" has only their form, in_out_height). All sums are in f64 and rounded
// once. Cost: simple loops of one thread, for filters that are transformed once and for comparing a device's results.
#pragma once

#include <span>
#include <vector>

#include "relayout/core/format.h"

namespace relayout::opencl {

/// (tile + 2)^2: 16 or 36. Error{unsupported} for tiles other than 2 and 4; so have all functions here.
int64_t winograd_positions(int tile);
/// Tiles of an output of these dims n,o,h,w: n * ceil(h / tile) * ceil(w / tile). Errors: invalid_argument (other dims
/// than four, a negative one), overflow.
int64_t winograd_tiles(const Dims& output_dims, int tile);

/// The images' tags, of dims p,o,i and of p,c,t (and p,o,t).
Format winograd_filter_format();
Format winograd_input_format();

/// A filter (o,i,3,3), row-major, as (p,o,i), row-major. Errors: unsupported (another filter than 3x3),
/// invalid_argument (other dims than four), buffer_too_small.
std::vector<float> winograd_filter(const Dims& dims, std::span<const float> filter, int tile);

/// What a convolution of stride 1 and dilation 1 reads: `pad_top` rows of zeros above the input and `pad_left` columns
/// before it, as many below and after it as the output needs. MACE's paddings are both sides together; of an odd one
/// the smaller half is above and before.
struct WinogradInput {
  Dims dims{};         // n,c,h,w
  Dims output_dims{};  // n,o,h,w; o does not count here
  int64_t pad_top = 0, pad_left = 0;
};
/// The input (n,c,h,w), row-major, as (p,c,t), row-major. Errors: invalid_argument (other dims than four, another n,
/// negative padding), overflow, buffer_too_small.
std::vector<float> winograd_input(const WinogradInput& what, std::span<const float> input, int tile);

/// The products (p,o,t) as the output (n,o,h,w), both row-major. Errors: those of winograd_tiles(), buffer_too_small.
std::vector<float> winograd_output(const Dims& output_dims, std::span<const float> products, int tile);

}  // namespace relayout::opencl
