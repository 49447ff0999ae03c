// Plans of a graph are accepted; plans that were changed by hand are refused, with the reason.
#include "relayout/graph/plan/validate.h"

#include <gtest/gtest.h>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

/// x -> relu in place -> concat with y in its memory -> a view of it.
struct ValidPlan {
  Graph graph;
  LayoutPlan plan;

  CopyId add(Copy copy) {
    plan.copies.push_back(std::move(copy));
    return static_cast<CopyId>(plan.copies.size()) - 1;
  }

  ValidPlan() {
    const TensorId x = graph.input("x", {1, 16, 4, 4}), y = graph.input("y", {1, 16, 4, 4});
    const TensorId a = graph.eltwise(x, {}), b = graph.eltwise(a, {}), c = graph.concat({b, y});
    const TensorId flat = graph.reshape(c, {1, 512});
    graph.output(flat);
    const Layout plain = Layout::contiguous({1, 16, 4, 4}), whole = Layout::contiguous({1, 32, 4, 4});
    const CopyId x0 = add({x, plain}), y0 = add({y, plain}), c0 = add({c, whole});
    const Layout first = *concat_part(graph, graph.node(2), 0, whole),
                 second = *concat_part(graph, graph.node(2), 1, whole);
    const CopyId a0 = add({.tensor = a, .layout = first});
    const CopyId b0 = add({.tensor = b, .layout = first, .view_of = c0});
    const CopyId y1 = add({.tensor = y, .layout = second, .from = y0, .view_of = c0});
    const CopyId flat0 = add({.tensor = flat, .layout = view_of(graph, graph.node(3), whole), .view_of = c0});
    plan.nodes = {{"kernel", false, {x0}, {a0}},
                  {"kernel", false, {a0}, {b0}},
                  {"view", false, {b0, y1}, {c0}},
                  {"view", false, {c0}, {flat0}}};
    plan.inputs = {x0, y0};
    plan.outputs = {flat0};
  }
  Copy& copy(CopyId id) { return plan.copies[static_cast<std::size_t>(id)]; }

  std::string problem() const {
    try {
      validate(graph, plan);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.message();
    }
  }
};

TEST(Validate, APlanOfItsGraphIsValid) { EXPECT_EQ(ValidPlan().problem(), ""); }

TEST(Validate, WhatWasTamperedWithIsNamed) {
  struct Tamper {
    void (*how)(ValidPlan&);
    const char* message;
  };
  const Tamper tampers[] = {
      {[](ValidPlan& p) { p.plan.nodes.pop_back(); }, "3 primitives, the model 4"},
      {[](ValidPlan& p) { p.copy(0).tensor = 77; }, "of no tensor"},
      {[](ValidPlan& p) {
         p.copy(0).layout = Layout::contiguous({1, 16, 4, 5});
       },
       "has dims 1x16x4x5"},
      {[](ValidPlan& p) { p.copy(5).from = 99; }, "refers to copy 99"},
      {[](ValidPlan& p) { p.copy(5).from = 5; }, "of itself"},
      {[](ValidPlan& p) { p.copy(5).from = 0; }, "reorder of another tensor"},
      {[](ValidPlan& p) { p.copy(2).view_of = 4, p.copy(4).view_of = 2; }, "of itself"},
      {[](ValidPlan& p) {
         p.copy(0).layout = Layout::strided({1, 16, 4, 4}, {0, 0, 0, 0});
       },
       "share memory"},
      {[](ValidPlan& p) {
         p.copy(0).layout = Layout::strided({1, 16, 4, 4}, {0, 1 << 20, 4, 1});
       },
       "would take memory for"},
      {[](ValidPlan& p) {
         p.copy(4).layout = Layout::strided({1, 16, 4, 4}, {512, 16, 4, 1}, 300);
       },
       "does not fit in the memory of"},
      {[](ValidPlan& p) {
         p.copy(4).layout = Layout::strided({1, 16, 4, 4}, {512, 16, 4, 1}, 128);
       },
       "is not the part of"},
      {[](ValidPlan& p) {
         p.copy(6).layout = Layout::strided({1, 512}, {0, 1}, 0), p.copy(6).view_of = 0;
       },
       "memory of"},
      {[](ValidPlan& p) {
         p.copy(3).view_of = 0, p.copy(3).layout = Format::parse("nhwc").bind({1, 16, 4, 4});
       },
       "is not in place of"},
      {[](ValidPlan& p) { p.copy(3).view_of = 1; }, "but no view, concat or in-place node puts it there"},
      {[](ValidPlan& p) { p.plan.nodes[0].src[0] = 1; }, "another tensor"},
      {[](ValidPlan& p) { p.plan.nodes[0].dst[0] = -1; }, "another tensor"},
      {[](ValidPlan& p) { p.plan.nodes[0].src.clear(); }, "are 0, the model has 1"},
      {[](ValidPlan& p) { p.plan.nodes[0].implementation = "view"; }, "is no view"},
      {[](ValidPlan& p) { p.plan.outputs[0] = 0; }, "the outputs"},
      {[](ValidPlan& p) { p.plan.inputs.pop_back(); }, "the inputs are 1"},
  };
  for (const Tamper& tamper : tampers) {
    ValidPlan planned;
    tamper.how(planned);
    EXPECT_NE(planned.problem().find(tamper.message), std::string::npos)
        << "expected: " << tamper.message << "; message: " << planned.problem();
  }
}

/// x -> nodes one after the other. All but the first write over their source.
std::pair<Graph, LayoutPlan> chain(int count, TensorId (*node)(Graph&, TensorId)) {
  std::pair<Graph, LayoutPlan> out;
  auto& [graph, plan] = out;
  const Layout layout = Layout::contiguous({2, 3});
  TensorId at = graph.input("x", {2, 3});
  plan.copies.push_back({at, layout});
  for (CopyId i = 0; i < count; ++i) {
    at = node(graph, at);
    plan.copies.push_back({.tensor = at, .layout = layout, .view_of = i == 0 ? kNone : i});
    plan.nodes.push_back({"kernel", false, {i}, {i + 1}});
  }
  graph.output(at);
  plan.inputs = {0};
  plan.outputs = {count};
  return out;
}

TEST(Validate, AsManyNodesInPlaceAsThereAre) {
  const auto [graph, plan] = chain(200, [](Graph& g, TensorId x) { return g.eltwise(x, {}); });
  validate(graph, plan);
}

TEST(Validate, OnlyElementwiseNodesRunInPlace) {
  const auto softmax = [](Graph& g, TensorId x) { return g.softmax(x, {.axis = 1}); };
  const auto [alone, alone_plan] = chain(1, softmax);
  validate(alone, alone_plan);
  const auto [graph, plan] = chain(2, softmax);
  try {
    validate(graph, plan);
    FAIL() << "a softmax over its source is valid";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("cannot write over its source"), std::string::npos) << error.message();
  }
}

TEST(Validate, AGraphWithoutNodes) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3});
  graph.output(x);
  LayoutPlan plan;
  plan.copies = {{x, Layout::contiguous({2, 3})}, {.tensor = x, .layout = Layout::contiguous({2, 3}), .view_of = 0}};
  plan.inputs = {0};
  plan.outputs = {0};
  EXPECT_THROW(validate(graph, plan), Error);
}

TEST(Validate, ConstantsAreRowMajor) {
  Graph graph;
  const TensorId w = graph.constant("w", {2, 3}, std::vector<float>(6, 1));
  const TensorId y = graph.eltwise(w, {});
  graph.output(y);
  LayoutPlan plan;
  plan.copies = {{w, Layout::strided({2, 3}, {1, 2})}, {y, Layout::contiguous({2, 3})}};
  plan.nodes = {{"kernel", false, {0}, {1}}};
  plan.outputs = {1};
  EXPECT_THROW(validate(graph, plan), Error);
  plan.copies[0].layout = Layout::contiguous({2, 3});
  validate(graph, plan);
}

}  // namespace
}  // namespace relayout::graph
