// Cost: what a primitive and a reorder take, in microseconds, for those who compare plans.
//
//     double us = predict(graph, plan, costs).time();
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "relayout/graph/plan/cost_key.h"
#include "relayout/graph/plan/layout_plan.h"
#include "relayout/reorder/plan.h"

namespace relayout::graph {

/// The cost of what cannot be made.
inline constexpr double kImpossible = std::numeric_limits<double>::infinity();

class Costs {
 public:
  virtual ~Costs() = default;
  /// "analytic", "measured".
  virtual std::string name() const = 0;
  /// One run of a node in these layouts as a step of a model: its sources were just written by the step before it, but
  /// for what is there before a run (CostContext::is_given()) and what a forward pass left. `forward` is the way of the
  /// node's hint, else null; what it costs depends on that for kinds of follows_forward() only. `in_place`: the first
  /// destination is a source's memory. Infinity where it cannot be made. Errors: the backend's, where costs are
  /// measured.
  virtual double primitive(const CostContext& context, NodeId node, const Implementation& implementation,
                           const Implementation* forward, bool in_place) = 0;
  /// One reorder of a tensor, whose memory was touched last as CostContext::reorder_setting() says.
  virtual double reorder(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) = 0;
  /// Called when all of a problem have been asked for: whether to ask once more, as what was new may come out better.
  virtual bool again() { return false; }
};

/// What reorders, and concats that move data, count beside what they take, as a share of it: plans that differ by less
/// than times err should not differ by reorders. One is worth it where it saves that much more than it takes.
inline constexpr double kMoveMargin = 1;

/// As a share of a node's time, too.
inline double margin_of(const Node& node) { return node.kind == Kind::concat ? kMoveMargin : 0; }

struct PredictedCost {
  /// What they take, and what reorders and concats that move count beside it.
  double primitives = 0, reorders = 0, margin = 0;
  /// A run's share of reorders at load.
  double load = 0;
  /// The first node that costs infinity, as it cannot be made as planned; kNone where there is none.
  NodeId impossible = kNone;
  double time() const { return primitives + reorders; }
  /// What plans are compared by.
  double total() const { return time() + margin + load; }
};
/// Of one run of a plan, by the costs of layouts that begin at offset 0, as those of choices are. Views (concats whose
/// sources lie in their destination among them) and barriers cost nothing; reorders that nothing reads are not run,
/// those of constants are at load, paid by `runs` (0: by none).
PredictedCost predict(const Graph& graph, const LayoutPlan& plan, Costs& costs, int64_t runs = 0);

/// Speeds of this machine with that many threads.
struct Calibration {
  int threads = 1;
  /// Of a convolution that suits the machine, in f32.
  double flops_per_us = 0;
  /// Bytes read + written by a copy that stays in the second cache, in what counts of the last one, and goes past that.
  double near_bytes_per_us = 0, cache_bytes_per_us = 0, memory_bytes_per_us = 0;
  /// A call of a primitive.
  double call_us = 0;
  /// What each step of a run, a primitive or a reorder, takes beside what it takes alone: its code and descriptors have
  /// left the caches.
  double step_us = 0;
  /// The caches, as one thread sees them.
  Machine machine{};
};

/// Roofline costs: a primitive takes the longer of its arithmetic and its memory traffic, each at the share of the
/// machine's limit that Backend::performance() says, plus the call and the step; a reorder takes Plan::cost and the
/// step. The times are good for comparing layouts, but are not exact. The forward implementation of a backward node
/// makes no difference. The backend must outlive the costs.
std::unique_ptr<Costs> analytic_costs(const Calibration& calibration, const Backend& backend);

}  // namespace relayout::graph
