// The machine's speeds: a convolution, a call, a step, and copies at three sizes.
#include "relayout/execute/measure/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/in_situ.h"
#include "relayout/execute/measure/step.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Calibration;
using graph::CostKey;
using graph::Graph;
using graph::Implementation;
using graph::TensorId;

namespace {

constexpr int kAttempts = 3;
/// No further attempt after that long: on a machine that is that busy it would be no better.
constexpr std::chrono::seconds kPatience{3};

/// The first way of a node, whatever its layouts.
double first_way_us(InSitu& in_situ, const graph::Backend& backend, const Graph& graph) {
  const graph::Node& node = graph.node(0);
  const std::vector<Implementation> ways = backend.implementations(graph, 0, {}, {}, nullptr);
  if (!ways.empty()) return in_situ.primitive(graph::CostContext(graph), 0, ways.front(), nullptr, false).us;
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
  return flops / first_way_us(in_situ, backend, graph);
}

double call_us(InSitu& in_situ, const graph::Backend& backend) {
  Graph graph;
  graph.eltwise(graph.input("x", {1, 16, 1, 1}), {.algorithm = graph::EltwiseAlgorithm::relu});
  return first_way_us(in_situ, backend, graph);
}

/// Bytes a microsecond, read and written, of a copy between two buffers of so many bytes together, again and again.
double copied_per_us(int64_t bytes, int threads) {
  const Dims dims{std::max<int64_t>(bytes / 8, 1)};
  const TensorDesc desc(Layout::contiguous(dims), DType::f32);
  const Plan plan = cpu::make_plan(desc, desc, {}, {.stream = Tuning::Stream::never});
  const Buffer src = allocate(desc.span_bytes()), dst = allocate(desc.span_bytes());
  std::fill_n(reinterpret_cast<float*>(src.get()), dims[0], 1.0f);
  double best = 0;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  constexpr int kRuns = 6;
  for (int run = 0; run < kRuns || Clock::now() - start < std::chrono::milliseconds(2); ++run) {
    const Clock::time_point begin = Clock::now();
    cpu::run(plan, src.get(), dst.get(), run_options(threads));
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (run > 0) best = std::max(best, 2 * static_cast<double>(desc.span_bytes()) / took.count());
  }
  return best;
}

Calibration measured(const graph::Backend& backend) {
  const int threads = backend.threads();
  const Machine& machine = cpu::machine();
  InSitu in_situ(backend, {.runs = 15, .budget = std::chrono::milliseconds(100)});
  return {.threads = threads,
          .flops_per_us = convolution_flops_per_us(in_situ, backend),
          .near_bytes_per_us = copied_per_us(machine.l2 / 2 * threads, threads),
          .cache_bytes_per_us = copied_per_us(std::max(machine.l3_share() / 4, machine.l2), threads),
          .memory_bytes_per_us = copied_per_us(3 * machine.l3_share(), threads),
          .call_us = call_us(in_situ, backend),
          .step_us = measured_step_us(backend).value_or(0),
          .machine = machine};
}

/// The better of each: what slows down is other work.
void join(Calibration& speeds, const Calibration& other) {
  for (double Calibration::*speed : {&Calibration::flops_per_us, &Calibration::near_bytes_per_us,
                                     &Calibration::cache_bytes_per_us, &Calibration::memory_bytes_per_us})
    speeds.*speed = std::max(speeds.*speed, other.*speed);
  speeds.call_us = std::min(speeds.call_us, other.call_us);
  // None is what could not be told from the parts.
  if (speeds.step_us <= 0) speeds.step_us = other.step_us;
}

std::array<double Calibration::*, 5> speeds() {
  return {&Calibration::flops_per_us, &Calibration::near_bytes_per_us, &Calibration::cache_bytes_per_us,
          &Calibration::memory_bytes_per_us, &Calibration::call_us};
}

CostKey key_of(const CostKey& environment, std::size_t speed) {
  return graph::KeyMaker(environment).add("calibration").add(uint64_t{speed}).key();
}

bool find(const CostCache& cache, const CostKey& environment, Calibration& out) {
  for (std::size_t i = 0; i < speeds().size(); ++i) {
    const std::optional<double> known = cache.find(key_of(environment, i));
    if (!known) return false;
    out.*speeds()[i] = *known;
  }
  const std::optional<double> step = cache.find(step_key(environment));
  if (step) out.step_us = *step;
  return step && plausible(out);
}

}  // namespace

bool plausible(const Calibration& speeds_of) {
  const auto is_time = [](double value) { return value > 0 && std::isfinite(value); };
  return std::ranges::all_of(speeds(), [&](auto speed) { return is_time(speeds_of.*speed); }) &&
         is_time(speeds_of.step_us) && speeds_of.near_bytes_per_us >= speeds_of.memory_bytes_per_us;
}

Calibrated calibrate(const graph::Backend& backend, const CalibrateOptions& options) {
  const CostKey environment = environment_key(backend);
  Calibrated out{.speeds = {.threads = backend.threads(), .machine = cpu::machine()}};
  CostCache cache;
  try {
    if (!options.file.empty() && cache.load(options.file) && !options.remeasure &&
        find(cache, environment, out.speeds)) {
      out.remembered = true;
      return out;
    }
  } catch (const Error& error) {
    out.file_error = error;
  }
  const auto begin = std::chrono::steady_clock::now();
  out.speeds = measured(backend);
  for (int attempt = 1; attempt < kAttempts && !plausible(out.speeds); ++attempt) {
    if (std::chrono::steady_clock::now() - begin > kPatience) break;
    join(out.speeds, measured(backend));
  }
  out.doubtful = !plausible(out.speeds);
  const bool lost = out.file_error && out.file_error->code() != ErrorCode::corrupt;
  // What was to be measured in place of the file's must not be found there next time.
  if (options.file.empty() || lost || (out.doubtful && !options.remeasure)) return out;
  const auto keep = [&](const CostKey& key, double value) {
    if (out.doubtful)
      cache.forget(key);
    else
      cache.insert(key, value);
  };
  for (std::size_t i = 0; i < speeds().size(); ++i) keep(key_of(environment, i), out.speeds.*speeds()[i]);
  keep(step_key(environment), out.speeds.step_us);
  try {
    cache.save(options.file);
  } catch (const Error& error) {
    out.file_error = error;
  }
  return out;
}

}  // namespace relayout::execute
