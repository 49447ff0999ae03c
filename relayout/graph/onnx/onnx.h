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
// A known operator becomes a barrier too where no kind of the graph computes its form: recurrent cells with clip,
// peepholes or sequences of several lengths; Resize by cubic interpolation, or by scales that give extents that are not
// whole; averages that count padding but not what ceil_mode adds; bounds, axes and shapes that are computed at run
// time.
//
// A division of integers by zero is not defined in ONNX; here it gives 0, and between constants it is an error.
#pragma once

#include <filesystem>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

struct OnnxOptions {
  /// Takes the place of the first dim of every input that is no constant, and of dims without a value; 0: as the file
  /// says, 1 where it says nothing.
  int64_t batch = 0;
  /// Extents for the inputs' other dims without a value: an error names them where this is 0.
  int64_t unknown_extent = 0;
  /// Not 0: floating constants get random values by this seed, in proportion to their fan-in, so that layers neither
  /// die nor grow; variances stay positive.
  uint64_t random_weights = 0;
  /// Of forward_training, normalizations compute their statistics. Dropout is left out in both passes.
  Pass pass = Pass::forward_inference;
  /// Also the most bytes of the constants that a model's operators make.
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
