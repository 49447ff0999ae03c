// Elements of 4 bits that can neither be paired into bytes nor be done by stages, moved by way of a buffer in which
// each takes a byte (internal to reorder).
#pragma once

#include <optional>

#include "relayout/reorder/price.h"

namespace relayout {

struct Nibbles {};

/// Pairs nibbles into bytes where a run of them starts and ends at whole bytes throughout.
bool pair_nibbles(Box& box);
/// Plans a box of nibbles that could not be paired.
Planned<Nibbles> plan_nibbles(Box box);

inline double rate(const Loops&, const Nibbles&) { return 2; }

}  // namespace relayout
