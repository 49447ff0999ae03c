// Memory in rows as a drawing, under the layout's expression and a legend.
//
// Cells that follow each other along the innermost digit share a colour, and each block, or each plane of a layout
// without blocks, has a thick frame. The legend says what both stand for. All dims of a cell stand in its title.
#pragma once

#include <string>

#include "relayout/core/layout.h"
#include "relayout/show/drawing.h"
#include "relayout/show/memory.h"

namespace relayout::show {

/// A drawing of its own. `title` stands above it; `letters` has one for each dim.
Drawing memory_drawing(const Layout& layout, const std::string& letters, const std::string& title);

/// The same in a drawing that has other things, from `top` on; the drawing grows as is needed. `label`: what stands in
/// cells in place of their index; `colours`: what cells have a colour by.
void draw_memory(Drawing& drawing, double top, const Layout& layout, const std::string& letters,
                 const std::string& title, LabelOf label = {}, CellColours colours = {});

}  // namespace relayout::show
