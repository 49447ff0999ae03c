// One measurement of the machine's speeds: a convolution, a call, a step, and copies of three sizes.
#include "relayout/execute/measure/speeds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "relayout/core/format.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/execute/measure/in_situ.h"
#include "relayout/execute/measure/step.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Calibration;
using graph::Graph;
using graph::Implementation;
using graph::TensorId;

namespace {

/// Copies are run at least kFewestCopies times, and until they have taken kCopiesUs microseconds together.
constexpr int kFewestCopies = 6;
constexpr double kCopiesUs = 2000;

/// The time of the backend's first choice for the graph's only node.
double first_choice_us(InSitu& in_situ, const graph::Backend& backend, const Graph& graph) {
  const graph::Node& node = graph.node(0);
  const std::vector<Implementation> found = backend.implementations(graph, 0, {}, {}, nullptr);
  if (!found.empty()) return in_situ.primitive(graph::CostContext(graph), 0, found.front(), nullptr, false).us;
  throw Error(
      ErrorCode::unsupported,
      "calibrate: " + backend.name() + " has no way to run a " + std::string(graph::name(node.kind)) + " in f32",
      "backend", backend.name());
}

double convolution_flops_per_us(InSitu& in_situ, const graph::Backend& backend) {
  constexpr int64_t kChannels = 64, kSide = 56, kKernel = 3;
  const std::vector<float> weights(kChannels * kChannels * kKernel * kKernel, 1.0f);
  Graph graph;
  const TensorId x = graph.input("x", {1, kChannels, kSide, kSide});
  graph.convolution(x, graph.constant("w", {kChannels, kChannels, kKernel, kKernel}, weights), graph::kNone,
                    {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  const double flops = 2.0 * static_cast<double>(weights.size()) * kSide * kSide;
  return flops / first_choice_us(in_situ, backend, graph);
}

/// Calibration::narrow_share, of a convolution whose channels are in blocks of as many as a narrow vector holds.
double narrow_share(InSitu& in_situ, const graph::Backend& backend) {
  constexpr int64_t kChannels = 256, kSide = 28;
  const std::vector<float> weights(kChannels * kChannels, 1.0f);
  Graph graph;
  const TensorId x = graph.input("x", {1, kChannels, kSide, kSide});
  graph.convolution(x, graph.constant("w", {kChannels, kChannels, 1, 1}, weights), graph::kNone, {});
  const auto us = [&](std::string_view tag, bool narrow) {
    const graph::LayoutRequest wanted = Format::parse(tag).bind({1, kChannels, kSide, kSide});
    for (const Implementation& found :
         backend.implementations(graph, 0, std::array{wanted, graph::LayoutRequest{}}, std::array{wanted}, nullptr))
      if (backend.performance(graph, 0, found).narrow == narrow)
        return in_situ.primitive(graph::CostContext(graph), 0, found, nullptr, false).us;
    return 0.0;
  };
  const double narrow = us("nChw8c", true), wide = us("nChw16c", false);
  return narrow > wide && wide > 0 && std::isfinite(narrow) ? wide / narrow : 1;
}

double call_us(InSitu& in_situ, const graph::Backend& backend) {
  Graph graph;
  graph.eltwise(graph.input("x", {1, 16, 1, 1}), {.algorithm = graph::EltwiseAlgorithm::relu});
  return first_choice_us(in_situ, backend, graph);
}

/// How many bytes a copy reads and writes in a microsecond. Its two buffers have `bytes` bytes together.
double copied_per_us(int64_t bytes, int threads, cpu::Stopwatch& stopwatch) {
  const Dims dims{std::max<int64_t>(bytes / 8, 1)};
  const TensorDesc desc(Layout::contiguous(dims), DType::f32);
  const Plan plan = cpu::make_plan(desc, desc, {}, {.stream = Tuning::Stream::never});
  const Buffer src = allocate(desc.span_bytes()), dst = allocate(desc.span_bytes());
  std::fill_n(reinterpret_cast<float*>(src.get()), dims[0], 1.0f);
  double best = 0;
  const double start_us = stopwatch.now_us();
  for (int run = 0; run < kFewestCopies || stopwatch.now_us() - start_us < kCopiesUs; ++run) {
    const double us = stopwatch.time([&] { cpu::run(plan, src.get(), dst.get(), run_options(threads)); }).us;
    if (run > 0) best = std::max(best, 2 * static_cast<double>(desc.span_bytes()) / us);
  }
  return best;
}

}  // namespace

Calibration measured_speeds(const graph::Backend& backend, cpu::Stopwatch& stopwatch) {
  const int threads = backend.threads();
  const Machine& machine = cpu::machine();
  InSitu in_situ(backend, {.runs = 15, .budget = std::chrono::milliseconds(100), .stopwatch = &stopwatch});
  const auto copied = [&](int64_t bytes) { return copied_per_us(bytes, threads, stopwatch); };
  return {.threads = threads,
          .flops_per_us = convolution_flops_per_us(in_situ, backend),
          .narrow_share = narrow_share(in_situ, backend),
          .near_bytes_per_us = copied(machine.l2 / 2 * threads),
          .cache_bytes_per_us = copied(std::max(machine.l3_share() / 4, machine.l2)),
          .memory_bytes_per_us = copied(3 * machine.l3_share()),
          .call_us = call_us(in_situ, backend),
          .step_us = measured_step_us(backend, stopwatch).value_or(0),
          .machine = machine};
}

}  // namespace relayout::execute
