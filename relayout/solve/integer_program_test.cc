// The solver finds the same optima as an integer program, which is written from the same choices and reorders.
#include "tests/support/integer_program.h"

#include <gtest/gtest.h>

#include "relayout/solve/assign.h"
#include "tests/support/layout_problem_nets.h"
#include "tests/support/layout_problems.h"

namespace relayout::solve {
namespace {

std::optional<double> solved(const LayoutProblem& problem) {
  try {
    return solve(problem).cost;
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

TEST(AssignProgram, RandomProblemsHaveTheSameOptimum) {
  int possible = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const LayoutProblem problem =
        cases::RandomProblem(seed, {.operations = 25, .choices = 6, .placements = 7, .combinations = int64_t{1} << 40})
            .make();
    const std::optional<double> ours = solved(problem), program = test::solve_with_cbc(problem, RELAYOUT_CBC);
    ASSERT_EQ(ours.has_value(), program.has_value()) << "seed " << seed;
    if (!ours) continue;
    ++possible;
    ASSERT_NEAR(*ours, *program, 1e-6 * (1 + *ours)) << "seed " << seed;
  }
  std::printf("the same optimum as an integer program: %d problems of up to 25 operations\n", possible);
}

TEST(AssignProgram, NetsHaveTheSameOptimum) {
  for (const LayoutProblem& problem :
       {cases::chain(20), cases::residual(5), cases::inception(3), cases::dense(5), cases::u_net(3)}) {
    const std::optional<double> program = test::solve_with_cbc(problem, RELAYOUT_CBC);
    ASSERT_TRUE(program.has_value());
    const double ours = solve(problem).cost;
    ASSERT_NEAR(ours, *program, 1e-6 * ours);
  }
}

}  // namespace
}  // namespace relayout::solve
