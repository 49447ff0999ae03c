// relayout plan: the layouts of a model's tensors, the reorders between them, and why.
#include <fmt/format.h>

#include "relayout/interop/tensor_file.h"
#include "tools/model.h"

namespace relayout::tools {
namespace {

using graph::CopyId;
using graph::Graph;
using graph::kNone;
using graph::LayoutPlan;
using graph::Policy;

struct Options {
  ModelFlags model;
  std::string policy = "any";
  std::optional<std::string> out;
  int threads = 0;
  bool force = false;
};

/// A policy, or why the backend cannot follow it.
struct Candidate {
  Policy policy;
  std::optional<LayoutPlan> plan;
  std::string problem;
};

std::vector<Candidate> candidates(const Graph& graph, const graph::Backend& backend, Policy wanted) {
  std::vector<Candidate> out;
  for (int p = 0; p < graph::kPolicyCount; ++p) {
    Candidate& candidate = out.emplace_back(Candidate{static_cast<Policy>(p), {}, {}});
    try {
      candidate.plan = propagate(graph, backend, propagate_options(candidate.policy));
    } catch (const Error& error) {
      if (candidate.policy == wanted) throw;
      candidate.problem = error.message();
    }
  }
  return out;
}

class Report {
 public:
  Report(const Graph& graph, const LayoutPlan& plan, const std::vector<Candidate>& policies)
      : graph_(graph), plan_(plan), policies_(policies), names_(tensor_names(graph)) {}

  Json json(const Options& options) const {
    Json out = {{"model", escaped(options.model.path, 4096)}, {"policy", plan_.policy}, {"backend", plan_.backend}};
    out["training"] = options.model.training;
    out["layouts"] = Json::object();
    for (const graph::Copy& copy : plan_.copies) {
      const std::string& tensor = names_[static_cast<std::size_t>(copy.tensor)];
      if (!out["layouts"].contains(tensor)) out["layouts"][tensor] = graph::expression_of(copy.layout);
    }
    out["reorders"] = Json::array();
    for (CopyId id : plan_.reorders(graph_)) out["reorders"].push_back(reorder(id));
    out["load_reorders"] = Json::array();
    for (CopyId id : plan_.load_reorders(graph_)) out["load_reorders"].push_back(reorder(id));
    out["primitives"] = Json::array();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) out["primitives"].push_back(primitive(n));
    out["policies"] = Json::object();
    for (const Candidate& candidate : policies_) {
      Json& entry = out["policies"][std::string(name(candidate.policy))];
      if (!candidate.plan) {
        entry = {{"error", candidate.problem}};
        continue;
      }
      const graph::PlanTotals totals = graph::totals(graph_, *candidate.plan);
      entry = {{"reorders", totals.reorders},
               {"reorder_bytes", totals.reorder_bytes},
               {"load_reorders", totals.load_reorders},
               {"ref_primitives", totals.reference_primitives}};
    }
    return out;
  }

  std::string text() const {
    std::string out = bold("Primitives") + "\n" + table(primitive_rows()) + "\n" + bold("Reorders") + "\n";
    const auto rows = reorder_rows();
    out += rows.size() > 1 ? table(rows) : "  none\n";
    return out + "\n" + bold("Policies") + "\n" + table(policy_rows());
  }

 private:
  std::string shown(graph::TensorId tensor) const { return escaped(names_[static_cast<std::size_t>(tensor)], 40); }
  std::string shown_layout(CopyId id, bool weights) const {
    return graph::display_name(plan_.copy(id).layout, weights);
  }
  bool weights(CopyId id) const { return graph_.tensor(plan_.copy(id).tensor).constant(); }

  Json reorder(CopyId id) const {
    const graph::Copy& copy = plan_.copy(id);
    return {{"tensor", names_[static_cast<std::size_t>(copy.tensor)]},
            {"from", graph::expression_of(plan_.copy(copy.from).layout)},
            {"to", graph::expression_of(copy.layout)},
            {"bytes", reorder_bytes(graph_, plan_, id)},
            {"reason", copy.reason}};
  }

  Json primitive(std::size_t n) const {
    const graph::Node& node = graph_.nodes[n];
    const graph::PlannedNode& planned = plan_.nodes[n];
    Json layouts = Json::object();
    for (const auto* operands : {&planned.src, &planned.dst}) {
      for (CopyId id : *operands) {
        if (id != kNone)
          layouts[names_[static_cast<std::size_t>(plan_.copy(id).tensor)]] =
              graph::expression_of(plan_.copy(id).layout);
      }
    }
    return {{"name", node.name},        {"kind", name(node.kind)},
            {"pass", name(node.pass)},  {"implementation", planned.implementation},
            {"ref", planned.reference}, {"layouts", std::move(layouts)}};
  }

  std::vector<std::vector<std::string>> primitive_rows() const {
    std::vector<std::vector<std::string>> rows = {{"name", "kind", "implementation", "layouts"}};
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const graph::PlannedNode& planned = plan_.nodes[n];
      std::string layouts;
      const auto add = [&](const std::vector<CopyId>& operands) {
        for (CopyId id : operands) {
          if (id == kNone || plan_.copy(id).layout.ndims() < 2) continue;
          layouts += " " + shown_layout(id, weights(id));
        }
      };
      add(planned.src);
      layouts += " ->";
      add(planned.dst);
      rows.push_back({escaped(graph_.nodes[n].name, 40), std::string(name(graph_.nodes[n].kind)),
                      planned.implementation, layouts.substr(1)});
    }
    return rows;
  }

  std::vector<std::vector<std::string>> reorder_rows() const {
    std::vector<std::vector<std::string>> rows = {{"tensor", "from", "to", "moves", "why"}};
    for (CopyId id : plan_.reorders(graph_)) {
      const graph::Copy& copy = plan_.copy(id);
      rows.push_back({shown(copy.tensor), shown_layout(copy.from, false), shown_layout(id, false),
                      size_text(reorder_bytes(graph_, plan_, id)), escaped(copy.reason, 200)});
    }
    return rows;
  }

  std::vector<std::vector<std::string>> policy_rows() const {
    std::vector<std::vector<std::string>> rows = {
        {"policy", "reorders", "moves", "ref primitives", "reorders at load"}};
    for (const Candidate& candidate : policies_) {
      const std::string label =
          std::string(name(candidate.policy)) + (name(candidate.policy) == plan_.policy ? " *" : "");
      if (!candidate.plan) {
        rows.push_back({label, "-", "-", "-", candidate.problem});
        continue;
      }
      const graph::PlanTotals totals = graph::totals(graph_, *candidate.plan);
      rows.push_back({label, std::to_string(totals.reorders), size_text(totals.reorder_bytes),
                      std::to_string(totals.reference_primitives), std::to_string(totals.load_reorders)});
    }
    return rows;
  }

  const Graph& graph_;
  const LayoutPlan& plan_;
  const std::vector<Candidate>& policies_;
  std::vector<std::string> names_;
};

int run(const Options& options, bool json) {
  require_isa();
  check_threads(options.threads);
  const Policy policy = from_command_line([&] { return graph::parse_policy(options.policy); });
  const Graph graph = load_model(options.model);
  const auto backend = make_backend(options.threads);
  const std::vector<Candidate> policies = candidates(graph, *backend, policy);
  const LayoutPlan& plan = *policies[static_cast<std::size_t>(policy)].plan;
  const Report report(graph, plan, policies);
  if (options.out) {
    const std::string text = json_text(report.json(options));
    from_command_line([&] { write_file(*options.out, std::as_bytes(std::span(text)), options.force); });
  }
  write_stdout(json ? json_text(report.json(options)) : report.text());
  return kOk;
}

}  // namespace

Verb add_plan(CLI::App& app) {
  auto [command, json] =
      add_verb(app, "plan", "Plan the layouts of a model, and say where reorders are and why",
               "  relayout plan net.onnx\n"
               "  relayout plan net.onnx --policy nhwc --batch 8 --json\n"
               "  relayout plan net.onnx --training -o plan.json\n"
               "Policies: any (compute-bound primitives choose, the others follow), nchw, nhwc, blocked.\n"
               "Inputs and outputs are row-major; with --training weights are inputs whose layouts are chosen.");
  auto options = std::make_shared<Options>();
  add_model_flags(*command, options->model);
  command->add_option("--policy", options->policy, "any, nchw, nhwc or blocked");
  command->add_flag("--training", options->model.training, "Forward and backward of the weights");
  command->add_option("--threads", options->threads, "Threads (0: all)");
  command->add_option("-o,--out", options->out, "Write the plan as JSON to this file");
  command->add_flag("-f,--force", options->force, "Overwrite a file that exists");
  return {command, [options, json = json] { return run(*options, *json); }, json};
}

}  // namespace relayout::tools
