// What the tests of the C interface's models share: a model in a file, its arrays, and the C++ library beside it.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relayout/execute/measure/calibrate.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/optimize/explain.h"
#include "relayout/graph/passes/prepare.h"
#include "relayout/relayout_models_c.h"
#include "tests/c/owned.h"
#include "tests/support/attention_net.h"
#include "tests/support/run_model.h"

namespace relayout::testing {

using graph::test::Net;

/// Of a machine of two cores, so that nothing is measured.
inline constexpr relayout_speeds kSpeeds = {1e5, 4e4, 2e4, 1e4, 1.0, 0.5};

/// A model in a file that is gone afterwards.
class ModelFile {
 public:
  explicit ModelFile(const Net& net, const char* name = "c_models_test.onnx") : path_(name) {
    std::ofstream(path_, std::ios::binary) << net.bytes();
  }
  ~ModelFile() { std::filesystem::remove(path_); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

inline relayout_model_options options() {
  relayout_model_options out = RELAYOUT_MODEL_OPTIONS_INIT;
  out.speeds = &kSpeeds;
  return out;
}

/// With dims, which stay the caller's.
template <std::size_t N>
relayout_model_options options(const relayout_model_dim (&dims)[N]) {
  relayout_model_options out = options();
  out.dims = dims;
  out.dim_count = N;
  return out;
}

struct FreeModel {
  void operator()(relayout_model* model) const { relayout_model_free(model); }
};
using Model = std::unique_ptr<relayout_model, FreeModel>;

inline Model loaded(const char* path, const relayout_model_options& how) {
  relayout_model* out = nullptr;
  EXPECT_EQ(relayout_model_load(path, &how, &out), RELAYOUT_OK) << relayout_error_message();
  return Model(out);
}

/// The error of a load that fails with this status.
inline std::string error_of_load(const char* path, const relayout_model_options& how, relayout_status status) {
  relayout_model* out = nullptr;
  EXPECT_EQ(relayout_model_load(path, &how, &out), status);
  EXPECT_EQ(out, nullptr);
  relayout_model_free(out);
  return relayout_error_message();
}

/// What a function of two calls gives: the length, then the text.
template <typename F>
std::string text_of(F&& f) {
  size_t length = 0;
  EXPECT_EQ(f(nullptr, 0, &length), RELAYOUT_OK);
  std::string out(length + 1, '?');
  EXPECT_EQ(f(out.data(), out.size(), nullptr), RELAYOUT_OK);
  EXPECT_EQ(out.back(), '\0');
  out.pop_back();
  EXPECT_EQ(f(out.data(), out.size(), &length), RELAYOUT_BUFFER_TOO_SMALL);
  return out;
}

inline std::string explanation(const Model& model) {
  return text_of(
      [&](char* text, size_t n, size_t* length) { return relayout_model_explain(model.get(), text, n, length); });
}
inline std::string warnings(const Model& model) {
  return text_of(
      [&](char* text, size_t n, size_t* length) { return relayout_model_warnings(model.get(), text, n, length); });
}

/// The inputs of attention_net() for a batch and a length, as arrays of the model's types.
struct Arrays {
  Arrays(int64_t batch_, int64_t seq_) : batch(batch_), seq(seq_) {
    for (int64_t i = 0; i < batch * seq * 4; ++i) x.push_back(static_cast<float>(i * 7 % 23) / 8 - 1);
    for (int64_t n = 0; n < batch; ++n) lengths.push_back(1 + (n + 1) % seq);
    y.assign(x.size(), -77);
    pooled.assign(static_cast<std::size_t>(batch) * 4, -77);
  }
  int64_t batch, seq;
  std::vector<float> x, y, pooled;
  std::vector<int64_t> lengths;
};

/// The same by the C++ library: the plan in words, and the outputs.
struct ByCpp {
  ByCpp(const Net& net, const graph::OnnxOptions& how, Arrays arrays) {
    graph::OnnxModel read = graph::test::import(net, how);
    values = graph::evaluate(read.graph, std::vector<graph::Values>{{arrays.x.begin(), arrays.x.end()},
                                                                    {arrays.lengths.begin(), arrays.lengths.end()}});
    const auto backend = execute::onednn_backend();
    graph::prepare(read.graph,
                   [&](const graph::Graph& g, graph::NodeId n) { return graph::has_implementation(*backend, g, n); });
    graph::make_ends_row_major(read.graph);
    graph::Calibration known{.flops_per_us = kSpeeds.flops_per_us,
                             .near_bytes_per_us = kSpeeds.near_bytes_per_us,
                             .cache_bytes_per_us = kSpeeds.cache_bytes_per_us,
                             .memory_bytes_per_us = kSpeeds.memory_bytes_per_us,
                             .call_us = kSpeeds.call_us,
                             .step_us = kSpeeds.step_us};
    const auto costs = graph::analytic_costs(execute::calibrate(*backend, {.known = known}).speeds, *backend);
    graph::OptimalPlan best = graph::optimize(read.graph, *backend, *costs);
    graph::explain_reorders(read.graph, best);
    explanation = graph::explain(read.graph, best, graph::predict(read.graph, best.plan, *costs), costs->name());
    execute::Model model(read.graph, best.plan, *backend);
    const auto rows = [&](graph::TensorId t) {
      return TensorDesc(Layout::contiguous(read.graph.tensor(t).dims), read.graph.tensor(t).dtype);
    };
    model.run({{{rows(read.graph.inputs[0]), arrays.x}, {rows(read.graph.inputs[1]), arrays.lengths}}},
              {{{rows(read.graph.outputs[0]), arrays.y}, {rows(read.graph.outputs[1]), arrays.pooled}}});
    y = arrays.y;
    pooled = arrays.pooled;
  }
  std::string explanation;
  std::vector<graph::Values> values;  // of the reference
  std::vector<float> y, pooled;
};

template <typename T>
size_t bytes_of(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

/// Runs the model on arrays in the model's order.
inline relayout_status run(const Model& model, Arrays& arrays, const relayout_model_run_options* how = nullptr) {
  const Desc x("abc", {arrays.batch, arrays.seq, 4}, RELAYOUT_F32), lengths("a", {arrays.batch}, RELAYOUT_S64);
  const Desc pooled("ab", {arrays.batch, 4}, RELAYOUT_F32);
  const relayout_model_source sources[] = {{nullptr, x, arrays.x.data(), bytes_of(arrays.x)},
                                           {nullptr, lengths, arrays.lengths.data(), bytes_of(arrays.lengths)}};
  const relayout_model_destination destinations[] = {{nullptr, x, arrays.y.data(), bytes_of(arrays.y)},
                                                     {nullptr, pooled, arrays.pooled.data(), bytes_of(arrays.pooled)}};
  return relayout_model_run(model.get(), sources, 2, destinations, 2, how);
}

/// attention_net() in a file.
class CModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!execute::has_onednn()) GTEST_SKIP() << "skipped: this build lacks oneDNN";
  }
  const Net net_ = graph::test::attention_net();
  const ModelFile file_{net_};
};

/// The batch and the length of most tests.
inline constexpr relayout_model_dim kDims[] = {{"batch", 3}, {"seq", 5}};

}  // namespace relayout::testing
