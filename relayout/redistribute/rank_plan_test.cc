// All ranks' plans in one process, with buffers carried by hand: what each rank has in the end, by plain loops.
#include "relayout/redistribute/rank_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "relayout/core/error.h"
#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

/// A placement over six ranks: rows or columns over some of them, in blocks of any size.
Placement over_six(std::mt19937& rng, const Dims& dims) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  std::vector<DimPlaces> of_dims(2);
  if (pick(0, 3) > 0) of_dims[static_cast<std::size_t>(pick(0, 1))].places.push_back({2, 3});
  if (pick(0, 3) > 0) of_dims[static_cast<std::size_t>(pick(0, 1))].places.push_back({3, 1});
  for (int d = 0; d < 2; ++d) {
    DimPlaces& dim = of_dims[static_cast<std::size_t>(d)];
    dim.block = pick(0, 1) == 0 ? pick(1, 4) : ceil_div(dims[d], dim.count());
    dim.first = pick(0, dim.count() - 1);
  }
  return Placement::of(dims, 6, of_dims);
}

class Ranks {
 public:
  Ranks(const Placement& src, const Placement& dst, bool relabel) : src_(src), dst_(dst) {
    for (int64_t r = 0; r < src.places(); ++r) {
      plans_.emplace_back(src, dst, r, relabel);
      local_.push_back(elements(src.local_dims(r)));
      out_.push_back(elements(plans_.back().dst_dims()));
      test::each_index(src.local_dims(r), [&](const Dims& index) {
        local_.back()[at(src.local_dims(r), index)] = value(src.global_index(r, index));
      });
    }
  }

  /// `most`: 0 for one buffer a partner.
  void exchange(int64_t most) {
    std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<uint32_t>>> travelling;
    for (const RankPlan& plan : plans_) {
      plan.keep(desc(plan.src_dims()), bytes(local_, plan), desc(plan.dst_dims()), bytes(out_, plan));
      for (const Buffer& b : buffers(plan, most, true)) {
        if (most > 0) {
          EXPECT_LE(b.elements, most);
        }
        auto& sent = travelling[{plan.rank(), b.rank}].emplace_back(static_cast<std::size_t>(b.elements));
        plan.pack(b, desc(plan.src_dims()), bytes(local_, plan), reinterpret_cast<std::byte*>(sent.data()));
      }
    }
    for (const RankPlan& plan : plans_) {
      std::map<int64_t, std::size_t> next;
      for (const Buffer& b : buffers(plan, most, false)) {
        const auto& sent = travelling[{b.rank, plan.rank()}].at(next[b.rank]++);
        ASSERT_EQ(b.elements, std::ssize(sent));
        plan.unpack(b, reinterpret_cast<const std::byte*>(sent.data()), desc(plan.dst_dims()), bytes(out_, plan));
      }
    }
  }

  void check() const {
    std::vector<int64_t> places;
    for (const RankPlan& plan : plans_) {
      places.push_back(plan.place());
      const Dims dims = dst_.local_dims(plan.place());
      const auto& out = out_[static_cast<std::size_t>(plan.rank())];
      test::each_index(dims, [&](const Dims& index) {
        ASSERT_EQ(out[at(dims, index)], value(dst_.global_index(plan.place(), index)));
      });
    }
    std::ranges::sort(places);
    for (std::size_t p = 0; p < places.size(); ++p) EXPECT_EQ(places[p], static_cast<int64_t>(p));
  }

 private:
  static std::vector<Buffer> buffers(const RankPlan& plan, int64_t most, bool sent) {
    if (most == 0) return sent ? plan.sent() : plan.received();
    std::vector<Buffer> out;
    for (int64_t r = 0; r < plan.ranks(); ++r) {
      if (r == plan.rank()) continue;
      std::ranges::copy(sent ? plan.sent_to(r, most) : plan.received_from(r, most), std::back_inserter(out));
    }
    return out;
  }
  static uint32_t value(const Dims& index) { return static_cast<uint32_t>(index[0] * 1000 + index[1] + 1); }
  static std::size_t at(const Dims& dims, const Dims& index) {
    return static_cast<std::size_t>(index[0] * dims[1] + index[1]);
  }
  static std::vector<uint32_t> elements(const Dims& dims) {
    return std::vector<uint32_t>(static_cast<std::size_t>(dims[0] * dims[1]), 0);
  }
  static TensorDesc desc(const Dims& dims) { return {Layout::contiguous(dims), DType::f32}; }
  static std::byte* bytes(std::vector<std::vector<uint32_t>>& of, const RankPlan& plan) {
    return reinterpret_cast<std::byte*>(of[static_cast<std::size_t>(plan.rank())].data());
  }

  Placement src_, dst_;
  std::vector<RankPlan> plans_;
  std::vector<std::vector<uint32_t>> local_, out_;
};

TEST(RankPlan, BuffersBringEveryElementToItsPlace) {
  std::mt19937 rng(3);
  for (int trial = 0; trial < 300; ++trial) {
    const Dims dims{std::uniform_int_distribution<int64_t>(1, 17)(rng),
                    std::uniform_int_distribution<int64_t>(1, 17)(rng)};
    Ranks ranks(over_six(rng, dims), over_six(rng, dims), trial % 3 == 0);
    ranks.exchange(trial % 2 == 0 ? 0 : std::uniform_int_distribution<int64_t>(1, 9)(rng));
    ranks.check();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RankPlan, SaysWhatDoesNotFit) {
  const Placement p = Placement::of({8, 2}, 2, {{4, {{2, 1}}}, {2, {}}});
  EXPECT_THROW(RankPlan(p, p, 2), Error);
  const RankPlan plan(p, p, 1);
  for (const int64_t rank : {int64_t{-1}, int64_t{2}, int64_t{1'000'000}}) {
    EXPECT_EQ(test::code_of([&] { (void)plan.sent_to(rank, 5); }), ErrorCode::invalid_argument);
    EXPECT_EQ(test::code_of([&] { (void)plan.received_from(rank, 5); }), ErrorCode::invalid_argument);
    EXPECT_EQ(test::code_of([&] { (void)Exchange(p, p).message(rank, 0); }), ErrorCode::invalid_argument);
  }
  std::vector<double> memory(8);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  EXPECT_THROW(plan.pack({}, {Layout::contiguous({8, 2}), DType::f64}, bytes, bytes), Error);
  EXPECT_THROW(plan.pack({}, {Layout::contiguous({4, 2}), DType::u4}, bytes, bytes), Error);
  EXPECT_THROW(
      plan.keep({Layout::contiguous({4, 2}), DType::f64}, bytes, {Layout::contiguous({4, 2}), DType::f32}, bytes),
      Error);
}

// Columns of 3 of a memory in blocks of 4 of them.
TEST(RankPlan, SaysThatBlocksAreCut) {
  const Placement rows = Placement::of({8, 6}, 2, {{4, {{2, 1}}}, {6, {}}}),
                  columns = Placement::of({8, 6}, 2, {{8, {}}, {3, {{2, 1}}}});
  const RankPlan plan(rows, columns, 0);
  const TensorDesc blocked(Format::parse("Ba4b").bind({4, 6}), DType::f32);
  std::vector<std::byte> local(static_cast<std::size_t>(blocked.span_bytes())), buffer(local.size());
  EXPECT_EQ(test::code_of([&] { plan.pack(plan.sent().at(0), blocked, local.data(), buffer.data()); }),
            ErrorCode::needs_copy);
}

}  // namespace
}  // namespace relayout::redistribute
