// Plans as text for a terminal: policies, reorders by their cost, nodes.
#include <algorithm>

#include "relayout/core/error.h"
#include "relayout/show/index.h"
#include "relayout/show/plan_scene.h"

namespace relayout::show {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Columns as wide as their widest cells, the last one ragged; the first row is a heading.
std::string columns(const Rows& rows, bool colour) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line = "  ";
    for (std::size_t k = 0; k < row.size(); ++k)
      line += row[k] + (k + 1 < row.size() ? std::string(widths[k] - row[k].size() + 2, ' ') : "");
    line.erase(line.find_last_not_of(' ') + 1);
    out += (colour && &row == &rows.front() ? "\x1b[1m" + line + "\x1b[0m" : line) + "\n";
  }
  return out;
}

std::string time_or_dash(const std::optional<double>& us) { return us ? microseconds_words(*us) : "-"; }
std::string number_or_dash(const std::optional<int64_t>& number) { return number ? std::to_string(*number) : "-"; }

Rows policy_rows(const PlanScene& scene) {
  Rows rows = {{"policy", "predicted", "cost", "reorders", "moves", "reorders at load", ""}};
  for (const ShownPlan& plan : scene.plans) {
    const bool chosen = &plan == &scene.plans[at(scene.chosen)];
    std::string words = escaped(plan.problem, 200);
    if (plan.measured_us)
      words = "measured " + microseconds_words(*plan.measured_us) + (words.empty() ? "" : "; ") + words;
    rows.push_back({plan.policy + (chosen ? " *" : ""), time_or_dash(plan.predicted_us), time_or_dash(plan.cost_us),
                    number_or_dash(plan.reorders), plan.reorder_bytes ? bytes_words(*plan.reorder_bytes) : "-",
                    number_or_dash(plan.load_reorders), words});
  }
  return rows;
}

Rows reorder_rows(const PlanScene& scene, const PlanFacts& facts) {
  const std::vector<ShownCopy>& copies = facts.plan().copies;
  std::vector<int> sorted = facts.reorders();
  std::ranges::stable_sort(sorted, [&](int a, int b) {
    const auto cost = [&](int copy) {
      return std::pair(copies[at(copy)].us.value_or(0), copies[at(copy)].bytes.value_or(0));
    };
    return cost(a) > cost(b);
  });
  Rows rows = {{"tensor", "from", "to", "moves", "takes", "why"}};
  for (const int number : sorted) {
    const ShownCopy& copy = copies[at(number)];
    rows.push_back({escaped(scene.tensors[at(copy.tensor)].name, 40), copies[at(copy.from)].form, copy.form,
                    copy.bytes ? bytes_words(*copy.bytes) : "-", time_or_dash(copy.us),
                    escaped(copy.reason + (copy.reason.empty() ? "" : ". ") + facts.source_words(number), 600)});
  }
  return rows;
}

Rows node_rows(const PlanScene& scene, const PlanFacts& facts) {
  Rows rows = {{"name", "kind", "implementation", "takes", "layouts"}};
  for (std::size_t n = 0; n < scene.nodes.size(); ++n) {
    const ShownStep& step = facts.plan().steps[n];
    std::string layouts;
    for (const int src : step.src) {
      if (src != -1 && scene.tensors[at(facts.plan().copies[at(src)].tensor)].dims.size() > 1)
        layouts += facts.plan().copies[at(src)].form + " ";
    }
    layouts += "->";
    for (const int dst : step.dst) {
      if (dst != -1) layouts += " " + facts.plan().copies[at(dst)].form;
    }
    rows.push_back({escaped(scene.nodes[n].name, 40), scene.nodes[n].kind, escaped(step.implementation, 40),
                    time_or_dash(step.us), layouts});
  }
  return rows;
}

}  // namespace

std::string plan_text(const PlanScene& scene, bool colour) {
  check(scene);
  const PlanFacts facts(scene, scene.chosen);
  const auto heading = [&](const std::string& words) {
    return colour ? "\x1b[1m" + words + "\x1b[0m\n" : words + "\n";
  };
  std::string out = heading(escaped(scene.title, 200));
  for (const std::string& note : scene.notes) out += note + "\n";
  out += "\n" + heading("Policies") + columns(policy_rows(scene), colour);
  out += "\n" + heading("Reorders of " + facts.plan().policy + ", the costliest first");
  const Rows reorders = reorder_rows(scene, facts);
  out += reorders.size() > 1 ? columns(reorders, colour) : "  none\n";
  return out + "\n" + heading("Nodes") + columns(node_rows(scene, facts), colour);
}

}  // namespace relayout::show
