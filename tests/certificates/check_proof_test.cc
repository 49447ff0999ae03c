// The checker accepts the solver's certificates, on random problems of every shape. Both build the tables
// independently, so these must agree.
#include "tools/checking/check_proof.h"

#include <gtest/gtest.h>

#include "relayout/core/error.h"
#include "relayout/solve/assign.h"
#include "tests/certificates/listed.h"
#include "tests/support/layout_problems.h"

namespace relayout::tools::proof {
namespace {

void expect_near(double a, double b, uint64_t seed) { EXPECT_NEAR(a, b, 1e-9 * std::max(1., std::abs(b))) << seed; }

TEST(CheckProof, ProvesWhatTheSolverFinds) {
  int possible = 0;
  for (uint64_t seed = 0; seed < 12000; ++seed) {
    const solve::cases::ProblemShape shape{.operations = 1 + static_cast<int>(seed % 12), .combinations = 256};
    const solve::LayoutProblem problem = solve::cases::RandomProblem(seed, shape).make();
    const auto all = solve::cases::BruteForce(problem).run();
    if (all.empty()) continue;
    ++possible;
    const solve::Solution best = solve::solve(problem);
    const Problem listed = problem_of(problem);
    expect_near(cost(listed, chosen_of(best.assignment)), all[0].cost, seed);
    expect_near(lower_bound(listed, certificate_of(problem, best.certificate)), all[0].cost, seed);
  }
  EXPECT_GT(possible, 10000);
}

/// If buckets are split, a certificate proves a lower bound below the least cost: the one that the solver says.
TEST(CheckProof, NeverProvesMoreThanTheLeastCost) {
  int less = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const solve::LayoutProblem problem = solve::cases::RandomProblem(seed, {.combinations = 256}).make();
    const auto all = solve::cases::BruteForce(problem).run();
    if (all.empty()) continue;
    const solve::Solution best = solve::solve(problem, {.table_budget = 4});
    const double bound = lower_bound(problem_of(problem), certificate_of(problem, best.certificate));
    expect_near(bound, best.certificate.bound, seed);
    EXPECT_LE(bound, all[0].cost * (1 + 1e-9)) << seed;
    less += bound < all[0].cost * (1 - 1e-6);
  }
  EXPECT_GT(less, 10);
}

/// Whatever is changed in a certificate or a problem, a bound that the checker accepts is true.
TEST(CheckProof, ChangedCertificatesProveNothingFalse) {
  std::mt19937_64 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int refused = 0, proven = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const solve::LayoutProblem problem = solve::cases::RandomProblem(seed, {.combinations = 128}).make();
    const auto all = solve::cases::BruteForce(problem).run();
    if (all.empty()) continue;
    Certificate certificate = certificate_of(problem, solve::solve(problem).certificate);
    for (int change = 0; change < 5; ++change) {
      Clique& clique = certificate.cliques[below(certificate.cliques.size())];
      Clique& other = certificate.cliques[below(certificate.cliques.size())];
      switch (below(4)) {
        case 0:
          if (!clique.tables.empty())
            clique.tables.erase(clique.tables.begin() + static_cast<std::ptrdiff_t>(below(clique.tables.size())));
          break;
        case 1:
          if (!clique.tables.empty()) other.tables.push_back(clique.tables[below(clique.tables.size())]);
          break;
        case 2:
          if (!certificate.messages.empty()) {
            Message& message = certificate.messages[below(certificate.messages.size())];
            const double largest[] = {1, -1, 1e3, 1e17, -1e17, 1e300, -1e308};
            message.values[below(message.values.size())] += largest[below(7)];
          }
          break;
        default:
          if (!clique.scope.empty())
            clique.scope.erase(clique.scope.begin() + static_cast<std::ptrdiff_t>(below(clique.scope.size())));
      }
      try {
        const double bound = lower_bound(problem_of(problem), certificate);
        EXPECT_FALSE(bound > all[0].cost * (1 + 1e-9) + 1e-9) << seed;
        ++proven;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::corrupt || error.code() == ErrorCode::limit) << error.message();
        ++refused;
      }
    }
  }
  EXPECT_GT(proven, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace relayout::tools::proof
