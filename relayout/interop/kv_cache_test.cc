// Paged caches against arrays in the order in which each system declares them, and sequences gathered run by run.
#include "relayout/interop/kv_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using kv_cache::Cache;
using kv_cache::Order;
using kv_cache::Pairing;
using kv_cache::Part;
using Runs = std::vector<kv_cache::Run>;
using test::code_of;
using test::each_index;
using test::error_of;

/// The row-major number of an index in an array.
int64_t at(const Dims& shape, const Dims& index) { return Layout::contiguous(shape).offset(index); }

constexpr int64_t kBlocks = 5, kSize = 4, kHeads = 3, kDim = 8;

Cache cache_of(Order order, Pairing pairing) { return {order, pairing, kBlocks, kSize, kHeads, kDim, 4}; }

/// Where each system has an element, by the shape that it gives its tensor.
int64_t offset_by_shape(const Cache& cache, int64_t kv, int64_t b, int64_t s, int64_t h, int64_t e) {
  const int64_t x = cache.packed;
  switch (cache.order) {
    case Order::nhd:
      if (cache.pairing == Pairing::in_block) return at({kBlocks, 2, kSize, kHeads, kDim}, {b, kv, s, h, e});
      if (cache.pairing == Pairing::first) return at({2, kBlocks, kSize, kHeads, kDim}, {kv, b, s, h, e});
      return at({kBlocks, kSize, kHeads, kDim}, {b, s, h, e});
    case Order::hnd:
      if (cache.pairing == Pairing::in_block) return at({kBlocks, 2, kHeads, kSize, kDim}, {b, kv, h, s, e});
      if (cache.pairing == Pairing::first) return at({2, kBlocks, kHeads, kSize, kDim}, {kv, b, h, s, e});
      return at({kBlocks, kHeads, kSize, kDim}, {b, h, s, e});
    case Order::key_packed: return at({kBlocks, kHeads, kDim / x, kSize, x}, {b, h, e / x, s, e % x});
    case Order::value_transposed: return at({kBlocks, kHeads, kDim, kSize}, {b, h, e, s});
  }
  return -1;
}

std::vector<Cache> all_caches() {
  std::vector<Cache> out;
  for (const Order order : {Order::nhd, Order::hnd}) {
    for (const Pairing pairing : {Pairing::in_block, Pairing::first, Pairing::separate})
      out.push_back(cache_of(order, pairing));
  }
  out.push_back(cache_of(Order::key_packed, Pairing::separate));
  out.push_back(cache_of(Order::value_transposed, Pairing::separate));
  return out;
}

TEST(KvCache, LayoutsOfTheSystems) {
  for (const Cache& cache : all_caches()) {
    const Layout layout = kv_cache::layout_of(cache);
    EXPECT_TRUE(layout.dense());
    const bool separate = cache.pairing == Pairing::separate;
    each_index(layout.dims(), [&](const Dims& i) {
      const int k = separate ? 0 : 1;
      ASSERT_EQ(layout.offset(i), offset_by_shape(cache, separate ? 0 : i[0], i[k], i[k + 1], i[k + 2], i[k + 3]));
    });
  }
}

TEST(KvCache, GathersASequence) {
  const std::vector<int64_t> table{3, 0, 4};
  const int64_t first = 2, length = 9;
  for (const Cache& cache : all_caches()) {
    for (const Part part : {Part::key, Part::value}) {
      std::vector<int64_t> memory(static_cast<std::size_t>(kv_cache::layout_of(cache).span()));
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int64_t>(i);
      const Layout dense = Layout::contiguous({length, kHeads, kDim});
      std::vector<int64_t> gathered(static_cast<std::size_t>(dense.span()), -1);
      const Runs runs = kv_cache::runs_of(cache, table, first, length);
      EXPECT_EQ(runs, (Runs{{2, 3, 2, 2}, {4, 0, 0, 4}, {8, 4, 0, 3}}));
      for (const kv_cache::Run& run : runs) {
        const Layout source = kv_cache::view_of(cache, run, part);
        const Layout target = narrow(dense, 0, run.position - first, run.length);
        each_index(source.dims(), [&](const Dims& i) {
          gathered[static_cast<std::size_t>(target.offset(i))] = memory[static_cast<std::size_t>(source.offset(i))];
        });
      }
      each_index(dense.dims(), [&](const Dims& i) {
        const int64_t position = first + i[0];
        const kv_cache::Location where = kv_cache::locate(cache, table, position, i[1], part);
        ASSERT_EQ(where.block, table[static_cast<std::size_t>(position / kSize)]);
        ASSERT_EQ(where.slot, position % kSize);
        const int64_t expected =
            offset_by_shape(cache, static_cast<int64_t>(part), where.block, where.slot, i[1], i[2]);
        ASSERT_EQ(gathered[static_cast<std::size_t>(dense.offset(i))], expected);
        if (i[2] == 0) {
          ASSERT_EQ(where.offset, expected);
        }
      });
    }
  }
}

TEST(KvCache, TheExampleOfTheHeader) {
  const Cache cache{.blocks = 1000, .block_size = 16, .heads = 8, .dim = 128};
  const std::vector<int64_t> table{7, 3, 42};
  const kv_cache::Location where = kv_cache::locate(cache, table, 17);
  EXPECT_EQ(where.block, 3);
  EXPECT_EQ(where.slot, 1);
  EXPECT_EQ(where.offset, ((3 * 2 + 0) * 16 + 1) * 8 * 128);
  EXPECT_EQ(kv_cache::runs_of(cache, table, 0, 40), (Runs{{0, 7, 0, 16}, {16, 3, 0, 16}, {32, 42, 0, 8}}));
  EXPECT_TRUE(kv_cache::runs_of(cache, table, 5, 0).empty());
  EXPECT_EQ(kv_cache::sequence_length(cache, 3, 8), 40);
  EXPECT_EQ(kv_cache::sequence_length(cache, 0, 0), 0);
}

TEST(KvCache, Refusals) {
  const Cache cache = cache_of(Order::nhd, Pairing::in_block);
  const auto message = [](auto&& call) {
    const Error error = error_of(call);
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  const std::vector<int64_t> table{3, -1, 5, 3};
  EXPECT_EQ(message([&] { kv_cache::locate(cache, table, 16); }),
            "kv_cache: position 16 is in entry 4 of a table of 4");
  EXPECT_EQ(message([&] { kv_cache::locate(cache, table, 4); }),
            "kv_cache: entry 1 of the table is -1, and the cache has blocks 0 to 4");
  EXPECT_EQ(message([&] { kv_cache::locate(cache, table, 8); }),
            "kv_cache: entry 2 of the table is 5, and the cache has blocks 0 to 4");
  EXPECT_EQ(message([&] { kv_cache::locate(cache, table, -1); }), "kv_cache: position -1");
  EXPECT_EQ(message([&] { kv_cache::locate(cache, table, 0, 3); }), "kv_cache: head 3 of 3");
  const std::vector<int64_t> twice{3, 1, 3};
  EXPECT_EQ(message([&] { kv_cache::runs_of(cache, twice, 0, 12); }),
            "kv_cache: entries 0 and 2 of the table are both block 3, so that two positions share memory");
  EXPECT_EQ(kv_cache::runs_of(cache, twice, 0, 8).size(), 2U) << "the entry that is wrong is not needed";
  EXPECT_NE(message([&] { kv_cache::runs_of(cache, twice, 0, -1); }).find("a length of -1"), std::string::npos);
  EXPECT_NE(message([&] {
              kv_cache::layout_of({.blocks = 1, .block_size = 0, .heads = 1, .dim = 1});
            }).find("block_size is 0"),
            std::string::npos);
  EXPECT_NE(message([&] { kv_cache::layout_of(cache_of(Order::key_packed, Pairing::first)); }).find("two tensors"),
            std::string::npos);
  Cache odd = cache_of(Order::key_packed, Pairing::separate);
  odd.packed = 3;
  EXPECT_NE(message([&] { kv_cache::layout_of(odd); }).find("dim is 8, which is no multiple of the 3"),
            std::string::npos);
  EXPECT_NE(message([&] { kv_cache::sequence_length(cache, 2, 5); }).find("the last page has 5 entries"),
            std::string::npos);
}

}  // namespace
}  // namespace relayout
