// Drawings as SVG: the only place that writes it.
#pragma once

#include <string>

#include "relayout/show/drawing.h"

namespace relayout::show {

/// The drawing as SVG 1.1 without styles, scripts or links, on a background of its own, so that it can be read on a
/// dark page too. All words are escaped. Error{invalid_argument} where a colour is none, a path has other signs than
/// letters of SVG's path language and numbers, or a number is not finite.
std::string svg(const Drawing& drawing);

}  // namespace relayout::show
