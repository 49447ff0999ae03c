// Transpose nodes of ONNX models: which of them need not be there, and the model without them.
//
//     const OnnxTransposes found = move_transposes("net.onnx");
//     found.before.size(), found.after.size();         // 70, 4
//     write(found.model);                              // the bytes of the new file
//
// Every tensor may be kept in several orders of its dims, and an operator that treats its dims alike (elementwise with
// broadcasting, Concat, Split, Pad, Slice, reductions that keep their dims, quantisation) may work in any order, with
// its axes renamed. For one order after the other the operators are divided into those that work in it and those that
// keep the file's, so that what is left to transpose costs least; a Transpose is made wherever an order is wanted that
// a tensor does not have, once for each. Transposes of constants are computed, one that moves only dims of extent 1
// becomes a Reshape, one of a matrix in front of Gemm or MatMul becomes Gemm's transA or transB, and a Transpose, a
// Reshape and a Transpose that leave all elements where they are become one Reshape. The search starts from the model
// as it is and takes a division only where the sum of costs falls, so that it never rises.
//
// Only the model's main graph is changed: what graphs inside nodes read stays as it is, and so do inputs and outputs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "relayout/graph/onnx/onnx.h"

namespace relayout::graph {

/// A node of a model by its names, as profiles refer to it.
struct OnnxNode {
  std::string name{}, op{}, domain{};
  std::vector<std::string> inputs{}, outputs{};
  std::vector<std::string> constants{};  // those of `inputs` that are initializers
  std::vector<int> perm{};               // of a Transpose; empty where its attribute is left out
};

/// The nodes of the main graph in the file's order, of models of any opset and domain. Errors: as read_onnx() has for
/// files.
std::vector<OnnxNode> read_onnx_nodes(const std::filesystem::path& path);

struct OnnxTranspose {
  std::string name{};       // of the node, or its first output
  std::vector<int> perm{};  // dim d of the result is dim perm[d] of the source
  std::string source{}, result{};
  /// Of the source; empty where the model does not say them.
  Dims dims{};
  DType dtype = DType::f32;
  std::string maker{}, reader{};  // "Conv (conv1)"; "the model's input", "its output"
  /// Of those in front: whether the new model does without it, and why.
  bool removed = false;
  std::string why{};
};

/// What one transposition takes, in any unit.
using TransposeCost = std::function<double(const Dims& dims, DType dtype, const std::vector<int>& perm)>;

struct OnnxTransposes {
  std::vector<OnnxTranspose> before{}, after{};
  double cost_before = 0, cost_after = 0;
  /// The new model's bytes; the file's own where nothing can be removed.
  std::string model{};
  std::vector<std::string> notes{};
};

/// Errors: those of read_onnx() for files; unsupported where constants lie in files of their own. Where a dim has no
/// value and `options` gives none, it counts as 1. A model that read_onnx() does not take has its dims as the file
/// states them. Cost: some passes over the model for each order of dims.
OnnxTransposes move_transposes(const std::filesystem::path& path, const OnnxOptions& options = {},
                               const TransposeCost& cost = {});

}  // namespace relayout::graph
