// The handle of a plan.
#include "relayout/reorder/plan.h"

#include "relayout/reorder/planner/plan_data.h"

namespace relayout {

Plan::Plan() {
  static const auto kNothing = std::make_shared<const PlanData>();
  data_ = kNothing;
}

Plan Plan::make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Machine& machine,
                const Tuning& tuning) {
  return PlanData::handle(PlanData::make(src, dst, attributes, machine, tuning));
}

Plan PlanData::handle(std::shared_ptr<const PlanData> data) { return Plan(std::move(data)); }

const TensorDesc& Plan::src() const { return data_->src(); }
const TensorDesc& Plan::dst() const { return data_->dst(); }
const Attributes& Plan::attributes() const { return data_->attributes(); }
bool Plan::converts() const { return data_->converts(); }
bool Plan::streams() const { return data_->streams(); }
std::string Plan::explain() const { return data_->explain(); }
std::string Plan::kernel() const { return data_->kernel(); }
Cost Plan::cost() const { return data_->cost(); }

}  // namespace relayout
