// The solver is compared with a brute force that tries all choices and reorders, and its proofs are checked.
#include "relayout/solve/assign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/layout_problem_nets.h"
#include "tests/support/layout_problems.h"

namespace relayout::solve {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a)); }

/// The lower bound that a certificate proves by its own numbers. Checks that every table is in one clique.
double proven(const CostNetwork& network, const Certificate& certificate) {
  std::vector<int> seen(network.tables.size(), 0);
  double bound = 0;
  const auto value = [&](const CostTable& table, const std::vector<int>& values) {
    std::size_t index = 0;
    for (int v : table.scope) index = index * at(network.sizes[at(v)]) + at(values[at(v)]);
    return table.values.at(index);
  };
  std::vector<std::vector<const Certificate::Message*>> ends(certificate.cliques.size());
  for (const Certificate::Message& message : certificate.messages) {
    for (int end : {message.from, message.to}) ends.at(at(end)).push_back(&message);
  }
  std::vector<int> values(network.sizes.size(), 0);
  for (std::size_t c = 0; c < certificate.cliques.size(); ++c) {
    const Certificate::Clique& clique = certificate.cliques[c];
    for (int t : clique.tables) ++seen.at(at(t));
    double least = kImpossible;
    for (bool more = true; more;) {
      double sum = 0;
      for (int t : clique.tables) sum += value(network.tables[at(t)], values);
      for (const Certificate::Message* message : ends[c]) {
        sum += (at(message->to) == c ? 1 : -1) * value(message->table, values);
      }
      least = std::min(least, sum);
      more = false;
      for (int v : clique.scope) {
        if (++values[at(v)] < network.sizes[at(v)]) {
          more = true;
          break;
        }
        values[at(v)] = 0;
      }
    }
    bound += least;
  }
  for (int count : seen) EXPECT_EQ(count, 1);
  return bound;
}

/// The sum of a network's tables at given values of the variables.
double value_of(const CostNetwork& network, const std::vector<int>& values) {
  double sum = 0;
  for (const CostTable& table : network.tables) {
    std::size_t index = 0;
    for (int v : table.scope) index = index * at(network.sizes[at(v)]) + at(values[at(v)]);
    sum += table.values.at(index);
  }
  return sum;
}

/// The solution, or nothing if no assignment is possible.
std::optional<Solution> try_solve(const LayoutProblem& problem, const SolveOptions& options = {}) {
  try {
    return solve(problem, options);
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

TEST(Assign, EqualsBruteForce) {
  int solved = 0, impossible = 0;
  for (uint64_t seed = 0; solved < 12000; ++seed) {
    const LayoutProblem problem = cases::RandomProblem(seed, {}).make();
    const std::vector<cases::Combination> all = cases::BruteForce(problem).run();
    const std::optional<Solution> best = try_solve(problem);
    ASSERT_EQ(best.has_value(), !all.empty()) << "seed " << seed;
    if (!best) {
      ++impossible;
      continue;
    }
    ++solved;
    ASSERT_PRED2(near, best->cost, all[0].cost) << "seed " << seed;
    ASSERT_TRUE(best->optimal);
    ASSERT_PRED2(near, best->cost, best->lower_bound);
    ASSERT_PRED2(near, cost_of(problem, best->assignment), best->cost);
    const EncodedProblem encoded = encode(problem);
    ASSERT_PRED2(near, value_of(encoded.network, best->values), best->cost) << "seed " << seed;
    ASSERT_PRED2(near, best->certificate.bound, best->cost);
    ASSERT_PRED2(near, proven(encoded.network, best->certificate), best->cost) << "seed " << seed;
  }
  std::printf("equal to brute force, with their certificates: %d problems; impossible for both: %d\n", solved,
              impossible);
}

TEST(Assign, SmallTablesGiveTheSameCostAndABound) {
  int solved = 0, open = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const LayoutProblem problem = cases::RandomProblem(seed, {}).make();
    const std::optional<Solution> exact = try_solve(problem);
    const std::optional<Solution> small = try_solve(problem, {.table_budget = 4});
    ASSERT_EQ(exact.has_value(), small.has_value());
    if (!exact) continue;
    ++solved;
    ASSERT_PRED2(near, small->cost, exact->cost) << "seed " << seed;
    ASSERT_TRUE(small->optimal);
    ASSERT_LE(small->certificate.bound, exact->cost * (1 + 1e-9));
    ASSERT_PRED2(near, proven(encode(problem).network, small->certificate), small->certificate.bound)
        << "seed " << seed;
    if (!near(small->certificate.bound, exact->cost)) ++open;

    const Solution first = solve(problem, {.table_budget = 4, .time_limit = std::chrono::milliseconds(0)});
    ASSERT_PRED2(near, cost_of(problem, first.assignment), first.cost);
    ASSERT_GE(first.cost * (1 + 1e-9), exact->cost);
    ASSERT_LE(first.lower_bound, exact->cost * (1 + 1e-9)) << "seed " << seed;
    ASSERT_EQ(first.optimal, first.optimal && near(first.cost, exact->cost));
  }
  EXPECT_GT(open, 100);
  std::printf("small tables: %d problems, of which %d leave a gap to the search\n", solved, open);
}

TEST(Assign, TheCheapestAssignmentsAreThoseOfBruteForce) {
  int problems = 0, assignments = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const LayoutProblem problem = cases::RandomProblem(seed, {}).make();
    const std::vector<cases::Combination> all = cases::BruteForce(problem).run();
    if (all.empty()) continue;
    ++problems;
    for (const int64_t budget : {int64_t{1} << 22, int64_t{40}}) {
      if (budget == 40 && seed % 10 != 0) continue;
      const std::vector<Assignment> best = cheapest(problem, 7, {.table_budget = budget});
      ASSERT_EQ(best.size(), std::min<std::size_t>(7, all.size())) << "seed " << seed;
      std::set<std::vector<int>> choices;
      for (std::size_t i = 0; i < best.size(); ++i) {
        ASSERT_PRED2(near, cost_of(problem, best[i]), all[i].cost) << "seed " << seed << " number " << i;
        ASSERT_TRUE(choices.insert(best[i].choice).second) << "seed " << seed;
        ++assignments;
      }
    }
  }
  std::printf("the cheapest as by brute force: %d assignments of %d problems\n", assignments, problems);
}

TEST(Assign, TheCheapestAssignmentsStopWhenAsked) {
  const LayoutProblem problem = cases::residual(3, 3);
  for (const int64_t budget : {int64_t{1} << 22, int64_t{20}}) {
    const std::vector<Assignment> all = cheapest(problem, 5, {.table_budget = budget});
    ASSERT_EQ(all.size(), 5u);
    EXPECT_TRUE(cheapest(problem, 5, {.table_budget = budget, .time_limit = std::chrono::milliseconds(0)}).empty());
    std::set<std::size_t> found;
    for (int after : {0, 1, 10, 100, 1000, 10000, 100000}) {
      int asked = 0;
      const auto some = cheapest(problem, 5, {.table_budget = budget, .stop = [&] { return asked++ >= after; }});
      // After stop() has returned true, the solver only asks as often as it takes to return.
      EXPECT_LE(asked, after + 20);
      ASSERT_LE(some.size(), all.size());
      found.insert(some.size());
      for (std::size_t i = 0; i < some.size(); ++i)
        EXPECT_PRED2(near, cost_of(problem, some[i]), cost_of(problem, all[i]));
    }
    EXPECT_GE(found.size(), 2u);
  }
}

TEST(Assign, StopsWhenAskedWithTheBestSoFar) {
  const LayoutProblem problem = cases::inception(20);
  int asked = 0;
  const Solution best = solve(problem, {.table_budget = 1, .stop = [&] { return ++asked == 3; }});
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(best.optimal);
  EXPECT_PRED2(near, cost_of(problem, best.assignment), best.cost);
  const double least = solve(problem).cost;
  EXPECT_GE(best.cost, least);
  EXPECT_LE(best.lower_bound, least * (1 + 1e-9));
  EXPECT_LE(best.certificate.bound, best.lower_bound * (1 + 1e-9));
}

TEST(Assign, FindsAnAssignmentAtOnceWhereTablesAreSmall) {
  for (const LayoutProblem& problem : {cases::residual(30), cases::inception(20), cases::dense(30), cases::u_net(10)}) {
    const Solution first = solve(problem, {.table_budget = 100, .time_limit = std::chrono::milliseconds(0)});
    const double least = solve(problem).cost;
    EXPECT_PRED2(near, cost_of(problem, first.assignment), first.cost);
    EXPECT_LE(first.lower_bound, least * (1 + 1e-9));
    std::printf("of %zu operations, at once: %.2f%% above the least, %.2f%% of it proven\n", problem.operations.size(),
                100 * (first.cost / least - 1), 100 * first.lower_bound / least);
  }
}

TEST(Assign, NetsOfTwoThousandOperations) {
  const std::pair<const char*, LayoutProblem> nets[] = {{"chain", cases::chain(1000)},
                                                        {"residual", cases::residual(260)},
                                                        {"inception", cases::inception(140)},
                                                        {"dense", cases::dense(400)},
                                                        {"u-net", cases::u_net(130)}};
  for (const auto& [name, problem] : nets) {
    SCOPED_TRACE(name);
    const Solution best = solve(problem);
    EXPECT_TRUE(best.optimal);
    EXPECT_PRED2(near, best.certificate.bound, best.cost);
    EXPECT_PRED2(near, proven(encode(problem).network, best.certificate), best.cost);
  }
}

}  // namespace
}  // namespace relayout::solve
