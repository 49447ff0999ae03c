// Reading models, and names and tables for what is said of them.
#include "tools/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "relayout/execute/execute.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/backward.h"
#include "relayout/graph/onnx.h"
#include "relayout/graph/simplify.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::TensorId;

/// Constants that nodes compute with become inputs, so that they can be trained.
std::vector<TensorId> free_weights(Graph& model) {
  std::vector<TensorId> out;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    graph::Tensor& tensor = model.tensors[t];
    if (!tensor.constant() || tensor.dtype != DType::f32) continue;
    tensor.data = nullptr;
    model.inputs.push_back(static_cast<TensorId>(t));
    out.push_back(static_cast<TensorId>(t));
  }
  return out;
}

}  // namespace

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  command.add_option("MODEL", flags.path, "Model, an .onnx file")->required();
  command.add_option("--batch", flags.batch, "Batch size (as the file says)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--random-weights", flags.random_weights, "Random weights by this seed, in place of the file's");
}

Graph load_model(const ModelFlags& flags) {
  graph::OnnxOptions options;
  options.batch = flags.batch;
  if (flags.random_weights) {
    const int64_t seed = from_command_line([&] { return parse_int(*flags.random_weights, "--random-weights"); });
    if (seed <= 0) usage_error("--random-weights: a seed over 0", "--random-weights", std::to_string(seed), "1...");
    options.random_weights = static_cast<uint64_t>(seed);
  }
  if (flags.training) options.pass = graph::Pass::forward_training;
  graph::OnnxModel model = from_data([&] { return graph::read_onnx(flags.path, options); });
  for (const std::string& warning : model.warnings) write_stderr("relayout: warning: " + warning + "\n");
  Graph& graph = model.graph;
  const auto row_major = [&](TensorId t) {
    graph::Tensor& tensor = graph.tensor(t);
    if (!tensor.layout) tensor.layout = Layout::contiguous(tensor.dims);
  };
  if (flags.training) {
    from_data([&] {
      graph::prune(graph);
      const std::vector<TensorId> weights = free_weights(graph);
      graph::append_backward(graph, weights);
    });
  } else {
    from_data([&] { graph::simplify(graph); });
    std::ranges::for_each(graph.inputs, row_major);
    std::ranges::for_each(graph.outputs, row_major);
  }
  return std::move(graph);
}

graph::PropagateOptions propagate_options(graph::Policy policy) {
  return {.policy = policy, .block = execute::channel_block()};
}

std::unique_ptr<graph::Backend> make_backend(int threads) { return execute::onednn_backend(threads); }

std::vector<std::string> tensor_names(const Graph& graph) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    std::string name = graph.tensors[t].name;
    while (name.empty() || taken.count(name) != 0) name += fmt::format("#{}", t);
    taken.insert(name);
    out.push_back(std::move(name));
  }
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    out += " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i + 1 < row.size() ? fmt::format(" {:<{}} ", row[i], widths[i]) : fmt::format(" {}", row[i]);
    }
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

}  // namespace relayout::tools
