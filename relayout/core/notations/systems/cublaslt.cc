// cuBLASLt's orders of a matrix of m rows and n columns.
//
//     cublaslt:COL32           panels of 32 columns; a row of a panel is 32 elements side by side
//     cublaslt:COL4_4R2_8C     in a panel, tiles of 8 rows: rows of one parity, 8 groups of 4 columns, 4 rows, 4
//     columns cublaslt:COL32_2R_4R4    in a panel, tiles of 32 rows: element (row, col) at
//                              (((row % 8) / 2 * 4 + row / 8) * 2 + row % 2) * 32 + col
//
// The leading dimension is the smallest one: a panel's rows, rounded up to whole tiles. In the last two, memory has the
// digits of a row in another order than its places, so that no tag says them.
//
// Source: NVIDIA cuBLAS, cublasLt.h (cublasLtOrder_t).
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kCublaslt[] = {
    {"COL", "ba", "mn"},
    {"ROW", "ab", "mn"},
    {"COL32", "Ba32b", "mn"},
    {"COL4_4R2_8C", "BA2a8b4a4b", "mn", 0, {}, "0110"},
    {"COL32_2R_4R4", "BA4a4a2a32b", "mn", 0, {}, "1200"},
};

}  // namespace

const NamedSystem& cublaslt() {
  static constexpr NamedSystem kSystem{"cublaslt", "cuBLASLt", kCublaslt};
  return kSystem;
}

}  // namespace relayout::systems
