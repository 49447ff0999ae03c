// The picture of memory that `relayout describe` ends with: the index that lies at each offset.
#pragma once

#include <string>

#include "relayout/core/layout.h"

namespace relayout::tools {

/// The first elements of memory, each row with the offset it starts at; "" of a layout without elements or dims.
/// `letters` name the dims; `gaps`: whether the legend says what a blank is.
std::string picture_text(const Layout& layout, const std::string& letters, bool gaps);

}  // namespace relayout::tools
