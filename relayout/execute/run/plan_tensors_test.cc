// Memory to time plans with: layouts are the plan's, padding is zero, and integers are at most 1.
#include "relayout/execute/run/plan_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "relayout/core/format.h"

namespace relayout::execute {
namespace {

template <typename T>
std::set<T> values_of(const Source& source) {
  const T* data = static_cast<const T*>(source.data);
  return {data, data + source.desc.layout.span()};
}

TEST(PlanTensors, AreInTheLayoutsOfThePlan) {
  graph::Graph graph;
  const Dims dims{1, 20, 4, 4}, few{40};
  const std::vector<Layout> layouts = {Format::parse("nhwc").bind(dims), Format::parse("nChw16c").bind(dims),
                                       Layout::contiguous(few)};
  graph::LayoutPlan plan;
  for (const auto& [name, dtype] : {std::pair{"a", DType::f32}, {"b", DType::f32}, {"c", DType::s32}}) {
    const auto i = plan.copies.size();
    plan.inputs.push_back(static_cast<graph::CopyId>(i));
    plan.copies.push_back({.tensor = graph.input(name, layouts[i].dims(), dtype), .layout = layouts[i]});
  }
  graph.output(graph.inputs[1]);
  plan.outputs = {1};
  const PlanTensors tensors(graph, plan);
  ASSERT_EQ(tensors.sources().size(), 3u);
  ASSERT_EQ(tensors.destinations().size(), 1u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(tensors.sources()[i].desc.layout, layouts[i]);
  EXPECT_EQ(tensors.destinations()[0].desc.layout, layouts[1]);

  const std::set<float> random = values_of<float>(tensors.sources()[0]);
  EXPECT_GT(random.size(), 300u);
  EXPECT_TRUE(*random.begin() >= -1 && *random.begin() < 0 && *random.rbegin() > 0 && *random.rbegin() <= 1);
  EXPECT_EQ(values_of<float>(tensors.sources()[1]), std::set<float>{0});
  for (const int32_t value : values_of<int32_t>(tensors.sources()[2])) EXPECT_TRUE(value == 0 || value == 1);
  EXPECT_EQ(values_of<float>(PlanTensors(graph, plan).sources()[0]), random);
}

}  // namespace
}  // namespace relayout::execute
