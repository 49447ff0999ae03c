// Roofline costs: what each family of implementations reaches of the machine's limits.
//
// Shares are medians over the layers of twelve networks in every layout, measured with oneDNN 2.6 on a 4th-generation
// EPYC with AVX-512.
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/cost_key.h"
#include "relayout/graph/plan/work.h"

namespace relayout::graph {
namespace {

/// Of a limit, by what an implementation's name holds and where the channels lie; nothing is anywhere.
struct Share {
  std::string_view word;
  double arithmetic, memory;
  std::optional<Channels> channels{};
};
using Shares = std::span<const Share>;

constexpr auto kPlain = Channels::plain, kLast = Channels::last, kBlocked = Channels::blocked;

// In each list the first that fits counts; the last fits all.
constexpr Share kConvolution[] = {{"ref", 0.004, 0.03},       {"wino", 2, 0.9},
                                  {"brdgmm", 0.47, 0.6},      {"jit_dw:sse41", 0.26, 0.3},
                                  {"jit_dw:avx2", 0.48, 0.6}, {"_dw", 0.58, 0.6},
                                  {"brgconv", 0.95, 0.9},     {"gemm", 0.65, 0.9, kLast},
                                  {"gemm", 0.82, 0.9},        {"jit_1x1:sse41", 0.33, 0.9},
                                  {"jit_1x1", 0.955, 0.9},    {"sse41", 0.3, 0.9, kBlocked},
                                  {"sse41", 0.2, 0.9},        {"avx2", 0.71, 0.9},
                                  {"jit", 0.95, 0.9},         {"", 0.5, 0.5}};
constexpr Share kProduct[] = {{"ref", 0.004, 0.03}, {"gemm", 0.8, 0.8}, {"", 0.5, 0.8}};
constexpr Share kRecurrent[] = {{"", 0.33, 0.8}};
constexpr Share kPooling[] = {{"ref", 0.003, 0.014}, {"simple_nchw", 0.0032, 0.014}, {"simple", 0.035, 0.22},
                              {"sse41", 0.13, 0.4},  {"jit", 0.14, 0.18, kPlain},    {"jit", 0.26, 0.55},
                              {"", 0.05, 0.2}};
constexpr Share kConcat[] = {{"ref", 0.003, 0.02}, {"simple", 1, 0.4, kLast}, {"simple", 1, 0.05}, {"", 1, 0.75}};
constexpr Share kShuffle[] = {{"ref", 0.003, 0.02},
                              {"relayout", 1, 0.8, kPlain},
                              {"relayout", 1, 0.32, kLast},
                              {"relayout", 1, 0.1},
                              {"", 1, 0.22}};
constexpr Share kNormalization[] = {{"relayout", 1, 0.36, kPlain},
                                    {"relayout", 1, 0.3, kLast},
                                    {"relayout", 1, 0.4},
                                    {"ref", 0.003, 0.02},
                                    {"nspc", 1, 0.028},
                                    {"ncsp", 1, 0.08},
                                    {"sse41", 1, 0.14, kLast},
                                    {"sse41", 1, 0.07},
                                    {"jit", 1, 0.3, kLast},
                                    {"jit", 1, 0.53},
                                    {"", 1, 0.1}};
constexpr Share kLrn[] = {{"ref", 0.003, 0.02},           {"sse41", 0.045, 0.5, kBlocked}, {"sse41", 0.14, 0.5},
                          {"avx2", 0.045, 0.5, kBlocked}, {"", 0.18, 0.5, kBlocked},       {"", 0.3, 0.5}};
constexpr Share kResampling[] = {
    {"ref", 0.001, 0.01},        {"jit", 0.045, 0.3, kLast},      {"jit", 0.032, 0.2, kBlocked},
    {"jit", 0.005, 0.03},        {"relayout", 0.01, 0.06, kLast}, {"relayout", 0.0056, 0.03, kBlocked},
    {"relayout", 0.0003, 0.005}, {"", 0.003, 0.02, kLast},        {"", 0.003, 0.02, kBlocked},
    {"", 0.001, 0.006}};
constexpr Share kSoftmax[] = {
    {"ref", 0.003, 0.02}, {"", 0.035, 0.5, kLast}, {"", 0.06, 0.5, kBlocked}, {"", 0.11, 0.5}};
constexpr Share kElementwise[] = {{"ref", 0.003, 0.02},   {"simple", 0.5, 0.55}, {"sse41", 0.15, 0.56},
                                  {"relayout", 0.3, 0.7}, {"jit", 0.3, 0.85},    {"", 0.05, 0.3}};

Shares shares_of(Kind kind) {
  switch (kind) {
    case Kind::convolution:
    case Kind::deconvolution: return kConvolution;
    case Kind::matmul:
    case Kind::inner_product: return kProduct;
    case Kind::rnn: return kRecurrent;
    case Kind::pooling: return kPooling;
    case Kind::concat: return kConcat;
    case Kind::shuffle: return kShuffle;
    case Kind::batch_normalization:
    case Kind::layer_normalization: return kNormalization;
    case Kind::lrn: return kLrn;
    case Kind::resampling: return kResampling;
    case Kind::softmax: return kSoftmax;
    default: return kElementwise;
  }
}

bool holds(std::string_view name, std::string_view word) { return name.find(word) != name.npos; }

const Share& share_of(Kind kind, std::string_view name, Channels channels) {
  return *std::ranges::find_if(shares_of(kind), [&](const Share& share) {
    return holds(name, share.word) && share.channels.value_or(channels) == channels;
  });
}

/// Of a matrix that is unfolded, which is written and read in short pieces.
constexpr double kUnfolding = 0.13;
/// What in place saves: lines of the destination are there.
constexpr double kInPlace = 0.6;
/// What is left where the channels of a group are few.
constexpr int64_t kFewChannels = 16;
constexpr double kGrouped = 0.4;
/// Pixels of so many bytes of channels share sets of the first cache, and what is left where kernels walk over them.
constexpr int64_t kSameSets = 2048;
constexpr double kConflicts = 0.55;

/// What is left of a normalization's share where rows of places are gathered from channels, or spread to them.
constexpr double kToRows = 0.85, kFromRows = 0.65;

/// Operands of fewer bits run at more operations.
double speed_of(DType dtype) { return bits(dtype) <= 8 ? 3 : bits(dtype) <= 16 ? 1.7 : 1; }

bool is_convolution(const Node& node) { return node.kind == Kind::convolution || node.kind == Kind::deconvolution; }

class AnalyticCosts : public Costs {
 public:
  explicit AnalyticCosts(const Calibration& calibration) : calibration_(calibration) {}

  std::string name() const override { return "analytic"; }

  double primitive(const CostContext& context, NodeId id, const Implementation& way, const Implementation*,
                   bool in_place) override {
    const Graph& graph = context.graph();
    const Node& node = graph.node(id);
    const Work work = work_of(graph, id, way);
    const Channels channels = way.src[0] ? channels_of(*way.src[0]) : kPlain;
    const Share& share = share_of(node.kind, way.name, channels);
    const DType dtype = graph.tensor(node.src[0]).dtype;
    const double speed =
        calibration_.flops_per_us * speed_of(dtype) * share.arithmetic * shape_share(graph, node, way, channels);
    const double unfolding = work.unfolded_bytes / (calibration_.near_bytes_per_us * kUnfolding);
    const double share_us = (in_place ? kInPlace : 1) / (share.memory * order_share(node, way, channels));
    const Traffic traffic = traffic_of(work.bytes);
    const double arithmetic = work.flops / speed + unfolding;
    // Channels last, a convolution's rows are far apart: what memory gives is waited for.
    const bool waits = is_convolution(node) && channels == kLast;
    const double far = traffic.far * share_us, near = traffic.near * share_us;
    return calibration_.step_us + calibration_.call_us +
           (waits ? std::max(arithmetic, near) + far : std::max(arithmetic, near + far));
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
  /// What another order of the destination leaves of a normalization's share.
  static double order_share(const Node& node, const Implementation& way, Channels channels) {
    if (node.kind != Kind::batch_normalization || !way.dst[0]) return 1;
    const bool rows = channels_of(*way.dst[0]) == kPlain;
    return rows == (channels == kPlain) ? 1 : rows ? kToRows : kFromRows;
  }

  /// What a convolution's shape leaves of its family's share.
  static double shape_share(const Graph& graph, const Node& node, const Implementation& way, Channels channels) {
    if (!is_convolution(node)) return 1;
    // Kernels that take channels and places one after the other.
    if (!way.name.starts_with("jit:")) return 1;
    const Tensor& src = graph.tensor(node.src[0]);
    const int64_t groups = node.as<ConvolutionAttributes>().groups;
    double out = 1;
    if (groups > 1 && src.dims[1] / groups < kFewChannels) out *= kGrouped;
    if (channels == kLast && src.dims[1] * bits(src.dtype) / 8 % kSameSets == 0) out *= kConflicts;
    return out;
  }

  /// Microseconds that bytes take from the caches, and those beyond them from memory.
  struct Traffic {
    double near = 0, far = 0;
  };
  Traffic traffic_of(double bytes) const {
    const Machine& machine = calibration_.machine;
    // A quarter of what counts of the last cache: what is read, was written before and comes next shares it.
    const double second = static_cast<double>(machine.l2) * calibration_.threads;
    const double last = std::max(second, static_cast<double>(machine.l3_share()) / 4);
    return {.near = std::min(bytes, second) / calibration_.near_bytes_per_us +
                    std::clamp(bytes - second, 0.0, last - second) / calibration_.cache_bytes_per_us,
            .far = std::max(0.0, bytes - last) / calibration_.memory_bytes_per_us};
  }

  /// Plan::cost is of one thread; more are no faster than their caches or memory.
  double reorder_us(const ReorderSetting& setting, const Cost& cost) const {
    // At least what memory takes for what has left the caches.
    const double far = (setting.far_source ? static_cast<double>(cost.bytes_read) : 0) +
                       (setting.far_destination ? static_cast<double>(cost.bytes_written) : 0);
    const double one = cost.nanoseconds / 1000, least = far / calibration_.memory_bytes_per_us;
    if (calibration_.threads == 1) return std::max(one, least);
    const Traffic traffic = traffic_of(static_cast<double>(cost.bytes_read + cost.bytes_written));
    return std::max({least, one / calibration_.threads, std::min(one, traffic.near + traffic.far)});
  }

  Calibration calibration_;
  std::unordered_map<CostKey, double, CostKeyHash> reorders_;
};

}  // namespace

std::unique_ptr<Costs> analytic_costs(const Calibration& calibration) {
  return std::make_unique<AnalyticCosts>(calibration);
}

}  // namespace relayout::graph
