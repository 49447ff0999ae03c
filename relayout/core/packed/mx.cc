// Blocks of 4-bit floating values with a scale each: MXFP4 of the Open Compute Project, and NVIDIA's NVFP4.
//
//     mxfp4    blocks (N, K/32, 16) bytes, the first value in the low nibble; scales (N, K/32) powers of two
//     nvfp4    weight (N, K/2) likewise; weight_scale (N, K/16) f8_e4m3; weight_scale_2, one f32 for all
//
// Source: OCP Microscaling Formats, version 1.0; the checkpoints of GPT-OSS and of NVIDIA's ModelOpt. Scales that a
// kernel wants in tiles are scales:128x4.
#include "relayout/core/packed/packed.h"

namespace relayout::packed {
namespace {

constexpr PackedField kMxfp4[] = {{"q", DType::f4_e2m1, {1, 1}, "|", 0, 0, "blocks"},
                                  {"s", DType::f8_e8m0, {1, 32}, "|", 0, 0, "scales"}};
constexpr PackedField kNvfp4[] = {{"q", DType::f4_e2m1, {1, 1}, "|", 0, 0, "weight"},
                                  {"s", DType::f8_e4m3, {1, 16}, "|", 0, 0, "weight_scale"},
                                  {"g", DType::f32, {kAllValues, kAllValues}, "|", 0, 0, "weight_scale_2"}};

constexpr PackedStorage kMxfp4Storage[] = {{"blocks", DType::u8, "weight_packed weight", 16},
                                           {"scales", DType::u8, "weight_scale"}};
constexpr PackedStorage kNvfp4Storage[] = {{"weight", DType::u8}};
constexpr PackedFormat kMxFormats[] = {{"mxfp4", "nk", 0, kMxfp4, "q", "s * q", "q", 0, kMxfp4Storage},
                                       {"nvfp4", "nk", 0, kNvfp4, "q", "s * g * q", "q", 0, kNvfp4Storage}};

}  // namespace

const PackedSystem& mx() {
  static constexpr PackedSystem kSystem{"MX", kMxFormats};
  return kSystem;
}

}  // namespace relayout::packed
