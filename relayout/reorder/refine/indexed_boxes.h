// Boxes of reorders through index tables (core/index_table.h; internal to reorder).
//
// A table in front of a dim says where its indices stand, one by one or a block at a time. A block is cut into boxes as
// the first block of the dim would be, by refine(), and the blocks become one more axis of these boxes, with a table of
// where each starts. So the tables that a reorder has are those of its axes, and what runs boxes does not know of any
// other. A table whose steps are even (all indices in their order, or every second one) becomes an axis of strides.
//
//     table 0: 7,2,9 of dims 10x64, f32, to 3x64:  n (3 | 1792,512,2304 -> 0,256,512 bytes)  c (64 | 4 -> 4)
//
// Law: over all boxes, the tuples of offsets are those of each index whose entries are not kNone, once.
#pragma once

#include <span>
#include <vector>

#include "relayout/reorder/attributes.h"
#include "relayout/reorder/refine/refine.h"

namespace relayout {

/// Blocks of `extent` indices of a dim, each with its first index in the source, in the destination and in the reorder:
/// a list of each, or even steps from `first` on where the list is empty.
struct IndexedBlocks {
  int64_t extent = 1, count = 0;
  Offsets first{};
  std::array<Table::Column, kOperands> starts{};

  int64_t start(Operand k, int64_t e) const { return first[k] + starts[k][e]; }
};

/// A dim that has a table on some side: the blocks that are moved, and those that nothing is moved to, as the source's
/// entry is kNone. The last block may be smaller than the others.
struct IndexedDim {
  int dim = 0;
  std::vector<IndexedBlocks> moved, missing;
};

/// The dims that have tables. The errors of IndexTable::check(): so every entry is looked at before anything moves.
/// Cost: time and memory in proportion to the entries.
std::vector<IndexedDim> indexed_dims(const Layout& src, const Layout& dst, const Attributes& attributes,
                                     const AttributeSteps& steps, const Dims& dims);

/// The boxes of everything that is moved; as refine() otherwise.
std::vector<Box> refine_indexed(const Layout& src, const Layout& dst, const AttributeSteps& steps, const Dims& dims,
                                std::span<const IndexedDim> indexed, Tables& tables);
/// The boxes of the destination that nothing is moved to, each index once. Both sides of them are `dst`.
std::vector<Box> refine_missing(const Layout& dst, const Dims& dims, std::span<const IndexedDim> indexed,
                                Tables& tables);

}  // namespace relayout
