// Packed weights of a checkpoint that change their format: the tensors that together are one matrix, and those that it
// becomes.
//
//     layers.0.q_proj.qweight (K/8,N), .qzeros (K/G,N/8), .scales (K/G,N)   ->   layers.0.q_proj.B, .s
//
// Either side may be plain values instead, a tensor (N,K) as PyTorch's linear layers have it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/cpu/dequantize.h"

namespace relayout::checkpoint {

/// One side of it.
struct PackedSide {
  /// The matrix, where it is packed. Its dims are in the format's order, and leading dims of experts are rows, too.
  cpu::PackedTensor tensor;
  /// The type of plain values, whose dims are then N,K.
  std::optional<DType> values;

  Dims dims() const { return tensor.values; }
  /// Which dim counts the rows of a linear layer, N: 0 or 1.
  int rows() const;
};

struct PackedGroup {
  PackedSide from, to;
  /// The tensors that it is read from: names of the format's buffers and numbers of tensors. Plain values have "".
  std::vector<std::pair<std::string, std::size_t>> sources;
  /// Where plain values lie in their tensor's contents.
  Layout plain;
  bool requantise = false;
  /// "tensor "NAME", rule "RULE"", for errors that its values cause.
  std::string where;
};

/// Names of a tensor that holds the group of each index along K, in the order of activations.
inline constexpr std::string_view kGroupTables[] = {"g_idx", "weight_g_idx"};

}  // namespace relayout::checkpoint
