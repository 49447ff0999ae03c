// Codes of packed formats: their range, and moving them from one format's planes to another's (internal to cpu).
#pragma once

#include <string>
#include <vector>

#include "relayout/cpu/repack/sides.h"

namespace relayout::cpu {

/// Integers of up to 8 bits, which may be put together from planes.
struct CodeRange {
  int low = 0, high = 0;
  bool integers = true;

  explicit CodeRange(const Packed& side);
};

/// Whether both formats have the same planes of codes, or floating codes of one type.
bool same_planes(const Packed& from, const Packed& to);
/// "0 to 15", or the type of floating codes.
std::string codes_text(const Packed& side);

/// Writes codes, a byte each in row-major order, which are integers.
void store_codes(const Packed& side, const std::vector<uint8_t>& codes, const Dims& dims, const RunOptions& options);
/// Moves codes, `added` to each; where this is not 0 or the planes are others, they are integers on both sides.
void move_codes(const Packed& from, const Packed& to, int added, const Dims& dims, const RunOptions& options);

}  // namespace relayout::cpu
