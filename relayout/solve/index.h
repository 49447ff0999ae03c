// Index: operations, tensors, choices and placements are numbered by int; containers count by size_t (internal to
// solve).
#pragma once

#include <cstddef>

namespace relayout::solve {

/// A number that is not negative, as an index into a container.
inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace relayout::solve
