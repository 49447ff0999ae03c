// Runs models in several ways on inputs from files, and writes their outputs to files; ours.py asks it.
//
//     special_values_cases        reads lines FOLDER <tab> WAY[,WAY]..., and answers each
//
// A folder has model.onnx, and the elements of its input NAME, row-major, in NAME.in. Output i of a way is written to
// WAY.i.out. Each way gives a line WAY <tab> ok <tab> IMPLEMENTATIONS, or WAY <tab> refused | wrong <tab> WHY; then
// comes a line "done". Ways:
//
//     reference     every primitive in float64, without any plan
//     POLICY        nodes are merged, and layouts follow the policy
//     apart         the policy any, and no nodes are merged
//     drawnN        nodes are merged, and the plan is the cheapest by random costs of seed N
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/prepare.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/plan/propagate.h"
#include "relayout/graph/reference/reference.h"
#include "tests/support/row_major.h"
#include "tests/support/simple_costs.h"

namespace relayout {
namespace {

using graph::Graph;
using Bytes = std::vector<std::byte>;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::internal, "there is no " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  const std::string data = text.str();
  const auto bytes = std::as_bytes(std::span(data));
  return {bytes.begin(), bytes.end()};
}

/// The elements of a graph's inputs.
std::vector<Bytes> read_inputs(const Graph& graph, const std::filesystem::path& folder) {
  std::vector<Bytes> out;
  for (const graph::TensorId id : graph.inputs) out.push_back(read_file(folder / (graph.tensor(id).name + ".in")));
  return out;
}

std::vector<Bytes> by_reference(const Graph& graph, const std::vector<Bytes>& inputs) {
  std::vector<graph::Values> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
    values.push_back(graph::load(inputs[i], tensor.dtype, *checked_product(tensor.dims)));
  }
  std::vector<Bytes> out;
  const std::vector<graph::Values> results = graph::evaluate(graph, values);
  for (std::size_t i = 0; i < results.size(); ++i) {
    out.push_back(graph::store(results[i], graph.tensor(graph.outputs[i]).dtype));
  }
  return out;
}

graph::LayoutPlan plan_by(const Graph& graph, const graph::Backend& backend, const std::string& way) {
  if (way == "apart") return graph::propagate(graph, backend, {});
  const std::string drawn = "drawn";
  if (!way.starts_with(drawn)) return graph::propagate(graph, backend, {.policy = graph::parse_policy(way)});
  test::RandomCosts costs(static_cast<unsigned>(std::stoul(way.substr(drawn.size()))), 0.2);
  return graph::optimize(graph, backend, costs).plan;
}

/// The outputs; the names of implementations are added to `names`.
std::vector<Bytes> by_plan(Graph graph, const std::vector<Bytes>& inputs, const std::string& way, std::string* names) {
  const auto backend = execute::onednn_backend(1);
  const auto computable = [&](const Graph& g, graph::NodeId n) { return graph::has_implementation(*backend, g, n); };
  if (way == "apart") {
    graph::simplify(graph);
    graph::widen(graph, computable);
  } else {
    graph::prepare(graph, computable);
  }
  test::make_row_major(graph);
  execute::Model model(graph, plan_by(graph, *backend, way), *backend, {.check_padding = true});
  for (const graph::PlannedNode& node : model.plan().nodes) *names += ' ' + node.implementation;
  std::vector<execute::Source> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
    given.push_back({{Layout::contiguous(tensor.dims), tensor.dtype}, inputs[i].data()});
  }
  test::RowMajorOutputs outputs(graph);
  model.run(given, outputs.destinations);
  return std::move(outputs.memory);
}

/// What became of a way; "ok" and the names of implementations where its outputs are in files.
std::string run_way(const Graph& graph, const std::filesystem::path& folder, const std::string& way) {
  try {
    const std::vector<Bytes> inputs = read_inputs(graph, folder);
    std::string names = "ok\t";
    const std::vector<Bytes> outputs =
        way == "reference" ? by_reference(graph, inputs) : by_plan(graph, inputs, way, &names);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::ofstream file(folder / (way + "." + std::to_string(i) + ".out"), std::ios::binary);
      const auto* data = reinterpret_cast<const char*>(outputs[i].data());
      file.write(data, static_cast<std::streamsize>(outputs[i].size()));
    }
    return names;
  } catch (const Error& error) {
    return (error.code() == ErrorCode::unsupported ? "refused\t" : "wrong\t") + error.message();
  } catch (const std::exception& error) {
    return std::string("wrong\t") + error.what();
  }
}

void answer(const std::filesystem::path& folder, const std::vector<std::string>& ways) {
  graph::OnnxModel model;
  std::string refused;
  try {
    model = graph::read_onnx(folder / "model.onnx");
    if (!model.warnings.empty()) refused = "refused\t" + model.warnings.front();
  } catch (const Error& error) {
    const bool known = error.code() == ErrorCode::unsupported || error.code() == ErrorCode::limit;
    refused = (known ? "refused\t" : "wrong\t") + error.message();
  }
  for (const std::string& way : ways) {
    std::string verdict = refused.empty() ? run_way(model.graph, folder, way) : refused;
    std::ranges::replace(verdict, '\n', ' ');
    std::cout << way << '\t' << verdict << '\n';
  }
  std::cout << "done" << std::endl;
}

}  // namespace
}  // namespace relayout

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string folder, way;
    std::getline(words, folder, '\t');
    std::vector<std::string> ways;
    while (std::getline(words, way, ',')) ways.push_back(way);
    relayout::answer(folder, ways);
  }
}
