// Cost: what a primitive and a reorder take, in microseconds, for those who compare plans.
//
//     double us = predict(graph, plan, costs).total();
#pragma once

#include <string>

#include "relayout/graph/layout_plan.h"

namespace relayout::graph {

class Costs {
 public:
  virtual ~Costs() = default;
  /// "analytic", "measured".
  virtual std::string name() const = 0;
  /// One run of a node in these layouts, its sources just written by the step before it. `forward` is the way of the
  /// node's hint, else null. `in_place`: the first destination is the first source's memory. Infinity where it cannot
  /// be made.
  virtual double primitive(const Graph& graph, NodeId node, const Implementation& implementation,
                           const Implementation* forward, bool in_place) = 0;
  /// One reorder.
  virtual double reorder(const TensorDesc& from, const TensorDesc& to) = 0;
};

struct PredictedCost {
  double primitives = 0, reorders = 0;
  double total() const { return primitives + reorders; }
};
/// Of one run of a plan; reorders of constants are not in it.
PredictedCost predict(const Graph& graph, const LayoutPlan& plan, Costs& costs);

/// Speeds of this machine with that many threads.
struct Calibration {
  int threads = 1;
  double flops_per_us = 0;
  /// Of memory past the caches, of the last cache, of the second one: bytes read + written.
  double memory_bytes_per_us = 0, cache_bytes_per_us = 0, near_bytes_per_us = 0;
  /// A call of a primitive.
  double call_us = 0;
};

/// Roofline costs: the larger of arithmetic and traffic, plus the call. An implementation's share of the arithmetic's
/// limit is by its family and shape; a reorder is Plan::cost. Times in layouts are comparable, not exact.
std::unique_ptr<Costs> analytic_costs(const Calibration& calibration);

}  // namespace relayout::graph
