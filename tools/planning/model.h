// A model of an ONNX file, or one of the project's own by name, as the verbs plan and run want it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/passes/widen.h"
#include "relayout/graph/plan/layout_plan.h"
#include "relayout/graph/plan/propagate.h"
#include "tools/command/common.h"

namespace relayout::tools {

struct ModelFlags {
  /// Of a file; or "model:NAME", one of graph/models.h, with ",image=N" and ",channels=N" (64 and 16).
  std::string path;
  int64_t batch = 0;
  /// NAME=N each: extents that a file leaves open.
  std::vector<std::string> dims{};
  std::optional<std::string> random_weights;
  /// "" for inference; "forward": the forward pass as training runs it (normalizations compute their statistics,
  /// layouts are those of forward_training); "step": that with its backward pass.
  std::string training{};
};

/// Values of `training`.
inline constexpr std::string_view kForwardTraining = "forward", kTrainingStep = "step";

void add_model_flags(Command& command, ModelFlags& flags);

/// What says dims that the model's file leaves open, beside --batch and --dim; as in OnnxOptions.
struct OpenDims {
  graph::DimsOfInputs of_arrays{}, of_plan{};
};

/// Adds --batch and --dim. `help` is that of --batch.
void add_dim_flags(Command& command, ModelFlags& flags, const std::string& help);

/// The graph, simplified. Inputs and outputs are row-major, as ONNX has them. Of a training step: all weights are
/// inputs of layouts that the plan chooses, and their gradients are outputs. Warnings go to standard error. Failure:
/// usage (dims that nothing says or that contradict each other), and what reading and the passes throw. `widened`: what
/// is computed in f32 because the backend lacks the model's types.
graph::Graph load_model(const ModelFlags& flags, const OpenDims& open = {}, graph::Widened* widened = nullptr);

/// Of --policy; blocks by the instruction set in use.
graph::PropagateOptions propagate_options(graph::Policy policy);

/// oneDNN, for that many threads (0: all). Error{unsupported} in a build without it.
std::unique_ptr<graph::Backend> make_backend(int threads);

/// A name for each tensor, each once: its own, with its number where that is taken or empty.
std::vector<std::string> tensor_names(const graph::Graph& graph);

/// Text in columns, each as wide as its widest cell, the last one ragged.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace relayout::tools
