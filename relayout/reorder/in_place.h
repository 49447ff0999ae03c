// In-place reorder: both layouts in one buffer, with a small scratch memory instead of a second tensor.
//
// A plan is a list of steps, each by one of these methods, then the padding:
//
//     staged   parts of the tensor that lie apart are reordered one at a time out of a copy (per image, per block)
//     swap     two axes of equal extent change places (square transposes): pairs of tiles are exchanged
//     cycles   equal runs move along the cycles of the permutation, a bit for each says that it has moved
//     merge    the ends of rows are put to them from behind the rows, or the other way round (split)
//
//     auto p = InPlacePlan::make({Format::parse("ab").bind({4096, 4096}), DType::f32},
//                                {Format::parse("ba").bind({4096, 4096}), DType::f32});
//     p.scratch_bytes();                                        // 16384: one tile
//     cpu::run(p, buffer, scratch);                             // cpu/in_place.h
//
// Cycles of short runs jump through memory. So a transposition of unequal extents is two steps where the scratch holds
// a panel of it: panels are staged so that long runs have one destination, and those go by cycles. What the panels
// leave is merged. A permutation of many axes can be a sequence of transpositions.
//
// Law: afterwards the buffer is what reference_reorder() from a copy of it to the buffer itself gives, byte for byte:
// what is no element and no padding of the destination is untouched.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "relayout/reorder/plan.h"

namespace relayout {

struct InPlaceOptions {
  /// The most scratch memory of a plan, in bytes a thread. 0: 1 MiB, or an eighth of the buffer where that is more,
  /// but only bits of cycles take more than 1 MiB. Less than 0 is 0.
  int64_t max_scratch_bytes = 0;
};

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

class InPlacePlan {
 public:
  /// Both layouts count from the start of the same buffer. Errors: those of Plan::make; invalid_argument where
  /// attributes.beta is not 0, as there is no old destination; unsupported where there is no plan within the scratch,
  /// with the least scratch that would do, where one would. Cost: as some Plan::make, up to 20.
  static InPlacePlan make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                          const InPlaceOptions& options = {});

  const TensorDesc& src() const { return src_; }
  const TensorDesc& dst() const { return dst_; }
  std::span<const InPlaceStep> steps() const { return steps_; }
  /// What sets the padding after steps that do not: from one element, fill_bits(), to regions of the buffer.
  std::span<const Plan> fills() const { return fills_; }
  uint64_t fill_bits() const { return fill_bits_; }

  /// Bytes that the buffer must have: the larger span.
  int64_t buffer_bytes() const { return std::max(src_.span_bytes(), dst_.span_bytes()); }
  /// Scratch memory for up to `threads` threads. With less, fewer threads are used; that of one must be there.
  int64_t scratch_bytes(int threads = 1) const;
  /// "nothing", or the methods of the steps in order, as in "staged, cycles".
  std::string method() const;
  /// The plan in words, several lines.
  std::string explain() const;

 private:
  TensorDesc src_, dst_;
  std::vector<InPlaceStep> steps_;
  std::vector<Plan> fills_;
  uint64_t fill_bits_ = 0;
};

/// Of one step: scratch memory of one thread, and the parts that can be done at once.
int64_t scratch_bytes(const InPlaceStep& step);
int64_t parallel_parts(const InPlaceStep& step);

}  // namespace relayout
