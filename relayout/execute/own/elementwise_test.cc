// Element functions and the programs that run them: numbers at the ends of the types, every pair of dims that repeat,
// many types and layouts, and the boxes of several tensors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "relayout/cpu/isa.h"
#include "relayout/execute/own/elementwise/grid.h"
#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/graph/passes/fuse.h"
#include "tests/support/node_check.h"

namespace relayout::execute {
namespace {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::EltwiseAttributes;
using graph::Kind;
using graph::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Numbers in which functions are likely to be wrong.
std::vector<float> hard_numbers() {
  std::vector<float> out;
  for (const double size :
       {0.0,  1e-45, 1e-38, 1e-20, 1e-7, 1e-3, 0.3,  0.5,   0.9999, 1.0, 1.0001, 1.5,    2.5,      3.0,
        3.99, 4.01,  8.0,   16.7,  30.0, 88.0, 89.0, 103.0, 105.0,  1e4, 1e20,   3.4e38, kInfinity}) {
    out.push_back(static_cast<float>(size));
    out.push_back(static_cast<float>(-size));
  }
  out.push_back(std::numeric_limits<float>::quiet_NaN());
  for (int i = 0; i < 1000; ++i) out.push_back(static_cast<float>(i) * 0.013f - 6.5f);
  return out;
}

/// Restores the instruction set that was in use.
struct EachIsa : testing::Test {
  ~EachIsa() override { cpu::set_isa(""); }
};

void expect_near(float got, double expected, double x, std::string_view what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << what << " of " << x << " is " << got << ", expected NaN";
  } else if (std::fabs(expected) > std::numeric_limits<float>::max()) {
    EXPECT_EQ(got, static_cast<float>(expected)) << what << " of " << x;
  } else {
    // Far from zero within 8 units in the last place; near it, what the rounding of numbers near 1 leaves.
    EXPECT_NEAR(got, expected, std::max(std::fabs(expected) * 1e-6, 3e-7)) << what << " of " << x;
  }
}

TEST_F(EachIsa, HasEveryFunctionOfOneSource) {
  const std::vector<float> x = hard_numbers();
  const auto count = static_cast<int64_t>(x.size());
  for (const std::string_view isa : cpu::available_isas()) {
    cpu::set_isa(isa);
    for (int k = 0; k < graph::kEltwiseCount; ++k) {
      const auto algorithm = static_cast<EltwiseAlgorithm>(k);
      for (const double alpha : {0.0, 0.25, 1.0}) {
        if (algorithm == EltwiseAlgorithm::pow && alpha == 0) continue;  // infinity times 0
        const EltwiseAttributes a{algorithm, alpha, algorithm == EltwiseAlgorithm::pow ? 2.0 : 1.5};
        graph::Graph graph;
        graph.eltwise(graph.input("x", {count}), a);
        const Values values(x.begin(), x.end());
        const Values expected = graph::evaluate_node(graph, graph.nodes[0], std::array{&values})[0];
        std::vector<float> got(x.size());
        const float* src = x.data();
        const auto function = vector_lanes().of(algorithm);
        ASSERT_TRUE(function) << name(algorithm);
        function(&src, got.data(), count, static_cast<float>(alpha), static_cast<float>(a.beta));
        for (std::size_t i = 0; i < x.size(); ++i) {
          expect_near(got[i], expected[i], x[i], std::string(isa) + " " + std::string(name(algorithm)));
        }
      }
    }
  }
}

TEST_F(EachIsa, HasEveryFunctionOfTwoSources) {
  std::vector<float> a, b;
  for (const float x : hard_numbers()) {
    for (const float y : {0.0f, -0.0f, 1.0f, -2.0f, 1e-45f, static_cast<float>(kInfinity),
                          static_cast<float>(-kInfinity), std::numeric_limits<float>::quiet_NaN(), x}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const auto count = static_cast<int64_t>(a.size());
  const Values x(a.begin(), a.end()), y(b.begin(), b.end());
  for (const std::string_view isa : cpu::available_isas()) {
    cpu::set_isa(isa);
    for (int k = 0; k < graph::kBinaryCount; ++k) {
      const auto algorithm = static_cast<BinaryAlgorithm>(k);
      if (algorithm >= BinaryAlgorithm::bitwise_and) continue;  // of whole numbers alone
      graph::Graph graph;
      graph.binary(graph.input("a", {count}), graph.input("b", {count}), algorithm);
      const Values expected = graph::evaluate_node(graph, graph.nodes[0], std::array{&x, &y})[0];
      std::vector<float> got(a.size());
      const std::array<const float*, 2> src{a.data(), b.data()};
      vector_lanes().of(algorithm)(src.data(), got.data(), count, 0, 0);
      for (std::size_t i = 0; i < a.size(); ++i) {
        expect_near(got[i], expected[i], a[i], std::string(isa) + " algorithm " + std::to_string(k));
      }
    }
  }
}

TEST(Grid, ReachesEachElementOnce) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const Dims dims{random.between(1, 3), random.between(1, 40), random.between(1, 4), random.between(1, 5)};
    std::vector<Layout> layouts;
    for (int k = 0; k < 3; ++k) {
      Dims own = dims;
      if (k > 0) {
        for (int d = 0; d < own.size(); ++d) own[d] = random.one_in(3) ? 1 : own[d];
      }
      layouts.push_back(
          Format::parse(random.of({"abcd", "acdb", "aBcd8b", "aBcd16b", "ABcd4a4b", "aBcd6b", "cdba"})).bind(own));
    }
    const auto boxes = grid(std::array<const Layout*, 3>{&layouts[0], &layouts[1], &layouts[2]});
    ASSERT_TRUE(boxes);
    std::vector<int> seen(static_cast<std::size_t>(layouts[0].span()));
    int64_t elements = 0;
    for (const GridBox& box : *boxes) {
      for (int64_t i = 0; i < box.elements(); ++i, ++elements) {
        GridOffsets at = box.offset;
        int64_t rest = i;
        for (std::size_t k = box.axes.size(); k > 0; --k) {
          const int64_t index = rest % box.axes[k - 1].extent;
          rest /= box.axes[k - 1].extent;
          for (std::size_t o = 0; o < 3; ++o) at[o] += index * box.axes[k - 1].step[o];
        }
        Dims index;
        ASSERT_EQ(layouts[0].inverse(at[0], &index), Slot::element);
        EXPECT_EQ(seen[static_cast<std::size_t>(at[0])]++, 0);
        for (std::size_t o = 1; o < 3; ++o) {
          Dims own = index;
          for (int d = 0; d < own.size(); ++d) own[d] = layouts[o].dim(d) == 1 ? 0 : own[d];
          EXPECT_EQ(at[o], layouts[o].offset(own));
        }
      }
    }
    EXPECT_EQ(elements, layouts[0].elements());
  }
}

class Elementwise : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  }

  void check(const graph::Graph& graph, std::string_view name, const CheckOptions& options = {}) {
    NodeCheck check(random_);
    check.check(graph, 0, options);
    std::set<std::string> names;
    for (const auto& [kind, counts] : check.counts()) names.insert(counts.names.begin(), counts.names.end());
    EXPECT_TRUE(names.contains(std::string(name)));
  }

  Random random_{3};
};

TEST_F(Elementwise, SourcesRepeatOnEitherSide) {
  const std::pair<Dims, Dims> pairs[] = {{{1, 1, 1, 7}, {2, 19, 3, 7}},  {{2, 19, 3, 7}, {1, 19, 1, 1}},
                                         {{2, 1, 3, 1}, {1, 19, 1, 7}},  {{1, 1, 1, 1}, {2, 19, 3, 7}},
                                         {{2, 19, 3, 7}, {2, 19, 3, 7}}, {{2, 1, 1, 1}, {2, 1, 1, 1}}};
  for (const auto& [a, b] : pairs) {
    for (const BinaryAlgorithm algorithm : {BinaryAlgorithm::add, BinaryAlgorithm::sub, BinaryAlgorithm::mul}) {
      SCOPED_TRACE(join(a, "x") + " and " + join(b, "x"));
      graph::Graph graph;
      graph.binary(graph.input("a", a), graph.input("b", b), algorithm);
      check(graph, "relayout:binary");
    }
  }
}

TEST_F(Elementwise, TakesFunctionsOfWholeNumbers) {
  for (const DType dtype :
       {DType::s64, DType::u64, DType::s32, DType::u32, DType::s16, DType::u16, DType::s8, DType::u8}) {
    for (int k = 0; k < graph::kBinaryCount; ++k) {
      const auto algorithm = static_cast<BinaryAlgorithm>(k);
      // Beyond the type's range one loses high bits where the other saturates.
      if (algorithm == BinaryAlgorithm::pow || algorithm == BinaryAlgorithm::mul || algorithm == BinaryAlgorithm::sub) {
        continue;
      }
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::string(name(algorithm)));
      graph::Graph graph;
      graph.binary(graph.input("a", {2, 19, 3, 4}, dtype), graph.input("b", {1, 19, 1, 1}, dtype), algorithm);
      check(graph, "relayout:binary", {.low = 1, .high = 60});
    }
    for (const EltwiseAlgorithm algorithm : {EltwiseAlgorithm::bitwise_not, EltwiseAlgorithm::abs,
                                             EltwiseAlgorithm::logical_not, EltwiseAlgorithm::sign}) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::string(name(algorithm)));
      graph::Graph graph;
      graph.eltwise(graph.input("a", {2, 19, 3, 4}, dtype), {algorithm});
      check(graph, "relayout:eltwise", {.low = 0, .high = 60});
    }
  }
}

TEST_F(Elementwise, TakesManyTypes) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::s8, DType::u8, DType::s32}) {
    SCOPED_TRACE(name(dtype));
    graph::Graph binary, sum, eltwise;
    binary.binary(binary.input("a", {2, 19, 3, 4}, dtype), binary.input("b", {1, 19, 1, 1}, dtype));
    check(binary, "relayout:binary");
    sum.sum({sum.input("a", {2, 19, 3, 4}, dtype), sum.input("b", {2, 19, 3, 4}, dtype),
             sum.input("c", {2, 19, 3, 4}, dtype)});
    check(sum, "relayout:sum", {.terms = 3});
    eltwise.eltwise(eltwise.input("a", {2, 19, 3, 4}, dtype), {EltwiseAlgorithm::relu, 0.5});
    check(eltwise, "relayout:eltwise");
  }
}

/// A chain of functions over tensors of which some repeat, as one node with post-ops.
graph::Graph random_chain(Random& random, DType dtype) {
  graph::Graph out;
  const Dims dims{random.between(1, 3), random.of<int64_t>({1, 8, 16, 19}), random.between(1, 5),
                  random.between(1, 40)};
  std::vector<graph::TensorId> sources{out.input("x", dims, dtype)};
  for (int64_t i = random.between(0, 4); i > 0; --i) {
    Dims own = dims;
    for (int64_t& dim : own) dim = random.one_in(2) ? 1 : dim;
    sources.push_back(out.input("x" + std::to_string(i), own, dtype));
  }
  graph::TensorId y = sources[0];
  std::vector<graph::TensorId> made;
  for (int64_t i = random.between(2, 10); i > 0; --i) {
    using A = EltwiseAlgorithm;
    using B = BinaryAlgorithm;
    const graph::TensorId other = sources[static_cast<std::size_t>(random.between(0, std::ssize(sources) - 1))];
    switch (random.between(0, 3)) {
      case 0:
        y = out.eltwise(
            y, {random.of({A::relu, A::tanh, A::logistic, A::gelu_erf, A::abs, A::clip, A::linear}), 0.5, 0.75});
        break;
      case 1: y = out.add(Kind::sum, graph::SumAttributes{{0.5, -1, 1}}, {y, sources[0], y})[0]; break;
      case 2: y = out.binary(other, y, random.of({B::add, B::sub, B::min})); break;
      default: y = out.binary(y, made.empty() ? other : made.back(), random.of({B::add, B::sub, B::max})); break;
    }
    made.push_back(y);
  }
  out.output(y);
  graph::fuse(out);
  return out;
}

TEST_F(Elementwise, ComputesPostOpsInTheSamePass) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const DType dtype = random_.of({DType::f32, DType::f32, DType::f64, DType::bf16});
    const graph::Graph graph = random_chain(random_, dtype);
    ASSERT_EQ(graph.nodes.size(), 1u);
    check(graph, "relayout:fused",
          {.low = -2, .high = 2, .relative = dtype == DType::bf16 ? 0.05 : 1e-5, .special = true});
  }
}

}  // namespace
}  // namespace relayout::execute
