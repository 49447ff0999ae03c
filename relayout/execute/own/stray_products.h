// Stray products: kernels that also multiply elements that a result is not made of, by zero or so that they cancel
// (internal to execute).
//
// Winograd's algorithm mixes all elements of a tile, products of bf16 are added in pairs, or by rows of AMX's
// tiles, and what channels do not fill of these is a neighbour times zero, and linear interpolation reads two elements
// where it needs one. Infinity and NaN spread so to results that are numbers. After a run the destination is searched
// for them, which reads what was just written, and such elements are computed anew.
#pragma once

#include <string_view>
#include <vector>

#include "relayout/execute/own/resampling_positions.h"
#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

class StrayProducts {
 public:
  /// Whether the number of bf16 products that are added up for a result does not fill what an implementation of this
  /// name adds up at once, two of them or a row of AMX's tiles: convolution, deconvolution and matmul of inference.
  static bool in_pairs(const graph::Graph& graph, const graph::Node& node, std::string_view name);

  /// Whether it is linear resampling of inference.
  static bool interpolates(const graph::Graph& graph, const graph::Node& node);

  /// The layouts of all operands. Constant weights are read from the graph.
  StrayProducts(const graph::Graph& graph, const graph::Node& node, const std::vector<std::optional<Layout>>& layouts);

  /// Corrects the destination of a run with these sources.
  void run(std::span<const void* const> src, void* dst) const;

 private:
  /// An operand: where each index of each dim lies.
  struct Operand {
    DType dtype = DType::f32;
    Layout layout{};
    std::vector<std::vector<int64_t>> offsets{};  // by dim and index, in elements
    const std::byte* data = nullptr;

    Operand() = default;
    Operand(const Layout& layout, DType dtype);
    float value(int64_t offset) const;
  };
  float value_of(const Operand& src, const Operand& weights, const Operand& bias, const Dims& at) const;
  float product(const Operand& src, const Operand& weights, const Dims& at, float sum) const;
  float interpolated(const Operand& src, const Dims& at) const;
  float window(const Operand& src, const Operand& weights, const Dims& at, float sum) const;

  graph::Kind kind_;
  graph::ConvolutionAttributes window_{};
  graph::ConstantData constant_weights_{};
  Operand src_, weights_, bias_, dst_;
  bool grouped_ = false;
  std::vector<std::vector<Taps>> taps_{};  // of interpolation, by spatial dim and index
};

}  // namespace relayout::execute
