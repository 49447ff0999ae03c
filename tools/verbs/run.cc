// relayout run: a model on real inputs, in the layouts of the cheapest plan, a policy or a saved plan.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/reference/reference.h"
#include "relayout/interop/files/tensor_file.h"
#include "tools/checking/run_check.h"
#include "tools/command/output.h"
#include "tools/planning/plan_file.h"
#include "tools/planning/planning.h"
#include "tools/planning/run_inputs.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::TensorId;

struct RunOptions {
  ModelFlags model;
  InputFlags inputs;
  std::optional<std::string> out;
  PlanFlags plan;
  std::optional<std::string> plan_file;
  int repeat = 1;
  bool profile = false, check = false, check_padding = false, force = false;
};

/// The values of the inputs, times `scale`.
std::vector<graph::Values> values_of(const std::vector<Input>& inputs, double scale) {
  std::vector<graph::Values> out;
  for (const Input& input : inputs) {
    const TensorDesc plain{Layout::contiguous(input.desc.layout.dims()), DType::f64};
    graph::Values& v = out.emplace_back(static_cast<std::size_t>(plain.layout.elements()));
    cpu::run(cpu::make_plan(input.desc, plain), input.data(), v.data());
    for (double& x : v) x *= scale;
  }
  return out;
}

void write_outputs(const RunOptions& options, const Graph& graph, const std::vector<std::vector<std::byte>>& outputs) {
  const auto spec = [&](std::size_t i) {
    const graph::Tensor& tensor = graph.tensor(graph.outputs[i]);
    return TensorSpec{.name = graph.output_name(i), .dtype = tensor.dtype, .shape = tensor.dims};
  };
  if (outputs.size() == 1) {
    Output out = from_command_line([&] { return Output::create(*options.out, spec(0), options.force); });
    std::ranges::copy(outputs[0], out.bytes().begin());
    return out.commit();
  }
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) tensors.push_back({spec(i), outputs[i]});
  from_command_line([&] {
    if (format_of_path(*options.out) == FileFormat::safetensors)
      write_safetensors(*options.out, tensors, {}, options.force);
    else
      write_npz(*options.out, tensors, options.force);
  });
}

void check_output_file(const RunOptions& options, const Graph& graph) {
  if (!options.out) return;
  check_output_path(*options.out);
  const std::optional<FileFormat> format = format_of_path(*options.out);
  if (graph.outputs.size() > 1 && !(format && has_names(*format))) {
    usage_error(
        fmt::format("-o {}: the model has {} outputs, and only .npz and .safetensors files hold several tensors",
                    escaped(*options.out), graph.outputs.size()),
        "-o", escaped(*options.out), ".npz .safetensors");
  }
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// A step's predicted time in microseconds; nothing for a reorder of the caller's tensors, which no plan has.
std::optional<double> predicted_us(const graph::PredictedCost& cost, const execute::StepTime& step) {
  if (step.node != graph::kNone) return cost.nodes[static_cast<std::size_t>(step.node)];
  if (step.copy != graph::kNone) return cost.copies[static_cast<std::size_t>(step.copy)];
  return std::nullopt;
}

Json profile_json(const Graph& graph, const execute::Profile& profile, const graph::PredictedCost& cost) {
  Json out = {{"nanoseconds", profile.nanoseconds}};
  out["steps"] = Json::array();
  for (const execute::StepTime& step : profile.steps) {
    Json each = {{"name", step.name},
                 {"kind", step.reorder ? "reorder" : "primitive"},
                 {"implementation", step.implementation},
                 {"ref", step.reference},
                 {"nanoseconds", step.nanoseconds}};
    if (step.node != graph::kNone) each["primitive"] = std::string(graph::name(graph.node(step.node).kind));
    if (const auto us = predicted_us(cost, step)) each["predicted_us"] = std::isfinite(*us) ? Json(*us) : Json();
    out["steps"].push_back(std::move(each));
  }
  return out;
}

std::string profile_text(const execute::Profile& profile, const graph::PredictedCost& cost) {
  const auto us_text = [](double us) { return std::isfinite(us) ? fmt::format("{:.1f} us", us) : "-"; };
  std::vector<std::vector<std::string>> rows = {{"time", "predicted", "share", "step", "by"}};
  int64_t primitives = 0, reorders = 0;
  for (const execute::StepTime& step : profile.steps) {
    (step.reorder ? reorders : primitives) += step.nanoseconds;
    const std::optional<double> predicted = predicted_us(cost, step);
    rows.push_back({us_text(static_cast<double>(step.nanoseconds) * 1e-3), predicted ? us_text(*predicted) : "",
                    fmt::format("{:.1f} %", share(step.nanoseconds, profile.nanoseconds)),
                    (step.reorder ? "reorder of " : "") + escaped(step.name, 40), escaped(step.implementation, 60)});
  }
  return bold("Profile") + "\n" + table(rows) +
         fmt::format("  primitives {:.1f} %, reorders {:.1f} %, between them {:.1f} %\n",
                     share(primitives, profile.nanoseconds), share(reorders, profile.nanoseconds),
                     share(profile.nanoseconds - primitives - reorders, profile.nanoseconds));
}

struct RunResult {
  std::vector<int64_t> nanoseconds;
  execute::Profile profile;
  graph::PredictedCost predicted;
  std::optional<OutputCheck> check;
  /// Set where the plan was made for another number of threads.
  std::optional<int> plan_threads;
  int threads = 0;
  std::vector<std::string> warnings;
  /// What is computed in f32; empty where nothing is but what the model has in f32.
  std::string types;
};

Json run_json(const RunOptions& options, const execute::Model& model, const RunResult& result) {
  const execute::ModelMemory memory = model.memory();
  const graph::PlanTotals totals = graph::totals(model.graph(), model.plan());
  Json out = {{"model", escaped(options.model.path, 4096)}, {"policy", model.plan().policy}};
  out["median_ns"] = result.nanoseconds[result.nanoseconds.size() / 2];
  out["reorders"] = totals.reorders;
  out["reorder_bytes"] = totals.reorder_bytes;
  out["ref_primitives"] = totals.reference_primitives;
  if (totals.rounding_more > 0) out["rounding_more"] = totals.rounding_more;
  out["memory"] = {{"peak", memory.peak()},
                   {"activations", memory.activations},
                   {"activations_unshared", memory.activations_unshared},
                   {"constants", memory.constants},
                   {"scratch", memory.scratch}};
  out["threads"] = result.threads;
  if (result.plan_threads) out["plan_threads"] = *result.plan_threads;
  if (!result.types.empty()) out["types"] = result.types;
  if (!result.warnings.empty()) out["warnings"] = result.warnings;
  if (options.profile) out["profile"] = profile_json(model.graph(), result.profile, result.predicted);
  if (result.check) {
    out["check"] = {
        {"equal", result.check->equal},
        {"largest_difference", std::isfinite(result.check->difference) ? Json(result.check->difference) : Json("inf")},
        {"output", result.check->output},
        {"by_rounding", result.check->by_rounding},
        {"zero_outputs", result.check->zero}};
  }
  return out;
}

std::string run_text(const RunOptions& options, const execute::Model& model, const RunResult& result) {
  const execute::ModelMemory memory = model.memory();
  const graph::PlanTotals totals = graph::totals(model.graph(), model.plan());
  std::string out;
  if (options.profile) out += profile_text(result.profile, result.predicted) + "\n";
  out += labelled(
      "time",
      fmt::format("{:.3f} ms, {}", static_cast<double>(result.nanoseconds[result.nanoseconds.size() / 2]) * 1e-6,
                  result.nanoseconds.size() == 1
                      ? "of the first run, which is slower than later ones; --repeat reports their median"
                      : fmt::format("median of {}", result.nanoseconds.size())));
  out += labelled("plan", fmt::format("policy {}: {} of {}, {}", escaped(model.plan().policy, 100),
                                      counted(totals.reorders, "reorder"), size_text(totals.reorder_bytes),
                                      counted(totals.reference_primitives, "slow reference primitive")));
  std::string slow;
  for (std::size_t n = 0; n < model.plan().nodes.size(); ++n) {
    if (model.plan().nodes[n].reference) slow += (slow.empty() ? "" : ", ") + escaped(model.graph().nodes[n].name, 40);
  }
  if (!slow.empty()) out += labelled("reference", slow);
  out += rounding_text(totals);
  if (!result.types.empty()) out += labelled("types", result.types);
  out += labelled(
      "memory", fmt::format("peak {}: activations {} (unshared {}), constants {}, scratch {}", size_text(memory.peak()),
                            size_text(memory.activations), size_text(memory.activations_unshared),
                            size_text(memory.constants), size_text(memory.scratch)));
  if (result.check) {
    out += labelled("check", fmt::format("{}: largest difference to the float64 reference {:.2g} of the scale, in {}",
                                         result.check->equal ? "equal" : "DIFFERS", result.check->difference,
                                         escaped(result.check->output)));
    if (result.check->zero > 0) {
      out += labelled("zero", fmt::format("{} of {} are 0 throughout in the reference, so equality shows little there",
                                          result.check->zero, counted(std::ssize(model.graph().outputs), "output")));
    }
    if (result.check->by_rounding > 0) {
      out += labelled("rounding", fmt::format("{} more than the tolerance, which rounding explains",
                                              result.check->by_rounding == 1
                                                  ? std::string("1 output differs by")
                                                  : fmt::format("{} outputs differ by", result.check->by_rounding)));
    }
  }
  return out;
}

/// The dims of the inputs' files, and of the saved plan.
OpenDims open_dims(const RunOptions& options, RunInputs& files) {
  OpenDims out{.of_arrays = files.dims_of_arrays()};
  if (options.plan_file) {
    out.of_plan = [&options](std::span<const graph::OnnxInput> inputs) {
      const FileJson plan = read_plan_json(*options.plan_file, "tensors");
      return planned_dims({plan, ""}, inputs);
    };
  }
  return out;
}

int run_model(const RunOptions& options, bool json) {
  require_isa();
  check_plan_flags(options.plan);
  RunInputs files(options.inputs);
  graph::Widened widened;
  const Graph graph = load_model(options.model, open_dims(options, files), &widened);
  check_output_file(options, graph);
  Planner planner(graph, options.plan);
  std::optional<graph::LayoutPlan> plan;
  if (options.plan_file) plan = read_plan(*options.plan_file, graph, options.model.training, planner.backend());
  const std::vector<Input> inputs = files.open(graph);
  execute::Model model(graph, plan ? *std::move(plan) : planner.plan(), planner.backend(),
                       {.check_padding = options.check_padding, .input_scale = files.scale()});
  std::vector<execute::Source> sources;
  for (const Input& input : inputs) sources.push_back({input.desc, input.data()});
  std::vector<std::vector<std::byte>> outputs;
  std::vector<execute::Destination> destinations;
  for (TensorId t : graph.outputs) {
    const TensorDesc desc{Layout::contiguous(graph.tensor(t).dims), graph.tensor(t).dtype};
    outputs.emplace_back(static_cast<std::size_t>(desc.span_bytes()));
    destinations.push_back({desc, outputs.back().data()});
  }
  RunResult result{.threads = planner.backend().threads(), .types = text_of(widened, planner.backend().name())};
  if (options.profile || std::ranges::any_of(model.plan().nodes, &graph::PlannedNode::reference)) {
    result.predicted = planner.predicted(model.plan());
    result.warnings.push_back(
        reference_warning(graph, model.plan(), result.predicted.references, result.predicted.time()));
    std::erase(result.warnings, "");
  }
  const std::vector<std::string> of_planner = planner.warnings();
  result.warnings.insert(result.warnings.end(), of_planner.begin(), of_planner.end());
  if (model.plan().threads != result.threads) {
    result.plan_threads = model.plan().threads;
    write_stderr(
        fmt::format("relayout: note: {} is for --threads {} and runs with {}; a plan for this number may be faster\n",
                    escaped(*options.plan_file, 4096), model.plan().threads, result.threads));
  }
  write_warnings(result.warnings);
  // With --repeat a run before the others is not timed, because it finds cold caches and sleeping threads.
  if (options.repeat > 1) model.run(sources, destinations);
  for (int r = 0; r < options.repeat; ++r) {
    const auto start = std::chrono::steady_clock::now();
    model.run(sources, destinations);
    const auto took = std::chrono::steady_clock::now() - start;
    result.nanoseconds.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }
  std::ranges::sort(result.nanoseconds);
  if (options.profile) result.profile = model.profile(sources, destinations);
  if (options.check) result.check = check_outputs(graph, values_of(inputs, files.scale()), outputs);
  if (options.out) write_outputs(options, graph, outputs);
  const std::string text = json ? json_text(run_json(options, model, result)) : run_text(options, model, result);
  options.out == "-" ? write_stderr(text) : write_stdout(text);
  return result.check && !result.check->equal ? kDiffers : kOk;
}

}  // namespace

Verb add_run(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "run", "Run a model on inputs, in the layouts of a plan",
      "  relayout run net.onnx --input x.npy -o y.npy\n"
      "  relayout run net.onnx --input data=photo.jpg --input-scale 0.00392157 --policy nhwc --profile\n"
      "  relayout run net.onnx --input photo.jpg --resize 256 --mean 123.7,116.3,103.5 --std 58.4,57.1,57.4\n"
      "  relayout run net.onnx --random-inputs 1 --random-weights 1 --check\n"
      "  relayout run net.onnx --plan plan.json --input x.npy -o y.npy\n"
      "Dims that the model leaves open are those of the inputs. Inputs may have any layout and element type; they are\n"
      "converted. The values of files are (scale * value - mean) / std. Raw bytes have the model's type and dims, are\n"
      "row-major unless --input-layout says otherwise. Several outputs go to one .npz or .safetensors file.\n"
      "--check compares the outputs with a slow float64 reference: the exit code is 0 where they are equal, and\n"
      "1 where they differ.");
  auto options = std::make_shared<RunOptions>();
  add_model_flags(command, options->model);
  add_input_flags(command, options->inputs);
  command.add_option("-o,--out", options->out, "Output file; its tensors are row-major");
  command.add_flag("-f,--force", options->force, "Replace an output file that exists");
  add_plan_flags(command, options->plan);
  command.add_option("--plan", options->plan_file, "Run this plan, which relayout plan -o has written for the model")
      .excludes("--policy")
      .excludes("--no-winograd");
  command.add_option("--repeat", options->repeat, {1, 1000000},
                     "Number of timed runs, whose median is shown; before several runs there is one that is not timed");
  command.add_flag("--profile", options->profile,
                   "Show the time of each primitive and reorder, measured in one more run, beside its predicted time");
  command.add_flag("--check", options->check, "Compare the outputs with a float64 reference");
  command.add_flag("--check-padding", options->check_padding, "Check after each step that all padding is zero");
  return {command, [options, json = json] { return run_model(*options, *json); }, json};
}

}  // namespace relayout::tools
