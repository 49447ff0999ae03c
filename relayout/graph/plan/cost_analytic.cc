// Roofline costs: the time of a primitive from its work, the machine's limits and what its implementation reaches of
// them; the time of a reorder from its plan. The constants below were measured together with the shares of the tested
// backend (see its performance()).
#include <algorithm>
#include <unordered_map>

#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/cost_key.h"
#include "relayout/graph/plan/work.h"

namespace relayout::graph {
namespace {

/// A convolution that unfolds its source reaches this share of the second-level cache's bandwidth, because the matrix
/// is written and read in short pieces.
constexpr double kUnfolding = 0.13;
/// In place, memory traffic takes this share of its time, because the lines of the destination are in the cache.
constexpr double kInPlace = 0.6;
/// Direct convolutions reach the share kGrouped of their arithmetic if a group has fewer channels than
/// kFewChannelsOfGroup.
constexpr int64_t kFewChannelsOfGroup = 16;
constexpr double kGrouped = 0.4;
/// Direct convolutions reach the share kConflicts of their arithmetic if pixels lie a multiple of kSameSets bytes
/// apart, because neighbouring pixels then compete for the same sets of the first-level cache.
constexpr int64_t kSameSets = 2048;
constexpr double kConflicts = 0.55;

/// A batch normalization reaches these shares of its bandwidth if it also changes the order of the channels: kToRows if
/// it writes row-major, kFromRows if it reads row-major.
constexpr double kToRows = 0.85, kFromRows = 0.65;

/// How many operations on this type run in the time of one on f32.
double speed_of(DType dtype) { return bits(dtype) <= 8 ? 3 : bits(dtype) <= 16 ? 1.7 : 1; }

bool is_convolution(const Node& node) { return node.kind == Kind::convolution || node.kind == Kind::deconvolution; }

class AnalyticCosts : public Costs {
 public:
  AnalyticCosts(const Calibration& calibration, const Backend& backend)
      : calibration_(calibration), backend_(backend) {}

  std::string name() const override { return "analytic"; }

  double primitive(const CostContext& context, NodeId id, const Implementation& implementation, const Implementation*,
                   bool in_place) override {
    const Graph& graph = context.graph();
    const Node& node = graph.node(id);
    const Performance performance = backend_.performance(graph, id, implementation);
    const Work work = work_of(graph, id, implementation, performance);
    if (performance.step_ns > 0) {
      const double one = work.steps * performance.step_ns + work.results * performance.dst_ns;
      return calibration_.step_us + calibration_.call_us + one / 1000 / calibration_.threads;
    }
    const Channels channels = implementation.src[0] ? channels_of(*implementation.src[0]) : Channels::plain;
    const DType dtype = performance.widens ? DType::f32 : graph.tensor(node.src[0]).dtype;
    const double speed = calibration_.flops_per_us * speed_of(dtype) * performance.arithmetic *
                         (performance.narrow ? std::min(1.0, calibration_.narrow_share) : 1) *
                         shape_share(graph, node, performance, channels);
    // Unfolding and Winograd's transforms are steps of their own before and after the multiplication.
    const double moved = work.unfolded_bytes / (calibration_.near_bytes_per_us * kUnfolding) +
                         work.transformed_bytes / (calibration_.near_bytes_per_us * performance.transforms);
    const double share_us =
        (in_place ? kInPlace : 1) / (performance.memory * order_share(node, implementation, channels));
    const Traffic traffic = traffic_of(work.bytes);
    // A recurrent network reads its weights again at every time, after the state of the time before is computed.
    const Traffic again = traffic_of(work.repeated_bytes);
    const double arithmetic = work.flops / speed + moved + work.repeats * (again.near + again.far) / performance.memory;
    // With channels last, the rows that a convolution reads are far apart in memory. The processor does not fetch them
    // ahead, so the time of the traffic to memory is added to the arithmetic and does not overlap with it.
    const bool waits = is_convolution(node) && channels == Channels::last;
    const double far = traffic.far * share_us, near = traffic.near * share_us;
    const double cached = waits ? std::max(arithmetic, near) + far : std::max(arithmetic, near + far);
    // What exists before a run is in memory: between two runs the rest of a model has used the caches.
    const double given = given_bytes(context, node, work);
    const Traffic rest = traffic_of(work.bytes - given);
    const double read_us = given / (calibration_.memory_bytes_per_us * performance.cold);
    const double cold = read_us + (rest.near + rest.far) * share_us;
    return calibration_.step_us + calibration_.call_us + std::max(cached, cold);
  }

  double reorder(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) override {
    const auto [known, is_new] = reorders_.try_emplace(reorder_key(setting, from, to), 0.0);
    if (is_new) {
      const Plan plan = Plan::make(from, to, {}, calibration_.machine);
      known->second = calibration_.step_us + reorder_us(setting, plan.cost());
    }
    return known->second;
  }

 private:
  /// Bytes of sources that exist before a run.
  static double given_bytes(const CostContext& context, const Node& node, const Work& work) {
    double out = 0;
    for (std::size_t i = 0; i < node.src.size(); ++i)
      if (node.src[i] != kNone && context.is_given(node.src[i])) out += work.source_bytes[i];
    return out;
  }

  /// The share of the bandwidth that is left if a normalization changes the order of the channels.
  static double order_share(const Node& node, const Implementation& implementation, Channels channels) {
    if (node.kind != Kind::batch_normalization || !implementation.dst[0]) return 1;
    const bool rows = channels_of(*implementation.dst[0]) == Channels::plain;
    return rows == (channels == Channels::plain) ? 1 : rows ? kToRows : kFromRows;
  }

  /// The share of the arithmetic that the shape of a direct convolution leaves.
  static double shape_share(const Graph& graph, const Node& node, const Performance& performance, Channels channels) {
    if (!is_convolution(node) || performance.algorithm != ConvolutionAlgorithm::direct) return 1;
    const Tensor& src = graph.tensor(node.src[0]);
    const int64_t groups = node.as<ConvolutionAttributes>().groups;
    double out = 1;
    if (groups > 1 && src.dims[1] / groups < kFewChannelsOfGroup) out *= kGrouped;
    if (channels == Channels::last && src.dims[1] * bits(src.dtype) / 8 % kSameSets == 0) out *= kConflicts;
    return out;
  }

  /// Microseconds of the traffic that stays in the caches, and of the traffic beyond them, to memory.
  struct Traffic {
    double near = 0, far = 0;
  };
  Traffic traffic_of(double bytes) const {
    const Machine& machine = calibration_.machine;
    // A node has a quarter of the last-level cache, which it shares with what was written before and what is read next.
    const double second = static_cast<double>(machine.l2) * calibration_.threads;
    const double last = std::max(second, static_cast<double>(machine.l3_share()) / 4);
    return {.near = std::min(bytes, second) / calibration_.near_bytes_per_us +
                    std::clamp(bytes - second, 0.0, last - second) / calibration_.cache_bytes_per_us,
            .far = std::max(0.0, bytes - last) / calibration_.memory_bytes_per_us};
  }

  /// Plan::cost is the time of one thread. Several threads share the bandwidth of the caches and of memory.
  double reorder_us(const ReorderSetting& setting, const Cost& cost) const {
    // Memory that has left the caches takes at least the time of reading or writing it at memory's bandwidth.
    const double far = (setting.far_source ? static_cast<double>(cost.bytes_read) : 0) +
                       (setting.far_destination ? static_cast<double>(cost.bytes_written) : 0);
    const double one = cost.nanoseconds / 1000, least = far / calibration_.memory_bytes_per_us;
    if (calibration_.threads == 1) return std::max(one, least);
    const Traffic traffic = traffic_of(static_cast<double>(cost.bytes_read + cost.bytes_written));
    return std::max({least, one / calibration_.threads, std::min(one, traffic.near + traffic.far)});
  }

  Calibration calibration_;
  const Backend& backend_;
  std::unordered_map<CostKey, double, CostKeyHash> reorders_;
};

}  // namespace

std::unique_ptr<Costs> analytic_costs(const Calibration& calibration, const Backend& backend) {
  return std::make_unique<AnalyticCosts>(calibration, backend);
}

}  // namespace relayout::graph
