// The right matrix (k, n) of a product as the dot-product instructions read it (VPDPBUSD, VDPBF16PS).
//
//     vnni:B   [ceil(k/V)][n][V], V elements of 4 bytes: 4 of s8, which is taken where no type is given, and 2 of bf16
//
// Source: Intel, Architecture Instruction Set Extensions Programming Reference, AVX512_VNNI and AVX512_BF16.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kVnni[] = {{"B", "Ab$a", "kn", 4}};

}  // namespace

const NamedSystem& vnni() {
  static constexpr NamedSystem kSystem{"vnni", "VNNI", kVnni, DType::s8};
  return kSystem;
}

}  // namespace relayout::systems
