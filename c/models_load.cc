// Loading models in C: a file or a network by its name, its dims, its plan, and what runs it.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "c/models.h"
#include "relayout/execute/measure/calibrate.h"
#include "relayout/execute/measure/measured_costs.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/optimize/explain.h"
#include "relayout/graph/passes/prepare.h"

namespace relayout::c {
namespace {

constexpr std::chrono::seconds kSearchLimit{30}, kExplainLimit{3};

/// The caller's question whether to go on. Once it has said no, it is not asked again.
class Stop {
 public:
  explicit Stop(const relayout_model_options& options) : stop_(options.stop), context_(options.context) {}
  bool asked() {
    if (!stopped_ && stop_ != nullptr) stopped_ = stop_(context_) != 0;
    return stopped_;
  }
  void check() {
    if (asked()) throw Error(ErrorCode::interrupted, "stop() ended the call before there was a plan", "stop");
  }

 private:
  int (*stop_)(void*);
  void* context_;
  bool stopped_ = false;
};

std::vector<std::optional<Dims>> dims_of_sources(std::span<const relayout_model_source> sources,
                                                 std::span<const graph::OnnxInput> inputs) {
  std::vector<std::string> names;
  for (const graph::OnnxInput& input : inputs) names.push_back(input.name);
  std::vector<std::optional<Dims>> out;
  for (const std::optional<std::size_t> place : places_of(sources, names, "options.sources")) {
    out.emplace_back();
    if (place) out.back() = checked(sources[*place].desc, "options.sources.desc").desc.layout.dims();
  }
  return out;
}

graph::OnnxModel model_of_file(const char* path, const relayout_model_options& given) {
  if (!graph::has_onnx()) throw Error(ErrorCode::unsupported, "this build lacks ONNX (Debian: libonnx-dev)", "path");
  graph::OnnxOptions options{.batch = given.batch};
  for (const relayout_model_dim& dim : checked_list(given.dims, given.dim_count, "options.dims"))
    options.dims.emplace_back(checked_text(dim.name, "options.dims.name"), dim.extent);
  const auto sources = checked_list(given.sources, given.source_count, "options.sources");
  if (!sources.empty())
    options.dims_of_arrays = [&](std::span<const graph::OnnxInput> in) { return dims_of_sources(sources, in); };
  try {
    return graph::read_onnx(path, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || error.field() != "dims") throw;
    throw Error(ErrorCode::invalid_argument,
                error.message() + "; options.dims gives it as \"" + error.value() +
                    "\", or a descriptor in options.sources shows it",
                error.field(), error.value());
  }
}

graph::OnnxModel read_model(const char* path, const relayout_model_options& given) {
  if (given.threads < 0) refuse("options.threads", "is " + std::to_string(given.threads));
  if (given.batch < 0) refuse("options.batch", "is " + std::to_string(given.batch));
  if (!std::isfinite(given.input_scale)) refuse("options.input_scale", "is " + std::to_string(given.input_scale));
  if (!std::string_view(path).starts_with(graph::kNamedModel)) return model_of_file(path, given);
  if (given.dim_count != 0)
    refuse("options.dims", "is for what an .onnx file leaves open; this network has a batch, image=N and channels=N");
  return {.graph = graph::named_model(path, {.batch = std::max<int64_t>(given.batch, 1)}), .opset = 0, .warnings = {}};
}

/// Refuses descriptors that a run would refuse, also where the file says all dims.
void check_sources(const relayout_model_options& given, const graph::Graph& graph) {
  const auto sources = checked_list(given.sources, given.source_count, "options.sources");
  if (sources.empty()) return;
  const std::vector<std::string> names = input_names(graph);
  const auto places = places_of(sources, names, "options.sources");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!places[i]) continue;
    const Dims dims = checked(sources[*places[i]].desc, "options.sources.desc").desc.layout.dims();
    const Dims& wanted = graph.tensor(graph.inputs[i]).dims;
    if (dims == wanted) continue;
    throw Error(ErrorCode::invalid_argument,
                "options.sources: input \"" + escaped(names[i]) + "\" has dims " + join(wanted, "x") +
                    ", and its descriptor " + join(dims, "x"),
                "options.sources", join(dims, "x"), join(wanted, "x"));
  }
}

graph::Calibration calibration_of(const relayout_speeds& given) {
  return {.flops_per_us = given.flops_per_us,
          .narrow_share = given.narrow_share == 0 ? 1 : given.narrow_share,
          .near_bytes_per_us = given.near_bytes_per_us,
          .cache_bytes_per_us = given.cache_bytes_per_us,
          .memory_bytes_per_us = given.memory_bytes_per_us,
          .call_us = given.call_us,
          .step_us = given.step_us};
}

/// The costs that the caller chose, and the speeds that they come from.
struct Prices {
  std::unique_ptr<graph::Costs> costs;
  std::optional<graph::Calibration> speeds;
  const execute::MeasuredCosts* measured = nullptr;
};

Prices prices_of(const relayout_model_options& given, const graph::Backend& backend, Stop& stop,
                 std::vector<std::string>& warnings) {
  const std::filesystem::path file = given.cost_file == nullptr ? "" : given.cost_file;
  const auto check = [&stop] { stop.check(); };
  if (given.cost == RELAYOUT_COST_MEASURED) {
    if (given.speeds != nullptr) refuse("options.speeds", "is for analytic costs; measured ones do not use it");
    auto measured = execute::measured_costs(backend, {.file = file, .check = check});
    const execute::MeasuredCosts* const found = measured.get();
    return {std::move(measured), {}, found};
  }
  if (given.cost != RELAYOUT_COST_ANALYTIC)
    refuse("options.cost", "is " + std::to_string(given.cost) + ", which is no relayout_cost");
  execute::CalibrateOptions options{.file = file, .check = check};
  if (given.speeds != nullptr) options.known = calibration_of(*given.speeds);
  const execute::Calibrated machine = execute::calibrate(backend, options);
  if (machine.file_error) warnings.push_back(machine.file_error->message());
  if (machine.unreliable)
    warnings.emplace_back("the machine is busy: predicted times may be wrong by orders of magnitude");
  return {graph::analytic_costs(machine.speeds, backend), machine.speeds};
}

void add_warnings(const execute::MeasuredCosts& measured, std::vector<std::string>& warnings) {
  if (measured.file_error()) warnings.push_back(measured.file_error()->message());
  if (measured.step_unreliable() || measured.unreliable() > 0)
    warnings.emplace_back("the machine is busy: some times could not be measured well, and are not kept");
}

PlannedModel planned(const char* path, const relayout_model_options& given) {
  if (!execute::has_onednn())
    throw Error(ErrorCode::unsupported, "this build lacks oneDNN (Debian: libdnnl-dev)", "path");
  Stop stop(given);
  graph::OnnxModel read = read_model(path, given);
  graph::Graph& g = read.graph;
  check_sources(given, g);
  const auto backend = execute::onednn_backend(given.threads);
  const graph::Widened widened = graph::prepare(
      g, [&](const graph::Graph& of, graph::NodeId n) { return graph::has_implementation(*backend, of, n); });
  if (widened.nodes > 0) read.warnings.push_back(text_of(widened, backend->name()));
  graph::make_ends_row_major(g);
  const Prices prices = prices_of(given, *backend, stop, read.warnings);
  const auto search = [&stop](std::chrono::seconds limit) {
    return solve::SolveOptions{.time_limit = limit, .stop = [&stop] { return stop.asked(); }};
  };
  graph::OptimalPlan best = graph::optimize(g, *backend, *prices.costs, {.solve = search(kSearchLimit)});
  stop.check();
  graph::explain_reorders(g, best, search(kExplainLimit));
  stop.check();
  const graph::PredictedCost predicted = graph::predict(g, best.plan, *prices.costs);
  std::string explanation = graph::explain(g, best, predicted, prices.costs->name());
  if (prices.measured != nullptr) add_warnings(*prices.measured, read.warnings);
  std::string warnings;
  for (const std::string& warning : read.warnings) warnings += (warnings.empty() ? "" : "\n") + warning;
  execute::Model model(std::move(g), std::move(best.plan), *backend, {.input_scale = given.input_scale});
  return {std::move(model), std::move(explanation), std::move(warnings), prices.speeds};
}

/// Both libraries hold the same handles, so they must be of one version.
void check_version() {
  constexpr uint32_t kOwn = RELAYOUT_VERSION_MAJOR << 16 | RELAYOUT_VERSION_MINOR << 8 | RELAYOUT_VERSION_PATCH;
  if (relayout_version() == kOwn) return;
  throw Error(ErrorCode::unsupported, "librelayout and librelayout_models are of two versions", "relayout_version",
              std::to_string(relayout_version()), std::to_string(kOwn));
}

}  // namespace
}  // namespace relayout::c

namespace c = relayout::c;

extern "C" {

relayout_status relayout_model_load(const char* path, const relayout_model_options* options, relayout_model** model) {
  return c::guarded([&] {
    c::check_version();
    const auto given = c::options_from<relayout_model_options>(options, RELAYOUT_MODEL_OPTIONS_INIT, "options");
    relayout_model*& out = c::result(model, "model");
    out = new relayout_model(c::planned(c::checked_text(path, "path"), given));
  });
}

}  // extern "C"
