// Values to the codes of a packed format: the grid of each group is chosen, and values are rounded to it (internal to
// cpu).
//
// A format with zero points has a grid that holds 0, as GPTQ's own quantiser has it: from the least value or 0 to the
// largest value or 0. One with minima begins at the least value, and one without either reaches as far as the value of
// the largest size.
#pragma once

#include <vector>

#include "relayout/cpu/repack/sides.h"

namespace relayout::cpu {

/// How far rounded values are from what they were: the largest distance, and the root of the mean square.
struct Rounding {
  double largest_error = 0, rms_error = 0;
};

/// Fills the fields of `to`. `values` stand in row-major order of `dims`. Errors: unsupported (codes that are no
/// integers of up to 8 bits), invalid_argument (a value that is not finite, a scale that overflows its type).
Rounding quantise(const std::vector<float>& values, const Dims& dims, const Packed& to);

}  // namespace relayout::cpu
