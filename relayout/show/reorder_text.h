// Reorders below the pictures of their two sides: as text for a terminal, and in a drawing (internal to show).
#pragma once

#include <string>

#include "relayout/show/drawing.h"
#include "relayout/show/memory.h"
#include "relayout/show/reorder_view.h"

namespace relayout::show {

/// A section of its own, from its heading on; `colour`: with the sequences that colour letters.
std::string reorder_text(const ReorderView& view, const Layout& dst, const std::string& letters, bool colour);

/// The same in a drawing, from `top` on; the drawing grows as is needed.
void draw_reorder(Drawing& drawing, double top, const ReorderView& view, const Layout& dst, const std::string& letters);

/// The colours of the boxes in both memories, where there are several.
CellColours colours_of(const ReorderView& view);

}  // namespace relayout::show
