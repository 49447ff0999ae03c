// Names of layouts: each tensor of a graph has the letters of its domain.
#include "relayout/graph/plan/layout_names.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"

namespace relayout::graph {
namespace {

class LayoutNamesTest : public testing::Test {
 protected:
  /// The name of a layout, given in letters from a on.
  std::string named(TensorId t, const std::string& tag) const {
    return LayoutNames(graph).of(t, Format::parse(tag).bind(graph.tensor(t).dims));
  }
  TensorId zeros(const Dims& dims) {
    const std::vector<float> values(static_cast<std::size_t>(*checked_product(dims)), 0.0f);
    return graph.constant("c" + std::to_string(graph.tensors.size()), dims, values);
  }

  Graph graph;
};

TEST_F(LayoutNamesTest, PartsHaveTheFormOfTheirOrder) {
  const TensorId x = graph.input("x", {1, 32, 8, 8});
  const auto form = [&](const Layout& layout) { return LayoutNames(graph).form({.tensor = x, .layout = layout}); };
  for (const char* tag : {"abcd", "acdb", "aBcd16b", "aBcd8b"}) {
    const Layout whole = Format::parse(tag).bind({1, 96, 8, 8});
    std::vector<Digits> digits;
    for (int d = 0; d < 4; ++d) digits.push_back(whole.digits_of(d));
    // The channels from 32 on of the larger tensor.
    digits[1].back().extent = digits[1].size() > 1 ? 32 / digits[1][0].extent : 32;
    const Layout part = Layout::from_digits({1, 32, 8, 8}, digits, 2048);
    EXPECT_EQ(form(part), named(x, tag)) << tag;
    EXPECT_EQ(form(Format::parse(tag).bind({1, 32, 8, 8})), named(x, tag));
  }
  Copy opaque{.tensor = x, .layout = Layout::contiguous({1, 32, 8, 8})};
  opaque.opaque = Opaque{.backend = "b", .name = "packed", .bytes = 7};
  EXPECT_EQ(LayoutNames(graph).form(opaque), "opaque packed");
}

TEST_F(LayoutNamesTest, Images) {
  const TensorId x = graph.input("x", {2, 64, 8, 8});
  const TensorId dense = zeros({32, 64, 3, 3}), grouped = zeros({32, 1, 1, 3, 3});
  const TensorId y = graph.convolution(x, dense), z = graph.convolution(y, grouped, kNone, {.groups = 32});
  const TensorId relu = graph.eltwise(z, {EltwiseAlgorithm::relu});
  graph.output(relu);
  for (const TensorId image : {x, y, z, relu}) {
    EXPECT_EQ(named(image, "abcd"), "nchw");
    EXPECT_EQ(named(image, "acdb"), "nhwc");
    EXPECT_EQ(named(image, "aBcd16b"), "nChw16c");
  }
  EXPECT_EQ(named(dense, "ABcd16b16a"), "OIhw16i16o");
  EXPECT_EQ(named(dense, "cdba"), "hwio");
  EXPECT_EQ(named(grouped, "Abcde16a"), "Goihw16g");
  EXPECT_EQ(named(grouped, "abcde"), "goihw");
}

TEST_F(LayoutNamesTest, RecurrentLayers) {
  const TensorId x = graph.input("x", {5, 2, 8});
  const TensorId h = zeros({1, 1, 2, 8}), c = zeros({1, 1, 2, 8});
  const TensorId w = zeros({1, 1, 8, 4, 8}), u = zeros({1, 1, 8, 4, 8}), b = zeros({1, 1, 4, 8});
  const std::vector<TensorId> dst = graph.add(Kind::rnn, RnnAttributes{.cell = RnnCell::lstm}, {x, h, c, w, u, b});
  graph.output(dst[0]);
  EXPECT_EQ(named(x, "abc"), "tnc");
  EXPECT_EQ(named(x, "bac"), "ntc");
  EXPECT_EQ(named(dst[0], "abc"), "tnc");
  EXPECT_EQ(named(h, "abcd"), "ldnc");
  EXPECT_EQ(named(w, "abcde"), "ldigo");
  EXPECT_EQ(named(w, "abdec"), "ldgoi");
  EXPECT_EQ(named(u, "abcde"), "ldigo");
  EXPECT_EQ(named(b, "abcd"), "ldgo");
}

TEST_F(LayoutNamesTest, WithoutADomain) {
  const TensorId a = graph.input("a", {2, 3, 4}), b = zeros({1, 4, 5});
  const TensorId product = graph.matmul(a, b);
  const TensorId image = graph.reshape(product, {2, 3, 5, 1});
  graph.output(image);
  EXPECT_EQ(named(a, "abc"), "abc");
  EXPECT_EQ(named(b, "acb"), "acb");
  EXPECT_EQ(named(product, "abc"), "abc");
  EXPECT_EQ(named(image, "acdb"), "nhwc");
  // An order that the domain has no name for, a layout without a tag, and a format of a backend.
  EXPECT_EQ(named(image, "cabd"), "cabd");
  const LayoutNames names(graph);
  EXPECT_EQ(names.of(a, Layout::strided({2, 3, 4}, {24, 8, 2})), "strides:24,8,2");
  EXPECT_EQ(names.of(a, Layout::contiguous({2, 3, 4}), Opaque{.backend = "b", .name = "packed", .bytes = 9}),
            "opaque packed (9 bytes)");
}

TEST_F(LayoutNamesTest, InnerProducts) {
  const TensorId x = graph.input("x", {2, 3, 4, 4}), w = zeros({5, 3, 4, 4});
  const TensorId y = graph.inner_product(x, w);
  graph.output(y);
  EXPECT_EQ(named(w, "acdb"), "ohwi");
  EXPECT_EQ(named(y, "ab"), "nc");
}

}  // namespace
}  // namespace relayout::graph
