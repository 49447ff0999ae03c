// InPlaceData: the steps of an in-place reorder, for the code that runs them (internal to the library). The methods are
// described in in_place.h.
//
//     for (const InPlaceStep& step : plan.data().steps) scratch_bytes(step);
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "relayout/reorder/in_place.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// A loop over parts; strides in bytes of the buffer.
struct InPlaceLoop {
  int64_t count = 1, src_stride = 0, dst_stride = 0;
  /// Set where the last part differs from the others: its bit in the number of a StagedStep's plan.
  int tail_bit = -1;
};

/// The turns of all loops together.
int64_t turns(std::span<const InPlaceLoop> loops);

/// For each part, in this order: its source bytes are copied to the scratch, and a plan reorders from there into the
/// buffer. Parts later in the order have no source bytes where a part writes.
struct StagedStep {
  std::vector<InPlaceLoop> loops;          // outermost first
  int64_t src_offset = 0, dst_offset = 0;  // of the first part, in bytes
  bool backwards = false;                  // the last part first
  bool independent = false;                // in any order, and at once
  bool pads = false;                       // the plans set the destination's padding
  std::vector<Plan> plans;                 // by the tail bits of the loops that are at their last part
};

/// The two-dimensional region x, y < extent at offset + x * x_stride + y * y_stride is transposed, for each turn of the
/// loops.
struct SwapStep {
  std::vector<InPlaceLoop> loops;
  int64_t offset = 0, x_stride = 0, y_stride = 0, extent = 1, tile = 1;
  /// How one pair of tiles P (x before y) and Q, its mirror image, is exchanged. `save`: P transposed to the scratch,
  /// as Q will be; `move`: Q transposed to P; `restore`: the scratch to Q. [0] where both tiles are whole, [1] where
  /// the last tile is less, of tiles off the diagonal; `save_last` and `restore_last`: the last tile of the diagonal.
  std::vector<Plan> save, move, restore;
  std::vector<Plan> save_last, restore_last;

  int64_t tiles() const { return ceil_div(extent, tile); }
};

/// Runs of `unit` bytes change places.
struct CycleStep {
  /// An axis seen from one side: where its index is in an offset, and its value in a unit's number.
  struct Place {
    int64_t extent, stride, value;
  };

  std::vector<InPlaceLoop> loops;
  /// The axes of one part, by destination stride, largest first; strides in bytes. A unit's number counts in their
  /// order.
  Axes axes;
  /// The same by each side's stride, largest first.
  std::vector<Place> src_places, dst_places;
  int64_t src_offset = 0, dst_offset = 0, unit = 1;
  int64_t units = 1;
  /// Sources and destinations are the same places. Otherwise there are chains beside the cycles.
  bool closed = true;
};

/// `rows` rows of row_bytes lie one after the other from `offset`, and what belongs at their ends, tail_bytes each,
/// lies behind all of them in some order. The tails go to the rows; with `split`, from the rows.
struct MergeStep {
  std::vector<InPlaceLoop> loops;
  int64_t offset = 0, rows = 1, row_bytes = 0, tail_bytes = 0;
  bool split = false;
  /// Between where the tails lie behind the rows (its src, with split its dst) and the scratch, in the rows' order. One
  /// plan.
  std::vector<Plan> tails;
};

using InPlaceStep = std::variant<StagedStep, SwapStep, CycleStep, MergeStep>;

struct InPlaceData {
  TensorDesc src, dst;
  std::vector<InPlaceStep> steps;
  /// What sets the padding after steps that do not: from one element, fill_bits, to regions of the buffer.
  std::vector<Plan> fills;
  uint64_t fill_bits = 0;
};

/// Of one step: scratch memory of one thread, and the parts that can be done at once.
int64_t scratch_bytes(const InPlaceStep& step);
int64_t parallel_parts(const InPlaceStep& step);

}  // namespace relayout
