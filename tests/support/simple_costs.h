// Costs for tests that do not depend on a machine: the number of bytes moved, or random numbers.
#pragma once

#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::test {

/// One microsecond for each byte: of all operands of a primitive, times ten for reference implementations; of what a
/// reorder reads and writes.
class ByteCosts : public graph::Costs {
 public:
  std::string name() const override { return "bytes"; }
  double primitive(const graph::CostContext& context, graph::NodeId node, const graph::Implementation& implementation,
                   const graph::Implementation*, bool in_place) override {
    const graph::Graph& graph = context.graph();
    double bytes = 0;
    for (const auto* operands : {&graph.node(node).src, &graph.node(node).dst}) {
      for (graph::TensorId t : *operands) {
        if (t != graph::kNone)
          bytes += static_cast<double>(elements(graph.tensor(t).dims) * bits(graph.tensor(t).dtype) / 8);
      }
    }
    return bytes * (implementation.reference ? 10 : in_place ? 0.9 : 1);
  }
  double reorder(const graph::ReorderSetting&, const TensorDesc& from, const TensorDesc& to) override {
    return static_cast<double>(from.logical_bytes() + bits(to.dtype) / 8 * to.layout.padded_elements());
  }

 private:
  static int64_t elements(const Dims& dims) { return checked_product(dims).value_or(0); }
};

/// Random costs in [0, 1) for primitives and in [0, reorders) for reorders. Equal kinds, implementations and layouts
/// cost the same.
class RandomCosts : public graph::Costs {
 public:
  RandomCosts(unsigned seed, double reorders) : seed_(seed), reorders_(reorders) {}
  std::string name() const override { return "random"; }
  double primitive(const graph::CostContext& context, graph::NodeId node, const graph::Implementation& implementation,
                   const graph::Implementation* forward, bool in_place) override {
    graph::KeyMaker key;
    key.add(uint64_t{seed_}).add(static_cast<uint64_t>(context.graph().node(node).kind)).add(uint64_t{in_place});
    key.add(std::string_view(implementation.name));
    for (const auto* layouts : {&implementation.src, &implementation.dst}) {
      for (const auto& layout : *layouts) add(key, layout);
    }
    if (forward != nullptr && graph::follows_forward(context.graph().node(node).kind)) {
      key.add(std::string_view(forward->name));
      for (const auto* layouts : {&forward->src, &forward->dst}) {
        for (const auto& layout : *layouts) add(key, layout);
      }
    }
    return drawn(key);
  }
  double reorder(const graph::ReorderSetting&, const TensorDesc& from, const TensorDesc& to) override {
    graph::KeyMaker key;
    key.add(uint64_t{seed_});
    add(key, from.layout);
    add(key, to.layout);
    return reorders_ * drawn(key);
  }

 private:
  static void add(graph::KeyMaker& key, const std::optional<Layout>& given) {
    const Layout layout = given.value_or(Layout()).canonical();
    key.add(layout.dims());
    for (int d = 0; d < layout.ndims(); ++d) {
      for (const Digit& digit : layout.digits(d)) {
        key.add(static_cast<uint64_t>(digit.extent)).add(static_cast<uint64_t>(digit.stride));
      }
    }
    const int64_t begin = layout.empty() ? 0 : layout.offset_range().first;
    if (begin != 0) key.add(static_cast<uint64_t>(begin));
  }
  static double drawn(const graph::KeyMaker& key) { return static_cast<double>(key.key().low >> 11) * 0x1p-53; }
  unsigned seed_;
  double reorders_;
};

}  // namespace relayout::test
