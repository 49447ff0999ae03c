// Differences to the reference, and how much of them rounding explains. See run_check.h.
#include "tools/checking/run_check.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace relayout::tools {
namespace {

constexpr double kTolerance = 1e-3, kSumShare = 1e-2, kRounding = 16;
constexpr int kSamples = 6;

/// The largest of |a - b|; infinities and NaNs are equal to their like only.
double distance(const graph::Values& a, const graph::Values& b) {
  double out = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
    const double d = std::abs(a[k] - b[k]);
    out = std::max(out, std::isfinite(d) ? d : INFINITY);
  }
  return out;
}

/// The share of its scale that an output may differ by: kTolerance, or four roundings to the coarsest type that nodes
/// write.
double tolerance_of(const graph::Graph& graph) {
  constexpr double kRoundingsBetween = 4;
  double out = kTolerance;
  for (const graph::Node& node : graph.nodes) {
    for (const graph::TensorId t : node.dst) {
      const DType dtype = t == graph::kNone ? DType::f32 : graph.tensor(t).dtype;
      if (dtype == DType::f16 || dtype == DType::bf16)
        out = std::max(out, kRoundingsBetween * (dtype == DType::bf16 ? 0x1p-8 : 0x1p-11));
    }
  }
  return out;
}

/// What an output may differ by: a share of its scale.
double allowed(const graph::Values& want, double sum, double share) {
  double scale = std::max(1e-30, kSumShare * sum);
  for (double x : want) {
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  }
  return share * scale;
}

}  // namespace

OutputCheck check_outputs(const graph::Graph& graph, const std::vector<graph::Values>& values,
                          const std::vector<std::vector<std::byte>>& outputs) {
  const auto [want, sums] = graph::evaluate_sums(graph, values);
  const double share = tolerance_of(graph);
  OutputCheck out;
  std::vector<double> differences, limits;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const DType dtype = graph.tensor(graph.outputs[i]).dtype;
    differences.push_back(distance(graph::load(outputs[i], dtype, static_cast<int64_t>(want[i].size())), want[i]));
    limits.push_back(allowed(want[i], sums[i], share));
    out.zero += !want[i].empty() && std::ranges::all_of(want[i], [](double x) { return x == 0; });
  }
  const std::vector<double> tolerated = limits;
  if (!std::ranges::equal(differences, limits, std::ranges::less_equal())) {
    std::vector<double> moved(want.size());
    for (int sample = 0; sample < kSamples; ++sample) {
      const std::vector<graph::Values> outputs_near =
          graph::evaluate_rounded(graph, values, static_cast<uint64_t>(sample));
      for (std::size_t i = 0; i < want.size(); ++i) moved[i] = std::max(moved[i], distance(outputs_near[i], want[i]));
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double limit = kRounding * moved[i];
      if (!std::isfinite(limit) || limit <= limits[i]) continue;
      out.by_rounding += differences[i] > limits[i] && differences[i] <= limit;
      limits[i] = limit;
    }
  }
  std::size_t worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    out.equal = out.equal && differences[i] <= limits[i];
    if (differences[i] / limits[i] > differences[worst] / limits[worst]) worst = i;
  }
  if (want.empty()) return out;
  out.difference = share * differences[worst] / tolerated[worst];
  out.output = graph.output_name(worst);
  return out;
}

}  // namespace relayout::tools
