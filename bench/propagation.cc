// Whole models by each policy: time from end to end, reorders and their bytes, slow primitives and memory.
//
//     relayout_propagation net.onnx --batch 1,8 --threads 1,2 --out report.json
//
// The runs of all policies, and of PyTorch on the same graph and weights, alternate in one process.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>

#include "bench/compare/graphs.h"
#include "bench/report.h"
#include "bench/timing.h"
#include "relayout/execute/execute.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models.h"
#include "relayout/graph/onnx.h"
#include "relayout/graph/propagate.h"
#include "relayout/graph/reference.h"
#include "relayout/graph/simplify.h"

namespace relayout::bench {
namespace {

using graph::Graph;
using graph::TensorId;

struct Options {
  std::vector<std::string> models;
  std::vector<int> batches = {1}, threads = {1};
  int repeat = 15;
  std::string out;
};

/// One way to run a model, and what it took.
struct Runner {
  std::string name;
  std::function<void()> run;
  graph::PlanTotals totals;
  int64_t concat_bytes = 0, peak_bytes = 0;
  std::vector<double> milliseconds;

  double median() const { return bench::median(milliseconds); }
};

/// Inputs with random values, and outputs, row-major.
struct Tensors {
  std::vector<std::vector<std::byte>> memory;
  std::vector<execute::Source> sources;
  std::vector<execute::Destination> destinations;

  explicit Tensors(const Graph& graph) {
    std::mt19937 rng(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (TensorId t : graph.inputs) {
      const TensorDesc desc{Layout::contiguous(graph.tensor(t).dims), graph.tensor(t).dtype};
      graph::Values values(static_cast<std::size_t>(desc.layout.elements()));
      std::ranges::generate(values, [&] { return uniform(rng); });
      memory.push_back(graph::store(values, desc.dtype));
      sources.push_back({desc, memory.back().data()});
    }
    for (TensorId t : graph.outputs) {
      const TensorDesc desc{Layout::contiguous(graph.tensor(t).dims), graph.tensor(t).dtype};
      memory.emplace_back(static_cast<std::size_t>(desc.span_bytes()));
      destinations.push_back({desc, memory.back().data()});
    }
  }
};

/// Bytes that concatenations read and write.
int64_t concat_bytes(const Graph& graph) {
  int64_t out = 0;
  for (const graph::Node& node : graph.nodes) {
    if (node.kind != graph::Kind::concat) continue;
    const graph::Tensor& dst = graph.tensor(node.dst[0]);
    out += 2 * TensorDesc(Layout::contiguous(dst.dims), dst.dtype).logical_bytes();
  }
  return out;
}

const graph::Model& own_model(const std::string& name) {
  const auto all = graph::models();
  const auto found = std::ranges::find(all, name, &graph::Model::name);
  if (found == all.end())
    throw Error(ErrorCode::invalid_argument, "no model \"" + escaped(name) + "\" and no .onnx file");
  return *found;
}

Graph graph_of(const std::string& model, int batch) {
  Graph graph = std::filesystem::path(model).extension() == ".onnx"
                    ? graph::read_onnx(model, {.batch = batch, .random_weights = 1}).graph
                    : own_model(model).build({.batch = batch, .image = 224, .channels = 32});
  graph::simplify(graph);
  for (TensorId t : graph.inputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
  for (TensorId t : graph.outputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
  return graph;
}

std::vector<Runner> runners(const Graph& graph, const graph::Backend& backend, Tensors& tensors, int threads) {
  std::vector<Runner> out;
  for (int p = 0; p < graph::kPolicyCount; ++p) {
    const auto policy = static_cast<graph::Policy>(p);
    graph::LayoutPlan plan = propagate(graph, backend, {.policy = policy, .block = execute::channel_block()});
    const graph::PlanTotals totals = graph::totals(graph, plan);
    auto model = std::make_shared<execute::Model>(graph, std::move(plan), backend);
    out.push_back({std::string(name(policy)),
                   [model, &tensors] { model->run(tensors.sources, tensors.destinations); },
                   totals,
                   concat_bytes(graph),
                   model->memory().peak(),
                   {}});
  }
  for (GraphCompetitor& competitor : graph_competitors(graph, threads)) {
    out.push_back({competitor.name,
                   [run = competitor.run, &tensors] { run(tensors.sources, tensors.destinations); },
                   {},
                   0,
                   0,
                   {}});
  }
  return out;
}

void measure(std::vector<Runner>& all, int repeat) {
  using Clock = std::chrono::steady_clock;
  for (int r = -1; r < repeat; ++r) {
    for (Runner& runner : all) {
      const Clock::time_point start = Clock::now();
      runner.run();
      const std::chrono::duration<double, std::milli> took = Clock::now() - start;
      if (r >= 0) runner.milliseconds.push_back(took.count());
    }
  }
}

std::string line(const std::string& model, int batch, int threads, const Runner& runner, double best) {
  const double median = runner.median();
  std::string out = fmt::format("{:<24} {:>3}  {}t  {:<18} {:>9.3f} ms  {:>5.2f}", model, batch, threads, runner.name,
                                median, median / best);
  if (runner.peak_bytes > 0) {
    out += fmt::format("   reorders {:>3} {:>10}   concat {:>10}   ref {:>2}   peak {:>10}", runner.totals.reorders,
                       bytes_text(runner.totals.reorder_bytes), bytes_text(runner.concat_bytes),
                       runner.totals.reference_primitives, bytes_text(runner.peak_bytes));
  }
  return out + "\n";
}

Json to_json(const std::string& model, int batch, int threads, const Runner& runner) {
  Json out = {{"model", model},
              {"batch", batch},
              {"threads", threads},
              {"policy", runner.name},
              {"median_ms", runner.median()}};
  if (runner.peak_bytes > 0) {
    out["reorders"] = runner.totals.reorders;
    out["reorder_bytes"] = runner.totals.reorder_bytes;
    out["concat_bytes"] = runner.concat_bytes;
    out["ref_primitives"] = runner.totals.reference_primitives;
    out["peak_bytes"] = runner.peak_bytes;
  }
  return out;
}

int run(const Options& options) {
  if (!options.out.empty()) check_writable(options.out);
  Json report = {
      {"machine", machine_json()}, {"backend", execute::onednn_backend()->name()}, {"repeat", options.repeat}};
  report["results"] = Json::array();
  for (const std::string& model : options.models) {
    for (int batch : options.batches) {
      const Graph graph = graph_of(model, batch);
      Tensors tensors(graph);
      const std::string shown = std::filesystem::path(model).stem();
      for (int threads : options.threads) {
        const auto backend = execute::onednn_backend(threads);
        std::vector<Runner> all = runners(graph, *backend, tensors, threads);
        measure(all, options.repeat);
        const double best = std::ranges::min_element(all, {}, &Runner::median)->median();
        for (const Runner& runner : all) {
          std::cout << line(shown, batch, threads, runner, best) << std::flush;
          report["results"].push_back(to_json(shown, batch, threads, runner));
        }
      }
    }
  }
  if (!options.out.empty()) write_json(options.out, report);
  return 0;
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  relayout::bench::Options options;
  CLI::App app("Whole models by each policy of layout propagation, their runs alternating");
  std::string names;
  for (const auto& model : relayout::graph::models()) names += " " + std::string(model.name);
  app.add_option("MODELS", options.models, "Files .onnx, or the project's own:" + names)->required();
  app.add_option("--batch", options.batches, "Batch sizes")->delimiter(',')->check(CLI::Range(1, 4096));
  app.add_option("--threads", options.threads, "Thread counts")->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--repeat", options.repeat, "Runs of each; medians are reported")->check(CLI::Range(1, 100000));
  app.add_option("--out", options.out, "Write a JSON report to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return relayout::bench::run(options);
  } catch (const std::exception& error) {
    std::cerr << "relayout_propagation: " << error.what() << "\n";
    return 3;
  }
}
