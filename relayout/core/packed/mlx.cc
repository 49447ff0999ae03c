// MLX's affine quantisation: rows of N values along K, packed bit behind bit from the lowest bit of the first byte.
//
//     weight (N, K)           words of 32 bits; 3 bits: 8 values in 3 bytes; 6 bits: 4 values in 3 bytes; values
//                             cross bytes, and are planes here
//     scales, biases (N, K/G)
//
// Source: MLX's quantize() and its kernels' pack_factor and bytes_per_pack.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kMlxScale{"s", DType::f16, {1, 0}, "|", 0, 0, "scales"};
constexpr PackedField kMlxBias{"b", DType::f16, {1, 0}, "|", 0, 0, "biases"};
constexpr PackedField kMlx2[] = {{"q", DType::u2, {1, 1}, "|", 0, 0, "weight"}, kMlxScale, kMlxBias};
constexpr PackedField kMlx3[] = {{"q0", DType::u1, {1, 1}, "|(8,3)", 0, 24, "weight"},
                                 {"q1", DType::u1, {1, 1}, "|(8,3)", 1, 24, "weight"},
                                 {"q2", DType::u1, {1, 1}, "|(8,3)", 2, 24, "weight"},
                                 kMlxScale,
                                 kMlxBias};
constexpr PackedField kMlx6[] = {{"q0", DType::u2, {1, 1}, "|(4,3)", 0, 12, "weight"},
                                 {"q1", DType::u2, {1, 1}, "|(4,3)", 1, 12, "weight"},
                                 {"q2", DType::u2, {1, 1}, "|(4,3)", 2, 12, "weight"},
                                 kMlxScale,
                                 kMlxBias};
constexpr PackedField kMlx4[] = {{"q", DType::u4, {1, 1}, "|", 0, 0, "weight"}, kMlxScale, kMlxBias};
constexpr PackedField kMlx8[] = {{"q", DType::u8, {1, 1}, "|", 0, 0, "weight"}, kMlxScale, kMlxBias};

constexpr PackedStorage kMlxStorage[] = {{"weight", DType::u32}};
constexpr PackedFormat kMlxFormats[] = {
    {"mlx:affine", "nk", 0, kMlx4, "q", "s * q + b", "q", 64, kMlxStorage},
    {"mlx:affine:2", "nk", 0, kMlx2, "q", "s * q + b", "q", 64, kMlxStorage},
    {"mlx:affine:3", "nk", 0, kMlx3, "q0 + q1<<1 + q2<<2", "s * q + b", "", 64, kMlxStorage},
    {"mlx:affine:4", "nk", 0, kMlx4, "q", "s * q + b", "q", 64, kMlxStorage},
    {"mlx:affine:6", "nk", 0, kMlx6, "q0 + q1<<2 + q2<<4", "s * q + b", "", 64, kMlxStorage},
    {"mlx:affine:8", "nk", 0, kMlx8, "q", "s * q + b", "q", 64, kMlxStorage},
};

}  // namespace

const PackedSystem& mlx() {
  static constexpr PackedSystem kSystem{"MLX", kMlxFormats};
  return kSystem;
}

}  // namespace relayout::packed
