// What tests of measured costs share: a folder of their own for files, and a small graph.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

class MeasuredCostsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static graph::Graph relu(const Dims& dims) {
    graph::Graph graph;
    graph.output(graph.eltwise(graph.input("x", dims), {.algorithm = graph::EltwiseAlgorithm::relu}));
    return graph;
  }

  std::unique_ptr<graph::Backend> backend_;
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("measured-costs-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path file_ = folder_ / "costs.txt";
};

}  // namespace relayout::execute
