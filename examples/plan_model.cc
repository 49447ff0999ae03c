// Plans and runs a small graph: two convolutions around an elementwise operation and a sum, between tensors that come
// and go as nchw. The README shows the middle of this file.
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

  const auto backend = execute::onednn_backend();
  const graph::LayoutPlan plan = propagate(g, *backend, {.policy = graph::Policy::any});
  for (graph::CopyId reorder : plan.reorders(g)) std::puts(plan.copy(reorder).reason.c_str());

  std::vector<float> in(3 * 32 * 32, 1.0f), out(16 * 32 * 32);
  const TensorDesc in_desc(Layout::contiguous({1, 3, 32, 32}), DType::f32);
  const TensorDesc out_desc(Layout::contiguous({1, 16, 32, 32}), DType::f32);
  execute::Model model(g, plan, *backend);
  model.run({{{in_desc, in.data()}}}, {{{out_desc, out.data()}}});

  // In the middle: 27 products of 0.1, and 144 of 0.01 times those.
  const float middle = out[16 * 32 + 16];
  std::printf("middle: %.3f\n", static_cast<double>(middle));
  return std::abs(middle - (2.7f + 144 * 0.01f * 2.7f)) < 1e-3f ? 0 : 1;
}
