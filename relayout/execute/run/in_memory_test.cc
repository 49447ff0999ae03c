// Copies in another copy's memory, by plans written by hand: nodes in place, concats whose sources are written into
// their destination by nodes and reorders, one within another; and plans that cannot run.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/ir/ops.h"
#include "tests/support/nodes.h"
#include "tests/support/run_model.h"
#include "tests/support/slow_tests.h"

namespace relayout::execute {
namespace {

using graph::Copy;
using graph::CopyId;
using graph::Graph;
using graph::Implementation;
using graph::Kind;
using graph::kNone;
using graph::LayoutPlan;
using graph::Node;
using graph::NodeAttributes;
using graph::NodeId;
using graph::TensorId;
using graph::Values;

Layout in(const char* format, const Graph& graph, TensorId t) {
  return Format::parse(format).bind(graph.tensor(t).dims);
}

/// A plan in the making. Tensors get copies in the order of their nodes.
class Planner {
 public:
  Planner(const Graph& graph, const graph::Backend& backend) : graph_(graph), backend_(backend) {
    plan.nodes.resize(graph.nodes.size());
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      if (!graph.tensors[t].constant()) continue;
      copies[static_cast<TensorId>(t)] = add({static_cast<TensorId>(t), Layout::contiguous(graph.tensors[t].dims)});
    }
  }

  LayoutPlan plan;
  /// By tensor: the copy that its readers read.
  std::map<TensorId, CopyId> copies;

  CopyId add(Copy copy) {
    plan.copies.push_back(std::move(copy));
    return static_cast<CopyId>(plan.copies.size()) - 1;
  }
  void input(TensorId t, const char* format) {
    copies[t] = add({t, in(format, graph_, t)});
    plan.inputs.push_back(copies[t]);
  }
  CopyId reorder(TensorId t, const Layout& layout, CopyId view_of = kNone) {
    return copies[t] = add({.tensor = t, .layout = layout, .from = copies.at(t), .view_of = view_of});
  }
  /// The implementations of a node whose first destination has this layout and whose sources have the layouts of their
  /// copies.
  std::vector<Implementation> implementations_of(NodeId id, const Layout& layout) const {
    const Node& node = graph_.node(id);
    std::vector<graph::LayoutRequest> src, dst = {layout};
    for (TensorId t : node.src) {
      const bool weights = t != kNone && graph_.tensor(t).constant() && graph::compute_bound(node.kind);
      src.push_back(t == kNone || weights ? graph::LayoutRequest() : plan.copy(copies.at(t)).layout);
    }
    return backend_.implementations(graph_, id, src, dst, nullptr);
  }
  /// Plans a node whose destination is a new copy in that layout, by the first implementation that is offered.
  void node(NodeId id, const Layout& layout, CopyId view_of = kNone) {
    const std::vector<Implementation> found = implementations_of(id, layout);
    ASSERT_FALSE(found.empty()) << graph_.node(id).name;
    node(id, found[0], view_of);
  }
  void node(NodeId id, const Implementation& implementation, CopyId view_of = kNone) {
    const Node& node = graph_.node(id);
    graph::PlannedNode& planned = plan.nodes[static_cast<std::size_t>(id)];
    planned = {.implementation = implementation.name, .reference = implementation.reference};
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      const TensorId t = node.src[i];
      const bool constant = t != kNone && graph_.tensor(t).constant();
      if (constant && plan.copy(copies.at(t)).layout != *implementation.src[i]) reorder(t, *implementation.src[i]);
      planned.src.push_back(t == kNone ? kNone : copies.at(t));
    }
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      const TensorId t = node.dst[i];
      if (t != kNone)
        copies[t] = add({.tensor = t, .layout = *implementation.dst[i], .view_of = i == 0 ? view_of : kNone});
      planned.dst.push_back(t == kNone ? kNone : copies.at(t));
    }
  }
  /// Plans a concat whose sources lie in its destination `dst` already.
  void concat(NodeId id, CopyId dst) {
    const Node& node = graph_.node(id);
    graph::PlannedNode& planned = plan.nodes[static_cast<std::size_t>(id)];
    planned.implementation = "view";
    for (TensorId t : node.src) planned.src.push_back(copies.at(t));
    planned.dst.push_back(copies[node.dst[0]] = dst);
  }
  void view(NodeId id) {
    const Node& node = graph_.node(id);
    const CopyId src = copies.at(node.src[0]);
    copies[node.dst[0]] =
        add({.tensor = node.dst[0], .layout = graph::view_of(graph_, node, plan.copy(src).layout), .view_of = src});
    plan.nodes[static_cast<std::size_t>(id)] = {
        .implementation = "view", .src = {src}, .dst = {copies.at(node.dst[0])}};
  }
  LayoutPlan done() {
    for (TensorId t : graph_.outputs) plan.outputs.push_back(copies.at(t));
    return plan;
  }

 private:
  const Graph& graph_;
  const graph::Backend& backend_;
};

class InMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }

  TensorId weights(Graph& graph, const Dims& dims) {
    const Values values = test::random_values(*checked_product(dims), rng_);
    return graph.constant("w" + std::to_string(graph.tensors.size()), dims,
                          std::vector<float>(values.begin(), values.end()));
  }

  std::vector<Values> inputs(const Graph& graph) {
    std::vector<Values> out;
    for (TensorId t : graph.inputs) {
      out.push_back(test::random_values(*checked_product(graph.tensor(t).dims), rng_));
      for (double& x : out.back()) x = static_cast<double>(static_cast<float>(x));
    }
    return out;
  }

  /// Runs the plan twice on one thread, with padding checked, and on two threads without checks.
  void expect_equal(const Graph& graph, const LayoutPlan& plan, const std::vector<Values>& values,
                    const std::vector<Values>& want) {
    for (int threads : {1, 2}) {
      Model model(graph, plan, *onednn_backend(threads), {.check_padding = threads == 1});
      for (int repeat = 0; repeat < 2; ++repeat) {
        const std::vector<Values> got = test::run_model(model, values);
        ASSERT_EQ(got.size(), want.size());
        // Approximations without fused multiplication and addition (SSE4.1) differ by up to 1.2e-5.
        for (std::size_t i = 0; i < got.size(); ++i) test::expect_outputs_near(got[i], want[i], 3e-5);
      }
    }
  }
  void expect_equal(const Graph& graph, const LayoutPlan& plan) {
    const std::vector<Values> values = inputs(graph);
    expect_equal(graph, plan, values, graph::evaluate(graph, values));
  }

  void expect_refused(const Graph& graph, const LayoutPlan& plan, const std::string& what) {
    try {
      Model(graph, plan, *backend_);
      ADD_FAILURE() << "no error; expected: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
    }
  }

  std::unique_ptr<graph::Backend> backend_;
  std::mt19937 rng_{3};
};

/// Runs every kind whose destination can take its first source's place, by every implementation in each layout.
TEST_F(InMemory, NodesInPlaceEqualTheReference) {
  std::vector<std::pair<Kind, NodeAttributes>> cases;
  for (int a = 0; a < graph::kEltwiseCount; ++a) {
    graph::EltwiseAttributes attributes{static_cast<graph::EltwiseAlgorithm>(a), 0.3, 0.7};
    cases.emplace_back(Kind::eltwise, attributes);
  }
  for (int a = 0; a < 6; ++a)
    cases.emplace_back(Kind::binary, graph::BinaryAttributes{static_cast<graph::BinaryAlgorithm>(a)});
  cases.emplace_back(Kind::sum, graph::SumAttributes{});
  cases.emplace_back(Kind::sum, graph::SumAttributes{{0.5, -2}});
  cases.emplace_back(Kind::batch_normalization, graph::NormalizationAttributes{});
  int runs = 0, cases_seen = 0;
  std::map<std::string, int> implementations;
  for (const auto& [kind, attributes] : cases) {
    for (const char* format : {"nchw", "nhwc", "nChw8c", "nChw16c"}) {
      for (int64_t channels : {16, 19}) {
        // One of three in turn, so each format with each count of channels, unless there is time for all.
        if (!test::slow_tests() && ++cases_seen % 3 != 0) continue;
        Graph graph;
        const TensorId a = graph.input("a", {2, channels, 4, 5}), b = graph.input("b", {2, channels, 4, 5});
        // Makes the values positive, for square roots and logarithms.
        const TensorId x = graph.eltwise(a, {graph::EltwiseAlgorithm::linear, 0.4, 1});
        std::vector<TensorId> src = {x};
        if (kind == Kind::binary || kind == Kind::sum) src.push_back(b);
        if (kind == Kind::batch_normalization) {
          for (int i = 0; i < 4; ++i) {
            src.push_back(graph.constant("", {channels}, std::vector<float>(static_cast<std::size_t>(channels), 0.5F)));
          }
        }
        graph.output(graph.add(kind, attributes, src, "tested")[0]);
        const std::vector<Values> values = inputs(graph), want = graph::evaluate(graph, values);
        Planner planner(graph, *backend_);
        planner.input(a, format);
        planner.input(b, format);
        planner.node(0, in(format, graph, x));
        for (const Implementation& implementation : planner.implementations_of(1, in(format, graph, x))) {
          if (*implementation.src[0] != *implementation.dst[0]) continue;
          SCOPED_TRACE(std::string(name(kind)) + " " + implementation.name + " " + format + " " +
                       std::to_string(channels));
          Planner each = planner;
          each.node(1, implementation, each.copies.at(x));
          expect_equal(graph, each.done(), values, want);
          ++implementations[std::string(name(kind)) + " " + implementation.name];
          ++runs;
        }
      }
    }
  }
  std::cout << runs << " nodes in place\n";
  for (const auto& [name, count] : implementations) std::cout << "  " << name << " " << count << "\n";
  EXPECT_GT(runs, 200);
}

/// x -> a (16 channels), relu(a) -> b (32), an input z: concat(concat(a, b), z), read by a convolution.
struct Parts {
  Graph graph;
  TensorId x, z, a, b, inner, outer, y;
  static constexpr NodeId kA = 0, kB = 1, kInner = 2, kOuter = 3, kY = 4;

  Parts(int64_t batch, int64_t last) {
    std::mt19937 rng(9);
    const auto weights = [&](const Dims& dims) {
      const Values values = test::random_values(*checked_product(dims), rng);
      return graph.constant("w", dims, std::vector<float>(values.begin(), values.end()));
    };
    x = graph.input("x", {batch, 32, 6, 5});
    z = graph.input("z", {batch, last, 6, 5});
    a = graph.convolution(x, weights({16, 32, 1, 1}));
    b = graph.eltwise(x, {});
    inner = graph.concat({a, b});
    outer = graph.concat({inner, z});
    y = graph.convolution(outer, weights({7, 48 + last, 1, 1}));
    graph.output(y);
    graph.output(a);
    graph.output(outer);
  }
  Layout part(NodeId concat, std::size_t i, const Layout& dst) const {
    return graph::concat_part(graph, graph.node(concat), i, dst).value();
  }
};

TEST_F(InMemory, NestedConcatsMoveNothing) {
  int runs = 0;
  for (const char* format : {"nchw", "nhwc", "nChw8c", "nChw16c"}) {
    for (int64_t batch : {1, 2}) {
      for (int64_t last : {16, 13}) {
        SCOPED_TRACE(std::string(format) + " " + std::to_string(batch) + " " + std::to_string(last));
        const Parts net(batch, last);
        Planner planner(net.graph, *backend_);
        planner.input(net.x, format);
        planner.input(net.z, "nchw");
        const Layout outer = in(format, net.graph, net.outer), inner = net.part(Parts::kOuter, 0, outer);
        const CopyId outer_copy = planner.add({net.outer, outer});
        const CopyId inner_copy = planner.add({.tensor = net.inner, .layout = inner, .view_of = outer_copy});
        int reorders = 1;
        for (NodeId n : {Parts::kA, Parts::kB}) {
          const Layout part = net.part(Parts::kInner, static_cast<std::size_t>(n), inner);
          const TensorId t = net.graph.node(n).dst[0];
          // Not every primitive can write parts with gaps, which lie between images or between channels.
          if (!planner.implementations_of(n, part).empty()) {
            planner.node(n, part, inner_copy);
          } else {
            planner.node(n, in(format, net.graph, t));
            planner.reorder(t, part, inner_copy);
            ++reorders;
          }
        }
        if (HasFatalFailure()) return;
        planner.concat(Parts::kInner, inner_copy);
        planner.reorder(net.z, net.part(Parts::kOuter, 1, outer), outer_copy);
        planner.concat(Parts::kOuter, outer_copy);
        planner.node(Parts::kY, in(format, net.graph, net.y));
        const LayoutPlan plan = planner.done();
        expect_equal(net.graph, plan);
        EXPECT_EQ(plan.reorders(net.graph).size(), static_cast<std::size_t>(reorders));
        const bool gaps = batch > 1 || std::string_view(format) == "nhwc";
        EXPECT_TRUE(gaps || reorders == 1);
        ++runs;
      }
    }
  }
  EXPECT_EQ(runs, 16);
}

/// Outputs reach the caller's memory, even if they are computed in place or in parts.
TEST_F(InMemory, OutputsInOthersMemoryAreWrittenToTheCaller) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 16, 6, 5});
  const TensorId a = graph.eltwise(x, {graph::EltwiseAlgorithm::tanh}), b = graph.eltwise(a, {});
  const TensorId c = graph.eltwise(x, {graph::EltwiseAlgorithm::abs}), d = graph.concat({c, x});
  graph.output(graph.reshape(b, {1, 480}));
  graph.output(d);
  Planner planner(graph, *backend_);
  planner.input(x, "nchw");
  planner.node(0, in("nchw", graph, a));
  planner.node(1, in("nchw", graph, b), planner.copies.at(a));
  const Layout whole = in("nchw", graph, d);
  const CopyId whole_copy = planner.add({d, whole});
  planner.node(2, graph::concat_part(graph, graph.node(3), 0, whole).value(), whole_copy);
  planner.reorder(x, graph::concat_part(graph, graph.node(3), 1, whole).value(), whole_copy);
  planner.concat(3, whole_copy);
  planner.view(4);
  const LayoutPlan plan = planner.done();
  expect_equal(graph, plan);
  Model model(graph, plan, *backend_);
  std::vector<float> in(480), flat(480), both(960);
  const TensorDesc x_desc{Layout::contiguous({1, 16, 6, 5}), DType::f32};
  const Profile profile =
      model.profile(std::vector<Source>{{x_desc, in.data()}},
                    std::vector<Destination>{{{Layout::contiguous({1, 480}), DType::f32}, flat.data()},
                                             {{whole, DType::f32}, both.data()}});
  EXPECT_EQ(profile.steps.size(), 4U);  // three nodes and the reorder of x
}

TEST_F(InMemory, ANodeInPlaceSharesItsSourcesBuffer) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 16, 32, 32});
  TensorId y = graph.eltwise(x, {graph::EltwiseAlgorithm::abs});
  for (int i = 0; i < 5; ++i) y = graph.eltwise(y, {});
  y = graph.pooling(y, {});
  graph.output(y);
  Planner planner(graph, *backend_);
  planner.input(x, "nchw");
  TensorId before = kNone;
  for (NodeId n = 0; n < 6; ++n) {
    const TensorId t = graph.node(n).dst[0];
    planner.node(n, in("nchw", graph, t), before == kNone ? kNone : planner.copies.at(before));
    before = t;
  }
  planner.node(6, in("nchw", graph, y));
  const LayoutPlan plan = planner.done();
  expect_equal(graph, plan);
  // The buffers are the input, one for all nodes, and the result.
  EXPECT_EQ(Model(graph, plan, *backend_).memory().activations_unshared, 4 * (2 * 16 * 32 * 32 + 16));
}

TEST_F(InMemory, PlansThatCannotRunAreRefused) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 16, 4, 4});
  const TensorId a = graph.eltwise(x, {}), b = graph.eltwise(a, {}), c = graph.sum({a, b}), d = graph.concat({b, c});
  graph.output(d);
  const auto plan = [&](auto change) {
    Planner planner(graph, *backend_);
    planner.input(x, "nchw");
    for (NodeId n = 0; n < 4; ++n) planner.node(n, in("nchw", graph, graph.node(n).dst[0]));
    change(planner);
    return planner.done();
  };
  const auto copy_of = [](Planner& p, TensorId t) -> Copy& {
    return p.plan.copies[static_cast<std::size_t>(p.copies.at(t))];
  };
  expect_equal(graph, plan([](Planner&) {}));
  expect_refused(graph, plan([&](Planner& p) { copy_of(p, b).view_of = p.copies.at(a); }), "has been overwritten");
  expect_refused(graph, plan([&](Planner& p) { copy_of(p, a).view_of = p.copies.at(x); }), "memory of an input");
  expect_refused(graph, plan([&](Planner& p) { p.plan.nodes[3].implementation = "view"; }),
                 "no part of the destination");
  expect_refused(graph, plan([&](Planner& p) {
                   p.plan.nodes[3].src[0] = p.add({b, copy_of(p, b).layout});
                 }),
                 "nothing has written it");
  expect_refused(graph, plan([&](Planner& p) { copy_of(p, x).view_of = p.copies.at(d); }), "is given from outside");
}

}  // namespace
}  // namespace relayout::execute
