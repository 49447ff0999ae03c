// MLX's affine quantisation: rows of N values along K, packed bit behind bit from the lowest bit of the first byte.
//
//     weight (N, K)     4 bits: two values a byte, the first in the low nibble; 8 bits: a byte each
//     scales, biases (N, K/G)
//
// Source: MLX's quantize() and its kernels' pack_factor and bytes_per_pack.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kMlxScale{"s", DType::f16, {1, 0}, "|", 0, 0, "scales"};
constexpr PackedField kMlxBias{"b", DType::f16, {1, 0}, "|", 0, 0, "biases"};
constexpr PackedField kMlx4[] = {{"q", DType::u4, {1, 1}, "|", 0, 0, "weight"}, kMlxScale, kMlxBias};
constexpr PackedField kMlx8[] = {{"q", DType::u8, {1, 1}, "|", 0, 0, "weight"}, kMlxScale, kMlxBias};

constexpr PackedFormat kMlxFormats[] = {
    {"mlx:affine", "nk", 0, kMlx4, "q", "s * q + b", "q", 64},
    {"mlx:affine:4", "nk", 0, kMlx4, "q", "s * q + b", "q", 64},
    {"mlx:affine:8", "nk", 0, kMlx8, "q", "s * q + b", "q", 64},
};

}  // namespace

const PackedSystem& mlx() {
  static constexpr PackedSystem kSystem{"MLX", kMlxFormats};
  return kSystem;
}

}  // namespace relayout::packed
