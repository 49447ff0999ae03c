// PlanData: what a Plan holds, for the code that runs and prices plans (internal to the library).
//
// A plan is a list of *boxes*, each moved by one kernel, and a list of *fills*, which set the destination's padding.
//
//     for (const BoxPlan& box : plan.data().boxes()) ...
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relayout/reorder/nest.h"
#include "relayout/reorder/plan.h"

namespace relayout {

class PlanData {
 public:
  /// Nothing is planned yet.
  PlanData(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes)
      : src_(src), dst_(dst), attributes_(attributes) {}

  /// Plan::make() without the handle.
  static std::shared_ptr<const PlanData> make(const TensorDesc& src, const TensorDesc& dst,
                                              const Attributes& attributes, const Machine& machine,
                                              const Tuning& tuning);

  const TensorDesc& src() const { return src_; }
  const TensorDesc& dst() const { return dst_; }
  const Attributes& attributes() const { return attributes_; }

  /// Whether values are converted or computed with; otherwise bits are moved.
  bool converts() const { return converts_; }
  /// Whether both sides together are beyond the caches: then the destination is written past them, line by line.
  /// Otherwise single boxes, and padding, may be (BoxPlan::by_image, BoxPlan::fill_streams).
  bool streams() const { return streams_; }
  /// The boxes to move, each with the kernel shape that does it, and those to fill as padding. At most four times
  /// kMaxBoxes of refine.h, as a few steps of a box, and the last step of a dim, may be cut off, and kMaxBoxes fills a
  /// dim.
  std::span<const BoxPlan> boxes() const { return boxes_; }
  std::span<const BoxPlan> fills() const { return fills_; }
  /// The only box, where one block of it is all that is to be done and it is strided: small reorders start fast.
  const BoxPlan* strided_block() const { return one_strided_block_ ? boxes_.data() : nullptr; }
  /// Of boxes and fills.
  const Tables& tables() const { return tables_; }
  /// The padding's value as the destination's bits, for fills().
  uint64_t fill_bits() const { return fill_bits_; }
  /// What Operand kAttribute points into.
  std::span<const AttributeValues> attribute_values() const { return attribute_values_; }

  std::string explain() const;
  /// What one of boxes() is done by, with the size of its blocks, as explain() says it.
  std::string kernel(const BoxPlan& box) const;
  /// The same of the largest box in short, e.g. "transpose 4": the shape and the bytes of a piece.
  std::string kernel() const;
  Cost cost() const;

 private:
  /// Returns the dims, by bit, whose padding is filled by the boxes already.
  uint32_t plan_boxes(const Machine& machine, const Tuning& tuning);
  /// The extents that are moved: into the padding of both sides where that makes fewer boxes. What is moved there is
  /// filled after it. past_source: into the destination's padding only, as if the source went on.
  Dims moved_dims(bool past_source) const;
  /// What lies past the end of a dim of a source without gaps is other elements. They are moved into the destination's
  /// padding, so that there are no tails there, but where they would be past the end of the source's memory: indices up
  /// to the first result are moved, and then those from the second up to `moved`, if it differs.
  std::pair<Dims, Dims> past_source(const Dims& moved) const;
  void plan_fills(uint32_t filled);

  TensorDesc src_, dst_;
  Attributes attributes_;
  bool converts_ = false, streams_ = false, one_strided_block_ = false, far_l3_ = false;
  std::vector<BoxPlan> boxes_, fills_;
  Tables tables_;
  std::vector<AttributeValues> attribute_values_;
  Dims attribute_strides_;
  uint64_t fill_bits_ = 0;
  int64_t bytes_ = 0;  // of both sides
};

}  // namespace relayout
