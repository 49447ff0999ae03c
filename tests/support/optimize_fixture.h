// What tests of optimized plans share: they run plans and compare with the reference, and make assignments of layouts
// at random.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/optimize/optimize.h"
#include "tests/support/run_model.h"

namespace relayout::execute {

/// How often plans share memory between tensors, in each of the ways that there are.
struct Counts {
  int graphs = 0, nodes = 0, reorders = 0, in_place = 0, concats = 0, concats_in_place = 0, part_reorders = 0,
      views = 0;

  void add(const graph::Graph& graph, const graph::LayoutPlan& plan) {
    ++graphs;
    nodes += static_cast<int>(graph.nodes.size());
    reorders += static_cast<int>(plan.reorders(graph).size());
    for (graph::CopyId id : plan.reorders(graph)) part_reorders += plan.copy(id).view_of != graph::kNone;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const graph::PlannedNode& node = plan.nodes[n];
      const bool view = node.implementation == "view", concat = graph.nodes[n].kind == graph::Kind::concat;
      concats += concat;
      concats_in_place += concat && view;
      views += view && !concat;
      in_place += !view && node.dst[0] != graph::kNone && plan.copy(node.dst[0]).view_of != graph::kNone &&
                  plan.copy(node.dst[0]).view_of == node.src[0];
    }
  }
};

inline std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.graphs << " plans of " << c.nodes << " nodes: " << c.reorders << " reorders (" << c.part_reorders
             << " into parts), " << c.in_place << " in place, " << c.concats_in_place << " of " << c.concats
             << " concats move nothing, " << c.views << " views";
}

/// Any choice of each operation whose sources are there in the right places, or can be reordered to them.
inline solve::Assignment random_assignment(const solve::LayoutProblem& problem, std::mt19937& rng) {
  solve::Assignment out;
  out.reorders.resize(problem.tensors.size());
  std::vector<solve::PlacementSet> made(problem.tensors.size());
  const auto pick = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(rng); };
  /// A possible reorder from a place that tensor t was made in to one of these, or nothing.
  const auto reorder_to = [&](std::size_t t, solve::PlacementSet placements) -> std::optional<solve::PlacementReorder> {
    const solve::ProblemTensor& tensor = problem.tensors[t];
    std::vector<solve::PlacementReorder> all;
    for (int i = 0; i < tensor.placements; ++i) {
      for (int j = 0; j < tensor.placements; ++j) {
        if ((made[t] >> i & 1) != 0 && (placements >> j & 1) != 0 && tensor.reorder_cost(i, j) < graph::kImpossible) {
          all.push_back({i, j});
        }
      }
    }
    return all.empty() ? std::nullopt : std::optional(all[pick(all.size())]);
  };
  for (const solve::ProblemOperation& op : problem.operations) {
    std::vector<int> possible;
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      const solve::ProblemChoice& choice = op.choices[c];
      const int hint = op.hint < 0 ? 0 : out.choice[static_cast<std::size_t>(op.hint)];
      bool fits = choice.with_hint.empty() || std::ranges::find(choice.with_hint, hint) != choice.with_hint.end();
      for (std::size_t i = 0; i < op.src.size() && fits; ++i) {
        const auto t = static_cast<std::size_t>(op.src[i]);
        fits = (made[t] & choice.src[i]) != 0 || reorder_to(t, choice.src[i]);
      }
      if (fits) possible.push_back(static_cast<int>(c));
    }
    if (possible.empty()) throw Error(ErrorCode::unsupported, "no choice of this assignment goes on");
    out.choice.push_back(possible[pick(possible.size())]);
    const solve::ProblemChoice& choice = op.choices[static_cast<std::size_t>(out.choice.back())];
    for (std::size_t i = 0; i < op.src.size(); ++i) {
      const auto t = static_cast<std::size_t>(op.src[i]);
      if ((made[t] & choice.src[i]) != 0) continue;
      const solve::PlacementReorder reorder = reorder_to(t, choice.src[i]).value();
      out.reorders[t].push_back(reorder);
      made[t] |= solve::PlacementSet{1} << reorder.to;
    }
    for (std::size_t i = 0; i < op.dst.size(); ++i)
      made[static_cast<std::size_t>(op.dst[i])] = solve::PlacementSet{1} << choice.dst[i];
  }
  return out;
}

class Optimize : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }
  void expect_equal(const graph::Graph& graph, const graph::LayoutPlan& plan, const std::vector<graph::Values>& inputs,
                    const std::vector<graph::Values>& want, double tolerance, int threads = 1) {
    const auto backend = onednn_backend(threads);
    Model model(graph, plan, *backend, {.check_padding = true});
    const std::vector<graph::Values> got = test::run_model(model, inputs);
    ASSERT_EQ(got.size(), want.size());
    // Gradients through normalizations cancel: what is small beside the others is rounding.
    double largest = 0;
    for (const graph::Values& values : want) {
      for (double x : values) largest = std::max(largest, std::abs(x));
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      double scale = 0;
      for (double x : want[i]) scale = std::max(scale, std::abs(x));
      test::expect_outputs_near(got[i], want[i], tolerance * std::max(1., 1e-2 * largest / std::max(scale, 1e-3)));
    }
    counts_.add(graph, plan);
  }
  std::unique_ptr<graph::Backend> backend_;
  Counts counts_;
};

}  // namespace relayout::execute
