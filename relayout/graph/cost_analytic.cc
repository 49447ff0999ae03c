// Roofline costs: what each family of implementations reaches of the machine's limits.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "relayout/graph/cost.h"
#include "relayout/graph/cost_key.h"
#include "relayout/graph/work.h"

namespace relayout::graph {
namespace {

/// Shares of the limit of arithmetic, by what a name holds; the first that fits.
struct Family {
  std::string_view word;
  double share;
};
constexpr std::array<Family, 9> kComputing{{{"ref", 0.004},
                                            {"brgconv", 0.95},
                                            {"brgemm", 0.9},
                                            {"wino", 2},
                                            {"jit_1x1", 0.9},
                                            {"jit_dw", 0.3},
                                            {"jit", 0.9},
                                            {"gemm", 0.6},
                                            {"", 0.5}}};

double share_of(std::string_view name) {
  return std::ranges::find_if(kComputing, [&](const Family& f) { return name.find(f.word) != name.npos; })->share;
}

class AnalyticCosts : public Costs {
 public:
  explicit AnalyticCosts(const Calibration& calibration) : calibration_(calibration) {}

  std::string name() const override { return "analytic"; }

  double primitive(const Graph& graph, NodeId node, const Implementation& implementation, const Implementation*,
                   bool in_place) override {
    const Work work = work_of(graph, node, implementation);
    const double bytes = in_place ? 0.8 * work.bytes : work.bytes;
    double arithmetic = work.flops / (calibration_.flops_per_us * share_of(implementation.name));
    return std::max(arithmetic, bytes / bandwidth(bytes)) + calibration_.call_us;
  }

  double reorder(const TensorDesc& from, const TensorDesc& to) override {
    const auto [known, is_new] = reorders_.try_emplace(reorder_key(from, to), 0.0);
    if (is_new) known->second = reorder_us(Plan::make(from, to).cost());
    return known->second;
  }

 private:
  double bandwidth(double bytes) const {
    if (bytes <= static_cast<double>(calibration_.machine.l2) * calibration_.threads)
      return calibration_.near_bytes_per_us;
    if (bytes <= static_cast<double>(calibration_.machine.l3)) return calibration_.cache_bytes_per_us;
    return calibration_.memory_bytes_per_us;
  }

  /// Plan::cost is of one thread; more are no faster than their caches or memory.
  double reorder_us(const Cost& cost) const {
    const double one = cost.nanoseconds / 1000;
    const double bytes = static_cast<double>(cost.bytes_read + cost.bytes_written);
    return calibration_.threads == 1 ? one
                                     : std::max(one / calibration_.threads, std::min(one, bytes / bandwidth(bytes)));
  }

  Calibration calibration_;
  std::unordered_map<CostKey, double, CostKeyHash> reorders_;
};

}  // namespace

std::unique_ptr<Costs> analytic_costs(const Calibration& calibration) {
  return std::make_unique<AnalyticCosts>(calibration);
}

}  // namespace relayout::graph
