// Splitting work: every task once, whatever the pool does.
#include "relayout/cpu/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "tests/support/testing.h"

#if RELAYOUT_HAVE_TBB
#include <tbb/parallel_for.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace relayout::cpu {
namespace {

struct Counter {
  explicit Counter(int64_t tasks) : times(static_cast<std::size_t>(tasks)) {}
  static void count(void* state, int64_t begin, int64_t end) {
    auto& times = static_cast<Counter*>(state)->times;
    for (int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
  }
  bool each_once() const {
    return std::ranges::all_of(times, [](const auto& n) { return n == 1; });
  }
  std::vector<std::atomic<int>> times;
};

/// A pool with a fixed number of threads, which may be fewer than asked for. 0 stands for a pool that fails.
class OwnThreads : public ThreadPool {
 public:
  explicit OwnThreads(int most) : most_(most) {}
  void run(int threads, void (*body)(void*, int, int), void* state) const noexcept override {
    const int count = std::min(threads, most_);
    std::vector<std::thread> running;
    for (int thread = 0; thread < count; ++thread) running.emplace_back(body, state, thread, count);
    for (std::thread& thread : running) thread.join();
    asked = threads;
  }
  mutable int asked = 0;

 private:
  int most_;
};

TEST(Threads, OfACallersPoolDoEveryTaskOnce) {
  for (int there : {0, 1, 2, 5}) {
    for (int64_t tasks : {0, 1, 7, 5000}) {
      for (int threads : {1, 2, 3}) {
        const OwnThreads pool(there);
        Counter counter(tasks);
        parallel_for({.threads = threads, .pool = &pool}, tasks, 1, Counter::count, &counter);
        EXPECT_TRUE(counter.each_once()) << tasks << " tasks, " << threads << " threads of " << there;
        EXPECT_EQ(pool.asked, threads == 1 || tasks <= 1 ? 0 : threads);
      }
    }
  }
}

/// A transposition large enough to be split over two threads.
struct Transposition {
  const Dims dims{64, 128, 128};
  const TensorDesc src = test::desc("abc", dims);
  const Plan plan = Plan::make(src, test::desc("acb", dims));
  const std::vector<std::byte> bytes = test::counting(src.span_bytes());

  std::vector<std::byte> run_with(const RunOptions& options) const {
    std::vector<std::byte> out(bytes.size());
    run(plan, bytes.data(), out.data(), options);
    return out;
  }
};

TEST(Threads, OfACallersPoolReorderAlike) {
  const Transposition transposition;
  const OwnThreads pool(2);
  const auto one = transposition.run_with({1}), two = transposition.run_with({.threads = 2, .pool = &pool});
  EXPECT_EQ(one, two);
  EXPECT_EQ(pool.asked, 2);
}

// Blocks of odd numbers of 4-bit elements: two threads each write a half of the bytes between them.
TEST(Threads, ShareBytesOfTwoElements) {
  const Dims dims{7, 333, 129};
  const OwnThreads pool(4);
  for (const auto& [from, to] : {std::pair("abc", "cba"), {"abc", "acb"}, {"aBc5b", "abc"}, {"abc", "aBc7b"}}) {
    for (const DType type : {DType::u4, DType::u8, DType::f32}) {
      const TensorDesc src = test::desc(from, dims, type), dst = test::desc(to, dims, DType::u4);
      for (const auto way : {Tuning::Way::boxes, Tuning::Way::stages}) {
        const Plan plan = Plan::make(src, dst, {}, {}, {.way = way});
        const std::vector<std::byte> in = test::counting(src.span_bytes());
        const std::vector<std::byte> before(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5a});
        std::vector<std::byte> one = before;
        run(plan, in.data(), one.data(), {.threads = 1});
        for (int i = 0; i < 10; ++i) {
          std::vector<std::byte> many = before;
          run(plan, in.data(), many.data(), {.threads = 4, .pool = &pool, .grain_bytes = 1});
          ASSERT_EQ(one, many) << from << " -> " << to << "\n" << plan.explain();
        }
      }
    }
  }
}

TEST(Threads, EveryTaskIsDoneOnce) {
  for (int64_t tasks : {0, 1, 2, 7, 1023, 1024, 1025, 5000}) {
    for (int64_t grain : {0, 1, 3, 1000}) {
      for (int threads : {-1, 0, 1, 2, 100}) {
        Counter counter(tasks);
        parallel_for({.threads = threads}, tasks, grain, Counter::count, &counter);
        EXPECT_TRUE(counter.each_once()) << tasks << " tasks, grain " << grain << ", threads " << threads;
      }
    }
  }
}

#if RELAYOUT_HAVE_TBB

// The pool stops handing out work; what is left is still done, and nothing twice.
TEST(Threads, WorkThatThePoolDropsIsDone) {
  for (int threads : {0, 2}) {
    Counter counter(1000);
    parallel_for(
        {.threads = threads}, 1000, 1,
        [](void* state, int64_t begin, int64_t end) {
          Counter::count(state, begin, end);
          if (auto* context = tbb::task::current_context()) context->cancel_group_execution();
        },
        &counter);
    EXPECT_TRUE(counter.each_once());
  }
}

// A reorder called from a task whose group was cancelled is a reorder all the same; a sum is added once.
TEST(Threads, CancelledGroupsLeaveNothingOut) {
  const Dims dims{64, 128, 128};
  const TensorDesc src = test::desc("abc", dims), dst = test::desc("acb", dims);
  Attributes sum;
  sum.beta = 1;
  const Plan plan = Plan::make(src, dst, sum);
  const std::vector<float> ones(static_cast<std::size_t>(dims[0] * dims[1] * dims[2]), 1.0f);
  std::vector<float> out(ones.size(), 2.0f);
  tbb::task_group_context context;
  tbb::parallel_for(
      0, 1,
      [&](int) {
        context.cancel_group_execution();
        run(plan, ones.data(), out.data());
      },
      context);
  EXPECT_EQ(std::ranges::count(out, 3.0f), static_cast<std::ptrdiff_t>(out.size()));
}

TEST(Threads, RunsInsideAnArena) {
  const Transposition transposition;
  const auto one = transposition.run_with({1});
  tbb::task_arena arena(2);
  const auto two = arena.execute([&] { return transposition.run_with({2}); });
  EXPECT_EQ(one, two);
}

#endif

// A child has none of the threads that its parent started; the one that it has does all of the work.
TEST(Threads, AForkedChildReorders) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a child that starts threads";
#endif
  const TensorDesc src = test::desc("nchw", {4, 64, 56, 56}), dst = test::desc("nhwc", {4, 64, 56, 56});
  const std::vector<std::byte> in = test::counting(src.span_bytes());
  std::vector<std::byte> parents(in.size()), childs(in.size());
  reorder(src, in, dst, parents);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    reorder(src, in, dst, childs);
    ::_exit(childs == parents ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace relayout::cpu
