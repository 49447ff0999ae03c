// Values that a type cannot hold: which elements of new tensors may have been such, and how many values are (internal
// to checkpoint).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/core/dtype.h"

namespace relayout::checkpoint {

/// Whether elements of one type may have values that the other cannot hold: finite ones beyond its range, infinities,
/// or NaN.
bool may_overflow(DType from, DType to);

/// Whether any of these elements is what a value beyond the type's range becomes: an infinity, NaN, or the largest or
/// least number. Elements of fewer than 8 bits always may be, and whole numbers that were floating, as NaN becomes 0.
/// Quick: some gigabytes a second.
bool has_extremes(std::span<const std::byte> elements, DType from, DType dtype);

/// How many values the type cannot hold: finite ones that are nearer to something beyond its range than to a number of
/// it, infinities where it has none, and NaN where it has none.
int64_t beyond_range(std::span<const double> values, DType dtype);

}  // namespace relayout::checkpoint
