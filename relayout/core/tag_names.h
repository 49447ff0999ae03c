// The domains whose letters a tag may use, and the names that they give (internal to core).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// The largest block a tag can have, and the most blocks.
inline constexpr int64_t kMaxBlock = int64_t{1} << 31;
inline constexpr int kMaxBlocks = kMaxDigits - kMaxDims;

/// The logical order of the dims that a set of domain letters names, e.g. "nchw" for {w,h,c,n}; nothing if the letters
/// are not those of a domain.
std::optional<std::string> logical_order(std::string_view letters);

/// The first letter in `outer` (lower case, no row break) that stands where its domain does not allow it, and the rule
/// that it breaks; nothing if all stand where they may.
std::optional<std::pair<std::size_t, std::string>> misplaced_letter(std::string_view outer, std::string_view order);

/// The layouts that a word means which is written otherwise, or is a name in another system; at most four. Nothing for
/// all other words.
std::vector<std::string> names_meant(std::string_view word);

/// How a word is written that begins with the name of a notation, perhaps misspelt, or that is the body of one without
/// its name: "did you mean cute:(4,2):(1,4)?", or an example of the notation. Empty for all other words.
std::string notation_meant(std::string_view word);

/// Names near a misspelt word, nearest first, at most four.
std::vector<std::string> names_near(std::string_view word);

}  // namespace relayout
