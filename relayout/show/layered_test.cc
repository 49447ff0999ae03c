// Layered drawings: boxes do not overlap, lines start and end at their boxes and cross none, whatever the graph.
#include "relayout/show/layered.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "relayout/core/error.h"
#include "relayout/show/layered_order.h"

namespace relayout::show {
namespace {

struct RandomGraph {
  std::vector<LayeredNode> nodes;
  std::vector<LayeredEdge> edges;
};

/// Each node is one net; edges lead to later nodes, most of them near.
RandomGraph random_graph(unsigned seed, int count) {
  std::mt19937 random(seed);
  RandomGraph out;
  for (int n = 0; n < count; ++n) {
    out.nodes.push_back({20.0 + random() % 200, 10.0 + random() % 50});
    for (int e = n == 0 ? 0 : static_cast<int>(random() % 4); e > 0; --e) {
      const int back = random() % 8 == 0 ? static_cast<int>(random()) : static_cast<int>(random() % 6);
      const int from = std::max(0, n - 1 - std::abs(back % n));
      out.edges.push_back({from, n, from});
    }
  }
  return out;
}

bool inside(double value, double begin, double end) { return value > begin + 1e-6 && value < end - 1e-6; }

void expect_drawn(const RandomGraph& graph) {
  const Layered drawn = layered(graph.nodes, graph.edges);
  ASSERT_EQ(drawn.nodes.size(), graph.nodes.size());
  ASSERT_EQ(drawn.lines.size(), graph.edges.size());
  const auto right = [&](std::size_t n) { return drawn.nodes[n].x + graph.nodes[n].width; };
  const auto bottom = [&](std::size_t n) { return drawn.nodes[n].y + graph.nodes[n].height; };
  for (std::size_t a = 0; a < graph.nodes.size(); ++a) {
    EXPECT_GE(drawn.nodes[a].x, 0);
    EXPECT_LE(right(a), drawn.width);
    EXPECT_LE(bottom(a), drawn.height);
    for (std::size_t b = 0; b < a; ++b) {
      const bool apart = right(a) < drawn.nodes[b].x || right(b) < drawn.nodes[a].x || bottom(a) < drawn.nodes[b].y ||
                         bottom(b) < drawn.nodes[a].y;
      EXPECT_TRUE(apart) << a << " and " << b;
    }
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const std::vector<DrawnPoint>& line = drawn.lines[e];
    ASSERT_GE(line.size(), 4U);
    ASSERT_EQ(line.size() % 2, 0U);
    const auto from = static_cast<std::size_t>(graph.edges[e].from), to = static_cast<std::size_t>(graph.edges[e].to);
    EXPECT_TRUE(inside(line.front().x, drawn.nodes[from].x, right(from)));
    EXPECT_DOUBLE_EQ(line.front().y, bottom(from));
    EXPECT_TRUE(inside(line.back().x, drawn.nodes[to].x, right(to)));
    EXPECT_DOUBLE_EQ(line.back().y, drawn.nodes[to].y);
    for (std::size_t i = 1; i < line.size(); ++i) {
      EXPECT_LE(line[i - 1].y, line[i].y);
      if (i % 2 == 1) {
        EXPECT_DOUBLE_EQ(line[i - 1].x, line[i].x);
      }
      // No box lies where the line is: inside layers it is straight down, and between them there are no boxes.
      const double least = std::min(line[i - 1].x, line[i].x), most = std::max(line[i - 1].x, line[i].x);
      for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const bool beside = most <= drawn.nodes[n].x + 1e-6 || least >= right(n) - 1e-6;
        const bool above = line[i].y <= drawn.nodes[n].y + 1e-6 || line[i - 1].y >= bottom(n) - 1e-6;
        EXPECT_TRUE(beside || above) << "line " << e << ", box " << n;
      }
    }
  }
}

TEST(Layered, BoxesAndLinesOfRandomGraphs) {
  for (unsigned seed = 1; seed <= 60; ++seed) expect_drawn(random_graph(seed, 1 + static_cast<int>(seed)));
  expect_drawn(random_graph(99, 250));
}

TEST(Layered, ReadersOfANodeShareTheWay) {
  // 0 -> 1 -> 2 -> 3 -> 4, and 0 -> 3, 0 -> 4 of the same net.
  const std::vector<LayeredNode> nodes(5, {100, 30});
  const Layered drawn = layered(nodes, {{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {3, 4, 3}, {0, 3, 0}, {0, 4, 0}});
  ASSERT_GT(drawn.lines[5].size(), drawn.lines[4].size());
  for (std::size_t i = 0; i + 2 < drawn.lines[4].size(); ++i) {
    EXPECT_EQ(drawn.lines[4][i].x, drawn.lines[5][i].x);
    EXPECT_EQ(drawn.lines[4][i].y, drawn.lines[5][i].y);
  }
}

TEST(Layered, LinesOfOnePortEndAtOnePlace) {
  const std::vector<LayeredNode> nodes(4, {100, 30});
  const auto ends = [&](int port) {
    const Layered drawn = layered(nodes, {{0, 3, 0, port}, {1, 3, 1, port}, {2, 3, 2}});
    return std::pair(drawn.lines[0].back().x, drawn.lines[1].back().x);
  };
  EXPECT_EQ(ends(5).first, ends(5).second);
  EXPECT_NE(ends(-1).first, ends(-1).second);
}

TEST(Layered, WhatCountsLittleStandsBesideStraightLines) {
  // 0 -> 2 -> 4, each time also by way of a small one.
  std::vector<LayeredNode> nodes(5, {100, 30});
  nodes[1].weight = nodes[3].weight = 0.01;
  const Layered drawn = layered(nodes, {{0, 1, 0}, {0, 2, 0}, {1, 2, 1}, {2, 3, 2}, {2, 4, 2}, {3, 4, 3}});
  EXPECT_NEAR(drawn.nodes[0].x, drawn.nodes[2].x, 2);
  EXPECT_NEAR(drawn.nodes[2].x, drawn.nodes[4].x, 2);
  EXPECT_GT(std::abs(drawn.nodes[1].x - drawn.nodes[0].x), 40);
}

TEST(Layered, MemoryGrowsWithTheGraph) {
  // Each node reads all before it, so that 44,850 lines pass 100 layers in the mean.
  RandomGraph graph;
  for (int n = 0; n < 300; ++n) {
    graph.nodes.push_back({100, 30});
    for (int from = 0; from < n; ++from) graph.edges.push_back({from, n, from});
  }
  const Layered drawn = layered(graph.nodes, graph.edges);
  std::size_t points = 0;
  for (const auto& line : drawn.lines) points += line.size();
  EXPECT_LE(points, 80 * (graph.nodes.size() + graph.edges.size()) + 4 * graph.edges.size());
  EXPECT_EQ(drawn.nodes.size(), 300U);
}

TEST(Layered, RefusesWhatIsNoGraph) {
  const std::vector<LayeredNode> two(2, {10, 10});
  EXPECT_THROW(layered(two, {{0, 1, 0}, {1, 0, 1}}), Error);
  EXPECT_THROW(layered(two, {{0, 2, 0}}), Error);
  EXPECT_THROW(layered(two, {{0, 0, 0}}), Error);
  EXPECT_THROW(layered(std::vector<LayeredNode>(3, {1, 1}), {{0, 2, 7}, {1, 2, 7}}), Error);
  EXPECT_NO_THROW(layered({}, {}));
}

TEST(Layered, CrossingsAreCountedAndFew) {
  LayerOrder order;
  order.items.resize(6);
  for (int i = 0; i < 3; ++i) {
    order.items[static_cast<std::size_t>(i)].below = {5 - i};
    order.items[static_cast<std::size_t>(5 - i)] = {.layer = 1, .above = {i}};
  }
  order.layers = {{0, 1, 2}, {3, 4, 5}};
  EXPECT_EQ(crossings(order), 3);
  order_layers(order);
  EXPECT_EQ(crossings(order), 0);
}

TEST(Layered, PathsTurnBetweenLayersAlone) {
  EXPECT_EQ(curved_path({{1, 2}, {1, 5}, {4, 9}, {4, 10}}), "M1 2V5C1 7 4 7 4 9V10");
}

}  // namespace
}  // namespace relayout::show
