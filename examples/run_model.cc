// Plans and runs a model, and checks the result: an .onnx file that is named, else a small network of its own.
//
//     example_run_model [model.onnx [NAME=N...]]
//
// Dims that the file leaves open are given by their names, such as batch=3.
// Prints each primitive with the layouts that the plan chose, each reorder with its reason, what the plan is predicted
// to take and what it takes, and how far the outputs are from those of the float64 reference.
#include <relayout/relayout.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace relayout;

graph::Values random_values(const Dims& dims, std::mt19937& random) {
  graph::Values out(static_cast<std::size_t>(Layout::contiguous(dims).elements()));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::ranges::generate(out, [&] { return uniform(random); });
  return out;
}

/// Two convolutions, a pooling between them, and a sum with what was before.
graph::Graph small_network() {
  std::mt19937 random(1);
  graph::Graph g;
  const auto weights = [&](const char* name, const Dims& dims) {
    const graph::Values values = random_values(dims, random);
    return g.constant(name, dims, std::vector<float>(values.begin(), values.end()));
  };
  const graph::ConvolutionAttributes same{.pads_begin = {1, 1}, .pads_end = {1, 1}};
  const auto x = g.input("x", {1, 3, 64, 64}, DType::f32, Format::parse("nchw"));
  const auto a = g.convolution(x, weights("w1", {32, 3, 3, 3}), graph::kNone, same);
  const auto b = g.pooling(a, {.kernel = {2, 2}, .strides = {2, 2}});
  const auto c = g.convolution(b, weights("w2", {32, 32, 3, 3}), graph::kNone, same);
  g.output(g.binary(b, c), Format::parse("nchw"));
  return g;
}

graph::Graph read_model(const char* path, std::span<char*> dims) {
  graph::OnnxOptions options;
  for (const std::string_view text : dims) {
    const std::size_t equals = std::min(text.rfind('='), text.size() - 1);
    options.dims.emplace_back(text.substr(0, equals), parse_int(text.substr(equals + 1), "NAME=N"));
  }
  graph::OnnxModel model = graph::read_onnx(path, options);
  for (const std::string& warning : model.warnings) std::printf("warning: %s\n", warning.c_str());
  return std::move(model.graph);
}

/// Runs the plan on random inputs. Whether all outputs are the reference's, up to 0.001 of the largest value.
bool run_and_check(const graph::Graph& g, const graph::LayoutPlan& plan, const graph::Backend& backend) {
  // Inputs and outputs are row-major here, in the graph's types. A model takes any layout and type, and converts.
  const auto desc = [&](graph::TensorId t) {
    return TensorDesc(Layout::contiguous(g.tensor(t).dims), g.tensor(t).dtype);
  };
  std::mt19937 random(2);
  std::vector<graph::Values> values;
  std::vector<std::vector<std::byte>> in, out;
  std::vector<execute::Source> src;
  std::vector<execute::Destination> dst;
  for (const graph::TensorId t : g.inputs) {
    in.push_back(graph::store(random_values(g.tensor(t).dims, random), g.tensor(t).dtype));
    values.push_back(graph::load(in.back(), g.tensor(t).dtype, desc(t).layout.elements()));  // as rounded
    src.push_back({desc(t), in.back().data()});
  }
  for (const graph::TensorId t : g.outputs) {
    out.emplace_back(static_cast<std::size_t>(desc(t).span_bytes()));
    dst.push_back({desc(t), out.back().data()});
  }
  execute::Model model(g, plan, backend);
  model.run(src, dst);  // the first run also brings code and memory into the caches
  std::printf("measured: %.1f us\n", static_cast<double>(model.profile(src, dst).nanoseconds) / 1e3);

  const std::vector<graph::Values> expected = graph::evaluate(g, values);
  bool equal = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto count = static_cast<int64_t>(expected[i].size());
    const graph::Values got = graph::load(out[i], g.tensor(g.outputs[i]).dtype, count);
    double scale = 0, difference = 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      scale = std::max(scale, std::abs(expected[i][k]));
      difference = std::max(difference, std::abs(got[k] - expected[i][k]));
    }
    std::printf("%s: differs by at most %.2g, values are up to %.2g\n", g.output_name(i).c_str(), difference, scale);
    equal = equal && difference <= 1e-3 * scale;
  }
  return equal;
}

}  // namespace

int main(int argc, char** argv) try {
  if (!execute::has_onednn() || (argc > 1 && !graph::has_onnx())) {
    std::puts("built without oneDNN, or without ONNX for a file: nothing to run");
    return 0;
  }
  graph::Graph g = argc > 1 ? read_model(argv[1], {argv + 2, argv + argc}) : small_network();
  const auto backend = execute::onednn_backend();
  graph::prepare(g, [&](const graph::Graph& of, graph::NodeId n) { return has_implementation(*backend, of, n); });
  graph::make_ends_row_major(g);
  const execute::Calibrated machine = execute::calibrate(*backend);
  if (machine.unreliable) std::puts("the machine is busy: predicted times may be wrong by orders of magnitude");
  const auto costs = graph::analytic_costs(machine.speeds, *backend);
  graph::OptimalPlan best = optimize(g, *backend, *costs);
  explain_reorders(g, best);  // adds what it would cost to avoid each
  std::puts(explain(g, best, predict(g, best.plan, *costs), costs->name()).c_str());
  std::printf("cost: %.1f us, in which moved bytes count twice\n", best.cost_us);
  return run_and_check(g, best.plan, *backend) ? 0 : 1;
} catch (const relayout::Error& error) {
  std::printf("error: %s\n", error.what());
  return 2;
}
