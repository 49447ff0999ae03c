// Sections: a dim cut where the destination's blocks are, so that what is cut within a block can be put together again
// before it is written (internal to reorder; tiles.h does so).
//
// A *section* is one or more blocks of the destination, in as many affine *parts* as it takes: by the source's blocks,
// where they end elsewhere, and by the end of the dim, after which there is padding. Blocks that are cut alike are one
// section and the axes that step through them.
//
//     c = 192 of aBcd16b -> aBcd12b: 4 sections of 4 blocks each: 0..11; 12..15 and 16..23; 24..31 and 32..35; 36..47
//     c = 17 of nchw -> nChw16c: 0..15; 16 and 15 of padding
#pragma once

#include <vector>

#include "relayout/core/layout.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// Some indices that are affine on both sides; of padding, the destination's only.
struct SectionBox {
  Offsets offset{};
  Axes axes;
  bool padding = false;
};
using Section = std::vector<SectionBox>;

/// Sections that the same axes step through, so that they can be done together; where there are none, these axes are
/// all.
struct Bundle {
  Offsets offset{};
  Axes common;
  std::vector<Section> sections;

  int64_t boxes() const;
};

struct DimSections {
  std::vector<Bundle> bundles;
  /// Whether the destination's padding of this dim is among them.
  bool padding = false;

  int64_t boxes() const;
  /// Whether any section has several parts.
  bool mixed() const;
};

/// The sections of dim d; `bytes` are an element's on both sides. Padding is cut too if it is `filled`, and if the
/// destination's blocks are small enough to be done as a whole. Laid over all bundles, sections and parts, every index
/// is there once. A dim that would take too many parts goes by its pieces, tables among them, as in refine().
DimSections sections_of(const Layout& src, const Layout& dst, int d, int64_t attribute_stride,
                        std::array<int64_t, 2> bytes, bool filled, Tables& tables);

}  // namespace relayout
