// Matmul and inner product of few rows against the reference: matrices row-major and transposed, batches that repeat,
// with and without a bias, on one thread and several, with every instruction set. NodeCheck runs every implementation
// in every layout that the backend offers, and counts them by name.
#include <gtest/gtest.h>

#include <array>

#include "relayout/cpu/isa.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/own/own.h"
#include "tests/support/node_check.h"

namespace relayout::execute {
namespace {

using graph::Kind;
using graph::TensorId;

class FewRows : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  }
  void TearDown() override { cpu::set_isa(""); }

  /// `rank` dims, the last two given; of the others each is the destination's or 1.
  static Dims matrices(Random& random, const Dims& batch, int64_t rows, int64_t columns) {
    Dims out;
    for (const int64_t extent : batch) out.push_back(random.one_in(3) ? 1 : extent);
    out.push_back(rows);
    out.push_back(columns);
    return out;
  }
};

TEST_F(FewRows, EqualTheReferenceWithEveryInstructionSet) {
  for (const std::string_view isa : cpu::available_isas()) {
    cpu::set_isa(isa);
    for (const int threads : {1, 3}) {
      Random random(4);
      NodeCheck nodes(random, threads);
      for (int i = 0; i < 6; ++i) {
        // Many columns are several pieces of a row. The reference takes its time, so they are of a short product.
        const bool wide = i == 0;
        const int64_t rows = random.between(1, wide ? 3 : 9), inner = random.between(1, wide ? 9 : 70);
        const int64_t columns = wide ? 5000 : random.between(1, 150);
        graph::Graph graph;
        const bool bias = random.one_in(2), product = i % 2 == 0;
        if (product) {
          Dims batch;
          for (int64_t d = random.between(0, 2); d > 0; --d) batch.push_back(random.between(1, 3));
          const TensorId a = graph.input("a", matrices(random, batch, rows, inner), DType::f32);
          const TensorId b = graph.input("b", matrices(random, batch, inner, columns), DType::f32);
          graph.output(graph.matmul(a, b, bias ? graph.input("bias", {columns}, DType::f32) : graph::kNone));
        } else {
          const TensorId a = graph.input("a", {rows, inner}, DType::f32);
          const TensorId b = graph.input("b", {columns, inner}, DType::f32);
          graph.output(graph.inner_product(a, b, bias ? graph.input("bias", {columns}, DType::f32) : graph::kNone));
        }
        nodes.check(graph, 0, {.terms = static_cast<double>(inner), .relative = 1e-6});
      }
      for (const char* kind : {"matmul forward_inference", "inner_product forward_inference"})
        EXPECT_TRUE(nodes.counts().at(kind).names.contains("relayout:few_rows")) << kind;
    }
  }
}

TEST_F(FewRows, EmptyMatrices) {
  Random random(9);
  NodeCheck nodes(random, 2);
  for (const auto& [rows, inner, columns] : {std::array<int64_t, 3>{0, 6, 3}, {12, 0, 3}, {2, 3, 0}, {0, 0, 0}}) {
    for (const Dims& batch : {Dims{}, Dims{3}}) {
      for (const bool bias : {false, true}) {
        graph::Graph graph;
        Dims a = batch, b = batch;
        a.push_back(rows), a.push_back(inner), b.push_back(inner), b.push_back(columns);
        const TensorId x = graph.input("a", a), y = graph.input("b", b);
        graph.output(graph.matmul(x, y, bias ? graph.input("bias", {columns}) : graph::kNone));
        nodes.check(graph, 0, {});
      }
    }
  }
  EXPECT_EQ(nodes.counts().at("matmul forward_inference").names.count("relayout:few_rows"), 1U);
}

/// The implementation that is offered in these layouts, or "".
std::string offered(int64_t rows, const char* a, const char* b, const char* dst) {
  graph::Graph graph;
  const TensorId x = graph.input("a", {rows, 6}, DType::f32), y = graph.input("b", {6, 4}, DType::f32);
  graph.output(graph.matmul(x, y, graph::kNone));
  Layouts layouts(graph.nodes[0].src.size() + 1);
  const auto bound = [](const char* text, const Dims& dims) { return Format::parse(text).bind(dims); };
  layouts[0] = bound(a, {rows, 6});
  layouts[1] = bound(b, {6, 4});
  layouts.back() = bound(dst, {rows, 4});
  const auto found = own_implementations(graph, graph.nodes[0], layouts);
  return found.empty() ? "" : found[0].name;
}

TEST_F(FewRows, AreOfferedInLayoutsThatAreReadAsTheyLie) {
  EXPECT_EQ(offered(8, "ab", "ab", "ab"), "relayout:few_rows");
  EXPECT_EQ(offered(8, "ab", "ba", "ab"), "relayout:few_rows");
  EXPECT_EQ(offered(9, "ab", "ab", "ab"), "") << "too many rows";
  EXPECT_EQ(offered(8, "ba", "ab", "ab"), "") << "columns of the first matrix";
  EXPECT_EQ(offered(8, "ab", "ab", "ba"), "");
  EXPECT_EQ(offered(8, "ab", "aB4b", "ab"), "") << "blocks";
  EXPECT_EQ(offered(1, "ba", "ab", "ba"), "relayout:few_rows") << "one row has one order";
}

}  // namespace
}  // namespace relayout::execute
