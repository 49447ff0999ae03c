// Costs for tests, which need no machine: bytes that are moved, and numbers drawn from names and layouts.
#pragma once

#include <functional>
#include <memory>
#include <random>

#include "relayout/graph/cost.h"

namespace relayout::test {

/// Bytes of all operands in microseconds, ten times as many for slow ways; a reorder as many as it reads and writes.
class ByteCosts : public graph::Costs {
 public:
  std::string name() const override { return "bytes"; }
  double primitive(const graph::Graph& graph, graph::NodeId node, const graph::Implementation& implementation,
                   const graph::Implementation*, bool in_place) override {
    double bytes = 0;
    for (const auto* operands : {&graph.node(node).src, &graph.node(node).dst}) {
      for (graph::TensorId t : *operands) {
        if (t != graph::kNone)
          bytes += static_cast<double>(elements(graph.tensor(t).dims) * bits(graph.tensor(t).dtype) / 8);
      }
    }
    return bytes * (implementation.reference ? 10 : in_place ? 0.9 : 1);
  }
  double reorder(const TensorDesc& from, const TensorDesc& to) override {
    return static_cast<double>(from.logical_bytes() + bits(to.dtype) / 8 * to.layout.padded_elements());
  }

 private:
  static int64_t elements(const Dims& dims) { return checked_product(dims).value_or(0); }
};

/// The same for the same question, and else by chance in [0, 1), for a reorder up to `reorders`.
class RandomCosts : public graph::Costs {
 public:
  RandomCosts(unsigned seed, double reorders) : seed_(std::to_string(seed)), reorders_(reorders) {}
  std::string name() const override { return "random"; }
  double primitive(const graph::Graph& graph, graph::NodeId node, const graph::Implementation& implementation,
                   const graph::Implementation*, bool in_place) override {
    std::string text = graph.node(node).name + implementation.name + (in_place ? "!" : "");
    for (const auto* layouts : {&implementation.src, &implementation.dst}) {
      for (const auto& layout : *layouts) text += layout ? graph::expression_of(*layout) + " " : "-";
    }
    return draw(text);
  }
  double reorder(const TensorDesc& from, const TensorDesc& to) override {
    return reorders_ * draw(graph::expression_of(from.layout) + ">" + graph::expression_of(to.layout));
  }

 private:
  double draw(const std::string& text) const {
    std::mt19937_64 rng(std::hash<std::string>()(seed_ + text));
    return std::uniform_real_distribution<double>()(rng);
  }
  std::string seed_;
  double reorders_;
};

}  // namespace relayout::test
