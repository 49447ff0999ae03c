// The plan cache: which requests find a plan, which plans a full cache drops, and use from many threads.
#include "relayout/cpu/plan_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <latch>
#include <thread>

#include "relayout/core/view.h"
#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::code_of;
using test::counting;
using test::desc;

/// Restores the cache of the process to its initial state before and after each test.
class PlanCacheTest : public testing::Test {
 protected:
  PlanCacheTest() { reset(); }
  ~PlanCacheTest() override { reset(); }
  static void reset() {
    set_isa("");
    set_plan_cache_capacity(kPlanCacheCapacity);
    clear_plan_cache();
  }
};

/// Whether two handles are of one plan, which was found and not made anew.
bool one_plan(const Plan& a, const Plan& b) { return &a.data() == &b.data(); }

/// A reorder of n elements: another one for each n.
Plan of_size(PlanCache& cache, int64_t n) { return cache.plan(desc("a", {n}), desc("a", {n}), {}); }

TEST_F(PlanCacheTest, ReorderPlansOnce) {
  const TensorDesc src = desc("nchw", {1, 3, 4, 5}), dst = desc("nhwc", {1, 3, 4, 5});
  const auto in = counting(src.span_bytes());
  std::vector<std::byte> expected(in.size()), out(in.size());
  run(make_plan(src, dst), in.data(), expected.data());
  for (int64_t k = 0; k < 3; ++k) {
    std::ranges::fill(out, std::byte{});
    reorder(src, in, dst, out);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(plan_cache_statistics().misses, 1);
    EXPECT_EQ(plan_cache_statistics().hits, k);
    EXPECT_EQ(plan_cache_statistics().entries, 1);
  }
  EXPECT_TRUE(one_plan(cached_plan(src, dst), cached_plan(src, dst)));
}

TEST_F(PlanCacheTest, ACapacityOfNothingTurnsItOff) {
  EXPECT_EQ(plan_cache_capacity(), kPlanCacheCapacity);
  const TensorDesc src = desc("nchw", {1, 3, 4, 5}), dst = desc("nhwc", {1, 3, 4, 5});
  const Plan before = cached_plan(src, dst);
  for (const int64_t capacity : {int64_t{0}, int64_t{-1}}) {
    set_plan_cache_capacity(capacity);
    EXPECT_EQ(plan_cache_capacity(), 0);
    EXPECT_FALSE(one_plan(cached_plan(src, dst), cached_plan(src, dst)));
    EXPECT_EQ(plan_cache_statistics().entries, 0);
    const auto in = counting(src.span_bytes());
    std::vector<std::byte> with(in.size()), without(in.size());
    reorder(src, in, dst, without);
    run(before, in.data(), with.data());
    EXPECT_EQ(with, without);
  }
}

TEST_F(PlanCacheTest, ClearDropsPlansAndCounts) {
  const TensorDesc src = desc("ab", {3, 4}), dst = desc("ba", {3, 4});
  const Plan kept = cached_plan(src, dst);
  cached_plan(src, dst);
  clear_plan_cache();
  EXPECT_EQ(plan_cache_statistics().entries, 0);
  EXPECT_EQ(plan_cache_statistics().hits, 0);
  EXPECT_EQ(plan_cache_statistics().misses, 0);
  EXPECT_FALSE(one_plan(kept, cached_plan(src, dst)));
  EXPECT_EQ(kept.explain(), cached_plan(src, dst).explain());  // it stays valid
}

/// Everything that a plan is made from.
struct Asked {
  TensorDesc src, dst;
  Attributes attributes;
};

/// Reorders that differ from the first in one field each.
std::vector<Asked> one_field_apart() {
  const Dims dims{2, 6, 5, 4};
  const Asked first{desc("nchw", dims, DType::s8), desc("nChw4c", dims, DType::s8), {}};
  std::vector<Asked> out{first};
  const auto with_src = [&](TensorDesc src) { out.push_back({std::move(src), first.dst, first.attributes}); };
  const auto with_dst = [&](TensorDesc dst) { out.push_back({first.src, std::move(dst), first.attributes}); };
  const auto with = [&](auto set) {
    out.push_back(first);
    set(out.back().attributes);
  };
  with_src(desc("nhwc", dims, DType::s8));
  with_src(desc("nchw", dims, DType::u8));
  with_src({Layout::strided(dims, {120, 20, 4, 1}, 1), DType::s8});
  with_src({Layout::strided(dims, {120, 20, 4, 2}), DType::s8});
  with_src({Layout::strided(dims, {121, 20, 4, 1}), DType::s8});
  with_src({flip(first.src.layout, 3), DType::s8});
  // The same function, spelt by two digits of w.
  const std::vector<Digits> two_digits{Digits{{2, 120}}, Digits{{6, 20}}, Digits{{5, 4}}, Digits{{2, 1}, {2, 2}}};
  with_src({Layout::from_digits(dims, two_digits), DType::s8});
  with_dst(desc("nChw8c", dims, DType::s8));
  with_dst(desc("nChw4c", dims, DType::s32));
  with_dst({Format::parse("nChw4c@3").bind(dims), DType::s8});
  out.push_back({desc("nchw", {2, 5, 5, 4}, DType::s8), desc("nChw4c", {2, 5, 5, 4}, DType::s8), {}});
  // Equal digits, other extents: the last channel is padding or not.
  for (const int64_t channels : {5, 6}) {
    const Dims padded{2, channels, 5, 4};
    out.push_back({desc("nChw8c", padded, DType::s8), desc("nChw16c", padded, DType::s8), {}});
  }
  // Equal numbers in the same order, dealt to dims otherwise.
  const std::vector<Digits> two_and_one{Digits{{2, 1}, {2, 4}}, Digits{{2, 2}}};
  const std::vector<Digits> one_and_two{Digits{{2, 1}}, Digits{{4, 2}, {2, 2}}};
  for (const auto& digits : {two_and_one, one_and_two}) {
    out.push_back({{Layout::from_digits({2, 2}, digits), DType::s8}, desc("ab", {2, 2}, DType::s8), {}});
  }
  // Equal scales, one a row or one a column.
  for (const uint32_t mask : {1u, 2u}) {
    out.push_back({desc("ab", {2, 2}, DType::s8), desc("ba", {2, 2}, DType::s8), {}});
    out.back().attributes.src_scale = {{2, 3}, mask};
  }
  with([](Attributes& a) { a.padding = Padding::keep(); });
  with([](Attributes& a) { a.padding = Padding::of(1); });
  with([](Attributes& a) { a.padding = Padding::of(-0.0); });
  with([](Attributes& a) { a.beta = 1; });
  with([](Attributes& a) { a.src_scale = {{2}, 0}; });
  with([](Attributes& a) { a.src_scale = {{2, 2}, 1}; });
  with([](Attributes& a) { a.src_scale = {{2, 3}, 1}; });
  with([](Attributes& a) { a.dst_scale = {{2}, 0}; });
  with([](Attributes& a) { a.src_zero_point = {{2}, 0}; });
  with([](Attributes& a) { a.dst_zero_point = {{2}, 0}; });
  with([](Attributes& a) { a.dst_zero_point = {{3}, 0}; });
  with([](Attributes& a) { a.mean = {{3}, 0}; });
  return out;
}

TEST(PlanCache, APlanIsFoundOnlyWhereEveryFieldIsEqual) {
  const auto all = one_field_apart();
  // One shard, several, and all with the same hash.
  for (const auto& [capacity, hash_mask] : {std::pair{40, ~uint64_t{0}}, {1000, ~uint64_t{0}}, {1000, uint64_t{0}}}) {
    PlanCache cache(capacity, hash_mask);
    std::vector<Plan> plans;
    for (const Asked& asked : all) plans.push_back(cache.plan(asked.src, asked.dst, asked.attributes));
    EXPECT_EQ(cache.statistics().misses, static_cast<int64_t>(all.size()));
    EXPECT_EQ(cache.statistics().entries, static_cast<int64_t>(all.size()));
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto& [src, dst, attributes] = all[k];
      const Plan found = cache.plan(src, dst, attributes);
      EXPECT_TRUE(one_plan(found, plans[k])) << k;
      EXPECT_EQ(found.explain(), make_plan(src, dst, attributes).explain()) << k;
    }
    EXPECT_EQ(cache.statistics().hits, static_cast<int64_t>(all.size()));
  }
}

TEST(PlanCache, EntriesOfOneHashGoInTheirOrder) {
  PlanCache cache(3, 0);
  for (int64_t n = 1; n <= 9; ++n) of_size(cache, n);
  EXPECT_EQ(cache.statistics().entries, 3);
  for (const int64_t n : {7, 9, 8}) of_size(cache, n);
  EXPECT_EQ(cache.statistics().hits, 3);
  of_size(cache, 1);  // in place of 7
  for (const int64_t n : {8, 9, 1}) of_size(cache, n);
  EXPECT_EQ(cache.statistics().hits, 6);
}

TEST(PlanCache, AValueThatIsNoNumberIsFoundToo) {
  PlanCache cache(8);
  Attributes attributes;
  attributes.padding = Padding::of(std::nan(""));
  const TensorDesc src = desc("nchw", {1, 3, 2, 2}), dst = desc("nChw8c", {1, 3, 2, 2});
  EXPECT_TRUE(one_plan(cache.plan(src, dst, attributes), cache.plan(src, dst, attributes)));
}

TEST(PlanCache, TheOneUsedLeastLatelyGoes) {
  PlanCache cache(3);
  const Plan one = of_size(cache, 1), two = of_size(cache, 2), three = of_size(cache, 3);
  of_size(cache, 1);
  const Plan four = of_size(cache, 4);  // in place of 2
  EXPECT_EQ(cache.statistics().entries, 3);
  EXPECT_TRUE(one_plan(of_size(cache, 1), one));
  EXPECT_TRUE(one_plan(of_size(cache, 3), three));
  EXPECT_TRUE(one_plan(of_size(cache, 4), four));
  EXPECT_EQ(cache.statistics().misses, 4);
  EXPECT_FALSE(one_plan(of_size(cache, 2), two));
  EXPECT_EQ(cache.statistics().misses, 5);
}

TEST(PlanCache, KeepsNoMoreThanItsCapacity) {
  for (const int64_t capacity : {1, 2, 63, 64, 65, 200}) {
    PlanCache cache(capacity);
    for (int64_t n = 1; n <= 600; ++n) of_size(cache, n);
    EXPECT_LE(cache.statistics().entries, capacity);
    EXPECT_GE(cache.statistics().entries, std::min<int64_t>(capacity, 64) / 2) << capacity;
    cache.set_capacity(1);
    EXPECT_EQ(cache.statistics().entries, 0);
    of_size(cache, 1);
    of_size(cache, 2);
    EXPECT_EQ(cache.statistics().entries, 1);
  }
}

TEST(PlanCache, LargePlansAreNotKept) {
  PlanCache cache(8);
  const TensorDesc src = desc("a", {40'000}), dst = desc("a", {40'000}, DType::s8);
  Attributes attributes;
  attributes.dst_scale.values.assign(40'000, 2.0f);
  attributes.dst_scale.mask = 1;
  EXPECT_FALSE(one_plan(cache.plan(src, dst, attributes), cache.plan(src, dst, attributes)));
  EXPECT_EQ(cache.statistics().entries, 0);
  EXPECT_EQ(cache.statistics().misses, 2);
}

TEST(PlanCache, ErrorsAreThrownEachTime) {
  PlanCache cache(8);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(code_of([&] { cache.plan(desc("ab", {2, 3}), desc("ab", {3, 2}), {}); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { cache.plan(desc("a", {2}), desc("strides:0", {2}), {}); }), ErrorCode::not_injective);
  }
  EXPECT_EQ(cache.statistics().entries, 0);
}

TEST(PlanCache, AttributesThatAreWrongDoNotFindThePlanWithoutAny) {
  PlanCache cache(8);
  const TensorDesc src = desc("ab", {2, 3}), dst = desc("ba", {2, 3});
  cache.plan(src, dst, {});
  Attributes mask_alone;
  mask_alone.src_scale.mask = 1;
  EXPECT_EQ(code_of([&] { cache.plan(src, dst, mask_alone); }), ErrorCode::invalid_argument);
}

TEST_F(PlanCacheTest, APlanIsForOneInstructionSet) {
  const TensorDesc src = desc("ab", {30, 40}), dst = desc("ba", {30, 40});
  const auto isas = available_isas();
  std::vector<Plan> plans;
  for (const auto isa : isas) {
    set_isa(isa);
    plans.push_back(cached_plan(src, dst));
  }
  EXPECT_EQ(plan_cache_statistics().misses, static_cast<int64_t>(isas.size()));
  for (std::size_t k = 0; k < isas.size(); ++k) {
    set_isa(isas[k]);
    EXPECT_TRUE(one_plan(cached_plan(src, dst), plans[k])) << isas[k];
  }
}

TEST(PlanCache, ManyThreads) {
  constexpr int64_t kThreads = 8, kRounds = 200, kSizes = 24;
  for (const int64_t capacity : {10, 64, 1000}) {
    PlanCache cache(capacity);
    std::atomic<int64_t> wrong = 0;
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int64_t k = 0; k < kRounds; ++k) {
          const int64_t n = (k * 7 + t * 5) % kSizes + 1;
          const Plan plan = of_size(cache, n);
          wrong += plan.src().layout.elements() != n;
          if (t == 0 && k % 50 == 49) cache.clear();
          if (t == 1 && k == 100) cache.set_capacity(capacity);
          cache.statistics();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(cache.statistics().entries, std::min(capacity, kSizes));
  }
}

TEST(PlanCache, TheCapacityIsThatOfOneOfSeveralCalls) {
  const std::vector<int64_t> capacities{1, 200, 63};
  for (int round = 0; round < 400; ++round) {
    PlanCache cache(64);
    std::latch start(static_cast<std::ptrdiff_t>(capacities.size()));  // so that the calls overlap
    std::vector<std::thread> threads;
    for (const int64_t capacity : capacities) {
      threads.emplace_back([&, capacity] {
        start.arrive_and_wait();
        cache.set_capacity(capacity);
        for (int64_t n = 1; n <= 4; ++n) of_size(cache, n);
        EXPECT_LE(cache.statistics().entries, 200);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int64_t n = 1; n <= 100; ++n) of_size(cache, n);
    const int64_t entries = cache.statistics().entries;
    ASSERT_LE(entries, cache.capacity()) << round;
    ASSERT_GE(entries, std::min<int64_t>(cache.capacity(), 63)) << round;
  }
}

}  // namespace
}  // namespace relayout::cpu
