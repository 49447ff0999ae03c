// The rows and cases of the suite. B stands for 32x256x56x56, the size most cases share.
#include "bench/suite.h"

namespace relayout::bench {
namespace {

constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, s32 = DType::s32,
                s8 = DType::s8, u16 = DType::u16, u8 = DType::u8;

constexpr std::string_view kB = "32,256,56,56", kHalfB = "16,256,56,56", kSmallB = "32,64,56,56",
                           kRgb = "256,3,224,224", kWeights = "512,512,3,3", kOdd = "24,192,61,53",
                           kImage = "1,64,56,56", kOneRgb = "1,3,224,224", kTiny = "1,8,4,4", kTail = "128,17,56,56";

constexpr Row kRows[] = {
    {"blocks", "in memory, 4 and 8 bytes: channel blocks, RGB, submemory, padded rows, broadcast"},
    {"channels", "in memory, 4 and 8 bytes: nchw <-> nhwc, weights"},
    {"transpose", "in memory, 4 and 8 bytes: 2-D transposes"},
    {"narrow", "in memory, 1 and 2 bytes: transposes, nchw <-> nhwc"},
    {"permute", "in memory: general permutations, 3-D to 6-D, odd extents"},
    {"convert", "in memory: with conversion of types and scale"},
    {"cache", "in the caches, 4 bytes"},
    {"tails", "blocks that do not divide, tails, both"},
    {"tiny", "one run of a made plan, 1x8x4x4", Metric::run_ns},
    {"plan", "making a plan", Metric::plan_ns},
};

constexpr Case kCases[] = {
    {"blocks", "nchw", "nChw16c", kB, f32, f32, 0, 1.1, "", true},
    {"blocks", "nChw16c", "nchw", kB, f32, f32, 0, 1.1},
    {"blocks", "nchw", "nChw8c", kB, f32, f32, 0, 1.1},
    {"blocks", "nChw8c", "nchw", kB, f32, f32, 0, 1.1},
    {"blocks", "nChw16c", "nhwc", kB, f32, f32, 0, 1.1, "", true},
    {"blocks", "nhwc", "nChw16c", kB, f32, f32, 0, 1.1},
    {"blocks", "nChw16c", "nChw8c", kB, f32, f32, 0, 1.1},
    {"blocks", "nChw8c", "nChw16c", kB, f32, f32, 0, 1.1},
    {"blocks", "nchw", "nChw8c", kHalfB, f64, f64, 0, 1.1},
    {"blocks", "nChw16c", "nhwc", kSmallB, s32, s32, 0, 1.1},
    {"blocks", "nchw", "nhwc", kRgb, f32, f32, 0, 1.1, "", true},
    {"blocks", "nhwc", "nchw", kRgb, f32, f32, 0, 1.1},
    {"blocks", "strides:802816,1,14336,256", "nhwc", kSmallB, f32, f32, 0, 1.1, "64 of 256 channels, nhwc"},
    {"blocks", "strides:802816,3136,56,1", "nchw", "32,256,48,48", f32, f32, 0, 1.1, "48x48 of 56x56, nchw"},
    {"blocks", "strides:917504,3584,64,1", "nchw", kB, f32, f32, 0, 1.1, "padded rows -> nchw"},
    {"blocks", "nchw", "strides:917504,3584,64,1", kB, f32, f32, 0, 1.1, "nchw -> padded rows"},
    {"blocks", "strides:0,3136,56,1", "nchw", kB, f32, f32, 0, 1.1, "broadcast of n, nchw", true},
    {"blocks", "strides:0,1,0,0", "nhwc", kB, f32, f32, 0, 1.1, "broadcast of n, h, w -> nhwc"},
    {"blocks", "oihw", "OIhw16i16o", kWeights, f32, f32, 0, 1.1},
    {"blocks", "OIhw16i16o", "oihw", kWeights, f32, f32, 0, 1.1},

    {"channels", "nchw", "nhwc", kB, f32, f32, 0, 1.15, "", true},
    {"channels", "nhwc", "nchw", kB, f32, f32, 0, 1.15, "", true},
    {"channels", "nchw", "nhwc", kSmallB, f32, f32, 0, 1.15},
    {"channels", "nhwc", "nchw", kSmallB, f32, f32, 0, 1.15},
    {"channels", "nchw", "nhwc", kHalfB, f64, f64, 0, 1.15},
    {"channels", "oihw", "hwio", kWeights, f32, f32, 0, 1.15},
    {"channels", "oihw", "ohwi", kWeights, f32, f32, 0, 1.15},
    {"channels", "nchw", "nhwc", kOdd, f32, f32, 0, 1.5},
    {"channels", "nhwc", "nchw", kOdd, f32, f32, 0, 1.5, "", true},
    {"channels", "nhwc", "nchw", kOdd, f64, f64, 0, 1.5},

    {"transpose", "ab", "ba", "4096,4096", f32, f32, 0, 1.3, "", true},
    {"transpose", "ab", "ba", "8192,8192", f32, f32, 0, 1.3},
    {"transpose", "ab", "ba", "4096,4096", f64, f64, 0, 1.3},
    {"transpose", "ab", "ba", "8192,8192", f64, f64, 0, 1.3},
    {"transpose", "ab", "ba", "8191,8193", f32, f32, 0, 1.6, "", true},
    {"transpose", "ab", "ba", "8191,8193", f64, f64, 0, 1.6},

    {"narrow", "ab", "ba", "4096,4096", u8, u8, 0, 1.5},
    {"narrow", "ab", "ba", "8192,8192", u8, u8, 0, 1.5, "", true},
    {"narrow", "ab", "ba", "4096,4096", f16, f16, 0, 1.5},
    {"narrow", "ab", "ba", "4096,4096", bf16, bf16, 0, 1.5},
    {"narrow", "ab", "ba", "8192,8192", u16, u16, 0, 1.5},
    {"narrow", "nchw", "nhwc", kB, u8, u8, 0, 1.5},
    {"narrow", "nhwc", "nchw", kB, u8, u8, 0, 1.5},
    {"narrow", "nchw", "nhwc", kB, bf16, bf16, 0, 1.5, "", true},
    {"narrow", "nhwc", "nchw", kB, bf16, bf16, 0, 1.5},
    {"narrow", "nchw", "nhwc", kRgb, u8, u8, 0, 1.5},
    {"narrow", "nhwc", "nchw", kRgb, u8, u8, 0, 1.5},
    {"narrow", "nchw", "nChw16c", kB, s8, s8, 0, 1.5},
    {"narrow", "ab", "ba", "8191,8193", u8, u8, 0, 2, "", true},
    {"narrow", "ab", "ba", "8191,8193", u16, u16, 0, 2},
    {"narrow", "nchw", "nhwc", kOdd, u8, u8, 0, 2},
    {"narrow", "nhwc", "nchw", kOdd, f16, f16, 0, 2},

    {"permute", "abc", "cba", "400,401,403", f32, f32, 0, 1.6, "", true},
    {"permute", "abcd", "dbca", "67,71,83,101", f32, f32, 0, 1.6},
    {"permute", "abcde", "ecadb", "33,17,65,41,45", f32, f32, 0, 1.6, "", true},
    {"permute", "abcdef", "fcabde", "17,13,19,21,23,33", f32, f32, 0, 1.6},
    {"permute", "abcde", "ecadb", "33,17,65,41,45", f64, f64, 0, 1.6},

    {"convert", "nchw", "nhwc", kSmallB, f32, u8, 255, 1.35, "", true},
    {"convert", "nchw", "nhwc", kRgb, f32, u8, 255, 1.35},
    {"convert", "nhwc", "nchw", kRgb, u8, f32, 1 / 255.0f, 1.35, "", true},
    {"convert", "nhwc", "nchw", kRgb, u8, f32, 0, 1.35},
    {"convert", "nchw", "nhwc", kB, f32, s8, 16, 1.35},
    {"convert", "nhwc", "nchw", kB, s8, f32, 0.0625f, 1.35},
    {"convert", "nchw", "nhwc", kB, f32, u8, 0, 1.35},
    {"convert", "nchw", "nhwc", kB, f32, bf16, 0, 1.35, "", true},
    {"convert", "nchw", "nhwc", kB, f32, f16, 0, 1.35},
    {"convert", "nhwc", "nchw", kB, bf16, f32, 0, 1.35},
    {"convert", "nchw", "nChw16c", kB, f32, bf16, 0, 1.35},
    {"convert", "nChw16c", "nhwc", kB, f16, f32, 0, 1.35},
    {"convert", "nchw", "nchw", kB, f32, f16, 0, 1.35},
    {"convert", "nchw", "nchw", kB, f32, u8, 16, 1.35},
    {"convert", "nchw", "nchw", kB, f32, bf16, 0.5f, 1.35},
    {"convert", "nchw", "nchw", kHalfB, f64, f32, 0, 1.35},
    {"convert", "ab", "ba", "8192,8192", f32, bf16, 0, 1.35},
    {"convert", "oihw", "OIhw4i16o4i", kWeights, f32, s8, 16, 1.35},

    {"cache", "nchw", "nhwc", kImage, f32, f32, 0, 1.25, "", true},
    {"cache", "nhwc", "nchw", kImage, f32, f32, 0, 1.25, "", true},
    {"cache", "nchw", "nChw16c", kImage, f32, f32, 0, 1.25},
    {"cache", "nChw16c", "nchw", kImage, f32, f32, 0, 1.25},
    {"cache", "nChw16c", "nhwc", kImage, f32, f32, 0, 1.25},
    {"cache", "nhwc", "nChw16c", kImage, f32, f32, 0, 1.25},
    {"cache", "nchw", "nhwc", kOneRgb, f32, f32, 0, 1.25},
    {"cache", "nhwc", "nchw", kOneRgb, f32, f32, 0, 1.25},
    {"cache", "nchw", "nhwc", "1,256,56,56", f32, f32, 0, 1.25},
    {"cache", "nhwc", "nchw", "1,256,14,14", f32, f32, 0, 1.25},
    {"cache", "ab", "ba", "512,512", f32, f32, 0, 1.25},
    {"cache", "ab", "ba", "1000,1000", f32, f32, 0, 1.25},
    {"cache", "oihw", "OIhw16i16o", "64,64,3,3", f32, f32, 0, 1.25},

    {"tails", "aBcd16b", "aBcd12b", "32,192,56,56", f32, f32, 0, 2, "", true},
    {"tails", "aBcd48b", "aBcd32b", "32,192,56,56", f32, f32, 0, 2},
    {"tails", "nchw", "nChw16c", kTail, f32, f32, 0, 2, "", true},
    {"tails", "nChw16c", "nhwc", kTail, f32, f32, 0, 2},
    {"tails", "nhwc", "nChw8c", kTail, f32, f32, 0, 2},
    {"tails", "nChw16c", "nchw", kTail, f32, f32, 0, 2},
    {"tails", "aBcd16b", "aBcd12b", kTail, f32, f32, 0, 2},
    {"tails", "aBcd48b", "aBcd32b", "32,205,56,56", f32, f32, 0, 2},
    {"tails", "nChw16c", "nhwc", kTail, s8, s8, 0, 2},

    {"tiny", "nchw", "nhwc", kTiny, f32, f32, 0, 25, "", true},
    {"tiny", "nhwc", "nchw", kTiny, f32, f32, 0, 25},
    {"tiny", "nchw", "nChw8c", kTiny, f32, f32, 0, 25},

    {"plan", "nchw", "nhwc", "32,17,56,56", f32, f32, 0, 5000, "", true},
    {"plan", "nchw", "nChw8c", "32,17,56,56", f32, f32, 0, 5000},
    {"plan", "nchw", "nChw16c", "32,17,56,56", f32, u8, 255, 5000},
    {"plan", "oihw", "OIhw4i16o4i", "17,19,3,3", f32, f32, 0, 5000},
    {"plan", "aBcd48b", "aBcd32b", "2,205,14,14", f32, f32, 0, 5000},
    {"plan", "abcdef", "fcabde", "3,4,5,6,7,8", f32, f32, 0, 5000},
};

}  // namespace

std::span<const Row> all_rows() { return kRows; }
std::span<const Case> all_cases() { return kCases; }

}  // namespace relayout::bench
