// Whole models by the cheapest plans and by every policy: time from end to end beside what was predicted, reorders and
// their bytes, what concats move, slow primitives, memory, and the time that planning takes.
//
//     relayout_propagation net.onnx shufflenet --batch 1,8 --threads 1,2 --out report.json
//
// The runs of all plans, and of PyTorch on the same graph and weights, alternate in one process. `optimal` is the
// cheapest plan by measured costs, and `analytic` the cheapest by analytic costs. `tuned` is the plan that was the
// fastest in runs made before those that are reported.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>

#include "bench/compare/graphs.h"
#include "bench/report.h"
#include "bench/timing.h"
#include "relayout/execute/measure/calibrate.h"
#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/measured_costs.h"
#include "relayout/execute/measure/remembering_backend.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/execute/run/plan_tensors.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/plan/propagate.h"

namespace relayout::bench {
namespace {

using graph::Graph;
using graph::LayoutPlan;
using graph::TensorId;

constexpr std::string_view kStep = "step";

struct Options {
  std::vector<std::string> models;
  std::vector<int> batches = {1}, threads = {1};
  int repeat = 15, image = 224, channels = 32;
  std::string training, out;
  bool plans_only = false;
};

/// One way to run a model, and the times that it took.
struct Runner {
  std::string name;
  std::function<void()> run;
  /// Only of a plan.
  graph::PlanTotals totals{};
  int64_t concat_bytes = 0, peak_bytes = 0;
  double predicted_us = 0, analytic_us = 0, planning_ms = 0;
  /// The cost by which plans are compared: it includes the margin for each reorder.
  double cost_us = 0;
  bool proven = false;
  std::vector<double> milliseconds{};

  double median() const { return bench::median(milliseconds); }
  double least() const { return std::ranges::min(milliseconds); }
  bool is_plan() const { return peak_bytes > 0; }
};

/// Bytes that the concatenations of a plan read and write.
int64_t concat_bytes(const Graph& graph, const LayoutPlan& plan) {
  int64_t out = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind != graph::Kind::concat || plan.nodes[n].implementation == "view") continue;
    const graph::Tensor& dst = graph.tensor(graph.nodes[n].dst[0]);
    out += 2 * TensorDesc(Layout::contiguous(dst.dims), dst.dtype).logical_bytes();
  }
  return out;
}

const graph::ModelBuilder& own_model(const std::string& name) {
  const auto all = graph::models();
  const auto found = std::ranges::find(all, name, &graph::ModelBuilder::name);
  if (found == all.end())
    throw Error(ErrorCode::invalid_argument, "no model \"" + escaped(name) + "\" and no .onnx file");
  return *found;
}

Graph graph_of(const Options& options, const std::string& model, int batch) {
  const graph::Pass pass = options.training.empty() ? graph::Pass::forward_inference : graph::Pass::forward_training;
  Graph graph = std::filesystem::path(model).extension() == ".onnx"
                    ? graph::read_onnx(model, {.batch = batch, .random_weights = 1, .pass = pass}).graph
                    : own_model(model).build(
                          {.batch = batch, .image = options.image, .channels = options.channels, .pass = pass});
  if (options.training == kStep) {
    graph::append_training(graph);
    return graph;
  }
  graph::simplify(graph);
  for (TensorId t : graph.inputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
  for (TensorId t : graph.outputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
  return graph;
}

/// The plans of one graph, and the executables that run them.
class Plans {
 public:
  Plans(const Graph& graph, int threads)
      : graph_(graph),
        onednn_(execute::onednn_backend(threads)),
        backend_(execute::remembering_backend(*onednn_, execute::default_implementations_file())),
        measured_(execute::measured_costs(*backend_, {.file = execute::default_cost_file()})),
        analytic_(graph::analytic_costs(execute::calibrate(*onednn_, {.file = execute::default_cost_file()}).speeds,
                                        *onednn_)) {}

  std::vector<Runner> runners() {
    std::vector<Runner> out;
    add_optimal("optimal", *measured_, out);
    add_optimal("analytic", *analytic_, out);
    for (int p = 0; p < graph::kPolicyCount; ++p) {
      const auto policy = static_cast<graph::Policy>(p);
      const auto start = std::chrono::steady_clock::now();
      LayoutPlan plan = propagate(graph_, *backend_, {.policy = policy, .block = execute::channel_block()});
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
      Runner& runner = add(std::string(name(policy)), std::move(plan), out);
      runner.planning_ms = took.count();
    }
    return out;
  }

 private:
  /// Plans twice, as the first time also measures the costs. The time of planning is that of the second.
  void add_optimal(const char* name, graph::Costs& costs, std::vector<Runner>& out) {
    const graph::OptimizeOptions options;
    optimize(graph_, *backend_, costs, options);
    graph::OptimalPlan best = optimize(graph_, *backend_, costs, options);
    Runner& runner = add(name, std::move(best.plan), out);
    runner.planning_ms = best.planning_ms;
    runner.proven = best.optimal;
  }

  Runner& add(std::string name, LayoutPlan plan, std::vector<Runner>& out) {
    Runner& runner = out.emplace_back();
    runner.name = std::move(name);
    runner.totals = graph::totals(graph_, plan);
    runner.concat_bytes = concat_bytes(graph_, plan);
    const graph::PredictedCost cost = graph::predict(graph_, plan, *measured_);
    runner.predicted_us = cost.time();
    runner.cost_us = cost.total();
    runner.analytic_us = graph::predict(graph_, plan, *analytic_).time();
    auto tensors = std::make_shared<execute::PlanTensors>(graph_, plan);
    auto model = std::make_shared<execute::Model>(graph_, std::move(plan), *backend_);
    runner.run = [model, tensors] { model->run(tensors->sources(), tensors->destinations()); };
    runner.peak_bytes = model->memory().peak();
    return runner;
  }

  const Graph& graph_;
  std::unique_ptr<graph::Backend> onednn_, backend_;
  std::unique_ptr<graph::Costs> measured_, analytic_;
};

void add_competitors(const Graph& graph, int threads, std::vector<Runner>& out) {
  for (GraphCompetitor& competitor : graph_competitors(graph, threads)) {
    // The graph says that its inputs and outputs are row-major.
    LayoutPlan plain;
    for (const auto& [list, copies] : {std::pair{&graph.inputs, &plain.inputs}, {&graph.outputs, &plain.outputs}}) {
      for (TensorId t : *list) {
        copies->push_back(static_cast<graph::CopyId>(plain.copies.size()));
        plain.copies.push_back({.tensor = t, .layout = Layout::contiguous(graph.tensor(t).dims)});
      }
    }
    auto tensors = std::make_shared<execute::PlanTensors>(graph, plain);
    out.push_back({.name = competitor.name,
                   .run = [run = competitor.run, tensors] { run(tensors->sources(), tensors->destinations()); }});
  }
}

/// Runs all of them in turns, each time in another order. Each timed run follows an untimed one of the same kind:
/// otherwise the one after PyTorch, which leaves nothing of the others in the caches, would seem slower.
void measure(std::vector<Runner>& all, int repeat) {
  using Clock = std::chrono::steady_clock;
  std::vector<Runner*> order;
  for (Runner& runner : all) {
    runner.milliseconds.clear();
    order.push_back(&runner);
  }
  std::mt19937 rng(1);
  for (int r = 0; r < repeat; ++r) {
    std::ranges::shuffle(order, rng);
    for (Runner* runner : order) {
      runner->run();
      const Clock::time_point start = Clock::now();
      runner->run();
      const std::chrono::duration<double, std::milli> took = Clock::now() - start;
      runner->milliseconds.push_back(took.count());
    }
  }
}

/// The index of the plan that is the fastest in runs made before those that are reported.
std::size_t tuned(std::vector<Runner>& all, int repeat) {
  measure(all, repeat);
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].is_plan() && all[i].median() < all[best].median()) best = i;
  }
  return best;
}

struct Case {
  std::string model;
  int batch = 1, threads = 1;
  std::string training{};

  /// Marks a training step, and the forward pass of one.
  std::string_view mark() const { return training.empty() ? " " : training == kStep ? "*" : "+"; }
};

std::string line(const Case& of, const Runner& runner, double best) {
  const double median = runner.median();
  std::string out = fmt::format("{:<20}{} {:>2} {}t  {:<18} {:>9.3f} ms {:>5.2f}", of.model, of.mark(), of.batch,
                                of.threads, runner.name, median, median / best);
  if (runner.is_plan()) {
    out +=
        fmt::format("  predicted {:>9.3f}  reorders {:>3} {:>10}  concat {:>10}  ref {:>2}  peak {:>10}  in {:.1f} ms",
                    runner.predicted_us / 1000, runner.totals.reorders, bytes_text(runner.totals.reorder_bytes),
                    bytes_text(runner.concat_bytes), runner.totals.reference_primitives, bytes_text(runner.peak_bytes),
                    runner.planning_ms);
  }
  return out + "\n";
}

Json to_json(const Case& of, const Runner& runner) {
  Json out = {{"model", of.model},         {"batch", of.batch},     {"threads", of.threads},
              {"training", of.training},   {"policy", runner.name}, {"median_ms", runner.median()},
              {"least_ms", runner.least()}};
  if (!runner.is_plan()) return out;
  out["predicted_ms"] = runner.predicted_us / 1000;
  out["analytic_ms"] = runner.analytic_us / 1000;
  out["planning_ms"] = runner.planning_ms;
  out["proven"] = runner.proven;
  out["reorders"] = runner.totals.reorders;
  out["reorder_bytes"] = runner.totals.reorder_bytes;
  out["concat_bytes"] = runner.concat_bytes;
  out["ref_primitives"] = runner.totals.reference_primitives;
  out["peak_bytes"] = runner.peak_bytes;
  return out;
}

/// The cheapest plan beside the fastest policy and the specification's own.
struct Summary {
  Case of;
  std::string rival;
  double optimal = 0, least = 0, tuned = 0, best_rival = 0, any = 0, predicted = 0, regret = 0;
};

Summary summary_of(const Case& of, const std::vector<Runner>& all, std::size_t chosen) {
  Summary out{.of = of,
              .optimal = all[0].median(),
              .least = all[0].least(),
              .tuned = all[chosen].median(),
              .predicted = all[0].predicted_us / 1000};
  out.regret = all[1].cost_us / all[0].cost_us - 1;
  for (std::size_t i = 2; i < all.size() && all[i].is_plan(); ++i) {
    if (all[i].name == "any") out.any = all[i].median();
    if (!out.rival.empty() && all[i].median() >= out.best_rival) continue;
    out.best_rival = all[i].median();
    out.rival = all[i].name;
  }
  return out;
}

std::string line(const Summary& s) {
  return fmt::format(
      "{:<20}{} {:>2} {}t  optimal {:>9.3f} ms (least {:>9.3f}, predicted {:>9.3f})  tuned {:>9.3f}  best rival {:<8} "
      "{:>9.3f}"
      "  ratio {:.3f}  any / optimal {:.2f}  analytic regret {:>5.1f}%\n",
      s.of.model, s.of.mark(), s.of.batch, s.of.threads, s.optimal, s.least, s.predicted, s.tuned, s.rival,
      s.best_rival, s.optimal / s.best_rival, s.any / s.optimal, 100 * s.regret);
}

Json to_json(const Summary& s) {
  return {{"model", s.of.model},
          {"batch", s.of.batch},
          {"threads", s.of.threads},
          {"training", s.of.training},
          {"optimal_ms", s.optimal},
          {"optimal_least_ms", s.least},
          {"predicted_ms", s.predicted},
          {"tuned_ms", s.tuned},
          {"best_rival", s.rival},
          {"best_rival_ms", s.best_rival},
          {"ratio", s.optimal / s.best_rival},
          {"any_ms", s.any},
          {"analytic_regret", s.regret}};
}

int run(const Options& options) {
  if (!options.out.empty()) check_writable(options.out);
  Json report = {
      {"machine", machine_json()}, {"backend", execute::onednn_backend()->name()}, {"repeat", options.repeat}};
  report["results"] = Json::array();
  report["summary"] = Json::array();
  std::string summaries;
  for (const std::string& model : options.models) {
    for (int batch : options.batches) {
      const Graph graph = graph_of(options, model, batch);
      for (int threads : options.threads) {
        const Case of{std::filesystem::path(model).stem(), batch, threads, options.training};
        Plans plans(graph, threads);
        std::vector<Runner> all = plans.runners();
        if (options.training.empty() && !options.plans_only) add_competitors(graph, threads, all);
        const std::size_t chosen = tuned(all, (options.repeat + 1) / 2);
        measure(all, options.repeat);
        const double best = std::ranges::min_element(all, {}, &Runner::median)->median();
        for (const Runner& runner : all) {
          std::cout << line(of, runner, best) << std::flush;
          report["results"].push_back(to_json(of, runner));
        }
        const Summary summary = summary_of(of, all, chosen);
        summaries += line(summary);
        report["summary"].push_back(to_json(summary));
      }
    }
  }
  std::cout << "\nThe cheapest plan and the fastest policy"
            << (options.training.empty() ? "" : " (* training step, + forward pass of one)") << "\n"
            << summaries;
  if (!options.out.empty()) write_json(options.out, report);
  return 0;
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  relayout::bench::Options options;
  CLI::App app("Whole models by the cheapest plans and each policy of layout propagation, their runs alternating");
  std::string names;
  for (const auto& model : relayout::graph::models()) names += " " + std::string(model.name);
  app.add_option("MODELS", options.models, "Files .onnx, or the project's own:" + names)->required();
  app.add_option("--batch", options.batches, "Batch sizes")->delimiter(',')->check(CLI::Range(1, 4096));
  app.add_option("--threads", options.threads, "Thread counts")->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--repeat", options.repeat, "Runs of each; medians are reported")->check(CLI::Range(1, 100000));
  app.add_option("--image", options.image, "Height and width of own models")->check(CLI::Range(32, 4096));
  app.add_option("--channels", options.channels, "Of the first layer of own models")->check(CLI::Range(8, 4096));
  app.add_flag("--training{step}", options.training,
               "Forward, backward and weights, whose layouts are free; --training=forward: the forward pass of it")
      ->check(CLI::IsMember({"forward", "step"}));
  app.add_flag("--plans-only", options.plans_only, "Without PyTorch, which takes most of the time");
  app.add_option("--out", options.out, "Write a JSON report to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return relayout::bench::run(options);
  } catch (const std::exception& error) {
    std::cerr << "relayout_propagation: " << error.what() << "\n";
    return 3;
  }
}
