// compressed-tensors' format pack-quantized with 4 bits: words of 32 bits along K, the first value in the lowest bits.
//
//     weight_packed     (N, K/8)        value (n, k) + 8 is nibble k % 8 of word (n, k/8)
//     weight_scale      (N, K/G)        f16 or bf16
//     weight_zero_point (N/8, K/G)      zero point (n, g) + 8 is nibble n % 8 of word (n/8, g); where not symmetric
//     weight_shape      N,K as s64
//
// Source: compressed-tensors' pack_to_int32().
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kCompressedFields[] = {{"q", DType::u4, {1, 1}, "|", 0, 0, "weight_packed"},
                                             {"z", DType::u4, {1, 0}, "(8,1)|", 0, 0, "weight_zero_point"},
                                             {"s", DType::bf16, {1, 0}, "|", 0, 0, "weight_scale"}};
constexpr PackedStorage kCompressedStorage[] = {{"weight_packed", DType::s32}, {"weight_zero_point", DType::s32}};
constexpr PackedFormat kCompressedFormats[] = {
    {"compressed-tensors:pack-quantized", "nk", 0, kCompressedFields, "q", "s * (q - 8)", "q", 128, kCompressedStorage,
     "weight_shape"},
    {"compressed-tensors:pack-quantized:asymmetric", "nk", 0, kCompressedFields, "q", "s * (q - z)", "q", 128,
     kCompressedStorage, "weight_shape"},
};

}  // namespace

const PackedSystem& compressed_tensors() {
  static constexpr PackedSystem kSystem{"compressed-tensors", kCompressedFormats};
  return kSystem;
}

}  // namespace relayout::packed
