// Marlin's weights of 4 bits for tensor cores: tiles of 16 x 64 values, 1,024 nibbles each, in row-major order.
//
// Inside a tile the place of value (k, n) is a permutation of the bits of k % 16 and n % 64: four threads of a quad
// have neighbouring pairs of rows, a thread has both columns n and n + 8 of four 16 x 16 tiles, and the nibbles of a
// word stand in the order 0 2 4 6 1 3 5 7, in which two of them at a time become halves.
//
//     B       (K/16, 2 N)   words of 32 bits
//     s       (K/G, N)      f16; of 64 columns n stands at (n % 8) * 8 + n / 8
//     channel (1, N)        f16, where one scale holds for all of K; of 32 columns n stands at
//                           n % 2 + n / 2 % 4 * 8 + n / 8 * 2
//
// Source: Marlin's _get_perms() and Layer.pack().
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kMarlinFields[] = {
    {"q", DType::u4, {1, 1}, "(2,4)(4,32)(2,1)|(8,128)(2,2)(4,8)", 0, 0, "B"},
    {"s", DType::f16, {0, 1}, "|(8,8)(8,1)", 0, 0, "s"},
    {"channel", DType::f16, {kAllValues, 1}, "|(2,1)(4,8)(4,2)", 0, 0, "s_channel"},
};
constexpr PackedFormat kMarlinFormats[] = {
    {"marlin", "kn", 0, kMarlinFields, "q", "s * (q - 8)", "q", 128},
    {"marlin:channel", "kn", 0, kMarlinFields, "q", "channel * (q - 8)", "q", 128}};

}  // namespace

const PackedSystem& marlin() {
  static constexpr PackedSystem kSystem{"Marlin", kMarlinFormats};
  return kSystem;
}

}  // namespace relayout::packed
