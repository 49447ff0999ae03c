// Runs: examples by hand, and the law over whole domains.
#include "relayout/core/runs.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::error_of;

using SeenRun = std::tuple<int64_t, int64_t, std::vector<int64_t>>;
using SeenRuns = std::vector<SeenRun>;

SeenRun run_of(int64_t offset, int64_t length, const Dims& index) {
  return {offset, length, {index.begin(), index.end()}};
}

SeenRuns runs(const Layout& layout) {
  SeenRuns out;
  for_each_run(
      layout, [&](int64_t offset, int64_t length, const Dims& index) { out.push_back(run_of(offset, length, index)); });
  return out;
}
SeenRuns padding_runs(const Layout& layout) {
  SeenRuns out;
  for_each_padding_run(
      layout, [&](int64_t offset, int64_t length, const Dims& index) { out.push_back(run_of(offset, length, index)); });
  return out;
}
using test::bound;

TEST(Runs, ADenseArrayIsOne) {
  for (const char* text : {"nchw", "nhwc", "chwn"})
    EXPECT_EQ(runs(bound(text, {2, 3, 5, 4})), (SeenRuns{{0, 120, {0, 0, 0, 0}}})) << text;
  EXPECT_EQ(runs(bound("nChw8c", {2, 16, 5, 4})), (SeenRuns{{0, 640, {0, 0, 0, 0}}}));
  EXPECT_EQ(runs(Layout()), (SeenRuns{{0, 1, {}}}));
  EXPECT_EQ(runs(bound("ab@7", {2, 3})), (SeenRuns{{7, 6, {0, 0}}}));
}

TEST(Runs, PaddingAndGapsEndThem) {
  // DirectML's ABCxxDEFxx.
  EXPECT_EQ(runs(bound("strides:5,1", {2, 3})), (SeenRuns{{0, 3, {0, 0}}, {5, 3, {1, 0}}}));
  EXPECT_EQ(padding_runs(bound("strides:5,1", {2, 3})), SeenRuns{});
  // Channels 0 to 16 fill blocks 0 and 1 and the first place of block 2.
  EXPECT_EQ(runs(bound("nChw8c", {1, 17, 1, 2})), (SeenRuns{{0, 33, {0, 0, 0, 0}}, {40, 1, {0, 16, 0, 1}}}));
  EXPECT_EQ(padding_runs(bound("nChw8c", {1, 17, 1, 2})), (SeenRuns{{33, 7, {0, 17, 0, 0}}, {41, 7, {0, 17, 0, 1}}}));
  // The padding of both dims is one run where it is one stretch of memory.
  EXPECT_EQ(padding_runs(bound("AB2a2b", {3, 3})),
            (SeenRuns{{5, 1, {0, 3}}, {7, 1, {1, 3}}, {10, 2, {3, 0}}, {13, 3, {2, 3}}}));
}

TEST(Runs, BackwardsDimsBeginAtTheSmallestOffset) {
  EXPECT_EQ(runs(bound("strides:-1", {5})), (SeenRuns{{0, 5, {4}}}));
  EXPECT_EQ(runs(bound("strides:-4,1", {2, 3})), (SeenRuns{{0, 3, {1, 0}}, {4, 3, {0, 0}}}));
  // A dim that is padded and goes backwards: indices 4 and 5 lie first.
  const std::vector<Digits> digits = {Digits{{2, -1}, {3, -2}}};
  const Layout layout = Layout::from_digits({4}, digits, 5);
  EXPECT_EQ(runs(layout), (SeenRuns{{2, 4, {3}}}));
  EXPECT_EQ(padding_runs(layout), (SeenRuns{{0, 2, {5}}}));
}

TEST(Runs, ARepeatedElementIsVisitedOnce) {
  EXPECT_EQ(runs(bound("strides:0,1", {4, 3})), (SeenRuns{{0, 3, {0, 0}}}));
  EXPECT_EQ(runs(bound("strides:0", {4})), (SeenRuns{{0, 1, {0}}}));
  // Index 3 of 3 is padding, but lies where index 1 does.
  const std::vector<Digits> digits = {Digits{{2, 1}, {2, 0}}};
  EXPECT_EQ(runs(Layout::from_digits({3}, digits)), (SeenRuns{{0, 2, {0}}}));
  EXPECT_EQ(padding_runs(Layout::from_digits({3}, digits)), SeenRuns{});
}

TEST(Runs, OtherOverlapsAreRefused) {
  const Error error = error_of([] { runs(bound("strides:1,1", {2, 3})); });
  EXPECT_EQ(error.code(), ErrorCode::not_injective);
  EXPECT_NE(error.message().find("indices 0,1 and 1,0 share the element at offset 1"), std::string::npos)
      << error.message();
  const Error repeated = error_of([] { runs(bound("strides:0,1,1", {2, 2, 3})); });
  EXPECT_EQ(repeated.code(), ErrorCode::not_injective);
  // Interleaved strides overlap nowhere.
  int64_t elements = 0;
  for_each_run(bound("strides:2,3", {3, 2}), [&](int64_t, int64_t length) { elements += length; });
  EXPECT_EQ(elements, 6);
}

TEST(Runs, PaddingThatSharesAnOffsetWithAnElementIsNone) {
  // Offset 3 is index 3,0 of the padding and element 0,1; offset 6 is 3,1 alone.
  const std::vector<Digits> digits = {Digits{{2, 1}, {2, 2}}, Digits{{2, 3}}};
  const Layout layout = Layout::from_digits({3, 2}, digits);
  EXPECT_EQ(padding_runs(layout), (SeenRuns{{6, 1, {3, 1}}}));
}

TEST(Runs, FalseEndsTheLoop) {
  int calls = 0;
  for_each_run(bound("strides:5,1", {9, 3}), [&](int64_t, int64_t) { return ++calls < 4; });
  EXPECT_EQ(calls, 4);
  calls = 0;
  for_each_padding_run(bound("nChw8c", {2, 17, 5, 4}), [&](int64_t, int64_t, const Dims&) { return ++calls < 3; });
  EXPECT_EQ(calls, 3);
}

TEST(Runs, WithoutElementsThereAreNone) {
  EXPECT_EQ(runs(bound("nChw8c", {0, 17, 5, 4})), SeenRuns{});
  EXPECT_EQ(padding_runs(bound("nChw8c", {0, 17, 5, 4})), SeenRuns{});
  EXPECT_EQ(runs(Layout::contiguous({0})), SeenRuns{});
}

TEST(Runs, AScalarsPaddingIsOne) {
  const Layout scalar = Layout::padded_scalar({{4, 1}, {2, 4}}, 5);
  for_each_run(scalar, [](int64_t offset, int64_t length) { EXPECT_EQ(std::pair(offset, length), std::pair(5l, 1l)); });
  int runs = 0;
  for_each_padding_run(scalar, [&](int64_t offset, int64_t length, const Dims& index) {
    EXPECT_EQ(std::pair(offset, length), std::pair(6l, 7l));
    EXPECT_EQ(index, Dims{});
    ++runs;
  });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(gap_count(scalar), 0);
}

TEST(Runs, GapsAreCounted) {
  EXPECT_EQ(gap_count(bound("nchw", {2, 3, 5, 4})), 0);
  EXPECT_EQ(gap_count(bound("nChw8c", {2, 17, 5, 4})), 0);     // padding is no gap
  EXPECT_EQ(gap_count(bound("strides:5,1", {2, 3})), 2);       // those behind the last element are outside
  EXPECT_EQ(gap_count(bound("strides:-5,1@9", {2, 3})), 2);    // so is what offset0 skips
  EXPECT_EQ(gap_count(bound("strides:0,2", {4, 3})), 2);       // a repeated element is one place
  EXPECT_EQ(gap_count(bound("strides:1,1", {3, 3})), 0);       // offsets 0 to 4, some of them shared
  EXPECT_EQ(gap_count(bound("strides:4,2,1", {3, 3, 1})), 6);  // even offsets, 4 and 8 of them shared
  EXPECT_EQ(gap_count(bound("strides:2,3", {3, 2})), 2);       // 0, 2, 3, 4, 5, 7: 1 and 6 are gaps
  EXPECT_EQ(gap_count(bound("nchw", {0, 3, 5, 4})), 0);
  EXPECT_EQ(gap_count(bound("strides:1,1", {1 << 30, 3})), std::nullopt);
}

/// Of nested strides: runs ascend, and two of them never touch.
TEST(Runs, AreTheSlotsOfMemory) {
  const Layout image = bound("nChw8c", {2, 33, 5, 4});
  for (const Layout& layout : {bound("nChw8c", {2, 17, 5, 4}), bound("OIhw4i16o4i", {20, 17, 3, 2}),
                               bound("nh|Cw4c", {2, 6, 5, 3}), bound("ABc3a2b2a", {7, 5, 3}),
                               submemory(image, {2, 9, 5, 4}, {0, 24, 0, 0}), bound("strides:40,-9,2", {3, 4, 4})}) {
    std::vector<Slot> slots(static_cast<std::size_t>(layout.span()), Slot::gap);
    int64_t end = -1;
    const auto mark = [&](Slot slot) {
      end = -1;
      return [&, slot](int64_t offset, int64_t length, const Dims& index) {
        EXPECT_GT(offset, end);
        end = offset + length;
        EXPECT_EQ(layout.offset(index), offset);
        for (int64_t i = offset; i < end; ++i) slots.at(static_cast<std::size_t>(i)) = slot;
      };
    };
    for_each_run(layout, mark(Slot::element));
    for_each_padding_run(layout, mark(Slot::padding));
    for (std::size_t i = 0; i < slots.size(); ++i)
      ASSERT_EQ(slots[i], layout.inverse(static_cast<int64_t>(i), nullptr)) << i;
  }
}

}  // namespace
}  // namespace relayout
