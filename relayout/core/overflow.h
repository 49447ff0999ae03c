// Sizes that 64 bits do not hold: the errors, which say the numbers and blame the dim that makes the size too large
// (internal to the library).
//
//     dims 3,4611686018427387904,2    3 x 4611686018427387904 x 2 elements overflow 64 bits; dim 1 is the largest
//
// Which factor of a product is one too many depends on the order in which they are multiplied, and says nothing about
// the mistake that somebody made. So the largest extent is named, and where strides reach too far the dim that reaches
// farthest.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/extents.h"

namespace relayout {

struct Digit;

/// Which of the sizes is the largest, the first of several; there is at least one.
int largest_dim(const Dims& sizes);
/// "dim 1 (17, padded to 24) is the largest", for an error of another kind. Sizes are those of `dims`, some padded.
std::string largest_dim_text(const Dims& sizes, const Dims& dims);

/// Throws Error{overflow}: `what`, the product of `sizes`, and `why`; then the largest of the sizes, and which dim it
/// is. Sizes are those of `dims`, some of them padded; of a scalar, which only padding makes large, the number of its
/// elements with padding, or none where 64 bits do not hold it. The error's field is that dim's entry in `list`, and
/// its value the dim's extent.
[[noreturn]] void throw_too_many(const std::string& what, const Dims& sizes, const Dims& dims, const std::string& why,
                                 std::string_view list = "dims");

/// Throws Error{overflow}: `what`, and the dim whose digits reach farthest, or offset0 where that is larger. The digits
/// of a scalar are those of its padding, as one list.
[[noreturn]] void throw_too_far(const std::string& what, const Dims& dims,
                                const std::vector<std::span<const Digit>>& digits, int64_t offset0);

}  // namespace relayout
