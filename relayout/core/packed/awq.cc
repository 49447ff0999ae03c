// AWQ's checkpoints with 4 bits: words of 32 bits along N, whose nibbles hold columns 0 2 4 6 1 3 5 7 of eight.
//
//     qweight (K, N/8)      value (k, n) is nibble (n % 2) * 4 + (n % 8) / 2 of word (k, n/8)
//     qzeros  (K/G, N/8)    zero points in the same order
//     scales  (K/G, N)      f16
//
// Source: AutoAWQ's packing loop and its order_map.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kAwqFields[] = {{"q", DType::u4, {1, 1}, "|(2,4)(4,1)", 0, 0, "qweight"},
                                      {"z", DType::u4, {0, 1}, "|(2,4)(4,1)", 0, 0, "qzeros"},
                                      {"s", DType::f16, {0, 1}, "|", 0, 0, "scales"}};
constexpr PackedStorage kAwqStorage[] = {{"qweight", DType::s32}, {"qzeros", DType::s32}};
constexpr PackedFormat kAwqFormats[] = {{"awq", "kn", 0, kAwqFields, "q", "s * (q - z)", "q", 128, kAwqStorage}};

}  // namespace

const PackedSystem& awq() {
  static constexpr PackedSystem kSystem{"AWQ", kAwqFormats};
  return kSystem;
}

}  // namespace relayout::packed
