// Uses the whole library through relayout.h alone: reorders a tensor by the plan cache and by the inverse of its
// layout, views it as an mdspan mapping, plans and runs a model of one operation, and evaluates another.
#include <relayout/relayout.h>

#include <array>
#include <cstdio>
#include <vector>

namespace {

using namespace relayout;

bool check(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what);
  return right;
}

/// Reorders 1x3x2x2 from nchw to nhwc twice and checks each element.
bool reorders() {
  const Dims dims{1, 3, 2, 2};
  const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
  const TensorDesc dst(Format::parse("nhwc").bind(dims), DType::f32);
  std::array<float, 12> in{}, out{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);

  cpu::clear_plan_cache();
  for (int turn = 0; turn < 2; ++turn) {
    out.fill(-1);
    cpu::reorder(src, in, dst, out);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 4; ++p) {
        if (out[p * 3 + c] != in[c * 4 + p]) return check(false, "an element after the reorder");
      }
    }
  }
  const cpu::PlanCacheStatistics statistics = cpu::plan_cache_statistics();
  if (!check(statistics.hits == 1 && statistics.misses == 1, "hits and misses of the plan cache")) return false;
  std::printf("%s\n", cpu::make_plan(src, dst).explain().c_str());

  // The source is row-major, so the inverse of the destination's layout says which of its elements lies where.
  const Layout back = inverse_layout(dst.layout);
  for (std::size_t offset = 0; offset < out.size(); ++offset) {
    if (out[offset] != in[static_cast<std::size_t>(back.offset({static_cast<int64_t>(offset)}))])
      return check(false, "an element by the inverse");
  }
  return true;
}

/// The extents of [mdspan.extents], of rank 1 and a size that is known when the program runs.
struct Extents {
  using index_type = int64_t;
  using size_type = uint64_t;
  using rank_type = std::size_t;
  static constexpr std::size_t rank() { return 1; }
  static constexpr std::size_t static_extent(std::size_t) { return static_cast<std::size_t>(-1); }
  explicit Extents(const std::array<int64_t, 1>& all) : size(all[0]) {}
  int64_t extent(std::size_t) const { return size; }
  int64_t size;
};

bool maps() {
  const mapping<Extents> every_third(Layout::strided({5}, {3}, 1));
  return check(every_third(4) == 13 && every_third.required_span_size() == 14, "an mdspan mapping");
}

/// Finds the cheapest plan of a relu between two layouts, by made-up speeds, and runs it.
bool plans_a_model() {
  graph::Graph g;
  const auto x = g.input("x", {1, 3, 2, 2}, DType::f32, Format::parse("nchw"));
  g.output(g.eltwise(x, {.algorithm = graph::EltwiseAlgorithm::relu}), Format::parse("nhwc"));
  if (!execute::has_onednn()) return true;
  const auto backend = execute::onednn_backend(1);
  const graph::Calibration speeds{.threads = 1,
                                  .flops_per_us = 1e4,
                                  .near_bytes_per_us = 1e4,
                                  .cache_bytes_per_us = 1e4,
                                  .memory_bytes_per_us = 1e4,
                                  .call_us = 1,
                                  .step_us = 1};
  const auto costs = graph::analytic_costs(speeds, *backend);
  const graph::OptimalPlan best = optimize(g, *backend, *costs);
  if (!check(best.optimal && best.plan.reorders(g).size() == 1, "the cheapest plan")) return false;
  std::vector<float> in{-1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12}, out(12, -1);
  const Dims dims{1, 3, 2, 2};
  const TensorDesc nchw(Format::parse("nchw").bind(dims), DType::f32),
      nhwc(Format::parse("nhwc").bind(dims), DType::f32);
  execute::Model model(g, best.plan, *backend);
  model.run({{{nchw, in}}}, {{{nhwc, out}}});
  return check(out[0] == 0 && out[1] == 5 && out[3] == 2 && out[11] == 0, "the run of a model");
}

/// The example of reference.h, for a model whose equal weights became random ones.
bool evaluates_a_model() {
  using namespace graph;
  Graph graph;
  const auto source = graph.input("x", {1, 2}, DType::f32);
  const auto weights = graph.constant("w", {2, 2}, std::vector<float>(4, 0.5f));
  graph.output(graph.matmul(source, weights));
  const Values x{3, 1};
  const std::vector<Values> alike = evaluate(graph, std::array{x});
  randomize_weights(graph, 1);
  const std::vector<Values> out = evaluate(graph, std::array{x});
  return check(alike == std::vector<Values>{{2, 2}} && out.size() == 1 && out[0].size() == 2 && out[0][0] != out[0][1],
               "the reference's values");
}

}  // namespace

int main() {
  // The last call makes the program link the file formats, too.
  const bool right = reorders() && maps() && plans_a_model() && evaluates_a_model();
  return right && format_of_path("x.npy") == FileFormat::npy ? 0 : 1;
}
