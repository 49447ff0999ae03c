// Reading models, and names and tables for what is said of them.
#include "tools/planning/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/prepare.h"

namespace relayout::tools {
namespace {

using graph::Graph;

graph::Pass pass_of(const ModelFlags& flags) {
  return flags.training.empty() ? graph::Pass::forward_inference : graph::Pass::forward_training;
}

/// One of the project's own models.
Graph own_model(const ModelFlags& flags, std::optional<uint64_t> seed) {
  graph::ModelBuildOptions options{.batch = std::max<int64_t>(flags.batch, 1), .pass = pass_of(flags)};
  if (seed) options.seed = *seed;
  return from_command_line([&] { return graph::named_model(flags.path, options); });
}

/// NAME=N each.
std::vector<std::pair<std::string, int64_t>> named_dims(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == 0 || equals == std::string::npos) {
      usage_error(fmt::format("--dim {}: it must be NAME=N, such as batch=8", escaped(text)), "--dim", escaped(text),
                  "NAME=N");
    }
    const std::string name = text.substr(0, equals);
    const int64_t extent =
        from_command_line([&] { return parse_int(text.substr(equals + 1), "--dim " + escaped(name)); });
    if (extent < 0) {
      usage_error(fmt::format("--dim {}: the extent must be 0 or more", escaped(text)), "--dim", escaped(text), "0...");
    }
    out.emplace_back(name, extent);
  }
  return out;
}

/// The model of a file. An error about its dims says by which flag they are given.
graph::OnnxModel model_of_file(const std::string& path, const graph::OnnxOptions& options) {
  try {
    return graph::read_onnx(path, options);
  } catch (const Error& error) {
    if (error.field() != "dims") throw Failure(exit_code(error, kBadData), error);
    const bool open = error.code() == ErrorCode::unsupported;
    std::string how;
    if (open) {
      const bool plain = error.value().find('[') == std::string::npos;
      how = fmt::format("; give --dim {0}{1}=N{0}", plain ? "" : "'", error.value());
      if (options.dims_of_arrays) how += ", or an --input whose shape shows it";
    }
    usage_error(error.message() + how, "--dim", error.value(), error.limit());
  }
}

Graph graph_of(const ModelFlags& flags, const OpenDims& open) {
  std::optional<uint64_t> seed;
  if (flags.random_weights) {
    const int64_t given = from_command_line([&] { return parse_int(*flags.random_weights, "--random-weights"); });
    if (given <= 0)
      usage_error("--random-weights: the seed must be greater than 0", "--random-weights", std::to_string(given),
                  "1...");
    seed = static_cast<uint64_t>(given);
  }
  const auto dims = named_dims(flags.dims);
  if (flags.path.starts_with(graph::kNamedModel)) {
    if (dims.empty()) return own_model(flags, seed);
    usage_error(
        "--dim: it is for dims that an .onnx file leaves open; the project's own models have --batch, image=N "
        "and channels=N",
        "--dim", escaped(flags.dims.front()));
  }
  graph::OnnxOptions options{
      .batch = flags.batch, .dims = dims, .dims_of_arrays = open.of_arrays, .dims_of_plan = open.of_plan};
  if (seed) options.random_weights = *seed;
  options.pass = pass_of(flags);
  graph::OnnxModel model = model_of_file(flags.path, options);
  for (const std::string& warning : model.warnings) write_stderr("relayout: warning: " + printable(warning) + "\n");
  return std::move(model.graph);
}

/// Runs the passes before a plan. The backend is asked which types it lacks; without one, types stay as they are.
graph::Widened prepared(Graph& graph) {
  const std::unique_ptr<graph::Backend> backend = execute::has_onednn() ? make_backend(0) : nullptr;
  return graph::prepare(graph, [&](const Graph& g, graph::NodeId node) {
    return backend == nullptr || graph::has_implementation(*backend, g, node);
  });
}

}  // namespace

void add_dim_flags(Command& command, ModelFlags& flags, const std::string& help) {
  command.add_option("--batch", flags.batch, kBatchRange, help);
  command.add_option("--dim", flags.dims,
                     "NAME=N: the extent of a dim that the model's file leaves open, by its name, or by its place as "
                     "in 'x[2]=224'; may be given several times");
}

void add_model_flags(Command& command, ModelFlags& flags) {
  command.add_option("MODEL", flags.path, "The model, an .onnx file or model:NAME").required();
  add_dim_flags(command, flags, "Batch size; that of the model's file unless given");
  command
      .add_flag("--training{step}", flags.training,
                "Plan for training: the forward and backward pass (--training), or the forward pass alone "
                "(--training=forward)")
      .one_of({std::string(kForwardTraining), std::string(kTrainingStep)});
  command.add_option("--random-weights", flags.random_weights,
                     "Use random weights of this seed in place of the file's");
}

Graph load_model(const ModelFlags& flags, const OpenDims& open, graph::Widened* widened) {
  Graph graph = graph_of(flags, open);
  if (flags.training == kTrainingStep) {
    from_data([&] { graph::append_training(graph); });
  } else {
    graph::Widened changed;
    from_data([&] { changed = prepared(graph); });
    if (widened != nullptr) *widened = changed;
    graph::make_ends_row_major(graph);
  }
  return graph;
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
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    out += " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += " " + row[i];
      if (i + 1 < row.size()) out += std::string(widths[i] - characters(row[i]) + 1, ' ');
    }
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

}  // namespace relayout::tools
