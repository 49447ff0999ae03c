// Sizes that 64 bits do not hold: the errors, which say the numbers and blame the dim that makes the size too large
// (internal to core).
//
//     dims 3,4611686018427387904,2    3 x 4611686018427387904 x 2 elements overflow 64 bits; dim 1 is the largest
//
// Which factor of a product is one too many depends on the order in which they are multiplied, and says nothing about
// the mistake that somebody made. So the largest extent is named, and where strides reach too far the dim that reaches
// farthest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "relayout/core/extents.h"

namespace relayout {

struct Digit;

/// Throws Error{overflow}: `what`, the product of `sizes`, and `why`; then the largest of the sizes, and which dim it
/// is. Sizes are those of `dims`, some of them padded; of a scalar, which only padding makes large, the number of its
/// elements with padding, or none where 64 bits do not hold it.
[[noreturn]] void throw_too_many(const std::string& what, const Dims& sizes, const Dims& dims, const std::string& why);

/// Throws Error{overflow}: `what`, and the dim whose digits reach farthest, or offset0 where that is larger. The digits
/// of a scalar are those of its padding, as one list.
[[noreturn]] void throw_too_far(const std::string& what, const Dims& dims,
                                const std::vector<std::span<const Digit>>& digits, int64_t offset0);

}  // namespace relayout
