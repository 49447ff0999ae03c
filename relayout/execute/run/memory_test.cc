// Placement of buffers: two that live at once never share bytes, and the peak is as low as possible where that is
// known.
#include "relayout/execute/run/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace relayout::execute {
namespace {

TEST(Memory, ChainSharesTwoBuffers) {
  std::vector<Lifetime> live;
  for (int i = 0; i < 10; ++i) live.push_back({4096, i, i + 1});
  EXPECT_EQ(place(live), 2 * 4096);
  EXPECT_EQ(live[0].offset, live[2].offset);
}

TEST(Memory, NothingIsNothing) {
  EXPECT_EQ(place({}), 0);
  std::vector<Lifetime> empty = {{0, 0, 3}, {0, 1, 2}};
  EXPECT_EQ(place(empty), 0);
}

TEST(Memory, LiveBuffersNeverOverlap) {
  std::mt19937 rng(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> live;
    for (int i = pick(1, 40); i > 0; --i) {
      const int first = pick(0, 30);
      live.push_back({pick(0, 5000), first, first + pick(0, 10)});
    }
    const int64_t peak = place(live);
    std::vector<int64_t> at_step(50);
    for (const Lifetime& a : live) {
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_LE(a.offset + a.bytes, peak);
      for (int s = a.first; s <= a.last; ++s) at_step[static_cast<std::size_t>(s)] += a.bytes;
      for (const Lifetime& b : live) {
        if (&a == &b || a.last < b.first || b.last < a.first || a.bytes == 0 || b.bytes == 0) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
    EXPECT_GE(peak, *std::ranges::max_element(at_step));
  }
}

}  // namespace
}  // namespace relayout::execute
