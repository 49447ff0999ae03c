// A chain of small steps as a model, against its parts.
#include "relayout/execute/measure/step.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "relayout/cpu/machine.h"
#include "relayout/execute/measure/in_situ.h"
#include "relayout/execute/measure/limits.h"
#include "relayout/execute/measure/run_times.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/propagate.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Implementation;
using graph::NodeId;
using graph::TensorId;

/// The chain's convolutions have so few pixels that a step takes longer than its arithmetic. Their channels grow from
/// one to the next, so that no two share generated code.
constexpr int kConvolutions = 24;
constexpr int64_t kSide = 7, kChannels = 16, kMoreChannels = 8;
constexpr int kRuns = 11, kAttempts = 3;
/// The most bytes of other memory that are used between two runs.
constexpr int64_t kMostOthers = int64_t{256} << 20;
/// After this many microseconds no further attempt is made: on a machine that is so busy it would be no better.
constexpr double kStepPatienceUs = 2e6;

Graph chain() {
  Graph graph;
  int64_t channels = kChannels;
  TensorId x = graph.input("x", {1, channels, kSide, kSide});
  for (int i = 0; i < kConvolutions; ++i) {
    const int64_t wider = channels + kMoreChannels;
    const std::vector<float> weights(static_cast<std::size_t>(channels * wider), 0.01f);
    x = graph.convolution(x, graph.constant(std::to_string(i), {wider, channels, 1, 1}, weights));
    x = graph.eltwise(x, {.algorithm = graph::EltwiseAlgorithm::relu});
    channels = wider;
  }
  graph.output(x);
  return graph;
}

/// The costs of the chain's parts, each measured alone.
class PartCosts : public graph::Costs {
 public:
  PartCosts(const graph::Backend& backend, cpu::Stopwatch& stopwatch) : in_situ_(backend, {.stopwatch = &stopwatch}) {}
  std::string name() const override { return "parts"; }
  double primitive(const graph::CostContext& context, NodeId node, const Implementation& implementation,
                   const Implementation* forward, bool in_place) override {
    return counted(in_situ_.primitive(context, node, implementation, forward, in_place));
  }
  double reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) override {
    return counted(in_situ_.reorder(setting, from, to));
  }
  int steps = 0;
  bool reliable = true;

 private:
  double counted(const Timed& time) {
    ++steps;
    reliable = reliable && time.reliable;
    return time.us;
  }

  InSitu in_situ_;
};

}  // namespace

std::optional<double> measured_step_us(const graph::Backend& backend, cpu::Stopwatch& stopwatch) {
  Graph graph = chain();
  const graph::LayoutPlan plan = propagate(graph, backend);
  const auto memory = [&](TensorId t) {
    return std::vector<float>(static_cast<std::size_t>(checked_product(graph.tensor(t).dims).value()), 1.0f);
  };
  const auto desc = [&](TensorId t) { return TensorDesc(Layout::contiguous(graph.tensor(t).dims), DType::f32); };
  const TensorId from = graph.inputs[0], to = graph.outputs[0];
  std::vector<float> src = memory(from), dst = memory(to);
  const Source source{desc(from), src.data()};
  const Destination destination{desc(to), dst.data()};
  Model model(graph, plan, backend);
  std::vector<uint32_t> others(static_cast<std::size_t>(std::min(cpu::machine().l3, kMostOthers)) / sizeof(uint32_t));
  const double begin_us = stopwatch.now_us();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PartCosts parts(backend, stopwatch);
    const double alone = predict(graph, plan, parts).time();
    RunTimes together(backend.threads(), stopwatch);
    for (int run = 0; run < kRuns; ++run) {
      std::ranges::fill(others, static_cast<uint32_t>(run));
      together.run([&] { model.run({&source, 1}, {&destination, 1}); });
    }
    const double step_us = (together.least() - alone) / parts.steps;
    if (parts.reliable && together.reliable() && step_us > 0 && step_us <= kMostCallUs) return step_us;
    if (stopwatch.now_us() - begin_us > kStepPatienceUs) break;
  }
  return std::nullopt;
}

graph::CostKey step_key(const graph::CostKey& environment) { return graph::KeyMaker(environment).add("step").key(); }

}  // namespace relayout::execute
