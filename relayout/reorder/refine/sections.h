// Sections: a dim cut where the destination's blocks end (internal to reorder). Where the source's blocks end inside a
// block of the destination, several boxes make that block. methods/tile_runs.h puts them together before the block is
// written.
//
// A *section* is one block of the destination, as a list of affine boxes: it is cut where a block of the source ends,
// and where the dim ends and padding begins. Blocks that are cut alike are one section, with axes that step through
// them: a *bundle*.
//
//     c = 192 of aBcd16b -> aBcd12b: one bundle of 4 sections, which repeat every 48 indices, 4 times:
//         0..11;  12..15 and 16..23;  24..31 and 32..35;  36..47
//     c = 17 of nchw -> nChw16c: a section of 0..15, and one of 16 and 15 indices of padding
#pragma once

#include <vector>

#include "relayout/core/layout.h"
#include "relayout/reorder/refine/nest.h"
#include "relayout/reorder/refine/refine.h"

namespace relayout {

/// Some indices whose offsets are affine on both sides or, for padding, on the destination's side. sections_of() makes
/// boxes of one dim; section_runs.cc joins those of several dims.
struct SectionBox {
  Offsets offset{};
  Axes axes;
  bool padding = false;
};
using Section = std::vector<SectionBox>;

/// Sections that the same axes step through, so that they can be moved together. A bundle without sections is the box
/// of the axes alone.
struct Bundle {
  Offsets offset{};
  Axes common;
  std::vector<Section> sections;

  /// The boxes of all sections.
  int64_t boxes() const;
};

/// All of one dim.
struct DimSections {
  std::vector<Bundle> bundles;
  /// Whether the destination's padding of this dim is among them.
  bool padding = false;

  int64_t boxes() const;
  /// Whether any section has several boxes.
  bool mixed() const;
};

/// Converts the offsets and strides of all sections from elements to units.
void scale(DimSections& dim, int64_t src_units, int64_t dst_units);

/// The sections of dim d; `bytes` are those of an element on both sides. Padding is included if it is `filled` and if
/// the destination's blocks are small enough to be made as a whole. Law: over all bundles, their sections and their
/// boxes, every index is there once. A dim that would take too many boxes is cut as refine() cuts it, which may make
/// tables.
DimSections sections_of(const Layout& src, const Layout& dst, int d, AttributeStep attribute,
                        std::array<int64_t, 2> bytes, bool filled, Tables& tables);

}  // namespace relayout
