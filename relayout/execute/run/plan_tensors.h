// Plan tensors: memory for a plan's inputs and outputs, to time runs of the plan with.
//
//     PlanTensors tensors(graph, plan);
//     model.run(tensors.sources(), tensors.destinations());
//
// Each has the layout that the plan has chosen for it.
#pragma once

#include "relayout/execute/run/execute.h"

namespace relayout::execute {

class PlanTensors {
 public:
  /// Inputs get random values, the same each time: from [-1, 1), or 0 and 1 for integers. Inputs with padding are all
  /// zero, because padding must be.
  PlanTensors(const graph::Graph& graph, const graph::LayoutPlan& plan);
  PlanTensors(const PlanTensors&) = delete;
  PlanTensors(PlanTensors&&) = default;
  PlanTensors& operator=(const PlanTensors&) = delete;
  PlanTensors& operator=(PlanTensors&&) = default;

  /// They point into this object's memory.
  std::span<const Source> sources() const { return sources_; }
  std::span<const Destination> destinations() const { return destinations_; }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<Source> sources_;
  std::vector<Destination> destinations_;
};

}  // namespace relayout::execute
