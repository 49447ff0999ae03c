// Making a plan: a request, and the planner's answer to it.
#include "relayout/reorder/planner/plan_data.h"

#include <algorithm>
#include <string>

#include "relayout/reorder/planner/planner.h"

namespace relayout {

PlanData::PlanData(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Machine& machine,
                   const Tuning& tuning)
    : request_(src, dst, attributes, machine, tuning), src_bytes_(request_.src.span_bytes()) {
  if (request_.empty()) return;
  answer_ = Planner(request_).best();
  request_.index_dims = {};  // their blocks are in the answer's tables
  one_strided_block_ =
      answer_.boxes.size() == 1 && answer_.fills.empty() && answer_.boxes[0].strided && answer_.boxes[0].blocks == 1;
}

std::shared_ptr<const PlanData> PlanData::make(const TensorDesc& src, const TensorDesc& dst,
                                               const Attributes& attributes, const Machine& machine,
                                               const Tuning& tuning, CodeMaker code) {
  if (src.layout.ndims() == 0 && dst.layout.ndims() == 0 && (src.layout.padded() || dst.layout.padded())) {
    return make({src.layout.as_vector(), src.dtype}, {dst.layout.as_vector(), dst.dtype}, attributes, machine, tuning,
                code);
  }
  auto plan = std::make_shared<PlanData>(src, dst, attributes, machine, tuning);
  if (code) plan->code_ = code(*plan);
  return plan;
}

Cost PlanData::cost() const {
  Cost out = cost_of(request_, answer_);
  if (code_) out.nanoseconds = code_->nanoseconds();
  return out;
}

std::string PlanData::kernel() const {
  if (boxes().empty()) return "none";
  const BoxPlan& largest = *std::ranges::max_element(boxes(), {}, &BoxPlan::elements);
  const auto* tiles = largest.as<TileRuns>();
  const BoxPlan& box = tiles && tiles->by_lines() ? tiles->largest() : largest;
  if (const auto* lines = box.as<ProgrammedLines>())
    return "lines " + std::to_string(lines->program->width) + (streams() ? " stream" : "");
  return std::string(name(box.shape())) + " " + std::to_string(box.piece[kSrc]) + (converts() ? " convert" : "") +
         (streams() ? " stream" : "");
}

}  // namespace relayout
