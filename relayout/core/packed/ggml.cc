// The quantised types of ggml, as in .gguf files: blocks of 32 or 256 values of one row.
//
// Nibbles, pairs of bits and single bits count from the least significant end of a byte. In q4_0 value i of a block is
// in the low nibble of byte i of q for i < 16, and in the high nibble of byte i - 16 for the others. The K types have a
// scale and a minimum for each 32 or 16 values, whose 6 bits lie in two planes.
//
// Source: ggml's block structs and dequantize_row_* functions; PyPI's package gguf (quants.py) reads the same bytes.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kQ4_0[] = {{"d", DType::f16, {1, 32}}, {"q", DType::u4, {1, 1}, "|(16,2)(2,1)", 4}};
constexpr PackedField kQ4_1[] = {
    {"d", DType::f16, {1, 32}}, {"m", DType::f16, {1, 32}, "|", 1}, {"q", DType::u4, {1, 1}, "|(16,2)(2,1)", 8}};
constexpr PackedField kQ8_0[] = {{"d", DType::f16, {1, 32}}, {"q", DType::s8, {1, 1}, "|(32,1)", 2}};
constexpr PackedField kQ8_K[] = {{"d", DType::f32, {1, 256}},
                                 {"q", DType::s8, {1, 1}, "|(256,1)", 4},
                                 {"bsums", DType::s16, {1, 16}, "|(16,1)", 130}};

constexpr PackedFormat kGgmlFormats[] = {
    {"ggml:q4_0", "nk", 18, kQ4_0, "q", "d * (q - 8)"},
    {"ggml:q4_1", "nk", 20, kQ4_1, "q", "d * q + m"},
    {"ggml:q8_0", "nk", 34, kQ8_0, "q", "d * q"},
    {"ggml:q8_K", "nk", 292, kQ8_K, "q", "d * q"},
};

constexpr std::string_view kGgmlCodebook = "its bits are indices into a codebook, and no layout places its values";
constexpr RefusedName kGgmlRefused[] = {
    {"ggml:iq1_s", kGgmlCodebook},
    {"ggml:iq1_m", kGgmlCodebook},
    {"ggml:iq2_xxs", kGgmlCodebook},
    {"ggml:iq2_xs", kGgmlCodebook},
    {"ggml:iq2_s", kGgmlCodebook},
    {"ggml:iq3_xxs", kGgmlCodebook},
    {"ggml:iq3_s", kGgmlCodebook},
    {"ggml:iq4_nl", kGgmlCodebook},
    {"ggml:iq4_xs", kGgmlCodebook},
    {"ggml:tq1_0", "five values share a byte as digits of base 3, and no layout places digits of a number"},
};

}  // namespace

const PackedSystem& ggml() {
  static constexpr PackedSystem kSystem{"ggml", kGgmlFormats, kGgmlRefused};
  return kSystem;
}

}  // namespace relayout::packed
