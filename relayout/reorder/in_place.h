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
// a panel of it: first, panels are staged, so that elements with neighbouring destinations become one long run; then
// these runs move along cycles. Where panels do not divide an extent, its last steps are merged at the end. A
// permutation of many axes can be a sequence of transpositions.
//
// Law: afterwards the buffer holds what reference_reorder() from a copy of the buffer into the buffer gives, byte for
// byte. Bytes that are neither an element nor padding of the destination are untouched.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "relayout/reorder/plan.h"

namespace relayout {

struct InPlaceOptions {
  /// The most scratch memory of a plan, in bytes a thread. 0 or less: 1 MiB, or an eighth of the buffer where that is
  /// more; only the bits that cycles need ever take more than 1 MiB then.
  int64_t max_scratch_bytes = 0;
};

/// A loop over *parts* of the tensor, which are reordered one after the other; strides in bytes of the buffer.
struct InPlaceLoop {
  int64_t count = 1, src_stride = 0, dst_stride = 0;
  /// Where the last part of this loop differs from the others: the bit that it sets in the index of StagedStep::plans.
  /// -1 where it does not differ.
  int tail_bit = -1;
};

/// How often all loops together turn: the product of their counts.
int64_t turns(std::span<const InPlaceLoop> loops);

/// Reorders the tensor part by part, in this order: a part's source bytes are copied to the scratch, and a plan
/// reorders them from there into the buffer. No part writes where a later part has source bytes.
struct StagedStep {
  std::vector<InPlaceLoop> loops;          // outermost first
  int64_t src_offset = 0, dst_offset = 0;  // of the first part, in bytes
  bool backwards = false;                  // the last part first
  bool independent = false;                // in any order, and at once
  bool pads = false;                       // the plans set the destination's padding
  std::vector<Plan> plans;                 // by the sum of the bits of the loops that are at their last part
};

/// The two-dimensional region x, y < extent at offset + x * x_stride + y * y_stride is transposed, for each turn of the
/// loops.
struct SwapStep {
  std::vector<InPlaceLoop> loops;
  int64_t offset = 0, x_stride = 0, y_stride = 0, extent = 1, tile = 1;
  /// The plans that exchange a pair of tiles, P and its mirror image Q. `save` transposes P into the scratch, which
  /// then holds what Q will; `move` transposes Q into P; `restore` copies the scratch to Q. Off the diagonal, plan [0]
  /// is for two whole tiles and plan [1] for a pair of which one is the last, smaller tile of its row. `save_last` and
  /// `restore_last` are for the last tile of the diagonal, where it is smaller.
  std::vector<Plan> save, move, restore;
  std::vector<Plan> save_last, restore_last;

  int64_t tiles() const { return ceil_div(extent, tile); }
};

/// Runs of `unit` bytes change places along the cycles of a permutation.
struct CycleStep {
  /// An axis as one side sees it: its extent, its stride in bytes, and how much one step adds to the number of a unit.
  struct Place {
    int64_t extent, stride, value;
  };

  std::vector<InPlaceLoop> loops;
  /// The axes of one part, by destination stride, largest first; strides in bytes. Units are numbered in the order of
  /// these axes.
  Axes axes;
  /// The same axes by the stride of each side, largest first.
  std::vector<Place> src_places, dst_places;
  int64_t src_offset = 0, dst_offset = 0, unit = 1;
  int64_t units = 1;
  /// Sources and destinations are the same places. Otherwise some units move along chains, which have two ends.
  bool closed = true;
};

/// From `offset` on, `rows` rows of row_bytes lie one after the other, and behind all of them lie their *tails*:
/// tail_bytes for each row, in some order. This step puts each tail at the end of its row; with `split` it goes the
/// other way.
struct MergeStep {
  std::vector<InPlaceLoop> loops;
  int64_t offset = 0, rows = 1, row_bytes = 0, tail_bytes = 0;
  bool split = false;
  /// One plan. It reorders the tails from behind the rows into the scratch, in the order of the rows; with `split`,
  /// from the scratch.
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
  /// Plans that set the padding after the steps, where these do not: each broadcasts one element, fill_bits(), to a
  /// region of the buffer.
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

/// The scratch memory that one step takes for each thread, and how many of its parts can be done at once.
int64_t scratch_bytes(const InPlaceStep& step);
int64_t parallel_parts(const InPlaceStep& step);

}  // namespace relayout
