// PlanData: what a Plan holds, for the code that runs and prices plans (internal to the library): the request and the
// planner's answer to it. Nothing of it changes once it is made.
//
// A plan is a list of *boxes*, each done by one method (box_plan.h), and a list of *fills*, which set the destination's
// padding.
//
//     for (const BoxPlan& box : plan.data().boxes()) ...
#pragma once

#include <memory>
#include <span>
#include <string>

#include "relayout/reorder/planner/answer.h"
#include "relayout/reorder/planner/code.h"

namespace relayout {

class Plan;

class PlanData {
 public:
  /// A plan of nothing.
  PlanData() = default;
  /// Plan::make() without the handle, of tensors of at least one dim or without padding.
  PlanData(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Machine& machine,
           const Tuning& tuning);
  /// Plan::make() without the handle. With `code`, what it generates for the plan belongs to the plan.
  static std::shared_ptr<const PlanData> make(const TensorDesc& src, const TensorDesc& dst,
                                              const Attributes& attributes, const Machine& machine,
                                              const Tuning& tuning, CodeMaker code = nullptr);

  /// The handle of a plan.
  static Plan handle(std::shared_ptr<const PlanData> data);

  const TensorDesc& src() const { return request_.src; }
  /// src().span_bytes(), which takes longer to compute than a small reorder.
  int64_t src_bytes() const { return src_bytes_; }
  const TensorDesc& dst() const { return request_.dst; }
  const Attributes& attributes() const { return request_.attributes; }
  /// The machine that the plan is made for.
  const Machine& machine() const { return request_.machine; }
  /// What else the request says and what the answer holds: see Request and Answer.
  const Dims& dims() const { return request_.dims; }
  bool converts() const { return request_.converts; }
  bool far() const { return request_.far(); }
  uint64_t fill_bits() const { return request_.fill_bits; }
  const AttributeTable<float>& attribute_values() const { return request_.values; }
  const AttributeTable<double>& wide_attribute_values() const { return request_.wide_values; }
  bool streams() const { return answer_.streams; }
  /// Whether the caller asked for that; else it is expected to take less time.
  bool asked_for() const { return request_.tuning.stream == Tuning::Stream::always; }
  std::span<const BoxPlan> boxes() const { return answer_.boxes; }
  std::span<const BoxPlan> fills() const { return answer_.fills; }
  const Tables& tables() const { return answer_.tables; }
  const Answer& answer() const { return answer_; }

  /// The same plan with machine code that does the whole reorder.
  std::shared_ptr<const PlanData> with(std::shared_ptr<const Code> code) const {
    auto out = std::make_shared<PlanData>(*this);
    out->code_ = std::move(code);
    return out;
  }
  /// That code, or null.
  const Code* code() const { return code_.get(); }

  /// The only box, if the whole reorder is one strided block, so that a small reorder starts fast; otherwise null.
  const BoxPlan* strided_block() const { return one_strided_block_ ? answer_.boxes.data() : nullptr; }

  /// The plan in words, several lines: what is moved, along which axes, by which kernels.
  std::string explain() const;
  /// The kernel of one of boxes(), with the size of its blocks, in the words of explain().
  std::string kernel(const BoxPlan& box) const;
  /// The kernel of the largest box, e.g. "transpose 4", its shape and the bytes of a piece; or "lines 64", a line
  /// program and the bytes of a line.
  std::string kernel() const;
  Cost cost() const;

 private:
  Request request_;
  Answer answer_;
  int64_t src_bytes_ = 0;
  bool one_strided_block_ = false;
  std::shared_ptr<const Code> code_;
};

}  // namespace relayout
