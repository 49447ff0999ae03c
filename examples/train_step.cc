// Trains a small network for some steps: forward, and backward by hints, in one plan by the oneAPI specification's
// rule.
//
// Prints, for each primitive, what the specification's table has a program ask for each operand, and which layout the
// primitive got; then the loss of each step, which falls. Ends with 1 where the loss does not fall, or where an operand
// that is taken as it is was reordered without a reason.
#include <relayout/relayout.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace relayout;
using graph::TensorId;

/// A network with its loss, and the values of its inputs in their order: data, target, weights, then the gradient of
/// the loss, which is 1.
struct Training {
  graph::Graph g;
  std::vector<std::vector<float>> values;
  std::vector<TensorId> weights;
};

Training small_network() {
  Training out;
  graph::Graph& g = out.g;
  g.pass = graph::Pass::forward_training;  // its nodes become the hints of the backward ones
  std::mt19937 random(1);
  const auto input = [&](const char* name, const Dims& dims, float scale, bool weight) {
    std::uniform_real_distribution<float> uniform(-scale, scale);
    std::vector<float>& values = out.values.emplace_back(static_cast<std::size_t>(Layout::contiguous(dims).elements()));
    for (float& value : values) value = uniform(random);
    const TensorId tensor = g.input(name, dims);
    if (weight) out.weights.push_back(tensor);
    return tensor;
  };
  const graph::ConvolutionAttributes same{.pads_begin = {1, 1}, .pads_end = {1, 1}};
  const TensorId x = input("x", {8, 3, 16, 16}, 1, false), target = input("target", {8, 10}, 1, false);
  const TensorId a = g.convolution(x, input("w1", {32, 3, 3, 3}, 0.3f, true), graph::kNone, same);
  const TensorId b = g.pooling(g.eltwise(a, {}), {.kernel = {2, 2}, .strides = {2, 2}});
  const TensorId c = g.convolution(b, input("w2", {32, 32, 3, 3}, 0.1f, true), graph::kNone, same);
  const TensorId d = g.pooling(g.eltwise(c, {}), {.algorithm = graph::PoolingAlgorithm::average_include_padding});
  const TensorId y = g.inner_product(d, input("w3", {10, 32, 1, 1}, 0.3f, true));
  // The loss is the mean of the squared differences.
  const TensorId difference = g.binary(y, target, graph::BinaryAlgorithm::sub);
  const TensorId square = g.eltwise(difference, {.algorithm = graph::EltwiseAlgorithm::square});
  g.output(g.add(graph::Kind::reduction, graph::ReductionAttributes{graph::ReductionAlgorithm::mean, {0, 1}}, {square},
                 "loss")[0]);
  append_backward(g, out.weights);  // the gradients become outputs, behind the loss
  out.values.push_back({1.0f});     // the gradient of the loss, the last input
  return out;
}

/// Prints what each operand is asked for and has got. Whether every operand that is taken as it is was so, or the plan
/// says why it was reordered.
bool print_operands(const graph::Graph& g, const graph::LayoutPlan& plan) {
  bool good = true;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const graph::Node& node = g.nodes[n];
    const graph::PlannedNode& planned = plan.nodes[n];
    std::printf("%s (%s, %s)%s%s\n", node.name.c_str(), std::string(name(node.pass)).c_str(),
                planned.implementation.c_str(), node.hint == graph::kNone ? "" : ", by the hint ",
                node.hint == graph::kNone ? "" : g.node(node.hint).name.c_str());
    for (const graph::Operand& operand : operands(node)) {
      const auto at = static_cast<std::size_t>(operand.index);
      const graph::Copy& copy = plan.copy(operand.is_src ? planned.src[at] : planned.dst[at]);
      const bool reordered = operand.is_src && copy.from != graph::kNone;
      std::printf("  %-14s asked for %-7s got %-12s %s\n", std::string(operand.name).c_str(),
                  std::string(name(operand.asked)).c_str(),
                  graph::display_name(copy.layout, operand.name.find("weights") != std::string::npos).c_str(),
                  copy.reason.c_str());
      good = good && !(reordered && copy.reason.empty());
    }
  }
  return good;
}

TensorDesc row_major(const graph::Graph& g, TensorId t) { return {Layout::contiguous(g.tensor(t).dims), DType::f32}; }

}  // namespace

int main() {
  if (!execute::has_onednn()) return std::puts("built without oneDNN: nothing to run") < 0;
  Training net = small_network();
  const graph::Graph& g = net.g;
  const auto backend = execute::onednn_backend();
  const graph::LayoutPlan plan = propagate(g, *backend, {.policy = graph::Policy::any});
  if (!print_operands(g, plan)) return 1;

  std::vector<std::vector<float>> results;
  std::vector<execute::Source> in;
  std::vector<execute::Destination> out;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) in.push_back({row_major(g, g.inputs[i]), net.values[i].data()});
  for (const TensorId t : g.outputs) results.emplace_back(static_cast<std::size_t>(row_major(g, t).layout.span()));
  for (std::size_t i = 0; i < g.outputs.size(); ++i) out.push_back({row_major(g, g.outputs[i]), results[i].data()});

  execute::Model model(g, plan, *backend);
  constexpr std::size_t kFirstWeights = 2;  // after the data and the target
  constexpr float kRate = 0.1f;
  std::vector<float> losses;
  for (int step = 0; step < 10; ++step) {
    model.run(in, out);  // the loss, and the gradient of each of the weights
    losses.push_back(results[0][0]);
    std::printf("step %d: loss %.5f\n", step, static_cast<double>(losses.back()));
    for (std::size_t w = 0; w < net.weights.size(); ++w) {
      std::vector<float>&weights = net.values[kFirstWeights + w], &gradient = results[1 + w];
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= kRate * gradient[i];
    }
  }
  for (std::size_t i = 1; i < losses.size(); ++i) {
    if (!(losses[i] < losses[i - 1])) return 1;
  }
  return losses.back() < 0.9f * losses.front() ? 0 : 1;
}
