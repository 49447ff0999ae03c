// In-place reorder: both layouts in one buffer, with a small scratch memory instead of a second tensor.
//
// A plan is a list of steps, each by one of these methods, then the padding:
//
//     staged   parts of the tensor that lie apart are reordered one at a time out of a copy (per image, per block)
//     swap     two axes of equal extent change places (square transposes): pairs of tiles are exchanged
//     cycles equal runs move along the cycles of the permutation; one bit a run marks those that have moved
//     merge the ends of rows, which lie behind all rows, are moved to their rows; or the reverse (split)
//
//     auto p = InPlacePlan::make({Format::parse("ab").bind({4096, 4096}), DType::f32},
//                                {Format::parse("ba").bind({4096, 4096}), DType::f32});
//     p.scratch_bytes();                                        // 16384: one tile
//     cpu::run(p, buffer, scratch);                             // cpu/in_place.h
//
// Cycles of short runs are slow, because they jump through memory. So a transposition of unequal extents is done in two
// steps where the scratch holds a panel of it. First, panels are staged, so that elements with neighbouring
// destinations become one long run. Then these runs move along cycles. Where panels do not divide an extent, the rest
// of it is merged at the end. A permutation of many axes can be a sequence of transpositions.
//
// Law: afterwards the buffer holds what reference_reorder() from a copy of the buffer into the buffer gives, byte for
// byte. Bytes that are neither an element nor padding of the destination are untouched.
#pragma once

#include <memory>
#include <string>

#include "relayout/reorder/plan.h"

namespace relayout {

struct InPlaceData;

struct InPlaceOptions {
  /// The most scratch memory of a plan, in bytes a thread. 0 or less stands for 1 MiB; the bits that cycles need may
  /// then take up to an eighth of the buffer, where that is more.
  int64_t max_scratch_bytes = 0;
};

class InPlacePlan {
 public:
  /// A plan of nothing.
  InPlacePlan();

  /// Both layouts count from the start of the same buffer. Errors: those of Plan::make; invalid_argument where
  /// attributes.beta is not 0, as there is no old destination; unsupported where there is no plan within the scratch;
  /// the error names the least scratch that would do, if any would. Cost: that of up to 20 calls of Plan::make.
  static InPlacePlan make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                          const InPlaceOptions& options = {});

  const TensorDesc& src() const;
  const TensorDesc& dst() const;

  /// Bytes that the buffer must have: the larger span.
  int64_t buffer_bytes() const;
  /// Scratch memory for up to `threads` threads. With less, fewer threads are used. The scratch of one thread is
  /// required.
  int64_t scratch_bytes(int threads = 1) const;
  /// "nothing", or the methods of the steps in order, as in "staged, cycles".
  std::string method() const;
  /// The plan in words, several lines.
  std::string explain() const;

  /// The steps, for the code that runs them (in_place/data.h, which is not installed).
  const InPlaceData& data() const { return *data_; }

 private:
  explicit InPlacePlan(std::shared_ptr<const InPlaceData> data) : data_(std::move(data)) {}

  std::shared_ptr<const InPlaceData> data_;
};

}  // namespace relayout
