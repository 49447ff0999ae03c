// Memory in rows as text for a terminal.
//
//     memory    the index at each offset, c,h,w; n = 0; a dot stands for padding; a bar ends a run of c
//          0  0,0,0 | 1,0,0 ...
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"
#include "relayout/show/memory.h"

namespace relayout::show {

/// The first elements of memory, each row with the offset it starts at; "" of a layout without elements or dims.
/// `letters` name the dims.
struct MemoryTextOptions {
  /// Whether the legend says what a blank is; unless it is given, where one is shown.
  std::optional<bool> gaps = {};
  /// Whether cells have the colours of pictures, by the sequences that terminals take.
  bool colour = false;
  /// What stands in cells in place of their index.
  LabelOf label = {};
};
std::string memory_text(const Layout& layout, const std::string& letters, const MemoryTextOptions& options = {});

/// "  label     text", wrapped at blanks to 80 columns with the continuation under the text. A kNoBreakSpace is written
/// as a blank and never broken at.
inline constexpr char kNoBreakSpace = '\x1f';
std::string labelled(std::string_view label, std::string_view text);

}  // namespace relayout::show
