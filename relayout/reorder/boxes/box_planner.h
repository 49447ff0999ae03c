// Plans the boxes of one reorder, whether their values are moved, converted, or padding (internal to reorder).
//
//     answer.boxes.push_back(box_planner.move(box, streams));
#pragma once

#include "relayout/reorder/boxes/box_plan.h"

namespace relayout {

/// What the plans of all boxes of a reorder depend on, and the functions that plan one.
struct BoxPlanner {
  ConvertedTypes types;
  bool converts, streams;
  /// The value of the padding as bits. If there is none, padding is not filled.
  std::optional<uint64_t> fill;
  const BlockRules& rules;
  const Tables& tables;
  /// Where both sides' memory ends, in units.
  std::array<int64_t, 2> end;

  /// Plans a simplified box; its offsets and strides are in units.
  BoxPlan move_simple(Box box, bool streamed) const;
  /// Plans a box of sub-byte elements as bytes, where whole bytes are moved. Tables are changed in `changed`; where
  /// that is null, boxes with tables are not.
  std::optional<BoxPlan> move_as_bytes(const Box& box, bool streamed, Tables* changed) const;
  /// These two take a box that need not be simplified: move() plans to move it, pad() to fill it as padding.
  BoxPlan move(Box box, bool streamed) const;
  BoxPlan pad(Box box) const;
};

}  // namespace relayout
