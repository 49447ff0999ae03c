// What a reorder is asked to do: two tensors, what happens to values, a machine, and what follows from these alone
// (internal to reorder).
#pragma once

#include <cstdint>
#include <vector>

#include "relayout/reorder/attributes.h"
#include "relayout/reorder/machine.h"
#include "relayout/reorder/refine/indexed_boxes.h"
#include "relayout/reorder/refine/refine.h"
#include "relayout/reorder/request/attribute_table.h"

namespace relayout {

struct Request {
  TensorDesc src, dst;
  Attributes attributes;
  Machine machine;
  Tuning tuning;
  /// The dims of the reorder: those of both sides, unless it goes through index tables.
  Dims dims;
  /// Whether values are converted or computed with; otherwise bits are moved.
  bool converts = false;
  /// The value of the padding, as bits of the destination's type.
  uint64_t fill_bits = 0;
  /// The memory of both sides; through index tables, of the elements that are moved.
  int64_t bytes = 0;
  /// The attribute values, in one of both tables: in f32 where that is the compute type, else in f64.
  AttributeTable<float> values;
  AttributeTable<double> wide_values;
  AttributeSteps steps;
  std::vector<IndexedDim> index_dims;  // those that go through index tables

  /// Nothing is asked for.
  Request() = default;
  /// Errors and cost: those of Plan::make().
  Request(const TensorDesc& from, const TensorDesc& to, const Attributes& with, const Machine& on, const Tuning& tuned);

  /// Whether no element is moved.
  bool empty() const;
  bool indexed() const { return attributes.indexed(); }
  bool swizzled() const { return src.layout.swizzled() || dst.layout.swizzled(); }
  bool packed() const { return bits(src.dtype) < 8 || bits(dst.dtype) < 8; }
  bool fills_padding() const {
    return attributes.padding.kind == Padding::Kind::value && dst.layout.padded() && attributes.dst_index.empty();
  }
  /// Whether padding is what becomes of indices that are kNone in a table of the source.
  bool fills_missing() const {
    return attributes.padding.kind == Padding::Kind::value && !attributes.src_index.empty();
  }
  /// Whether most bytes of both sides are beyond the caches that a core has.
  bool far() const { return bytes > machine.far(); }

  /// The boxes of all indices below these extents, simplified, with offsets in units, and their tables. Through index
  /// tables: of all indices.
  std::vector<Box> boxes(const Dims& extents, Tables& of_boxes) const;
  /// Those of the padding that is to be filled, without that of the dims `filled` (by bit).
  std::vector<Box> padding(uint32_t filled, Tables& of_boxes) const;
};

/// The extents of what is moved: more than the dims where both sides have padding and moving some of it makes fewer
/// boxes. The destination's padding is filled afterwards.
Dims moved_dims(const Request& request);

}  // namespace relayout
