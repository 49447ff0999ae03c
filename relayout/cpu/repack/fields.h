// Coefficients that move as their fields' elements, without a detour by f32 (internal to cpu).
#pragma once

#include "relayout/cpu/repack/sides.h"

namespace relayout::cpu {

/// Moves a coefficient that is one field or a number on both sides: elements of one type as they are, NaN included;
/// small integers, to which a number may be added; a number to all elements. False where it is none of these or some
/// number does not fit. The destination then has to be written anew, which says what is wrong.
bool move_field(const Target& from, const Target& to, const RunOptions& options);

}  // namespace relayout::cpu
