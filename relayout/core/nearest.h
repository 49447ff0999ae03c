// How far names are from each other, and the known name that is nearest to a misspelt one, for "did you mean".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "relayout/cxx20.h"

namespace relayout {

/// How many letters are to be inserted, left out, replaced or exchanged with their neighbours to make one text of the
/// other, case aside (optimal string alignment). Time: the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that the fewest edits lead to; the first of several. Empty
/// where no name is near: up to a third of the letters may be wrong, and three at most.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

/// "; did you mean NAME?" for the end of an error that lists the names; "" where none is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> names);

}  // namespace relayout
