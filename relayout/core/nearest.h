// The known name that is nearest to a misspelt one, for "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relayout/cxx20.h"

namespace relayout {

/// The name that the fewest inserted, deleted and replaced letters lead to, case aside; the first of several. Empty
/// where no name is near: up to a third of the letters may be wrong, and three at most.
std::string_view nearest(std::string_view text, std::span<const std::string_view> names);

/// "; did you mean NAME?" for the end of an error that lists the names; "" where none is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> names);

}  // namespace relayout
