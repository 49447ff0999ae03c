// The quantised types of ggml, as in .gguf files: blocks of 32 or 256 values of one row.
//
// Nibbles, pairs of bits and single bits count from the least significant end of a byte. In q4_0 value i of a block is
// in the low nibble of byte i of q for i < 16, and in the high nibble of byte i - 16 for the others. The K types have a
// scale and a minimum for each 32 or 16 values, whose 6 bits lie in two planes. The e of mxfp4 is a power of two, and
// its 255 is a NaN here, as in OCP's format; ggml itself computes 2^128 of it. The
// d of nvfp4 are not negative, and the NaN 127 among them is 0 in ggml.
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

constexpr PackedField kQ5_0[] = {{"d", DType::f16, {1, 32}},
                                 {"qh", DType::u1, {1, 1}, "|(32,1)", 16},
                                 {"ql", DType::u4, {1, 1}, "|(16,2)(2,1)", 12}};
constexpr PackedField kQ5_1[] = {{"d", DType::f16, {1, 32}},
                                 {"m", DType::f16, {1, 32}, "|", 1},
                                 {"qh", DType::u1, {1, 1}, "|(32,1)", 32},
                                 {"ql", DType::u4, {1, 1}, "|(16,2)(2,1)", 16}};
constexpr PackedField kQ2_K[] = {{"sc", DType::u4, {1, 16}, "|(16,2)"},
                                 {"mn", DType::u4, {1, 16}, "|(16,2)", 1},
                                 {"q", DType::u2, {1, 1}, "|(32,4)(4,1)(2,128)", 64},
                                 {"d", DType::f16, {1, 256}, "|", 40},
                                 {"dmin", DType::f16, {1, 256}, "|", 41}};
constexpr PackedField kQ3_K[] = {{"qh", DType::u1, {1, 1}, "|(32,8)(8,1)"},
                                 {"ql", DType::u2, {1, 1}, "|(32,4)(4,1)(2,128)", 128},
                                 {"sc_lo", DType::u4, {1, 16}, "|(8,2)(2,1)", 192},
                                 {"sc_hi", DType::u2, {1, 16}, "|(4,4)(4,1)", 416},
                                 {"d", DType::f16, {1, 256}, "|", 54}};

// Scales and minima of q4_K and q5_K: of eight of each, the low four bits and the high two.
constexpr PackedField kKScale{"d", DType::f16, {1, 256}}, kKMin{"dmin", DType::f16, {1, 256}, "|", 1};
constexpr PackedField kScaleLow{"sc_lo", DType::u4, {1, 32}, "|(4,2)(2,16)", 8};
constexpr PackedField kScaleHigh{"sc_hi", DType::u2, {1, 32}, "|(4,4)(2,1)", 18};
constexpr PackedField kMinLow{"m_lo", DType::u4, {1, 32}, "|(4,2)(2,9)", 16};
constexpr PackedField kMinHigh{"m_hi", DType::u2, {1, 32}, "|(4,4)(2,1)", 34};

constexpr PackedField kQ4_K[] = {
    kKScale, kKMin, kScaleLow, kScaleHigh, kMinLow, kMinHigh, {"q", DType::u4, {1, 1}, "|(32,2)(2,1)(4,64)", 32}};
constexpr PackedField kQ5_K[] = {kKScale,
                                 kKMin,
                                 kScaleLow,
                                 kScaleHigh,
                                 kMinLow,
                                 kMinHigh,
                                 {"qh", DType::u1, {1, 1}, "|(32,8)(8,1)", 128},
                                 {"ql", DType::u4, {1, 1}, "|(32,2)(2,1)(4,64)", 96}};
constexpr PackedField kQ6_K[] = {{"ql", DType::u4, {1, 1}, "|(64,2)(2,1)(2,128)"},
                                 {"qh", DType::u2, {1, 1}, "|(32,4)(4,1)(2,128)", 512},
                                 {"sc", DType::s8, {1, 16}, "|(16,1)", 192},
                                 {"d", DType::f16, {1, 256}, "|", 104}};

constexpr PackedField kTq2_0[] = {{"q", DType::u2, {1, 1}, "|(32,4)(4,1)(2,128)"},
                                  {"d", DType::f16, {1, 256}, "|", 32}};
constexpr PackedField kMxfp4Blocks[] = {{"e", DType::f8_e8m0, {1, 32}},
                                        {"q", DType::f4_e2m1, {1, 1}, "|(16,2)(2,1)", 2}};

constexpr PackedField kNvfp4Blocks[] = {{"d", DType::f8_e4m3, {1, 16}, "|(4,1)"},
                                        {"q", DType::f4_e2m1, {1, 1}, "|(8,2)(2,1)(4,16)", 8}};

constexpr std::string_view kMinValue = "d*(sc_lo + sc_hi<<4)*q - dmin*(m_lo + m_hi<<4)";

constexpr PackedFormat kGgmlFormats[] = {
    {"ggml:q4_0", "nk", 18, kQ4_0, "q", "d * (q - 8)"},
    {"ggml:q4_1", "nk", 20, kQ4_1, "q", "d * q + m"},
    {"ggml:q5_0", "nk", 22, kQ5_0, "ql + qh<<4", "d * (q - 16)"},
    {"ggml:q5_1", "nk", 24, kQ5_1, "ql + qh<<4", "d * q + m"},
    {"ggml:q8_0", "nk", 34, kQ8_0, "q", "d * q"},
    {"ggml:q2_K", "nk", 84, kQ2_K, "q", "d*sc*q - dmin*mn"},
    {"ggml:q3_K", "nk", 110, kQ3_K, "ql + qh<<2", "d * (sc_lo + sc_hi<<4 - 32) * (q - 4)"},
    {"ggml:q4_K", "nk", 144, kQ4_K, "q", kMinValue},
    {"ggml:q5_K", "nk", 176, kQ5_K, "ql + qh<<4", kMinValue},
    {"ggml:q6_K", "nk", 210, kQ6_K, "ql + qh<<4", "d*sc*(q - 32)"},
    {"ggml:q8_K", "nk", 292, kQ8_K, "q", "d * q"},
    {"ggml:tq2_0", "nk", 66, kTq2_0, "q", "d * (q - 1)"},
    {"ggml:mxfp4", "nk", 17, kMxfp4Blocks, "q", "e * q"},
    {"ggml:nvfp4", "nk", 36, kNvfp4Blocks, "q", "d * q"},
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
