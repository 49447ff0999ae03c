// Runs models in tests with row-major inputs, and compares their outputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "relayout/execute/run/execute.h"
#include "relayout/graph/plan/propagate.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::test {

inline std::vector<graph::Policy> all_policies() {
  std::vector<graph::Policy> out;
  for (int p = 0; p < graph::kPolicyCount; ++p) out.push_back(static_cast<graph::Policy>(p));
  return out;
}

/// Values of -1 to 1 for each input.
inline std::vector<graph::Values> random_inputs(const graph::Graph& graph, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<graph::Values> out;
  for (graph::TensorId t : graph.inputs) {
    graph::Values& values = out.emplace_back(static_cast<std::size_t>(*checked_product(graph.tensor(t).dims)));
    std::ranges::generate(values, [&] { return uniform(rng); });
  }
  return out;
}

/// Runs the model once. Outputs are row-major, and their memory is filled with ones before.
inline std::vector<graph::Values> run_model(execute::Model& model, const std::vector<graph::Values>& inputs) {
  const graph::Graph& graph = model.graph();
  std::vector<std::vector<std::byte>> memory;
  std::vector<execute::Source> sources;
  std::vector<execute::Destination> destinations;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
    memory.push_back(graph::store(inputs[i], tensor.dtype));
    sources.push_back({{Layout::contiguous(tensor.dims), tensor.dtype}, memory.back().data()});
  }
  for (graph::TensorId t : graph.outputs) {
    const TensorDesc desc{Layout::contiguous(graph.tensor(t).dims), graph.tensor(t).dtype};
    memory.emplace_back(static_cast<std::size_t>(desc.span_bytes()), std::byte{0xff});
    destinations.push_back({desc, memory.back().data()});
  }
  model.run(sources, destinations);
  std::vector<graph::Values> out;
  for (const execute::Destination& d : destinations) {
    const auto* bytes = static_cast<const std::byte*>(d.data);
    out.push_back(
        graph::load({bytes, static_cast<std::size_t>(d.desc.span_bytes())}, d.desc.dtype, d.desc.layout.elements()));
  }
  return out;
}

/// Expects values within `tolerance` times the largest expected value. Results near zero have the rounding errors of
/// larger values that cancelled. A NaN equals a NaN.
inline void expect_outputs_near(const graph::Values& got, const graph::Values& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double scale = 1e-3;
  for (double x : want) scale = std::max(scale, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_NEAR(got[i], want[i], tolerance * scale) << "element " << i;
  }
}

}  // namespace relayout::test
