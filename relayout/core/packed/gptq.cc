// GPTQ's checkpoints with 4 bits: words of 32 bits along K, the first value in the lowest bits.
//
//     qweight (K/8, N)      value (k, n) is nibble k % 8 of word (k/8, n)
//     qzeros  (K/G, N/8)    zero point (g, n) is nibble n % 8 of word (g, n/8)
//     scales  (K/G, N)      f16
//
// The first version of the format stores each zero point less one; gptq:v2 stores it as it is. With act-order (g_idx
// not ascending) the groups are a table; cpu::dequantize() takes it as PackedTensor::group_of.
//
// Source: AutoGPTQ's and GPTQModel's packing loops.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kGptqFields[] = {{"q", DType::u4, {1, 1}, "(8,1)|", 0, 0, "qweight"},
                                       {"z", DType::u4, {0, 1}, "|", 0, 0, "qzeros"},
                                       {"s", DType::f16, {0, 1}, "|", 0, 0, "scales"}};
constexpr PackedStorage kGptqStorage[] = {{"qweight", DType::s32}, {"qzeros", DType::s32}};
constexpr PackedFormat kGptqFormats[] = {
    {"gptq", "kn", 0, kGptqFields, "q", "s * (q - (z + 1))", "q", 128, kGptqStorage},
    {"gptq:v2", "kn", 0, kGptqFields, "q", "s * (q - z)", "q", 128, kGptqStorage}};

}  // namespace

const PackedSystem& gptq() {
  static constexpr PackedSystem kSystem{"GPTQ", kGptqFormats};
  return kSystem;
}

}  // namespace relayout::packed
