// The propagation table of the oneAPI specification, applied to a network: a convolution, relu, pooling and an
// addition, once as inference runs them and once as training does, with the backward primitives.
//
// For each operand stands what a program asks for when it makes the primitive: `any`, and the primitive chooses the
// layout, or `actual`, the layout that the tensor has already. That follows from the graph alone, so it is the same on
// every machine. Which layouts the primitives then choose is what `relayout plan --policy any` shows.
#include <relayout/relayout.h>

#include <array>
#include <cstdio>
#include <string>

using namespace relayout;

namespace {

graph::Graph network(graph::Pass pass) {
  graph::Graph g;
  g.pass = pass;
  const auto x = g.input("x", {8, 16, 28, 28}), shortcut = g.input("shortcut", {8, 32, 14, 14});
  const auto weights = g.input("weights", {32, 16, 3, 3}), bias = g.input("bias", {32});
  const auto a = g.convolution(x, weights, bias, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  const auto b = g.pooling(g.eltwise(a, {}), {.kernel = {2, 2}, .strides = {2, 2}});
  g.output(g.binary(b, shortcut));
  if (pass == graph::Pass::forward_training) append_backward(g, std::array{x, weights, bias});
  return g;
}

void print_what_is_asked_for(const graph::Graph& g) {
  for (const graph::Node& node : g.nodes) {
    std::printf("  %-11s  %-17s", std::string(name(node.kind)).c_str(), std::string(name(node.pass)).c_str());
    for (const graph::Operand& operand : operands(node)) {
      std::printf("  %s: %s", std::string(operand.name).c_str(), std::string(name(operand.asked)).c_str());
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  std::puts("inference");
  print_what_is_asked_for(network(graph::Pass::forward_inference));
  std::puts("training");
  print_what_is_asked_for(network(graph::Pass::forward_training));
}
