// Plans by policy: see planning.h.
#include "tools/planning.h"

#include <fmt/format.h>

#include "relayout/execute/calibrate.h"
#include "relayout/execute/cost_cache.h"
#include "relayout/execute/measured_costs.h"
#include "relayout/execute/remembering_backend.h"
#include "tools/interrupt.h"

namespace relayout::tools {

std::string policy_names() {
  std::string out = "optimal";
  for (int p = 0; p < graph::kPolicyCount; ++p) out += ", " + std::string(name(static_cast<graph::Policy>(p)));
  return out;
}

void add_plan_flags(CLI::App& command, PlanFlags& flags) {
  command.add_option("--policy", flags.policy, policy_names());
  command.add_option("--cost", flags.cost, "analytic (by this machine's speeds) or measured (each primitive is run)");
  command.add_option("--threads", flags.threads, "Threads (0: all)");
  command.add_option("--runs", flags.runs, "Runs that pay for reorders of weights at load (0: they cost nothing)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
}

void check_plan_flags(const PlanFlags& flags) {
  check_threads(flags.threads);
  constexpr int kMostThreads = 1024;
  if (flags.threads > kMostThreads) {
    usage_error(fmt::format("--threads {}: {} at most", flags.threads, kMostThreads), "--threads",
                std::to_string(flags.threads), std::to_string(kMostThreads));
  }
  if (flags.policy != "optimal") {
    try {
      graph::parse_policy(flags.policy);
    } catch (const Error&) {
      usage_error(fmt::format("--policy {}: none of {}", escaped(flags.policy), policy_names()), "--policy",
                  escaped(flags.policy), policy_names());
    }
  }
  if (flags.cost != "analytic" && flags.cost != "measured") {
    usage_error("--cost " + escaped(flags.cost) + ": analytic or measured", "--cost", escaped(flags.cost),
                "analytic, measured");
  }
}

Planner::Planner(const graph::Graph& graph, const PlanFlags& flags)
    : graph_(graph),
      flags_(flags),
      onednn_(make_backend(flags.threads)),
      backend_(execute::remembering_backend(*onednn_, execute::default_ways_file())) {}

graph::Costs& Planner::costs() {
  if (!costs_ && flags_.cost == "measured") {
    costs_ = execute::measured_costs(*backend_, {.file = execute::default_cost_file()});
  } else if (!costs_) {
    costs_ = graph::analytic_costs(execute::calibrate(*onednn_, {.file = execute::default_cost_file()}).speeds);
  }
  return *costs_;
}

graph::OptimalPlan Planner::optimal(std::vector<std::pair<graph::TensorId, Layout>> fixed) {
  graph::OptimizeOptions options{.runs = flags_.runs, .fixed = std::move(fixed)};
  // Models of the kinds people run take milliseconds; what takes longer gives the best plan found, and its gap.
  options.solve.time_limit = std::chrono::seconds(30);
  std::optional<InterruptRequest> request;
  options.solve.stop = [&request] {
    if (!request) request.emplace();
    return request->asked();
  };
  return graph::optimize(graph_, *backend_, costs(), options);
}

graph::LayoutPlan Planner::rival(graph::Policy policy) const {
  return propagate(graph_, *backend_, propagate_options(policy));
}

graph::LayoutPlan Planner::plan() {
  return flags_.policy == "optimal" ? optimal().plan : rival(graph::parse_policy(flags_.policy));
}

double Planner::predicted_us(const graph::LayoutPlan& plan) { return graph::predict(graph_, plan, costs()).total(); }

}  // namespace relayout::tools
