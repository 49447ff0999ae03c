// ONNX: a model file becomes a Graph. Only the files of this folder know protobuf.
//
//     OnnxModel model = read_onnx("net.onnx", {.batch = 8});
//     for (const std::string& warning : model.warnings) ...    // operators that became barriers
//
// Shape arithmetic on constants and dims is computed and leaves no nodes. Weights of grouped convolutions are G O/G I/G
// spatial, those of RNN cells L D I G O in oneDNN's order of gates. A reshape, a transpose and a reshape that shuffle
// channels are one shuffle; a Gemm behind a Flatten takes the dims before it. Where the batch is replaced, constant
// reshapes that begin with the file's batch follow.
//
// A known operator also becomes a barrier if no kind of the graph computes its form. Such forms are: recurrent cells
// with clip, peepholes or sequences of several lengths; Resize by cubic interpolation, or by scales that do not give
// whole extents; averages that count the padding of the source but not the padding that ceil_mode adds; bounds, axes
// and shapes that are computed at run time.
//
// A division of integers by zero is not defined in ONNX; here it gives 0, and between constants it is an error.
#pragma once

#include <filesystem>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

struct OnnxOptions {
  /// Replaces the first dim of every input that is not constant. 0 keeps the file's, or 1 if it has no value. Other
  /// dims with the same symbolic name follow.
  int64_t batch = 0;
  /// Replaces all other dims of inputs that have no value. If it is 0, such a dim is an error, which names it.
  int64_t unknown_extent = 0;
  /// If not 0: the seed of random values that replace floating weights (random_weights.h).
  uint64_t random_weights = 0;
  /// The pass of the graph's nodes. In forward_training, normalizations compute their statistics. Dropout is left out
  /// in both passes.
  Pass pass = Pass::forward_inference;
  /// The largest file that is read. Also the most bytes of constants that a model's operators may make.
  int64_t max_file_bytes = int64_t{2} << 30;
  int64_t max_nodes = 1'000'000;
};

struct OnnxModel {
  Graph graph;
  int64_t opset = 0;
  std::vector<std::string> warnings;
};

/// Reads a model of opset 7 to 28, the newest that is published. Operators that are not known become Kind::barrier with
/// a warning. The graph's outputs are called as the model calls them. Errors: io; corrupt (no ONNX file, a missing
/// input, a cycle, data of the wrong size, an attribute that the operator does not have in the model's opset);
/// unsupported (external data, control flow, an opset out of range, a build without ONNX); limit; overflow. Messages
/// name the node or tensor, escaped.
OnnxModel read_onnx(const std::filesystem::path& path, const OnnxOptions& options = {});
OnnxModel parse_onnx(std::span<const std::byte> bytes, const OnnxOptions& options = {});
bool has_onnx();

}  // namespace relayout::graph
