// The policies of other systems, with a backend that has every format for every primitive.
#include <gtest/gtest.h>

#include "relayout/graph/plan/propagate.h"

namespace relayout::graph {
namespace {

/// Runs each node with all its activations in one format, by implementations called "generated". A convolution may also
/// read row-major data and write blocks. The convolution that reads and writes row-major data is called "product", and
/// is a matrix multiplication.
class FormatsBackend : public Backend {
 public:
  std::string name() const override { return "formats"; }
  int threads() const override { return 1; }

  std::vector<Implementation> implementations(const Graph& graph, NodeId id, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation*) const override {
    const Node& node = graph.node(id);
    const bool convolution = node.kind == Kind::convolution;
    std::vector<Implementation> out;
    const auto add = [&](const char* name, const char* from, const char* to) {
      Implementation implementation{.name = name};
      bool fits = true;
      const auto operand = [&](TensorId t, const LayoutRequest& request, bool plain,
                               const char* format) -> std::optional<Layout> {
        if (t == kNone) return std::nullopt;
        const Dims& dims = graph.tensor(t).dims;
        const Layout layout = plain || dims.size() < 3 ? Layout::contiguous(dims) : Format::parse(format).bind(dims);
        fits = fits && (!request || *request == layout);
        return layout;
      };
      for (std::size_t i = 0; i < src.size(); ++i) {
        implementation.src.emplace_back(operand(node.src[i], src[i], convolution && i > 0, from));
      }
      for (std::size_t i = 0; i < dst.size(); ++i)
        implementation.dst.emplace_back(operand(node.dst[i], dst[i], false, to));
      if (fits) out.push_back(std::move(implementation));
    };
    for (const char* format : {"axb", "aBx8b", "aBx16b"}) add("generated", format, format);
    if (convolution) add("generated", "abx", "aBx16b");
    add(convolution ? "product" : "generated", "abx", "abx");
    return out;
  }

  Performance performance(const Graph&, NodeId, const Implementation& implementation) const override {
    return {.multiplies_matrices = implementation.name == "product"};
  }
  std::unique_ptr<Executable> make(const Graph&, NodeId, const Implementation&, const Implementation*,
                                   Executable*) const override {
    throw Error(ErrorCode::unsupported, "formats backend: plans only");
  }
};

struct RivalNet {
  Graph graph;
  TensorId input(int64_t channels) {
    return graph.input("x" + std::to_string(graph.inputs.size()), {1, channels, 8, 8}, DType::f32,
                       Format::parse("nchw"));
  }
  TensorId convolution(TensorId x, int64_t out, int64_t groups = 1) {
    const int64_t in = graph.tensor(x).dims[1] / groups;
    const Dims dims = groups > 1 ? Dims{groups, out / groups, in, 1, 1} : Dims{out, in, 1, 1};
    const std::vector<float> values(static_cast<std::size_t>(out * in), 1);
    return graph.convolution(x, graph.constant("w", dims, values), kNone, {.groups = groups});
  }
  TensorId relu(TensorId x) { return graph.eltwise(x, {}); }

  LayoutPlan plan(Policy policy) const { return propagate(graph, FormatsBackend(), {.policy = policy}); }
  /// For the node that writes a tensor: its implementation, and the formats of its first source and its destination.
  std::string made(const LayoutPlan& plan, TensorId t) const {
    const PlannedNode& node = plan.nodes[static_cast<std::size_t>(producers(graph)[static_cast<std::size_t>(t)])];
    return node.implementation + " " + expression_of(plan.copy(node.src[0]).layout) + " " +
           expression_of(plan.copy(node.dst[0]).layout);
  }
};

TEST(Rivals, NamesAreThoseThatAreParsed) {
  for (int p = 0; p < kPolicyCount; ++p) {
    EXPECT_EQ(parse_policy(name(static_cast<Policy>(p))), static_cast<Policy>(p));
  }
  EXPECT_EQ(name(Policy::blocked8), "8c");
  EXPECT_EQ(name(Policy::ort), "ort");
}

TEST(Rivals, UniformBlocksAreTheirOwnWhateverTheMachine) {
  RivalNet net;
  const TensorId y = net.convolution(net.input(32), 32);
  net.graph.output(y);
  EXPECT_EQ(net.made(net.plan(Policy::blocked8), y), "generated aBcd8b aBcd8b");
  EXPECT_EQ(net.made(net.plan(Policy::blocked16), y), "generated aBcd16b aBcd16b");
}

TEST(Rivals, OpenVinoTakesTheWayWhoseSourcesMatch) {
  RivalNet net;
  const TensorId x = net.input(32), a = net.convolution(x, 32), b = net.relu(a), c = net.convolution(b, 32);
  const TensorId d = net.relu(x);
  // Two sources have one format and the third another: the format of the two is chosen.
  const TensorId e = net.graph.sum({d, a, c});
  net.graph.output(e);
  const LayoutPlan plan = net.plan(Policy::openvino);
  // Generated code is preferred to matrix multiplication, which would match as well; channels last is not offered.
  EXPECT_EQ(net.made(plan, a), "generated abcd aBcd16b");
  EXPECT_EQ(net.made(plan, b), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, c), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, d), "generated abcd abcd");
  EXPECT_EQ(net.made(plan, e), "generated aBcd16b aBcd16b");
  EXPECT_EQ(plan.reorders(net.graph).size(), 1U);
}

TEST(Rivals, OpenVinoCountsSourcesNotBytes) {
  RivalNet net;
  const TensorId big = net.convolution(net.input(32), 32);
  const TensorId small = net.graph.input("s", {1, 1, 8, 8}, DType::f32, Format::parse("nchw"));
  const TensorId smaller = net.graph.input("t", {1, 1, 8, 1}, DType::f32, Format::parse("nchw"));
  const TensorId sum = net.graph.binary(big, net.graph.binary(small, smaller));
  net.graph.output(sum);
  // Either format matches one source. The first one that the backend lists is chosen, which is blocked.
  EXPECT_EQ(net.made(net.plan(Policy::openvino), sum), "generated aBcd16b aBcd16b");
}

TEST(Rivals, OrtBlocksConvolutionsWhoseChannelsFillBlocks) {
  RivalNet net;
  const TensorId x = net.input(3), a = net.convolution(x, 24), b = net.relu(a), c = net.convolution(b, 32);
  net.graph.output(c);
  const LayoutPlan plan = net.plan(Policy::ort);
  EXPECT_EQ(net.made(plan, a), "generated abcd aBcd16b");  // a source of few channels is read as it is
  EXPECT_EQ(net.made(plan, b), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, c), "product abcd abcd");  // 24 channels fill no block
  EXPECT_EQ(plan.reorders(net.graph).size(), 1U);
}

TEST(Rivals, OrtBlocksGroupsThatFillBlocks) {
  RivalNet net;
  const TensorId x = net.input(32);
  const TensorId depthwise = net.convolution(x, 32, 32), two = net.convolution(x, 32, 2),
                 four = net.convolution(x, 32, 4);
  net.graph.output(depthwise);
  net.graph.output(two);
  net.graph.output(four);
  const LayoutPlan plan = net.plan(Policy::ort);
  EXPECT_EQ(net.made(plan, depthwise), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, two), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, four), "product abcd abcd");
}

TEST(Rivals, OrtKeepsBlocksWhereAllSourcesHaveThem) {
  RivalNet net;
  const TensorId x = net.input(32), a = net.convolution(x, 32), b = net.convolution(x, 32),
                 odd = net.convolution(x, 40);
  const TensorId same = net.graph.binary(a, net.relu(a)), mixed = net.graph.binary(a, x);
  const TensorId whole = net.graph.concat({a, b}), unaligned = net.graph.concat({a, odd});
  const TensorId pooled = net.graph.pooling(x, {}), lrn = net.graph.add(Kind::lrn, LrnAttributes{}, {a})[0];
  for (TensorId t : {same, mixed, whole, unaligned, pooled, lrn}) net.graph.output(t);
  const LayoutPlan plan = net.plan(Policy::ort);
  EXPECT_EQ(net.made(plan, same), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, mixed), "generated abcd abcd");
  EXPECT_EQ(net.made(plan, whole), "generated aBcd16b aBcd16b");
  EXPECT_EQ(net.made(plan, unaligned), "generated abcd abcd");
  EXPECT_EQ(net.made(plan, lrn), "generated abcd abcd");
  // Only the pooling asks for blocks. Its result has one pixel, so that its layouts are equal afterwards.
  EXPECT_EQ(net.made(plan, pooled), "generated aBcd16b " + expression_of(Format::parse("aBcd16b").bind({1, 32, 1, 1})));
}

}  // namespace
}  // namespace relayout::graph
