// Marlin's weights of 4 bits for tensor cores: tiles of 16 x 64 values, 1,024 nibbles each, in row-major order.
//
// Inside a tile the place of value (k, n) is a permutation of the bits of k % 16 and n % 64: four threads of a quad
// have neighbouring pairs of rows, a thread has both columns n and n + 8 of four 16 x 16 tiles, and the nibbles of a
// word stand in the order 0 2 4 6 1 3 5 7, in which two of them at a time become halves.
//
//     B  (K/16, 2 N)   words of 32 bits
//     s  (K/G, N)      f16; of 64 columns n stands at (n % 8) * 8 + n / 8
//     s  (1, N)        where one scale holds for all of K, of 32 columns n stands at n % 2 + n / 2 % 4 * 8 + n / 8 * 2
//
// The shape of s says which of the two it is; marlin:channel is the second, whatever K is.
//
// Source: Marlin's _get_perms() and Layer.pack(), where a group size of -1 or K means one group. Files of other
// programs call the tensors qweight and scales.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr std::string_view kOfAllRows = "|(2,1)(4,8)(4,2)";
constexpr PackedField kMarlinFields[] = {
    {"q", DType::u4, {1, 1}, "(2,4)(4,32)(2,1)|(8,128)(2,2)(4,8)", 0, 0, "B"},
    {"s", DType::f16, {0, 1}, "|(8,8)(8,1)", 0, 0, "s", kOfAllRows},
};
constexpr PackedField kChannelFields[] = {kMarlinFields[0], {"s", DType::f16, {kAllValues, 1}, kOfAllRows, 0, 0, "s"}};
constexpr PackedStorage kMarlinStorage[] = {{"B", DType::s32, "qweight"}, {"s", {}, "scales"}};
constexpr PackedFormat kMarlinFormats[] = {
    {"marlin", "kn", 0, kMarlinFields, "q", "s * (q - 8)", "q", 128, kMarlinStorage},
    {"marlin:channel", "kn", 0, kChannelFields, "q", "s * (q - 8)", "q", 128, kMarlinStorage}};

}  // namespace

const PackedSystem& marlin() {
  static constexpr PackedSystem kSystem{"Marlin", kMarlinFormats};
  return kSystem;
}

}  // namespace relayout::packed
