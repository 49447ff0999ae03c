// Tables and JSON of a plan: see plan_report.h.
#include "tools/planning/plan_report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/plan/layout_names.h"
#include "tools/checking/certificate_json.h"
#include "tools/planning/plan_file.h"

namespace relayout::tools {
namespace {

using graph::CopyId;
using graph::kNone;
using graph::LayoutPlan;

/// What the times are that a plan is chosen by.
std::string prices_text(const PlanReport& report) {
  if (report.cost == "measured") return "measured: each primitive and each reorder was run by itself, in each layout";
  return "analytic: computed from the work and this machine's speeds, not measured; --cost measured runs everything";
}

/// A time with its sign.
std::string difference_text(double us) { return (us < 0 ? "" : "+") + time_text(us); }

std::string proof_text(const graph::OptimalPlan& plan) {
  std::string out =
      plan.optimal ? "proven that no plan costs less by these prices; whether it takes the least time depends on how "
                     "right they are (--tune runs the best plans)"
                   : fmt::format("at most {:.2g}% from the cheapest by these prices", 100 * plan.gap);
  if (plan.space.left_out > 0)
    out += fmt::format(" among the layouts that were considered ({} were left out because there were too many)",
                       plan.space.left_out);
  return out;
}

/// The most characters that a layout's name takes in tables. Longer names are listed below the tables.
constexpr std::size_t kLongName = 28;

/// The tensor, the layout before and the layout after, of each reorder at run time.
using Reorders = std::multiset<std::array<std::string, 3>>;

class ReportWriter {
 public:
  explicit ReportWriter(const PlanReport& report)
      : report_(report),
        graph_(report.graph),
        plan_(report.plan()),
        names_(tensor_names(report.graph)),
        layout_names_(report.graph) {
    add_short_names(plan_);
    if (report.what_if) {
      add_short_names(*cheapest().plan);
      add_short_names(report.what_if->plan.plan);
    }
  }

  Json json() const {
    const PolicyPlan& chosen = report_.candidates[report_.chosen];
    Json out = {{"model", report_.model},
                {"policy", chosen.name},
                {"backend", plan_.backend},
                {"threads", report_.threads},
                {"training", training_json(report_.training)},
                {"cost", report_.cost}};
    out["predicted_us"] = time_json(chosen.predicted_us);
    out["cost_us"] = time_json(chosen.cost_us);
    out["reference_us"] = time_json(chosen.reference_us);
    if (report_.widened.nodes > 0) {
      Json types = Json::array();
      for (const DType dtype : report_.widened.types) types.push_back(name(dtype));
      out["computed_in_f32"] = {{"primitives", report_.widened.nodes}, {"types", std::move(types)}};
    }
    if (!chosen.problem.empty()) out["problem"] = chosen.problem;
    if (chosen.measured_us) out["measured_us"] = *chosen.measured_us;
    if (report_.optimal != nullptr) {
      out["optimal"] = report_.optimal->optimal;
      out["gap"] = report_.optimal->gap;
      out["left_out"] = report_.optimal->space.left_out;
      out["planning_ms"] = report_.optimal->planning_ms;
    }
    if (!report_.warnings.empty()) out["warnings"] = report_.warnings;
    out["layouts"] = Json::object();
    for (const graph::Copy& copy : plan_.copies) {
      const std::string& tensor = name_of(copy);
      if (!out["layouts"].contains(tensor)) out["layouts"][tensor] = graph::expression_of(copy.layout, copy.opaque);
    }
    out["reorders"] = Json::array();
    for (CopyId id : plan_.reorders(graph_)) out["reorders"].push_back(reorder(id));
    out["load_reorders"] = Json::array();
    for (CopyId id : plan_.load_reorders(graph_)) out["load_reorders"].push_back(reorder(id));
    out["primitives"] = Json::array();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) out["primitives"].push_back(primitive(n));
    out["policies"] = Json::object();
    for (const PolicyPlan& candidate : report_.candidates) out["policies"][candidate.name] = policy(candidate);
    add_shown_plans(out["policies"], graph_, report_.candidates, names_);
    if (report_.what_if) out["what_if"] = what_if_json();
    out.update(copies_json(graph_, plan_, names_));
    if (report_.optimal != nullptr) out["certificate"] = certificate_json(graph_, *report_.optimal, names_);
    return out;
  }

  std::string text() const {
    std::string out = bold("Primitives") + "\n" + table(primitive_rows()) + "\n";
    if (const auto post_ops = post_op_rows(); post_ops.size() > 1) {
      out += bold("Post-ops") + "\n" + table(post_ops) + "\n";
    }
    out += bold("Reorders") + "\n";
    const auto rows = reorder_rows();
    out += rows.size() > 1 ? table(rows) : "  none\n";
    out += "\n" + bold("Policies") + "\n" + table(policy_rows());
    if (report_.optimal != nullptr) {
      const graph::OptimalPlan& best = *report_.optimal;
      out += "\n" + labelled("plan", fmt::format("predicted time {}, cost {} (moved bytes count twice); planned in {}",
                                                 time_text(report_.candidates[report_.chosen].predicted_us),
                                                 time_text(best.cost_us), time_text(best.planning_ms * 1e3)));
      out += labelled("prices", prices_text(report_)) + labelled("proof", proof_text(best));
    } else {
      out += "\n" + labelled("prices", prices_text(report_));
    }
    const std::string types = text_of(report_.widened, plan_.backend);
    out += saved_text() + rounding_text(graph::totals(graph_, plan_)) + (types.empty() ? "" : labelled("types", types));
    return legend(report_.what_if ? out + "\n" + what_if_text() : out);
  }

 private:
  const std::string& name_of(const graph::Copy& copy) const { return names_[static_cast<std::size_t>(copy.tensor)]; }
  std::string shown_layout(const graph::Copy& copy) const { return shortened(layout_names_.of(copy)); }

  void add_short_names(const LayoutPlan& plan) {
    for (const graph::Copy& copy : plan.copies) {
      const std::string name = layout_names_.of(copy);
      if (name.size() > kLongName) short_names_.try_emplace(name, fmt::format("layout({})", short_names_.size() + 1));
    }
  }

  /// The concat into whose result a copy is made, where it is one of its parts; null for other copies.
  static const graph::Node* concat_of(const graph::Graph& graph, const LayoutPlan& plan, const graph::Copy& copy) {
    for (std::size_t n = 0; n < plan.nodes.size() && copy.view_of != kNone; ++n) {
      if (graph.nodes[n].kind == graph::Kind::concat && plan.nodes[n].dst[0] == copy.view_of) return &graph.nodes[n];
    }
    return nullptr;
  }
  /// What a reorder makes: a layout, or a part of a concat's result.
  std::string made_by(const LayoutPlan& plan, const graph::Copy& copy) const {
    const graph::Node* concat = concat_of(graph_, plan, copy);
    return concat == nullptr ? shown_layout(copy) : "a part of " + escaped(concat->name, 40);
  }

  /// With short names in place of long ones.
  std::string shortened(std::string text) const {
    for (const auto& [name, short_name] : short_names_) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + short_name.size()))
        text.replace(at, name.size(), short_name);
    }
    return text;
  }

  /// The report with what the short names in it stand for.
  std::string legend(const std::string& text) const {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, short_name] : short_names_) {
      if (text.find(short_name) != std::string::npos) rows.push_back({short_name, name});
    }
    std::ranges::sort(rows, {}, [](const auto& row) { return std::pair(row[0].size(), row[0]); });
    return rows.empty() ? text : text + "\n" + bold("Layouts") + "\n" + table(rows);
  }

  Json reorder(CopyId id) const {
    const graph::Copy& copy = plan_.copy(id);
    return {{"tensor", name_of(copy)},
            {"from", graph::expression_of(plan_.copy(copy.from).layout, plan_.copy(copy.from).opaque)},
            {"to", graph::expression_of(copy.layout, copy.opaque)},
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
          layouts[name_of(plan_.copy(id))] = graph::expression_of(plan_.copy(id).layout, plan_.copy(id).opaque);
      }
    }
    Json out = {{"name", node.name},
                {"kind", name(node.kind)},
                {"pass", name(node.pass)},
                {"implementation", planned.implementation},
                {"ref", planned.reference},
                {"layouts", std::move(layouts)},
                {"src", operands_json(planned.src)},
                {"dst", operands_json(planned.dst)}};
    if (!node.post_ops.empty()) out["post_ops"] = post_ops_json(node);
    if (planned.rounds_more) out["rounds_more"] = true;
    return out;
  }

  Json policy(const PolicyPlan& candidate) const {
    if (!candidate.plan) return {{"error", candidate.problem}};
    const graph::PlanTotals totals = graph::totals(graph_, *candidate.plan);
    Json out = {{"predicted_us", time_json(candidate.predicted_us)},
                {"cost_us", time_json(candidate.cost_us)},
                {"reorders", totals.reorders},
                {"reorder_bytes", totals.reorder_bytes},
                {"load_reorders", totals.load_reorders},
                {"ref_primitives", totals.reference_primitives}};
    if (candidate.measured_us) out["measured_us"] = *candidate.measured_us;
    if (!candidate.problem.empty()) out["problem"] = candidate.problem;
    return out;
  }

  std::vector<std::vector<std::string>> primitive_rows() const {
    std::vector<std::vector<std::string>> rows = {{"name", "kind", "implementation", "layouts"}};
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const graph::PlannedNode& planned = plan_.nodes[n];
      std::string layouts;
      const auto add = [&](const std::vector<CopyId>& operands) {
        for (CopyId id : operands) {
          if (id == kNone || plan_.copy(id).layout.ndims() < 2) continue;
          layouts += " " + shown_layout(plan_.copy(id));
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

  /// What primitives do beside, in the same pass over memory.
  std::vector<std::vector<std::string>> post_op_rows() const {
    std::vector<std::vector<std::string>> rows = {{"primitive", "then", "node"}};
    for (const graph::Node& node : graph_.nodes) {
      for (const graph::PostOp& op : node.post_ops) {
        const bool first = &op == &node.post_ops.front();
        rows.push_back(
            {first ? escaped(node.name, 40) : "", std::string(graph::function_name(op)), escaped(op.name, 60)});
      }
    }
    return rows;
  }

  std::vector<std::vector<std::string>> reorder_rows() const {
    std::vector<std::vector<std::string>> rows = {{"tensor", "from", "to", "moves", "why"}};
    for (CopyId id : plan_.reorders(graph_)) {
      const graph::Copy& copy = plan_.copy(id);
      rows.push_back({escaped(name_of(copy), 40), shown_layout(plan_.copy(copy.from)), made_by(plan_, copy),
                      size_text(reorder_bytes(graph_, plan_, id)), escaped(shortened(copy.reason), 300)});
    }
    return rows;
  }

  std::vector<std::vector<std::string>> policy_rows() const {
    const bool measured =
        std::ranges::any_of(report_.candidates, [](const auto& c) { return c.measured_us.has_value(); });
    std::vector<std::vector<std::string>> rows = {
        {"policy", "predicted", "cost", "reorders", "moves", "ref primitives", "reorders at load"}};
    if (measured) rows[0].insert(rows[0].begin() + 2, "measured");
    for (std::size_t c = 0; c < report_.candidates.size(); ++c) {
      const PolicyPlan& candidate = report_.candidates[c];
      std::vector<std::string>& row = rows.emplace_back();
      row.push_back(candidate.name + (c == report_.chosen ? " *" : ""));
      if (!candidate.plan) {
        row.insert(row.end(), measured ? 6 : 5, "-");
        row.push_back(candidate.problem);
        continue;
      }
      const graph::PlanTotals totals = graph::totals(graph_, *candidate.plan);
      row.push_back(time_text(candidate.predicted_us));
      if (measured) row.push_back(candidate.measured_us ? time_text(*candidate.measured_us) : "-");
      row.insert(row.end(),
                 {time_text(candidate.cost_us), std::to_string(totals.reorders), size_text(totals.reorder_bytes),
                  std::to_string(totals.reference_primitives), std::to_string(totals.load_reorders)});
      if (!candidate.problem.empty()) row.push_back(candidate.problem);
    }
    return rows;
  }

  /// The comparison with greedy propagation, by measured times where there are any.
  std::string saved_text() const {
    const auto any = std::ranges::find(report_.candidates, "any", &PolicyPlan::name);
    const PolicyPlan& chosen = report_.candidates[report_.chosen];
    if (any == report_.candidates.end() || !any->plan || chosen.name == any->name) return "";
    const bool measured = chosen.measured_us && any->measured_us;
    const double mine = measured ? *chosen.measured_us : chosen.predicted_us;
    const double greedy = measured ? *any->measured_us : any->predicted_us;
    const graph::PlanTotals less = graph::totals(graph_, *chosen.plan), more = graph::totals(graph_, *any->plan);
    // A plan of views and unknown operators alone takes no time, of which there is no share.
    if (!std::isfinite(mine) || !std::isfinite(greedy) || greedy <= 0) return "";
    return labelled(
        mine <= greedy ? "saves" : "loses",
        fmt::format("{:.1f}% of the {} time of the policy any (greedy propagation); it has {} of {} instead of {} "
                    "of {}",
                    100 * std::abs(1 - mine / greedy), measured ? "measured" : "predicted",
                    counted(less.reorders, "reorder"), size_text(less.reorder_bytes), more.reorders,
                    size_text(more.reorder_bytes)));
  }

  /// As expressions for JSON, or as the tables have them.
  Reorders reorders_of(const LayoutPlan& plan, bool shown) const {
    Reorders out;
    for (CopyId id : plan.reorders(graph_)) {
      const graph::Copy &copy = plan.copy(id), &from = plan.copy(copy.from);
      out.insert({name_of(copy), shown ? shown_layout(from) : graph::expression_of(from.layout, from.opaque),
                  shown ? made_by(plan, copy) : graph::expression_of(copy.layout, copy.opaque)});
    }
    return out;
  }

  /// The reorders in `more` that `less` lacks.
  static Reorders without(Reorders more, const Reorders& less) {
    for (const auto& one : less) {
      if (const auto found = more.find(one); found != more.end()) more.erase(found);
    }
    return more;
  }

  /// The cheapest plan, which the one of the wishes is compared with.
  const PolicyPlan& cheapest() const { return report_.candidates[0]; }
  double what_if_us() const { return report_.what_if->predicted_us - cheapest().predicted_us; }
  double what_if_cost() const { return report_.what_if->plan.cost_us - cheapest().cost_us; }

  Json what_if_json() const {
    const Reorders before = reorders_of(*cheapest().plan, false);
    const Reorders after = reorders_of(report_.what_if->plan.plan, false);
    const auto list = [](const Reorders& reorders) {
      Json out = Json::array();
      for (const auto& [tensor, from, to] : reorders) out.push_back({{"tensor", tensor}, {"from", from}, {"to", to}});
      return out;
    };
    return {{"wishes", report_.what_if->wishes},
            {"predicted_us", time_json(report_.what_if->predicted_us)},
            {"difference_us", time_json(what_if_us())},
            {"cost_us", time_json(report_.what_if->plan.cost_us)},
            {"cost_difference_us", time_json(what_if_cost())},
            {"optimal", report_.what_if->plan.optimal},
            {"left_out", report_.what_if->plan.space.left_out},
            {"reorders_added", list(without(after, before))},
            {"reorders_removed", list(without(before, after))}};
  }

  std::string what_if_text() const {
    const Reorders before = reorders_of(*cheapest().plan, true);
    const Reorders after = reorders_of(report_.what_if->plan.plan, true);
    std::string out = bold("What if " + escaped(report_.what_if->wishes, 400)) + "\n";
    out += fmt::format("  predicted time {} ({}); cost {} ({})\n", time_text(report_.what_if->predicted_us),
                       difference_text(what_if_us()), time_text(report_.what_if->plan.cost_us),
                       difference_text(what_if_cost()));
    std::vector<std::vector<std::string>> rows;
    const auto add = [&](const char* sign, const Reorders& reorders) {
      for (const auto& [tensor, from, to] : reorders) rows.push_back({sign, escaped(tensor, 40), from, "->", to});
    };
    add("+", without(after, before));
    add("-", without(before, after));
    return out + (rows.empty() ? "  the same reorders\n" : table(rows));
  }

  const PlanReport& report_;
  const graph::Graph& graph_;
  const LayoutPlan& plan_;
  std::vector<std::string> names_;
  const graph::LayoutNames layout_names_;
  /// By the name of a layout that is too long for tables; longer ones first, as one may be a part of another.
  struct Longer {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::map<std::string, std::string, Longer> short_names_;
};

}  // namespace

Json report_json(const PlanReport& report) { return ReportWriter(report).json(); }
std::string report_text(const PlanReport& report) { return ReportWriter(report).text(); }

}  // namespace relayout::tools
