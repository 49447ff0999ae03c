// Functions of elements on dense runs of values, for the instruction set in use (internal to execute).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

/// dst[i] = f(src[0][i], src[1][i], ...) for n values; alpha and beta are those of an elementwise function. A run of
/// the destination may be one of the sources' own.
template <typename T>
using LaneFunction = void (*)(const T* const* src, T* dst, int64_t n, T alpha, T beta);

/// By algorithm. A NaN among the sources gives NaN, but in comparisons.
template <typename T>
struct LaneTable {
  std::array<LaneFunction<T>, graph::kBinaryCount> binary{};
  std::array<LaneFunction<T>, graph::kEltwiseCount> eltwise{};
  /// BinaryAlgorithm::div of whole numbers.
  LaneFunction<T> whole_quotient = nullptr;
  /// src[0] + alpha * src[1].
  LaneFunction<T> add_scaled = nullptr;
  /// src[0] where that is larger than 0, else src[0] * src[1]: Kind::prelu.
  LaneFunction<T> prelu = nullptr;
  /// alpha / src[0]: EltwiseAlgorithm::pow to the power of -1.
  LaneFunction<T> reciprocal = nullptr;
  /// alpha * src[0]^0.5: EltwiseAlgorithm::pow to that power. Of minus infinity it is infinity, and no square root.
  LaneFunction<T> root = nullptr;
  /// Whether one of n values is at most `limit`.
  bool (*any_at_most)(const T* values, int64_t n, T limit) = nullptr;
  /// Whether all of n values are below `limit`, and none is NaN.
  bool (*all_below)(const T* values, int64_t n, T limit) = nullptr;

  LaneFunction<T>& of(graph::BinaryAlgorithm algorithm) { return binary[static_cast<std::size_t>(algorithm)]; }
  LaneFunction<T>& of(graph::EltwiseAlgorithm algorithm) { return eltwise[static_cast<std::size_t>(algorithm)]; }
  LaneFunction<T> of(graph::BinaryAlgorithm algorithm) const { return binary[static_cast<std::size_t>(algorithm)]; }
  LaneFunction<T> of(graph::EltwiseAlgorithm algorithm) const { return eltwise[static_cast<std::size_t>(algorithm)]; }
};

/// In plain C++, where each function is the formula of graph.h.
template <typename T>
const LaneTable<T>& plain_lanes();
/// Of f32 by Highway, for the instruction set in use (cpu::isa()); plain_lanes() where that is "scalar" or Highway is
/// missing.
const LaneTable<float>& vector_lanes();

}  // namespace relayout::execute
