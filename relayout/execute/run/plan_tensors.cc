// Random inputs and room for outputs: see plan_tensors.h.
#include "relayout/execute/run/plan_tensors.h"

#include <algorithm>
#include <random>

#include "relayout/graph/reference/reference.h"

namespace relayout::execute {

PlanTensors::PlanTensors(const graph::Graph& graph, const graph::LayoutPlan& plan) {
  std::mt19937_64 rng(1);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const TensorDesc desc{plan.copy(plan.inputs[i]).layout, graph.tensor(graph.inputs[i]).dtype};
    graph::Values values(static_cast<std::size_t>(desc.layout.span()));
    std::uniform_real_distribution<double> uniform(is_floating(desc.dtype) ? -1 : 0, 1);
    if (!desc.layout.padded()) std::ranges::generate(values, [&] { return uniform(rng); });
    memory_.push_back(graph::store(values, desc.dtype));
    sources_.push_back({desc, memory_.back().data()});
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorDesc desc{plan.copy(plan.outputs[i]).layout, graph.tensor(graph.outputs[i]).dtype};
    memory_.emplace_back(static_cast<std::size_t>(desc.span_bytes()));
    destinations_.push_back({desc, memory_.back().data()});
  }
}

}  // namespace relayout::execute
