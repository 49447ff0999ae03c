// Values that a type cannot hold: which elements of new tensors may have been such, and how many values are (internal
// to checkpoint).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/core/dtype.h"

namespace relayout::checkpoint {

/// Whether elements of one type may have finite values beyond those of the other.
bool may_overflow(DType from, DType to);

/// Whether any of these elements is what a value beyond the type's range becomes: an infinity, NaN, or the largest or
/// least number. Elements of fewer than 8 bits always may be. Quick: some gigabytes a second.
bool has_extremes(std::span<const std::byte> elements, DType dtype);

/// How many finite values are nearer to something beyond the type's range than to a number of it.
int64_t beyond_range(std::span<const double> values, DType dtype);

}  // namespace relayout::checkpoint
