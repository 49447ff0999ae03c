// The right matrix (k, n) of a product as the tile instructions of AMX read it (TDPBF16PS, TDPBSSD).
//
//     amx:B   [ceil(n/16)][ceil(k/16V)][16][16][V], V elements of 4 bytes: 2 of bf16, which is taken where no type is
//             given, and 4 of s8
//
// A tile has 16 rows of 64 bytes. Its row r holds, for each of 16 columns, the V elements from k = V * r on. Tiles of
// the same columns follow each other, as a loop over k reads them.
//
// Source: Intel, Architecture Instruction Set Extensions Programming Reference, chapter on AMX.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kAmx[] = {{"B", "BA16a16b$a", "kn", 4}};

}  // namespace

const NamedSystem& amx() {
  static constexpr NamedSystem kSystem{"amx", "AMX", kAmx, DType::bf16};
  return kSystem;
}

}  // namespace relayout::systems
