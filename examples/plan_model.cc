// Plans and runs a small graph: two convolutions around an elementwise operation and a sum, between tensors that come
// and go as nchw. The plan is the cheapest by the predicted times, and says why each of its reorders is there. The
// README shows the middle of this file.
#include <relayout/relayout.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  using namespace relayout;
  if (!execute::has_onednn()) {
    std::puts("built without oneDNN, nothing to run");
    return 0;
  }

  const std::vector<float> w1(16 * 3 * 3 * 3, 0.1f), w2(16 * 16 * 3 * 3, 0.01f);
  graph::Graph g;
  const auto x = g.input("x", {1, 3, 32, 32}, DType::f32, Format::parse("nchw"));
  const auto a =
      g.convolution(x, g.constant("w1", {16, 3, 3, 3}, w1), graph::kNone, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  const auto b = g.eltwise(a, {.algorithm = graph::EltwiseAlgorithm::relu});
  const auto c =
      g.convolution(b, g.constant("w2", {16, 16, 3, 3}, w2), graph::kNone, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  g.output(g.binary(b, c), Format::parse("nchw"));

  // The speeds of this machine, which predicted times are made of, take less than a second to measure where it does
  // nothing else.
  const auto backend = execute::onednn_backend();
  const execute::Calibrated machine = execute::calibrate(*backend);
  if (machine.unreliable) std::puts("the machine is busy: predicted times may be wrong by orders of magnitude");
  const auto costs = graph::analytic_costs(machine.speeds, *backend);
  graph::OptimalPlan best = optimize(g, *backend, *costs);
  explain_reorders(g, best);  // adds what it would cost to avoid each
  std::printf("cost %.1f us, %s\n", best.cost_us, best.optimal ? "proven the least" : "the best that was found");
  for (graph::CopyId reorder : best.plan.reorders(g)) std::puts(best.plan.copy(reorder).reason.c_str());

  std::vector<float> in(3 * 32 * 32, 1.0f), out(16 * 32 * 32);
  const TensorDesc in_desc(Layout::contiguous({1, 3, 32, 32}), DType::f32);
  const TensorDesc out_desc(Layout::contiguous({1, 16, 32, 32}), DType::f32);
  execute::Model model(g, best.plan, *backend);
  model.run({{{in_desc, in.data()}}}, {{{out_desc, out.data()}}});

  // In the middle: 27 products of 0.1, and 144 of 0.01 times those.
  const float middle = out[16 * 32 + 16];
  std::printf("middle: %.3f\n", static_cast<double>(middle));
  return std::abs(middle - (2.7f + 144 * 0.01f * 2.7f)) < 1e-3f ? 0 : 1;
}
