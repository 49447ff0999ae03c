// Plans by policy: see planning.h.
#include "tools/planning.h"

#include <fmt/format.h>

#include "relayout/execute/calibrate.h"
#include "relayout/execute/cost_cache.h"
#include "tools/interrupt.h"

namespace relayout::tools {
namespace {

constexpr std::chrono::seconds kSolveLimit{30}, kExplainLimit{3}, kCheapestLimit{10};
constexpr const char* kDisturbed =
    "this machine's speeds could not be measured well, as other work runs on it; they will be measured again";

}  // namespace

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

Planner::~Planner() = default;

graph::Costs& Planner::costs() {
  const std::filesystem::path file = execute::default_cost_file();
  if (flags_.cost == "measured") {
    if (!measured_)
      measured_ = execute::measured_costs(*backend_, {.file = file, .check = [this] { check_interrupt(); }});
    return *measured_;
  }
  if (!analytic_) {
    const execute::Calibrated machine = execute::calibrate(*onednn_, {.file = file});
    if (machine.file_error) calibration_warnings_.push_back(machine.file_error->message());
    if (machine.doubtful) calibration_warnings_.emplace_back(kDisturbed);
    analytic_ = graph::analytic_costs(machine.speeds);
  }
  return *analytic_;
}

template <typename F>
auto Planner::interruptible(F f) {
  const InterruptRequest request;
  struct Scope {
    explicit Scope(const InterruptRequest*& at, const InterruptRequest& value) : at_(at) { at_ = &value; }
    ~Scope() { at_ = nullptr; }
    const InterruptRequest*& at_;
  };
  const Scope scope(request_, request);
  return f();
}

graph::SolveOptions Planner::solve_options(std::chrono::seconds limit) const {
  return {.time_limit = limit, .stop = [this] { return request_ != nullptr && request_->asked(); }};
}

void Planner::check_interrupt() {
  if (request_ == nullptr || !request_->asked()) return;
  const std::filesystem::path file = execute::default_cost_file();
  std::string kept = "there is no file to keep them in";
  keep();
  if (const auto& error = measured_->file_error()) {
    kept = "they are not kept: " + error->message();
  } else if (!file.empty()) {
    kept = "they are kept in " + escaped(file.native(), 4096) + ", and the same command goes on from there";
  }
  throw Failure(kInterrupted, Error(ErrorCode::io, fmt::format("interrupted: {} times were measured; {}",
                                                               measured_->measured(), kept)));
}

graph::OptimalPlan Planner::optimal(std::vector<std::pair<graph::TensorId, Layout>> fixed) {
  graph::Costs& known = costs();
  // Models of the kinds people run take milliseconds; what takes longer gives the best plan found, and its gap.
  const graph::OptimizeOptions options{
      .solve = solve_options(kSolveLimit), .runs = flags_.runs, .fixed = std::move(fixed)};
  graph::OptimalPlan out = interruptible([&] { return graph::optimize(graph_, *backend_, known, options); });
  keep();
  return out;
}

void Planner::explain(graph::OptimalPlan& plan) {
  interruptible([&] { graph::explain_reorders(graph_, plan, solve_options(kExplainLimit)); });
}

std::vector<graph::Assignment> Planner::cheapest(const graph::OptimalPlan& plan, int count) {
  return interruptible([&] { return graph::cheapest(plan.space.problem, count, solve_options(kCheapestLimit)); });
}

graph::LayoutPlan Planner::rival(graph::Policy policy) const {
  return propagate(graph_, *backend_, propagate_options(policy));
}

graph::LayoutPlan Planner::plan() {
  return flags_.policy == "optimal" ? optimal().plan : rival(graph::parse_policy(flags_.policy));
}

graph::PredictedCost Planner::predicted(const graph::LayoutPlan& plan) {
  graph::Costs& known = costs();
  const graph::PredictedCost out = interruptible([&] { return graph::predict(graph_, plan, known); });
  keep();
  return out;
}

void Planner::keep() {
  const auto save = [](auto& file) {
    try {
      file.save();
    } catch (const Error&) {  // file_error() has it, for warnings()
    }
  };
  save(*backend_);
  if (measured_) save(*measured_);
}

std::vector<std::string> Planner::warnings() {
  keep();
  std::vector<std::string> out = calibration_warnings_;
  if (backend_->file_error()) out.push_back(backend_->file_error()->message());
  if (measured_ && measured_->file_error()) out.push_back(measured_->file_error()->message());
  if (measured_ && measured_->doubtful()) out.emplace_back(kDisturbed);
  return out;
}

void write_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) write_stderr("relayout: warning: " + printable(warning) + "\n");
}

}  // namespace relayout::tools
