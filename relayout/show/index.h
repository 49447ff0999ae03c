// Numbers of things as indices of lists.
#pragma once

#include <cstddef>

namespace relayout::show {

/// Of a number that is not negative.
inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace relayout::show
