// How much alike neighbours along each dim of a weight are (internal to checkpoint).
#pragma once

#include <cstddef>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"

namespace relayout::checkpoint {

/// The correlation of values with the next ones along a dim, and how much of it chance makes (one standard deviation of
/// that of independent values). Both are 0 where the dim has one index or the values are constant.
struct Likeness {
  double correlation = 0, chance = 0;
};

/// Of each dim, from at most some million values. Errors: those of Checkpoint::contents.
std::vector<Likeness> likeness(const Checkpoint& model, std::size_t tensor);

}  // namespace relayout::checkpoint
