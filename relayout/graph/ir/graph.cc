// Names of kinds, and who makes and who reads each tensor.
#include "relayout/graph/ir/graph.h"

#include <array>

namespace relayout::graph {

std::string_view name(Kind kind) {
  static constexpr std::array<std::string_view, kKindCount> kNames = {"convolution",
                                                                      "deconvolution",
                                                                      "matmul",
                                                                      "inner_product",
                                                                      "rnn",
                                                                      "pooling",
                                                                      "batch_normalization",
                                                                      "layer_normalization",
                                                                      "lrn",
                                                                      "eltwise",
                                                                      "prelu",
                                                                      "shuffle",
                                                                      "softmax",
                                                                      "resampling",
                                                                      "reduction",
                                                                      "concat",
                                                                      "sum",
                                                                      "binary",
                                                                      "reorder",
                                                                      "reshape",
                                                                      "transpose",
                                                                      "slice",
                                                                      "broadcast",
                                                                      "pad",
                                                                      "gather",
                                                                      "array",
                                                                      "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Pass pass) {
  static constexpr std::array<std::string_view, 5> kNames = {"forward_inference", "forward_training", "backward_data",
                                                             "backward_weights", "backward"};
  return kNames[static_cast<std::size_t>(pass)];
}

std::string_view name(EltwiseAlgorithm algorithm) {
  static constexpr std::array<std::string_view, kEltwiseCount> kNames = {
      "relu",      "tanh",       "elu",   "square",     "abs",      "sqrt",        "linear",      "bounded_relu",
      "soft_relu", "logistic",   "exp",   "gelu_tanh",  "gelu_erf", "swish",       "log",         "clip",
      "clip_v2",   "pow",        "round", "logsigmoid", "mish",     "hardswish",   "hardsigmoid", "erf",
      "sign",      "floor",      "ceil",  "trunc",      "is_nan",   "is_infinite", "logical_not", "bitwise_not",
      "sin",       "cos",        "tan",   "asin",       "acos",     "atan",        "sinh",        "cosh",
      "asinh",     "acosh",      "atanh", "relu_dst",   "tanh_dst", "elu_dst",     "sqrt_dst",    "logistic_dst",
      "exp_dst",   "clip_v2_dst"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view name(BinaryAlgorithm algorithm) {
  static constexpr std::array<std::string_view, kBinaryCount> kNames = {
      "add",         "sub",        "mul",         "div",         "max",        "min",
      "ge",          "gt",         "le",          "lt",          "eq",         "ne",
      "pow",         "mod",        "fmod",        "logical_and", "logical_or", "logical_xor",
      "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",  "shift_right"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view name(ArrayOperation operation) {
  static constexpr std::array<std::string_view, kArrayCount> kNames = {
      "select",     "arg_max",    "arg_min",  "top_k", "gather_elements", "gather_nd", "scatter_elements",
      "scatter_nd", "cumulative", "bit_cast", "wrap",  "grid_sample"};
  return kNames[static_cast<std::size_t>(operation)];
}

bool compute_bound(Kind kind) { return kind <= Kind::rnn; }
bool is_elementwise(Kind kind) { return kind == Kind::eltwise || kind == Kind::binary || kind == Kind::sum; }

bool is_view(Kind kind) { return kind >= Kind::reshape && kind <= Kind::broadcast; }

std::vector<NodeId> producers(const Graph& graph) {
  std::vector<NodeId> out(graph.tensors.size(), kNone);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (TensorId t : graph.nodes[n].dst) {
      if (t != kNone) out[static_cast<std::size_t>(t)] = static_cast<NodeId>(n);
    }
  }
  return out;
}

std::vector<std::vector<NodeId>> consumers(const Graph& graph) {
  std::vector<std::vector<NodeId>> out(graph.tensors.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (TensorId t : graph.nodes[n].src) {
      if (t == kNone) continue;
      std::vector<NodeId>& readers = out[static_cast<std::size_t>(t)];
      if (readers.empty() || readers.back() != static_cast<NodeId>(n)) readers.push_back(static_cast<NodeId>(n));
    }
  }
  return out;
}

}  // namespace relayout::graph
