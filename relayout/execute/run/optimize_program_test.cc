// Compares the cheapest plans of whole models with an integer program of the same choices, which cbc solves.
#include <gtest/gtest.h>

#include <cstdlib>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "tests/support/integer_program.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::TensorId;

class OptimizeProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
    // The speeds are those of a made-up machine, so that the problems are the same each time.
    costs_ = graph::analytic_costs({.flops_per_us = 50000,
                                    .near_bytes_per_us = 50000,
                                    .cache_bytes_per_us = 25000,
                                    .memory_bytes_per_us = 10000,
                                    .call_us = 1},
                                   *backend_);
  }

  void compare(const std::string& name, Graph model) {
    SCOPED_TRACE(name);
    graph::simplify(model);
    compare_problem(model);
  }

  /// Compares the training step with the gradients of all weights.
  void compare_training(const std::string& name, Graph model) {
    SCOPED_TRACE(name + ", training");
    graph::prune(model);
    std::vector<TensorId> weights;
    for (std::size_t t = 0; t < model.tensors.size(); ++t) {
      graph::Tensor& tensor = model.tensors[t];
      if (!tensor.constant() || tensor.dtype != DType::f32) continue;
      tensor.data = nullptr;
      weights.push_back(static_cast<TensorId>(t));
    }
    model.inputs.insert(model.inputs.end(), weights.begin(), weights.end());
    graph::append_backward(model, weights);
    compare_problem(model);
  }

  void compare_problem(const Graph& model) {
    const graph::ChoiceSpace space = graph::choice_space(model, *backend_, *costs_);
    const std::optional<double> program = test::solve_with_cbc(space.problem, RELAYOUT_CBC);
    ASSERT_TRUE(program.has_value());
    const solve::Solution best = solve::solve(space.problem);
    EXPECT_TRUE(best.optimal);
    EXPECT_NEAR(best.cost, *program, 1e-6 * *program);
    EXPECT_NEAR(best.certificate.bound, best.cost, 1e-9 * best.cost);
    ++compared_;
  }

  std::unique_ptr<graph::Backend> backend_;
  std::unique_ptr<graph::Costs> costs_;
  int compared_ = 0;
};

TEST_F(OptimizeProgram, ModelsHaveTheSameOptimum) {
  for (const graph::ModelBuilder& model : graph::models()) {
    compare(std::string(model.name), model.build({.image = 64, .channels = 16}));
    compare_training(std::string(model.name),
                     model.build({.image = 64, .channels = 16, .pass = graph::Pass::forward_training}));
  }
  std::printf("the same optimum as an integer program: %d graphs of models\n", compared_);
}

TEST_F(OptimizeProgram, ModelsOfAFolderHaveTheSameOptimum) {
  const char* folder = std::getenv("RELAYOUT_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "set RELAYOUT_MODELS to a folder of .onnx files";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    compare(file.path().filename(), graph::read_onnx(file.path()).graph);
    compare_training(file.path().filename(),
                     graph::read_onnx(file.path(), {.pass = graph::Pass::forward_training}).graph);
  }
  std::printf("the same optimum as an integer program: %d graphs of files\n", compared_);
}

}  // namespace
}  // namespace relayout::execute
