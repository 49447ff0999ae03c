// The names of what a conversion makes, and the tensors that they come from (internal to checkpoint).
#pragma once

#include <cstddef>
#include <span>

#include "relayout/checkpoint/target.h"

namespace relayout::checkpoint {

/// Of the tensors that a target is made of, the one that the file has first.
std::size_t first_source(const Target& target);

/// Two targets of one name are Error{invalid_argument}, which names where both come from.
void check_names(const Checkpoint& model, std::span<const Target> targets);

}  // namespace relayout::checkpoint
