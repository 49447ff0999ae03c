// Slabs: they cover each index once, no block of a side is cut, each is a view, and as many as needed keep under a cap.
#include "relayout/reorder/slabs.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;
using test::each_index;

struct Sides {
  const char *a, *b;
  Dims dims;
};

const std::vector<Sides>& pairs() {
  static const std::vector<Sides> out = {{"abcd", "acdb", {3, 20, 7, 9}},     {"abcd", "aBcd8b", {3, 20, 7, 9}},
                                         {"aBcd4b", "aBcd6b", {2, 25, 5, 4}}, {"ab", "ba", {70, 50}},
                                         {"AB4a6b", "BA3b8a", {30, 40}},      {"a", "A5a", {33}},
                                         {"abc", "cab", {4, 0, 5}},           {"abc", "bca", {1, 1, 1}}};
  return out;
}

/// Every index of the tensor is in exactly one slab, whose dims say so.
void expect_cover(const SlabGrid& grid, const Dims& dims) {
  std::set<std::vector<int64_t>> seen;
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Slab slab = grid.slab(i);
    Dims end = slab.offsets;
    for (int d = 0; d < dims.size(); ++d) {
      EXPECT_LE(slab.dims[d], grid.step()[d]);
      end[d] += slab.dims[d];
    }
    each_index(slab.offsets, end, [&](const Dims& index) {
      EXPECT_TRUE(seen.insert({index.begin(), index.end()}).second) << join(index);
    });
  }
  int64_t inside = 0;
  each_index(dims, [&](const Dims& index) { inside += seen.contains({index.begin(), index.end()}) ? 1 : 0; });
  EXPECT_EQ(inside, *checked_product(dims));
  EXPECT_EQ(static_cast<int64_t>(seen.size()), inside);
}

TEST(Slabs, CoverEachIndexOnceForAnyStep) {
  std::mt19937 rng(7);
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  for (int trial = 0; trial < 200; ++trial) {
    Dims dims, step;
    for (int64_t d = pick(0, 4); d > 0; --d) {
      dims.push_back(pick(trial % 10 == 0 ? 0 : 1, 7));
      step.push_back(pick(1, 8));
    }
    expect_cover(SlabGrid(dims, step), dims);
  }
}

TEST(Slabs, CoverEachIndexOnceWithoutCuttingABlock) {
  for (const Sides& pair : pairs()) {
    const TensorDesc a = desc(pair.a, pair.dims), b = desc(pair.b, pair.dims);
    const SlabSide sides[] = {{&a, 1}, {&b, 1}};
    for (const int64_t cap : {int64_t{0}, int64_t{200}, int64_t{2000}, int64_t{20'000}, int64_t{1} << 40}) {
      const SlabGrid grid = make_slabs(pair.dims, sides, 0, cap);
      expect_cover(grid, pair.dims);
      for (int64_t i = 0; i < grid.count(); ++i) {
        const Slab slab = grid.slab(i);
        for (const TensorDesc* side : {&a, &b}) {
          const TensorDesc view = slab_view(*side, slab);
          EXPECT_EQ(view.layout.dims(), slab.dims);
          each_index(slab.dims, [&](const Dims& index) {
            Dims whole = index;
            for (int d = 0; d < index.size(); ++d) whole[d] += slab.offsets[d];
            ASSERT_EQ(view.layout.offset(index), side->layout.offset(whole));
          });
        }
      }
    }
  }
}

/// Distinct granules in which a slab has bytes of elements or padding, times their size.
int64_t granules_touched(const TensorDesc& view, int64_t granule) {
  const int64_t item = bits(view.dtype) / 8;
  std::set<int64_t> out;
  each_index(view.layout.padded_dims(), [&](const Dims& index) {
    const int64_t first = view.layout.offset(index) * item;
    for (int64_t byte = first; byte < first + item; ++byte) out.insert(byte / granule);
  });
  return static_cast<int64_t>(out.size()) * granule;
}

TEST(Slabs, StayUnderTheCapWhereTheySaySo) {
  for (const Sides& pair : pairs()) {
    const TensorDesc a = desc(pair.a, pair.dims), b = desc(pair.b, pair.dims);
    const int64_t elements = *checked_product(pair.dims);
    for (const int64_t granule : {1, 16, 64}) {
      const SlabSide sides[] = {{&a, granule}, {&b, granule}};
      for (const int64_t scratch : {0, 4}) {
        for (int64_t cap = 64; cap < int64_t{1} << 17; cap *= 2) {
          const SlabGrid grid = make_slabs(pair.dims, sides, scratch, cap);
          const auto whole = static_cast<double>(elements * scratch) + touched_bytes(a, pair.dims, granule) +
                             touched_bytes(b, pair.dims, granule);
          EXPECT_EQ(grid.count() == 1, grid.step() == pair.dims);
          EXPECT_EQ(whole <= static_cast<double>(cap) && grid.count() > 1, false) << "cut without need";
          for (int64_t i = 0; i < grid.count(); ++i) {
            const Slab slab = grid.slab(i);
            const TensorDesc views[] = {slab_view(a, slab), slab_view(b, slab)};
            double touched = static_cast<double>(*checked_product(slab.dims) * scratch);
            for (const TensorDesc& view : views) touched += static_cast<double>(granules_touched(view, granule));
            // A run of bytes that begins inside a granule touches one more.
            EXPECT_LE(touched, grid.slab_bytes() * (granule == 1 ? 1 : 2)) << pair.a << " " << pair.b << " " << cap;
          }
        }
      }
    }
  }
}

// The smallest slabs are the blocks of both sides, and where even these take more than the cap they are the answer.
TEST(Slabs, BlocksAreTheLeast) {
  const Dims dims{24, 30};
  const TensorDesc a = desc("AB4a6b", dims), b = desc("BA3b8a", dims);
  const SlabSide sides[] = {{&a, 1}, {&b, 1}};
  const SlabGrid grid = make_slabs(dims, sides, 0, 0);
  EXPECT_EQ(grid.step(), (Dims{8, 6}));
  EXPECT_EQ(grid.count(), 15);
  EXPECT_GT(grid.slab_bytes(), 0);
}

// As in the comment of slabs.h: parts that are rows of one side alone would touch nearly all pages of the other.
TEST(Slabs, OfATranspositionAreNearlySquare) {
  const Dims dims{16384, 8192};
  const TensorDesc a(Format::parse("ab").bind(dims), DType::f32), b(Format::parse("ba").bind(dims), DType::f32);
  const SlabSide sides[] = {{&a, 4096}, {&b, 4096}};
  const SlabGrid grid = make_slabs(dims, sides, 0, 64 << 20);
  EXPECT_LE(grid.slab_bytes(), 64 << 20);
  EXPECT_LE(grid.step()[0], 4 * grid.step()[1]);
  EXPECT_LE(grid.step()[1], 4 * grid.step()[0]);
}

}  // namespace
}  // namespace relayout
