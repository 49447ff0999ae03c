// Compares own kernels of one or two elements with the reference: every implementation, in many layouts.
#include <gtest/gtest.h>

#include "tests/support/node_check.h"

namespace relayout::execute {
namespace {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Kind;
using graph::Pass;

int64_t runs(const NodeCheck& check) {
  int64_t out = 0;
  for (const auto& [kind, counts] : check.counts()) out += counts.runs;
  return out;
}

class OwnKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  }

  void check_binary(BinaryAlgorithm algorithm, const Dims& a, const Dims& b, DType dtype, const CheckOptions& options) {
    SCOPED_TRACE(std::string(name(dtype)) + " " + join(a, "x") + " and " + join(b, "x"));
    Graph graph;
    const TensorId x = graph.input("x", a, dtype), y = graph.input("y", b, dtype);
    graph.binary(x, y, algorithm);
    NodeCheck check(random_);
    check.check(graph, 0, options);
    EXPECT_GT(runs(check), 0);
    for (const auto& [kind, counts] : check.counts()) EXPECT_EQ(counts.names, std::set<std::string>{"relayout:binary"});
  }

  Random random_{1};
};

TEST_F(OwnKernels, IntegersAreDividedTowardZero) {
  // All pairs of some numbers of both signs are tried, with zero and the ends of the narrowest type among them.
  const graph::Values numbers = {-128, -127, -7, -2, -1, 0, 1, 2, 3, 127}, naturals = {0, 1, 2, 3, 7, 100, 254, 255};
  for (const DType dtype :
       {DType::s8, DType::s16, DType::s32, DType::s64, DType::u8, DType::u16, DType::u32, DType::u64}) {
    const graph::Values& values = kind(dtype) == DTypeKind::unsigned_integer ? naturals : numbers;
    const auto count = static_cast<int64_t>(values.size());
    check_binary(BinaryAlgorithm::div, {1, count, 1, 1}, {1, 1, 1, count}, dtype,
                 {.given = {{0, values}, {1, values}}});
    check_binary(BinaryAlgorithm::div, {count, 1}, {1, count}, dtype, {.given = {{0, values}, {1, values}}});
    check_binary(BinaryAlgorithm::div, {}, {}, dtype, {.given = {{0, {7}}, {1, {2}}}});
  }
}

TEST_F(OwnKernels, IntegerQuotientsAreExactBeyondF32) {
  const graph::Values a = {2147483647, -2147483647, 16777217, -16777217}, b = {2147483646, 3, 1, 2};
  check_binary(BinaryAlgorithm::div, {4}, {4}, DType::s32, {.relative = 1e-12, .given = {{0, a}, {1, b}}});
}

TEST_F(OwnKernels, PowersOfTensors) {
  const CheckOptions options{.relative = 1e-5, .ranges = {{0, {0.1, 3}}, {1, {-2, 2}}}};
  check_binary(BinaryAlgorithm::pow, {2, 19, 3, 4}, {2, 19, 3, 4}, DType::f32, options);
  check_binary(BinaryAlgorithm::pow, {2, 19, 3, 4}, {1, 19, 1, 1}, DType::f32, options);
  check_binary(BinaryAlgorithm::pow, {1, 1, 3, 4}, {2, 16, 1, 1}, DType::f32, options);
  check_binary(BinaryAlgorithm::pow, {5}, {1}, DType::f32, options);
  check_binary(BinaryAlgorithm::pow, {4}, {4}, DType::f32, {.given = {{0, {-2, -3, 0, 2}}, {1, {3, 2, 0, -1}}}});
}

TEST_F(OwnKernels, ErfAndSign) {
  for (const EltwiseAlgorithm algorithm : {EltwiseAlgorithm::erf, EltwiseAlgorithm::sign}) {
    SCOPED_TRACE(name(algorithm));
    Graph graph;
    graph.pass = Pass::forward_training;
    const Dims dims{2, 19, 3, 4};
    const TensorId x = graph.input("x", dims);
    graph.eltwise(x, {algorithm});
    NodeCheck check(random_);
    check.check(graph, 0, {.low = -3, .high = 3});
    if (algorithm == EltwiseAlgorithm::erf) {
      const TensorId diff = graph.input("diff", dims);
      graph.add({.name = "backward",
                 .kind = Kind::eltwise,
                 .pass = Pass::backward_data,
                 .attributes = graph::EltwiseAttributes{algorithm},
                 .src = {x, diff},
                 .hint = 0},
                1);
      check.check(graph, 1, {.low = -3, .high = 3});
    }
    EXPECT_GT(runs(check), 0);
  }
}

}  // namespace
}  // namespace relayout::execute
