// InPlaceData: the steps of an in-place reorder, for the code that runs them (internal to the library). The methods are
// described in in_place.h.
//
//     for (const InPlaceStep& step : plan.data().steps) scratch_bytes(step);
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "relayout/reorder/in_place.h"
#include "relayout/reorder/refine/axes.h"

namespace relayout {

/// A loop over parts. Its strides are in bytes.
struct InPlaceLoop {
  int64_t count = 1, src_stride = 0, dst_stride = 0;
  /// Set where the last part differs from the others: its bit in the number of a StagedStep's plan.
  int tail_bit = -1;
};

/// How many turns all loops together make: the product of their counts.
int64_t turns(std::span<const InPlaceLoop> loops);

/// Does the parts one after the other. The source bytes of a part are copied to the scratch, and a plan reorders from
/// there into the buffer. The order of the parts is such that no part writes over the source bytes of a later one.
struct StagedStep {
  std::vector<InPlaceLoop> loops;          // outermost first
  int64_t src_offset = 0, dst_offset = 0;  // of the first part, in bytes
  bool backwards = false;                  // the last part comes first
  bool independent = false;                // parts may be done in any order and at the same time
  bool pads = false;                       // the plans also set the padding of the destination
  std::vector<Plan> plans;                 // index: the tail bits of all loops that are at their last part
};

/// The two-dimensional region x, y < extent at offset + x * x_stride + y * y_stride is transposed, for each turn of the
/// loops.
struct SwapStep {
  std::vector<InPlaceLoop> loops;
  int64_t offset = 0, x_stride = 0, y_stride = 0, extent = 1, tile = 1;
  /// How a tile P and its mirror image Q are exchanged. `save` transposes P into the scratch, `move` transposes Q to
  /// the place of P, and `restore` copies the scratch to the place of Q. Entry [0] is for whole tiles; entry [1] is for
  /// pairs off the diagonal of which one side is cut off by the end of the region. `save_last` and `restore_last`
  /// transpose the last tile of the diagonal, if that is cut off.
  std::vector<Plan> save, move, restore;
  std::vector<Plan> save_last, restore_last;

  int64_t tiles() const { return ceil_div(extent, tile); }
};

/// Runs of `unit` bytes change places.
struct CycleStep {
  /// An axis seen from one side: its stride there, and by how much one step of it changes the number of a unit.
  struct SideAxis {
    int64_t extent, stride, value;
  };

  std::vector<InPlaceLoop> loops;
  /// The axes of one part, from the largest destination stride to the smallest; strides are in bytes. Units are
  /// numbered in the order of these axes.
  Axes axes;
  /// The same axes, for each side from its largest stride to its smallest.
  std::vector<SideAxis> src_axes, dst_axes;
  int64_t src_offset = 0, dst_offset = 0, unit = 1;
  int64_t units = 1;
  /// Whether the units occupy the same places before and after the step. If not, some units move along chains, which
  /// end, and not in cycles.
  bool closed = true;
};

/// From `offset` on, `rows` rows of row_bytes follow each other. Behind all of them lie their tails, in some order: the
/// tail_bytes that belong at the end of each row. The step moves the tails to the ends of their rows; with `split`, it
/// does the reverse.
struct MergeStep {
  std::vector<InPlaceLoop> loops;
  int64_t offset = 0, rows = 1, row_bytes = 0, tail_bytes = 0;
  bool split = false;
  /// One plan, which moves the tails from behind the rows to the scratch, where they lie in the order of the rows; with
  /// `split`, back from the scratch.
  std::vector<Plan> tails;
};

using InPlaceStep = std::variant<StagedStep, SwapStep, CycleStep, MergeStep>;

struct InPlaceData {
  TensorDesc src, dst;
  std::vector<InPlaceStep> steps;
  /// Plans that set the padding after all steps, if no step does that. Each plan copies one element, whose bits are
  /// fill_bits, to all places of a region of the buffer.
  std::vector<Plan> fills;
  uint64_t fill_bits = 0;
};

/// The scratch memory that one thread needs for a step, and how many parts of a step can be done at the same time.
int64_t scratch_bytes(const InPlaceStep& step);
int64_t parallel_parts(const InPlaceStep& step);

}  // namespace relayout
