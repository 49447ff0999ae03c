// Reorders on the threads that oneDNN's primitives run on.
#include "relayout/execute/run/openmp.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

/// Tests of a process that has oneDNN on OpenMP; otherwise they are skipped.
class OpenMpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!run_options(2).pool) GTEST_SKIP() << "no OpenMP in this process";
  }
};

TEST_F(OpenMpTest, ThreadsAreAsManyAsAskedFor) {
  struct Seen {
    std::atomic<int> calls = 0, threads = 0, count = 0;
  } seen;
  run_options(2).pool->run(
      2,
      [](void* state, int thread, int count) {
        auto& s = *static_cast<Seen*>(state);
        ++s.calls;
        s.threads += 1 << thread;
        s.count = count;
      },
      &seen);
  EXPECT_EQ(seen.calls, seen.count);
  EXPECT_EQ(seen.threads, (1 << seen.count) - 1);
  EXPECT_GE(seen.count, 1);
  EXPECT_LE(seen.count, 2);
}

TEST_F(OpenMpTest, ReordersAlike) {
  const Dims dims{4, 64, 56, 56};
  const TensorDesc src = test::desc("nchw", dims), dst = test::desc("nChw16c", dims);
  const Plan plan = Plan::make(src, dst);
  const auto bytes = test::counting(src.span_bytes());
  std::vector<std::byte> one(static_cast<std::size_t>(dst.span_bytes())), two(one.size());
  cpu::run(plan, bytes.data(), one.data(), {1});
  cpu::run(plan, bytes.data(), two.data(), run_options(2));
  EXPECT_EQ(one, two);
}

TEST_F(OpenMpTest, ScopesSetTheNumberOfThreadsAndGiveItBack) {
  const auto count = [] {
    // Counts the threads of a parallel region of the size that is set.
    std::atomic<int> out = 0;
    run_options(0).pool->run(
        0, [](void* state, int, int threads) { *static_cast<std::atomic<int>*>(state) = threads; }, &out);
    return out.load();
  };
  const int before = count();
  {
    const ThreadScope scope(1);
    EXPECT_EQ(count(), 1);
    const ThreadScope inner(2);
    EXPECT_LE(count(), 2);
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace relayout::execute
