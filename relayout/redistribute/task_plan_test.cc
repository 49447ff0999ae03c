// Plans of tasks: 2,000 random ones are proved and run on small arrays, and what is changed in one is found.
#include "relayout/redistribute/task_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "relayout/core/error.h"
#include "relayout/redistribute/check.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

using test::each_index;

class Draw {
 public:
  explicit Draw(uint32_t seed) : rng_(seed) {}
  int64_t from_to(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

  Dims dims() {
    Dims out;
    for (int64_t d = from_to(1, 4); d > 0; --d) out.push_back(from_to(1, out.size() < 2 ? 24 : 7));
    return out;
  }
  Dims order(int count) {
    Dims out;
    for (int d = 0; d < count; ++d) out.push_back(d);
    std::shuffle(out.begin(), out.end(), rng_);
    return out;
  }
  /// A dense file in any order of axes, one dim perhaps in blocks; or chunks.
  Store store(const Dims& dims) {
    static constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
    const DType dtype = kTypes[from_to(0, 3)];
    if (from_to(0, 1) == 0) {
      Dims chunk;
      for (int64_t extent : dims) chunk.push_back(from_to(1, extent + 2));
      return Store::chunked(dims, dtype, chunk);
    }
    std::vector<Digits> digits(static_cast<std::size_t>(dims.size()));
    int64_t stride = 1;
    const auto add = [&](int d, int64_t extent) {
      digits[static_cast<std::size_t>(d)].push_back({extent, stride});
      stride *= extent;
    };
    const int blocked = static_cast<int>(from_to(0, 2 * dims.size() - 1));
    const int64_t block = blocked < dims.size() ? from_to(1, 5) : 1;
    if (block > 1) add(blocked, block);
    for (int64_t d : order(dims.size()))
      add(static_cast<int>(d), d == blocked ? ceil_div(dims[static_cast<int>(d)], block) : dims[static_cast<int>(d)]);
    return Store::file({Layout::from_digits(dims, digits), dtype});
  }

 private:
  std::mt19937 rng_;
};

/// The plan with the least bound that is drawn: some are as tight as they can be.
std::optional<TaskPlan> plan_of(Draw& draw, const Store& from, const Store& to, bool chunked) {
  // Ranges that cost as much as a few elements, so that small arrays go through intermediate files, too.
  TaskPlanOptions options{.max_memory = std::exp2(static_cast<double>(draw.from_to(9, 15))),
                          .read = {200e-9, 1e9},
                          .write = {400e-9, 1e9},
                          .chunked_intermediate = chunked};
  try {
    return make_task_plan(from, to, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit) << error.what();
    EXPECT_GT(std::stod(error.limit()), options.max_memory);
    return std::nullopt;
  }
}

/// Row-major arrays stand for the stores: each task copies its box, one piece after the other.
std::vector<int> run_by_loops(const TaskPlan& plan) {
  const Layout whole = Layout::contiguous(plan.stores[0].dims());
  std::vector<std::vector<int>> arrays(plan.stores.size(),
                                       std::vector<int>(static_cast<std::size_t>(whole.elements()), -1));
  for (std::size_t i = 0; i < arrays[0].size(); ++i) arrays[0][i] = static_cast<int>(i);
  for (const Pass& pass : plan.passes) {
    for (int64_t t = 0; t < pass.count(); ++t) {
      const Task task = pass.task(t);
      Dims end = task.offsets;
      for (int d = 0; d < end.size(); ++d) end[d] += task.dims[d];
      each_index(task.offsets, end, [&](const Dims& index) {
        const auto at = static_cast<std::size_t>(whole.offset(index));
        int& to = arrays[static_cast<std::size_t>(pass.to)][at];
        EXPECT_EQ(to, -1) << "written twice";
        to = arrays[static_cast<std::size_t>(pass.from)][at];
      });
    }
  }
  return arrays[1];
}

TEST(TaskPlan, TwoThousandRandomOnesAreCompleteAndRight) {
  Draw draw(48);
  int made = 0, two = 0;
  for (int trial = 0; made < 2000; ++trial) {
    const Dims dims = draw.dims();
    const Store from = draw.store(dims), to = draw.store(dims);
    const std::optional<TaskPlan> plan = plan_of(draw, from, to, trial % 2 == 0);
    if (!plan) continue;
    ++made;
    two += plan->passes.size() == 2;
    ASSERT_EQ(plan_errors(*plan, tasks_of(*plan)), std::vector<std::string>{}) << plan->explain();
    const std::vector<int> got = run_by_loops(*plan);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<int>(i)) << plan->explain();
    for (const Pass& pass : plan->passes) ASSERT_LE(pass.memory, plan->max_memory);
    ASSERT_GE(plan->bytes_read() + plan->bytes_written(), plan->least_bytes()) << plan->explain();
  }
  EXPECT_GT(two, 100);
}

TEST(TaskPlan, EveryChangeOfOneIsFound) {
  Draw draw(49);
  int found = 0;
  for (int trial = 0; found < 500; ++trial) {
    const Dims dims = draw.dims();
    const std::optional<TaskPlan> plan = plan_of(draw, draw.store(dims), draw.store(dims), false);
    if (!plan || plan->tasks() < 3) continue;
    auto tasks = tasks_of(*plan);
    auto& list = tasks[static_cast<std::size_t>(draw.from_to(0, std::ssize(tasks) - 1))];
    if (list.size() < 2) continue;
    const auto t = static_cast<std::size_t>(draw.from_to(0, std::ssize(list) - 1));
    const int d = static_cast<int>(draw.from_to(0, dims.size() - 1));
    switch (trial % 5) {
      case 0: list.erase(list.begin() + static_cast<std::ptrdiff_t>(t)); break;  // dropped
      case 1: list.push_back(list[t]); break;                                    // twice
      case 2: list[t].offsets[d] += list[t].offsets[d] == 0 ? 1 : -1; break;     // shifted
      case 3: list[t].dims[d] += 1; break;                                       // too large
      default: list[t].dims[d] -= 1; break;                                      // too small
    }
    ASSERT_FALSE(plan_errors(*plan, tasks).empty()) << plan->explain() << "change " << trial % 5;
    ++found;
  }
}

TEST(TaskPlan, TaskOverTheBoundIsFound) {
  const Store from = Store::file({Layout::contiguous({512, 512}), DType::f32});
  TaskPlan plan =
      make_task_plan(from, Store::file({Layout::strided({512, 512}, {1, 512}), DType::f32}), {.max_memory = 300'000});
  EXPECT_EQ(plan_errors(plan, tasks_of(plan)), std::vector<std::string>{});
  plan.max_memory /= 8;
  EXPECT_FALSE(plan_errors(plan, tasks_of(plan)).empty());
  plan.passes.back().to = 0;
  EXPECT_FALSE(plan_errors(plan, tasks_of(plan)).empty());
}

TEST(TaskPlan, AllPiecesInMemoryCount) {
  const Store from = Store::file({Layout::contiguous({512, 512}), DType::f32});
  const Store to = Store::file({Layout::strided({512, 512}, {1, 512}), DType::f32});
  TaskPlan plan = make_task_plan(from, to, {.max_memory = 300'000, .pieces = 2, .intermediate = false});
  EXPECT_EQ(plan_errors(plan, tasks_of(plan)), std::vector<std::string>{});
  const Pass& pass = plan.passes.at(0);
  const auto bytes = [](const Dims& dims) { return 4.0 * static_cast<double>(*checked_product(dims)); };
  ASSERT_EQ(pass.pieces, 2);
  plan.max_memory = bytes(pass.step) + 2 * bytes(pass.piece);
  EXPECT_EQ(plan_errors(plan, tasks_of(plan)), std::vector<std::string>{});
  plan.max_memory -= bytes(pass.piece) / 2;
  EXPECT_FALSE(plan_errors(plan, tasks_of(plan)).empty());
}

TEST(TaskPlan, CopiesMoveTheLeastBytesInLongRanges) {
  const Store file = Store::file({Layout::contiguous({1000, 1000, 10}), DType::f32});
  const TaskPlan plan = make_task_plan(file, file, {.max_memory = 1 << 20});
  ASSERT_EQ(plan.passes.size(), 1u);
  EXPECT_EQ(plan.bytes_read() + plan.bytes_written(), plan.least_bytes());
  EXPECT_LT(plan.passes[0].written.count, 60);  // about 40 MB by 7/8 MiB
}

TEST(TaskPlan, IntermediateFileWhereRangesWouldBeShort) {
  const Store rows = Store::file({Layout::contiguous({20000, 20000}), DType::f32});
  const Store columns = Store::file({Layout::strided({20000, 20000}, {1, 20000}), DType::f32});
  EXPECT_EQ(make_task_plan(rows, columns, {.max_memory = 1 << 30}).passes.size(), 1u);
  EXPECT_EQ(make_task_plan(rows, columns, {.max_memory = 1 << 24}).passes.size(), 2u);
  EXPECT_EQ(make_task_plan(rows, columns, {.max_memory = 1 << 24, .intermediate = false}).passes.size(), 1u);
  // Chunks that the destination's cross in every dim would be read a hundred times.
  const Store slices = Store::chunked({2000, 1000, 1000}, DType::f32, {1, 1000, 1000});
  const Store pencils = Store::chunked({2000, 1000, 1000}, DType::f32, {2000, 10, 10});
  const TaskPlan plan = make_task_plan(slices, pencils, {.max_memory = 256e6, .chunked_intermediate = true});
  EXPECT_EQ(plan.passes.size(), 2u);
  EXPECT_LE(plan.bytes_read() + plan.bytes_written(), 2.2 * plan.least_bytes());
}

TEST(TaskPlan, ChunksOfAPrimeNumberOfIndices) {
  // Blocks of the intermediate file divide the chunks, and a prime has no divisor to find.
  const int64_t prime = 1'000'000'007;
  const Store rows = Store::file({Layout::contiguous({prime, 64}), DType::u8}),
              columns = Store::chunked({prime, 64}, DType::u8, {prime, 1});
  const TaskPlan plan = make_task_plan(rows, columns, {.max_memory = 4e9, .chunked_intermediate = true});
  EXPECT_EQ(plan_errors(plan, tasks_of(plan)), std::vector<std::string>{});
}

TEST(TaskPlan, EmptyTensorHasNoTasks) {
  const Store empty = Store::file({Layout::contiguous({3, 0, 2}), DType::f32});
  const TaskPlan plan = make_task_plan(empty, empty, {.max_memory = 1 << 20});
  EXPECT_EQ(plan.tasks(), 0);
  EXPECT_EQ(plan_errors(plan, tasks_of(plan)), std::vector<std::string>{});
}

}  // namespace
}  // namespace relayout::redistribute
