// ONNX: a model file becomes a Graph. Only the files of this folder know protobuf.
//
//     OnnxModel model = read_onnx("net.onnx", {.dims = {{"batch", 8}, {"height", 224}}});
//     for (const std::string& warning : model.warnings) ...    // operators that became barriers
//
// Shape arithmetic on constants and dims is computed and leaves no nodes. Weights of grouped convolutions are G O/G I/G
// spatial, those of RNN cells L D I G O in oneDNN's order of gates. A reshape, a transpose and a reshape that shuffle
// channels are one shuffle; a Gemm behind a Flatten takes the dims before it. Where the batch is replaced, constant
// reshapes that begin with the file's batch follow.
//
// docs/operators.md lists the operators. One that is not there, or of which no nodes compute the form, becomes a
// barrier. Such forms are those whose axes, shapes or numbers of results are computed at run time.
//
// A model's own functions, the branch of an If whose condition is known, and all turns of a Loop whose number is known
// take the place of the node that has them. Operators whose sources are constants of few elements are computed.
//
// Constants may have their data in other files in the model's folder or below; a name that leads out of it is refused.
//
// A division of integers by zero is not defined in ONNX; here it gives 0, and between constants it is an error.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// A dim as the file states it: a value, or a symbol such as "batch" that stands for one, or neither.
struct OnnxDim {
  std::optional<int64_t> extent{};
  std::string symbol{};
};

/// An input of the model that is no constant, as the file states it.
struct OnnxInput {
  std::string name{};
  DType dtype = DType::f32;
  std::vector<OnnxDim> dims{};
};

/// The dims of each input that has any, from the inputs in the file's order.
using DimsOfInputs = std::function<std::vector<std::optional<Dims>>(std::span<const OnnxInput> inputs)>;

struct OnnxOptions {
  /// Replaces the first dim of every input that is not constant. 0 keeps the file's; if it has no value, and nothing
  /// below says one, it is that of the first input, or 1, with a warning.
  int64_t batch = 0;
  /// Extents of dims of inputs that have no value in the file, by their symbol, or as INPUT[DIM]:
  /// {{"batch", 3}, {"x[2]", 224}}. Dims with the same symbol follow.
  std::vector<std::pair<std::string, int64_t>> dims{};
  /// Called once, unless all dims are known, for the dims of the arrays that the model will be run with; nothing for an
  /// input of which there is no array. They say dims that have no value in the file. What it throws is passed on.
  DimsOfInputs dims_of_arrays{};
  /// Called once for the dims in a plan that was made before. They say dims that have no value in the file and that
  /// nothing above says; where something above says another value, that is an error. What it throws is passed on.
  DimsOfInputs dims_of_plan{};
  /// Replaces all other dims of inputs that have no value. If it is 0, such a dim is an error.
  int64_t unknown_extent = 0;
  /// If not 0: the seed of random values that replace floating weights (random_weights.h).
  uint64_t random_weights = 0;
  /// The pass of the graph's nodes. In forward_training, normalizations compute their statistics. Dropout is left out
  /// in both passes.
  Pass pass = Pass::forward_inference;
  /// The largest file that is read, and the most bytes of all other files with data of constants. Also the most bytes
  /// of constants that a model's operators may make.
  int64_t max_file_bytes = int64_t{2} << 30;
  int64_t max_nodes = 1'000'000;
};

struct OnnxModel {
  Graph graph;
  int64_t opset = 0;
  std::vector<std::string> warnings;
};

/// Reads a model of opset 7 to 28, the newest that is published. Operators that are not supported become Kind::barrier
/// with a warning that says why. The graph's outputs are called as the model calls them. Errors: io; corrupt (no ONNX
/// file, a missing input, a cycle, data of the wrong size, an attribute that the operator does not have in the model's
/// opset); unsupported (data outside the model's folder, an opset out of range, a build without ONNX; a dim that has
/// no value: the field is "dims", and the value is what `dims` calls it); invalid_argument (dims that contradict each
/// other or the file, or that the model does not have); limit; overflow. Messages name the node or tensor, escaped.
OnnxModel read_onnx(const std::filesystem::path& path, const OnnxOptions& options = {});
OnnxModel parse_onnx(std::span<const std::byte> bytes, const OnnxOptions& options = {});
bool has_onnx();

}  // namespace relayout::graph
