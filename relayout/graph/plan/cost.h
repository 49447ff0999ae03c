// Cost: the predicted time of a primitive and of a reorder, in microseconds, by which plans are compared.
//
//     double us = predict(graph, plan, costs).time();
#pragma once

#include <memory>
#include <string>

#include "relayout/graph/plan/cost_key.h"
#include "relayout/graph/plan/layout_plan.h"
#include "relayout/reorder/plan.h"
#include "relayout/solve/problem.h"

namespace relayout::graph {

/// The cost of a primitive or a reorder that is not possible.
inline constexpr double kImpossible = solve::kImpossible;

class Costs {
 public:
  virtual ~Costs() = default;
  /// "analytic", "measured".
  virtual std::string name() const = 0;
  /// The time of one run of a node in these layouts, as one step of a model. Its sources are in the caches, because the
  /// step before has just written them, with two exceptions: tensors that exist before a run (CostContext::is_given()),
  /// and tensors that the forward pass left. `forward` is the implementation of the node's hint, else null; it matters
  /// only for the kinds of follows_forward(). `in_place` says that the first destination uses the memory of a source.
  /// Infinity if the primitive cannot be made. Errors: the backend's, where costs are measured.
  virtual double primitive(const CostContext& context, NodeId node, const Implementation& implementation,
                           const Implementation* forward, bool in_place) = 0;
  /// The time of one reorder of a tensor. When its memory was last touched is what CostContext::reorder_setting() says.
  virtual double reorder(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) = 0;
  /// The time of the backend's reorder of a constant from row-major into an opaque format. Predicted: that of a reorder
  /// of the same tensor that reverses its dims, for each byte that is written.
  virtual double opaque_reorder(const ReorderSetting& setting, const TensorDesc& from, const Opaque& to);
  /// Called when all costs of a problem have been asked for. True asks the caller to ask for all of them once more,
  /// because new measurements have made some costs more accurate.
  virtual bool again() { return false; }
};

/// Predicted times are noisy, so the planner adds a reorder, or a concat that moves data, only for a gain larger than
/// the error. When plans are compared, each of them costs this share of its time on top of its time.
inline constexpr double kMoveMargin = 1;

/// The same margin for a node, as a share of its time.
inline double margin_of(const Node& node) { return node.kind == Kind::concat ? kMoveMargin : 0; }

struct PredictedCost {
  /// The times of all primitives and of all reorders, and the margins (kMoveMargin) that are added for comparing.
  double primitives = 0, reorders = 0, margin = 0;
  /// One run's share of the reorders at load.
  double load = 0;
  /// The part of `primitives` that reference implementations take.
  double references = 0;
  /// The first node that cannot be made as planned, so that its time is infinite; kNone if there is none.
  NodeId impossible = kNone;
  /// Microseconds of each node, and of the reorder that makes each copy; 0 of what costs nothing or is not run.
  std::vector<double> nodes{}, copies{};
  double time() const { return primitives + reorders; }
  /// The cost by which plans are compared.
  double total() const { return time() + margin + load; }
};
/// The predicted cost of one run of a plan. Each layout is priced as if it began at offset 0, as the planner prices it.
/// Views and barriers cost nothing, nor do concats whose sources are written into their destination. Reorders whose
/// result nothing reads are not run. Reorders of constants run once at load: their time is divided by `runs`, and 0
/// leaves it out.
PredictedCost predict(const Graph& graph, const LayoutPlan& plan, Costs& costs, int64_t runs = 0);

/// The speeds of this machine when `threads` threads work, as analytic costs need them.
struct Calibration {
  int threads = 1;
  /// f32 operations of a convolution that suits the machine.
  double flops_per_us = 0;
  /// The share of it that arithmetic in narrower vectors than the machine's widest reaches (Performance::narrow): 1 on
  /// processors that do a wide vector in two halves, and 0.5 on those that do not.
  double narrow_share = 1;
  /// Bytes read and written by a copy that stays in the second-level cache, by one that stays in the last level, and by
  /// one that goes to memory.
  double near_bytes_per_us = 0, cache_bytes_per_us = 0, memory_bytes_per_us = 0;
  /// The time of a call of a primitive that does next to nothing.
  double call_us = 0;
  /// What a primitive or a reorder takes longer as a step of a model than when it is run repeatedly by itself, because
  /// its code and descriptors have left the caches.
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
