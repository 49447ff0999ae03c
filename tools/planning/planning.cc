// Plans by policy: see planning.h.
#include "tools/planning/planning.h"

#include <fmt/format.h>

#include <cmath>

#include "relayout/execute/measure/calibrate.h"
#include "relayout/execute/measure/cost_cache.h"
#include "tools/command/interrupt.h"

namespace relayout::tools {
namespace {

constexpr std::chrono::seconds kSolveLimit{30}, kExplainLimit{3}, kCheapestLimit{10};
constexpr const char* kDisturbed =
    "the speeds of this machine could not be measured well because other work runs on it; the next run measures them "
    "again";

/// What a problem with the file of costs, or with that of implementations, means for the user.
std::string warning_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::corrupt: return error.message() + "; what it held is lost: it may be deleted, and is replaced";
    case ErrorCode::unsupported:
    case ErrorCode::limit: return error.message() + "; it is left as it is and not used, and may be deleted";
    default: return error.message();
  }
}

}  // namespace

std::string policy_names() {
  std::string out = "optimal";
  for (int p = 0; p < graph::kPolicyCount; ++p) out += ", " + std::string(name(static_cast<graph::Policy>(p)));
  return out;
}

void add_primitive_cost_flags(Command& command, PlanFlags& flags) {
  command.add_option(
      "--cost", flags.cost,
      "Where costs come from: analytic (computed from this machine's speeds) or measured (every primitive is run)");
  command.add_option("--threads", flags.threads, kThreadRange, "Number of threads; 0, the default, is all");
  command.add_flag("--remeasure", flags.remeasure,
                   "Measure the costs, or this machine's speeds, again and keep the new values");
  command.add_flag("--no-winograd", flags.no_winograd,
                   "Leave out convolutions by Winograd's algorithm, which is faster and rounds more");
}

void add_plan_flags(Command& command, PlanFlags& flags) {
  command.add_option("--policy", flags.policy, policy_names());
  add_primitive_cost_flags(command, flags);
  command.add_option("--runs", flags.runs, {0, int64_t{1} << 40},
                     "Number of runs over which reorders of weights at load are paid off; with 0 they cost nothing");
}

void check_plan_flags(const PlanFlags& flags) {
  if (flags.policy != "optimal") {
    try {
      graph::parse_policy(flags.policy);
    } catch (const Error&) {
      usage_error(fmt::format("--policy {}: it must be one of {}", escaped(flags.policy), policy_names()), "--policy",
                  escaped(flags.policy), policy_names());
    }
  }
  if (flags.cost != "analytic" && flags.cost != "measured") {
    usage_error("--cost " + escaped(flags.cost) + ": it must be analytic or measured", "--cost", escaped(flags.cost),
                "analytic, measured");
  }
}

Planner::Planner(const graph::Graph& graph, const PlanFlags& flags)
    : graph_(graph),
      flags_(flags),
      onednn_(make_backend(flags.threads)),
      backend_(execute::remembering_backend(*onednn_, execute::default_implementations_file())) {}

Planner::~Planner() = default;

graph::Costs& Planner::costs() {
  const std::filesystem::path file = execute::default_cost_file();
  if (flags_.cost == "measured") {
    if (!measured_)
      measured_ = execute::measured_costs(
          *backend_, {.file = file, .remeasure = flags_.remeasure, .check = [this] { check_interrupt(); }});
    return *measured_;
  }
  if (!analytic_) {
    const execute::Calibrated machine = execute::calibrate(*onednn_, {.file = file, .remeasure = flags_.remeasure});
    if (machine.file_error) calibration_warnings_.push_back(warning_of(*machine.file_error));
    if (machine.unreliable) calibration_warnings_.emplace_back(kDisturbed);
    analytic_ = graph::analytic_costs(machine.speeds, *backend_);
  }
  return *analytic_;
}

void Planner::interruptible(const std::function<void()>& f) {
  if (request_ != nullptr) return f();
  const InterruptRequest request;
  struct Scope {
    Planner& planner;
    ~Scope() {
      planner.interrupted_ |= planner.asked_to_stop();
      planner.request_ = nullptr;
    }
  };
  const Scope scope{*this};
  request_ = &request;
  f();
}

bool Planner::asked_to_stop() const { return request_ != nullptr && request_->asked(); }

solve::SolveOptions Planner::solve_options(std::chrono::seconds limit) const {
  return {.time_limit = limit, .stop = [this] { return asked_to_stop(); }};
}

void Planner::check_interrupt() {
  if (asked_to_stop()) throw Error(ErrorCode::interrupted, "interrupted");
}

Error Planner::interruption() {
  keep();
  const bool measuring = measured_ && measured_->measured() > 0;
  const std::filesystem::path file = measuring ? execute::default_cost_file() : execute::default_implementations_file();
  const std::optional<Error>& file_error = measuring ? measured_->file_error() : backend_->file_error();
  std::string kept = "is lost, as there is no file to keep it in";
  if (file_error && file_error->code() != ErrorCode::corrupt) {
    kept = "is lost: " + file_error->message();
  } else if (!file.empty()) {
    kept = "is kept in " + escaped(file.native(), 4096) + ", and the same command goes on from there";
  }
  const std::string what =
      measuring ? "was measured so far, " + counted(measured_->measured() - measured_->unreliable(), "time")
                : "the backend offers as far as it was asked, " + counted(backend_->asked(), "answer");
  return {ErrorCode::interrupted, fmt::format("interrupted; what {}, {}", what, kept)};
}

graph::OptimalPlan Planner::optimal(std::vector<std::pair<graph::TensorId, Layout>> fixed) {
  graph::Costs& known = costs();
  // Models of the kinds people run take milliseconds; what takes longer gives the best plan found, and its gap.
  const graph::OptimizeOptions options{.solve = solve_options(kSolveLimit),
                                       .runs = flags_.runs,
                                       .may_round_more = !flags_.no_winograd,
                                       .fixed = std::move(fixed)};
  graph::OptimalPlan out;
  try {
    interruptible([&] { out = graph::optimize(graph_, *backend_, known, options); });
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw interruption();
    throw;
  }
  keep();
  return out;
}

std::vector<graph::PrimitiveChoice> Planner::choices(graph::NodeId node, const graph::Implementation* forward) {
  graph::Costs& known = costs();
  std::vector<graph::PrimitiveChoice> out;
  try {
    interruptible(
        [&] { out = graph::primitive_choices(graph_, node, *backend_, known, forward, !flags_.no_winograd); });
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw interruption();
    throw;
  }
  keep();
  return out;
}

void Planner::explain(graph::OptimalPlan& plan) {
  interruptible([&] { graph::explain_reorders(graph_, plan, solve_options(kExplainLimit)); });
}

std::vector<solve::Assignment> Planner::cheapest(const graph::OptimalPlan& plan, int count) {
  std::vector<solve::Assignment> out;
  interruptible([&] {
    out = graph::with_solver_errors(
        [&] { return solve::cheapest(plan.space.problem, count, solve_options(kCheapestLimit)); });
  });
  return out;
}

graph::LayoutPlan Planner::rival(graph::Policy policy) const {
  return propagate(graph_, *backend_, propagate_options(policy));
}

graph::LayoutPlan Planner::plan() {
  return flags_.policy == "optimal" ? optimal().plan : rival(graph::parse_policy(flags_.policy));
}

graph::PredictedCost Planner::predicted(const graph::LayoutPlan& plan) {
  graph::Costs& known = costs();
  graph::PredictedCost out;
  try {
    interruptible([&] { out = graph::predict(graph_, plan, known, flags_.runs); });
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw interruption();
    throw;
  }
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
  if (backend_->file_error()) out.push_back(warning_of(*backend_->file_error()));
  if (measured_ && measured_->file_error()) out.push_back(warning_of(*measured_->file_error()));
  if (measured_ && measured_->step_unreliable()) out.emplace_back(kDisturbed);
  if (measured_ && measured_->unreliable() > 0) {
    out.push_back(
        fmt::format("{} of {} could not be measured well, as other work runs on this machine; they are not "
                    "kept, and will be measured again",
                    measured_->unreliable(), counted(measured_->measured(), "time")));
  }
  return out;
}

std::string reference_warning(const graph::Graph& graph, const graph::LayoutPlan& plan, double reference_us,
                              double predicted_us) {
  constexpr double kMuch = 0.1;
  constexpr int kNamed = 5;
  if (!std::isfinite(predicted_us) || !(reference_us > kMuch * predicted_us)) return "";
  std::string nodes;
  int64_t count = 0;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!plan.nodes[n].reference || ++count > kNamed) continue;
    nodes += fmt::format("{}{} ({})", nodes.empty() ? "" : ", ", escaped(graph.nodes[n].name, 40),
                         plan.nodes[n].implementation);
  }
  if (count > kNamed) nodes += fmt::format(" and {} more", count - kNamed);
  return fmt::format("slow reference implementations take {:.0f} % of the predicted time, as {} has no others for {}",
                     100 * reference_us / predicted_us, plan.backend, nodes);
}

std::string rounding_text(const graph::PlanTotals& totals) {
  if (totals.rounding_more == 0) return "";
  return labelled("winograd", counted(totals.rounding_more, "convolution") +
                                  " by Winograd's algorithm, which rounds more; --no-winograd leaves it out");
}

void write_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) write_stderr("relayout: warning: " + printable(warning) + "\n");
}

}  // namespace relayout::tools
