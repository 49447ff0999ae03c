// relayout plan: the layouts of a model's tensors, the reorders between them, and why.
#include <fmt/format.h>

#include "relayout/interop/files/tensor_file.h"
#include "tools/command/output.h"
#include "tools/planning/plan_tune.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::OptimalPlan;
using graph::TensorId;

struct PlanOptions {
  ModelFlags model;
  PlanFlags plan;
  std::vector<std::string> what_if;
  std::optional<std::string> out;
  bool tune = false, force = false;
};

constexpr const char* kCutShort =
    "interrupted: this is the best plan so far; explanations, other policies, --tune and --what-if are left out as far "
    "as they were not reached";

/// Further plans that are tried beside the cheapest one.
constexpr int kTuned = 4;

/// The result of the node that has become part of a node with post-ops, by its name; kNone if there is none.
TensorId merged_result(const std::string& name, const Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    if (node.post_ops.empty()) continue;
    if (node.name == name || std::ranges::find(node.post_ops, name, &graph::PostOp::name) != node.post_ops.end()) {
      return node.dst[0];
    }
  }
  return graph::kNone;
}

/// TENSOR=LAYOUT each.
std::vector<std::pair<TensorId, Layout>> wishes_of(const std::vector<std::string>& texts, const Graph& graph) {
  const std::vector<std::string> names = tensor_names(graph);
  std::vector<std::pair<TensorId, Layout>> out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) {
      usage_error(fmt::format("--what-if {}: it must be TENSOR=LAYOUT, but there is no layout", escaped(text, 200)),
                  "--what-if", escaped(text, 200), "TENSOR=LAYOUT");
    }
    const std::string name = text.substr(0, equals);
    const auto found = std::ranges::find(names, name);
    const TensorId merged = found == names.end() ? merged_result(name, graph) : graph::kNone;
    if (found == names.end() && merged == graph::kNone) {
      std::vector<std::string_view> known(names.begin(), names.end());
      const std::string_view near = nearest_name(name, known);
      usage_error(fmt::format("--what-if {}: the model has no tensor \"{}\"{}", escaped(text, 200), escaped(name, 200),
                              near.empty() ? "" : "; did you mean " + escaped(near, 200) + "?"),
                  "--what-if", escaped(text, 200));
    }
    const TensorId tensor = merged == graph::kNone ? static_cast<TensorId>(found - names.begin()) : merged;
    if (graph.tensor(tensor).constant() || graph.tensor(tensor).layout) {
      usage_error(
          fmt::format("--what-if {}: the layout of \"{}\" is given, like that of all inputs, outputs and weights; a "
                      "plan chooses only the layouts of tensors that primitives compute",
                      escaped(text, 200), escaped(name, 200)),
          "--what-if", escaped(text, 200));
    }
    out.emplace_back(tensor, bind_argument(layout_argument(text.substr(equals + 1)), graph.tensor(tensor).dims));
  }
  return out;
}

/// The cheapest plans after the first one.
void add_cheapest(Planner& planner, const OptimalPlan& best, std::vector<PolicyPlan>& out) {
  const std::vector<solve::Assignment> plans = planner.cheapest(best, kTuned);
  for (std::size_t i = 1; i < plans.size(); ++i) {
    PolicyPlan& candidate = out.emplace_back(PolicyPlan{.name = fmt::format("optimal #{}", i + 1)});
    candidate.plan = plan_of(planner.graph(), planner.backend(), best.space, plans[i]);
    candidate.plan->policy = candidate.name;
    candidate.take(planner.predicted(*candidate.plan));
    candidate.cost_us = graph::with_solver_errors([&] { return solve::cost_of(best.space.problem, plans[i]); });
  }
}

/// Plans with the layouts of --what-if. If that is impossible, the failure is returned, so that the report comes first.
std::optional<Failure> add_what_if(const PlanOptions& options, const std::vector<std::pair<TensorId, Layout>>& wishes,
                                   Planner& planner, PlanReport& report) {
  if (wishes.empty() || planner.interrupted()) return {};
  std::string all;
  for (const std::string& text : options.what_if) all += (all.empty() ? "" : ", ") + text;
  try {
    OptimalPlan other = planner.optimal(wishes);
    const double predicted_us = planner.predicted(other.plan).time();
    report.what_if = {all, std::move(other), predicted_us};
    return {};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;
    return Failure(exit_code(error, kUsage),
                   Error(error.code(), fmt::format("--what-if {}: {}", escaped(all, 400), error.message()), "--what-if",
                         escaped(all, 400), error.limit()));
  }
}

int run_plan(const PlanOptions& options, bool json) {
  require_isa();
  check_plan_flags(options.plan);
  if (options.tune && options.plan.policy != "optimal") {
    usage_error("--policy " + options.plan.policy + ": it cannot be given with --tune, which chooses the policy",
                "--policy", options.plan.policy, "--tune alone");
  }
  graph::Widened widened;
  const Graph graph = load_model(options.model, {}, &widened);
  const auto wishes = wishes_of(options.what_if, graph);
  Planner planner(graph, options.plan);
  PlanReport report{.graph = graph,
                    .model = escaped(options.model.path, 4096),
                    .cost = options.plan.cost,
                    .training = options.model.training,
                    .widened = widened,
                    .threads = planner.backend().threads()};
  OptimalPlan best = planner.optimal();
  // Explaining a plan takes further searches. Where the first one was stopped, they would be stopped too.
  if (best.optimal) planner.explain(best);
  report.candidates.push_back(optimal_candidate(planner, best));
  planner.interruptible([&] { add_rivals(planner, options.plan.policy, report.candidates); });
  if (options.tune && !planner.interrupted()) {
    if (best.optimal) add_cheapest(planner, best, report.candidates);
    report.chosen = tune(planner, report.candidates);
  } else {
    // An interrupted --tune has the optimal one, which comes first.
    const auto wanted = std::ranges::find(report.candidates, options.plan.policy, &PolicyPlan::name);
    report.chosen = static_cast<std::size_t>(wanted - report.candidates.begin());
  }
  if (report.chosen == 0) report.optimal = &best;
  const std::optional<Failure> no_wish = add_what_if(options, wishes, planner, report);
  report.warnings = planner.warnings();
  if (planner.interrupted()) report.warnings.emplace_back(kCutShort);
  const PolicyPlan& chosen = report.candidates[report.chosen];
  const std::string slow = reference_warning(graph, *chosen.plan, chosen.reference_us, chosen.predicted_us);
  if (!slow.empty()) report.warnings.push_back(slow);
  write_warnings(report.warnings);
  const bool to_stdout = options.out && is_stdout(*options.out);
  if (options.out && !to_stdout) {
    const std::string text = json_text(report_json(report));
    from_command_line([&] { write_file(*options.out, std::as_bytes(std::span(text)), options.force); });
  }
  if (to_stdout && !json) write_stderr(report_text(report));
  write_stdout(json || to_stdout ? json_text(report_json(report)) : report_text(report));
  if (no_wish) throw Failure(*no_wish);
  return kOk;
}

}  // namespace

Verb add_plan(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "plan", "Plan the layouts of a model, and explain where and why it needs reorders",
      "  relayout plan net.onnx\n"
      "  relayout plan net.onnx --policy nhwc --batch 8 --json\n"
      "  relayout plan net.onnx --training -o plan.json\n"
      "  relayout plan net.onnx --tune -o plan.json && relayout run net.onnx --plan plan.json --input x.npy\n"
      "  relayout plan model:small_cnn --what-if convolution_0=nhwc\n"
      "The plan of the policy optimal has the lowest cost of all. The cost is the predicted time, in which moved "
      "bytes\n"
      "count twice. The other policies are what frameworks do: with any, the compute-bound primitives choose their\n"
      "layouts and the others follow; nchw, nhwc, 8c, 16c and blocked (the block that suits this machine) use one\n"
      "layout everywhere; openvino and ort do as these two do.\n"
      "Analytic costs are computed from this machine's speeds, which are measured once. Measured costs run every\n"
      "primitive in every layout and are kept in a file; --remeasure measures them again.\n"
      "Ctrl-C during the search prints the best plan so far and how far it may be from the cheapest one. Before there\n"
      "is a plan it ends the command, and what was measured until then is kept.\n"
      "Inputs and outputs are row-major. With --training, weights are inputs whose layouts are chosen, too.\n"
      "model:NAME is one of the project's own networks with random weights; model:? lists their names.");
  auto options = std::make_shared<PlanOptions>();
  add_model_flags(command, options->model);
  add_plan_flags(command, options->plan);
  command.add_flag("--tune", options->tune,
                   "Run the cheapest plans and those of all policies in turns, and choose the fastest");
  command.add_option("--what-if", options->what_if,
                     "TENSOR=LAYOUT: show what a plan with this layout would cost; may be given several times");
  command.add_option("-o,--out", options->out, "Write the plan as JSON to this file; - is standard output");
  command.add_flag("-f,--force", options->force, "Replace a file that exists");
  return {command, [options, json = json] { return run_plan(*options, *json); }, json};
}

}  // namespace relayout::tools
