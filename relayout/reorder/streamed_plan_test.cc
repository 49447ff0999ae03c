// Plans past the caches: what is written past them, and the tiles that make its lines.
#include <gtest/gtest.h>

#include <set>

#include "relayout/reorder/plan.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/refine/axes.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;

bool is_streamed(const char* from, const char* to, const Dims& dims, DType dtype) {
  return Plan::make({Format::parse(from).bind(dims), dtype}, {Format::parse(to).bind(dims), dtype}).streams();
}

/// The runs of the tiles of a box; none if it has no tiles.
std::vector<TileRun> runs_of(const BoxPlan& box) {
  const auto* tiles = box.as<TileRuns>();
  return tiles ? tiles->runs : std::vector<TileRun>();
}

// Runs of less than a line that do not follow each other are written past the cache too, by tiles.
TEST(StreamedPlan, PartsOfLinesAreMadeByTiles) {
  const auto streamed = [](std::string_view from, std::string_view to) {
    const Dims dims{32, 64, 8, 8};
    const Tuning tuning{.stream = Tuning::Stream::always, .way = Tuning::Way::boxes};
    return Plan::make(desc(from, dims), desc(to, dims), {}, {}, tuning).data().boxes()[0];
  };
  EXPECT_TRUE(streamed("BAcd8a16b2a", "aBdC48b4c").as<RegisterTiles>());
  EXPECT_FALSE(streamed("nchw", "nChw8c").as<RegisterTiles>());
  EXPECT_FALSE(streamed("nchw", "nChw16c").as<RegisterTiles>());
}

// Pieces of less than half a line that do not divide a line go through the cache, unless a line program makes lines, as
// in the first case.
TEST(StreamedPlan, ScrapsGoThroughTheCache) {
  EXPECT_TRUE(is_streamed("nChw4c", "nhwc", {64, 3, 600, 600}, DType::u8));      // 3 bytes
  EXPECT_FALSE(is_streamed("nChw8c", "nhwc", {64, 7, 300, 300}, DType::f32));    // 28
  EXPECT_TRUE(is_streamed("nChw16c", "nhwc", {64, 256, 100, 100}, DType::f32));  // lines
}

/// A machine that permutes no bytes puts the lines of tiles together in the cache.
constexpr Machine kNoBytes{.permuted_bytes = 0};

// Past the caches, boxes that have parts of the same lines are done tile by tile, padding with them.
TEST(StreamedPlan, TilesMakeLinesWhole) {
  const auto streamed = [](std::string_view from, std::string_view to, const Dims& dims, const Attributes& a = {}) {
    return Plan::make(desc(from, dims), desc(to, dims), a, kNoBytes,
                      {.stream = Tuning::Stream::always, .way = Tuning::Way::boxes});
  };
  const Plan p = streamed("nchw", "nChw16c", {2, 17, 10, 20});
  EXPECT_TRUE(p.data().fills().empty());
  ASSERT_EQ(p.data().boxes().size(), 3u);
  EXPECT_FALSE(p.data().boxes()[0].as<TileRuns>());  // channels 0 to 15
  // 200 = 4 x 48 + 8 blocks of one channel and padding.
  for (const auto& [at, tiles, bytes] : {std::tuple(1u, 1, 8 * 64), {2u, 8, 48 * 64}}) {
    const BoxPlan& box = p.data().boxes()[at];
    const std::vector<TileRun> runs = runs_of(box);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].boxes.size(), 2u);
    EXPECT_EQ(runs[0].bytes, bytes);
    EXPECT_EQ(box.blocks, at == 1 ? 2 : tiles);
  }
  int64_t moved = 0;
  for (const BoxPlan& box : p.data().boxes()) moved += box.elements;
  EXPECT_EQ(moved, 2 * 17 * 200);
  EXPECT_EQ(p.cost().bytes_read, 2 * 17 * 200 * 4);
  EXPECT_EQ(p.cost().bytes_written, 2 * 32 * 200 * 4);
  EXPECT_NE(p.explain().find("the largest of 2 boxes that make a tile of 3072 bytes"), std::string::npos)
      << p.explain();
  // Blocks that do not nest need no table; runs with gaps are made where they are.
  const Plan blocks = streamed("aBc16b", "aBc12b", {2, 96, 50});
  EXPECT_TRUE(blocks.data().tables().empty());
  EXPECT_EQ(runs_of(blocks.data().boxes()[0]).size(), 4u);  // a period of 48
  Attributes keep;
  keep.padding = Padding::keep();
  const Plan gaps = streamed("aBc16b", "aBc12b", {2, 17, 50}, keep);
  for (const BoxPlan& box : gaps.data().boxes()) {
    for (const TileRun& run : runs_of(box)) EXPECT_TRUE(run.bytes == 0 || run.elements * 4 == run.bytes);
  }
}

// Where bytes can be permuted, each run of a tile is a line program, and the runs take turns.
TEST(StreamedPlan, RunsByLinePrograms) {
  const Dims dims{1, 96, 5000};
  const Plan p = Plan::make(desc("aBc16b", dims, DType::u16), desc("aBc12b", dims, DType::u16), {},
                            {.permuted_bytes = 64}, {.stream = Tuning::Stream::always, .way = Tuning::Way::boxes});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  const BoxPlan& box = p.data().boxes()[0];
  const std::vector<TileRun> runs = runs_of(box);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(box.blocks, 2 * box.along_src.blocks);
  EXPECT_GT(box.along_src.blocks, 1);
  for (const TileRun& run : runs) {
    ASSERT_EQ(run.boxes.size(), 1u);
    EXPECT_TRUE(run.boxes[0].as<ProgrammedLines>());
    EXPECT_EQ(run.boxes[0].blocks, box.along_src.blocks);
  }
  EXPECT_NE(p.explain().find("the largest of 4 runs that take turns"), std::string::npos) << p.explain();
  // Padding counts among the bytes that are written.
  const Dims few{1, 3, 9000};
  const Plan padded = Plan::make(desc("nwc", few), desc("nCw12c", few), {}, {.permuted_bytes = 64},
                                 {.stream = Tuning::Stream::always, .way = Tuning::Way::boxes});
  ASSERT_TRUE(padded.data().boxes()[0].as<TileRuns>()->by_lines()) << padded.explain();
  EXPECT_EQ(padded.cost().bytes_written, 12 * 9000 * 4);
}

// Runs that are put together in the cache have room there, and lie within a page if they fit.
TEST(StreamedPlan, ImagesOfRunsCrossNoPages) {
  std::set<std::size_t> counts;
  for (const auto& [from, to] : {std::pair("nChw16c", "nhwc"), std::pair("aBcd16b", "aBcd12b"),
                                 std::pair("aBcd48b", "aBcd32b"), std::pair("aBcd16b", "aBcd6b")}) {
    const Dims dims{2, 197, 20, 30};
    const Plan p = Plan::make(desc(from, dims), desc(to, dims), {}, kNoBytes, {.stream = Tuning::Stream::always});
    for (const BoxPlan& box : p.data().boxes()) {
      int64_t end = 0;
      const std::vector<TileRun> runs = runs_of(box);
      if (!runs.empty()) counts.insert(runs.size());
      for (const TileRun& run : runs) {
        // A run may start anywhere in a line.
        const int64_t last = run.image + run.bytes + kCacheLine - 1;
        EXPECT_GE(run.image, end) << from << " -> " << to;
        if (run.bytes + kCacheLine <= kPage) {
          EXPECT_EQ(run.image / kPage, last / kPage) << from << " -> " << to;
        }
        EXPECT_LT(last, 2 * TileRuns::kMaxBytes) << from << " -> " << to;
        end = last + 1;
      }
    }
  }
  EXPECT_GT(counts.size(), 1u);
}

// Rows of a few bytes, and tails of boxes that go through the cache, are not written past it.
TEST(StreamedPlan, ShortRowsGoThroughTheCache) {
  const Dims dims{128, 67, 29, 31};
  EXPECT_FALSE(is_streamed("dcab", "adCb2c", dims, DType::bf16));     // rows of 4 bytes
  EXPECT_FALSE(is_streamed("adCb4c", "ABcd8b8a", dims, DType::f32));  // of half a line, a tile apart
  const TensorDesc src = desc("cdBa2b", dims), dst = desc("aBdC16b4c", dims);
  EXPECT_FALSE(Plan::make(src, dst).streams());
  const Plan always = Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always});
  EXPECT_TRUE(std::ranges::max_element(always.data().boxes(), {}, &BoxPlan::elements)->as<RegisterTiles>())
      << always.explain();
}

// Planning must not divide by the bytes of a nibble, which are 0.
TEST(StreamedPlan, Nibbles) {
  const std::pair<std::string_view, std::string_view> layouts[] = {
      {"strides:3001,1", "ab"}, {"ab", "ab"},    {"ab", "ba"},    {"strides:3001,1@1", "ab"}, {"strides:0,2", "ab"},
      {"ab", "strides:6002,2"}, {"aB16b", "ba"}, {"ab", "AB8b4a"}};
  for (const auto& [from, to] : layouts) {
    for (const Tuning::Stream stream : {Tuning::Stream::by_size, Tuning::Stream::always, Tuning::Stream::never}) {
      const Dims dims{3001, 3001};
      const Plan plan = Plan::make(desc(from, dims, DType::u4), desc(to, dims, DType::u4), {}, {}, {.stream = stream});
      EXPECT_GT(plan.cost().nanoseconds, 0) << from << " -> " << to;
    }
  }
}

// The innermost loop around tiles is the one with the shortest steps in the source or in the destination.
TEST(StreamedPlan, LoopsGoOnNearby) {
  Axes loops{{2, {4096, 64, 0}}, {3, {128, 8192, 0}}, {4, {0, 0, 0}, 0}, {5, {1 << 20, 1 << 10, 0}}};
  order_loops(loops);
  std::vector<int64_t> extents;
  for (const Axis& axis : loops) extents.push_back(axis.extent);
  EXPECT_EQ(extents, (std::vector<int64_t>{4, 5, 2, 3}));
  const Plan p = Plan::make(desc("aBcd16b", {128, 67, 29, 31}), desc("dcab", {128, 67, 29, 31}));
  const BoxPlan& most = *std::ranges::max_element(p.data().boxes(), {}, &BoxPlan::elements);
  ASSERT_TRUE(most.as<TileRuns>()) << p.explain();
  EXPECT_EQ(most.loops.back().stride[kSrc], 64) << p.explain();
}

// Where a region is one block, the next one is fetched, if it is near.
TEST(StreamedPlan, NextRegionsAreFetched) {
  const auto box = [](const Dims& dims, Tuning::Stream stream) {
    return Plan::make(desc("OIhw16i16o", dims), desc("oihw", dims), {}, {}, {.stream = stream}).data().boxes()[0];
  };
  for (const int64_t inputs : {512, 64}) {
    const BoxPlan streamed = box({512, inputs, 3, 3}, Tuning::Stream::always);
    EXPECT_EQ(streamed.along_dst.blocks * streamed.along_src.blocks, 1);
    EXPECT_EQ(streamed.ahead, streamed.loops.back().stride[kSrc]);
    EXPECT_EQ(streamed.ahead, streamed.along_src.count * streamed.along_dst.count * 4);
  }
  EXPECT_EQ(box({512, 512, 3, 3}, Tuning::Stream::never).ahead, 0);
}

// Where tiles of registers write through the cache and both sides are larger than it, the next block is fetched on both
// sides. Here it lies 16 KiB further on in the destination.
TEST(StreamedPlan, NextBlocksOfTilesAreFetched) {
  const auto box = [](const Dims& dims, Tuning::Stream stream) {
    const Plan p = Plan::make(desc("AcdB16b16a2b", dims), desc("BAcd16b16a", dims), {}, {}, {.stream = stream});
    return *std::ranges::max_element(p.data().boxes(), {}, &BoxPlan::elements);
  };
  const BoxPlan large = box({64, 64, 56, 56}, Tuning::Stream::never),
                small = box({16, 32, 16, 16}, Tuning::Stream::never);
  ASSERT_TRUE(large.as<RegisterTiles>() && small.as<RegisterTiles>());
  EXPECT_NE(large.ahead, 0);
  EXPECT_NE(large.as<RegisterTiles>()->dst_ahead, 0);
  EXPECT_EQ(small.as<RegisterTiles>()->dst_ahead, 0);
  EXPECT_EQ(small.ahead, 0);
}

// What most of the last level (32 MiB) has room for beside other things is written through the caches, and what it has
// no room for past them.
TEST(StreamedPlan, PastTheLastLevel) {
  EXPECT_FALSE(is_streamed("abcd", "acdb", {1, 64, 56, 56}, DType::f32));  // 1.6 MB
  EXPECT_TRUE(is_streamed("abcd", "acdb", {12, 64, 56, 56}, DType::f32));  // 19.3 MB
  EXPECT_FALSE(is_streamed("abcd", "acdb", {4, 17, 56, 56}, DType::f32));  // 1.7 MB of odd rows
  EXPECT_TRUE(is_streamed("abcd", "acdb", {56, 17, 56, 56}, DType::f32));  // 23.9 MB
  EXPECT_FALSE(is_streamed("aBcd16b", "abcd", {4, 17, 56, 56}, DType::f32));
  EXPECT_TRUE(is_streamed("aBcd16b", "abcd", {48, 17, 56, 56}, DType::f32));
  EXPECT_FALSE(is_streamed("nChw4c", "nhwc", {4, 3, 224, 224}, DType::u8));  // 1.4 MB
  EXPECT_TRUE(is_streamed("nChw4c", "nhwc", {64, 3, 224, 224}, DType::u8));
}

// A last level that is slow and shared by many cores: only 32 MiB of it count.
constexpr Machine kSlowSharedL3{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = int64_t{480} << 20};

TEST(StreamedPlan, PastAFarLastLevel) {
  const auto streams_far = [](const Dims& dims) {
    return Plan::make(desc("abcd", dims), desc("acdb", dims), {}, kSlowSharedL3).streams();
  };
  EXPECT_TRUE(kSlowSharedL3.slow_shared_l3());
  EXPECT_FALSE(Machine{}.slow_shared_l3());
  EXPECT_EQ((Machine{.l2 = 64 << 20, .l3 = 96 << 20}).l3_share(), 64 << 20);
  EXPECT_FALSE(streams_far({1, 64, 56, 56}));  // 1.6 MB
  EXPECT_TRUE(streams_far({12, 64, 56, 56}));
  EXPECT_FALSE(streams_far({4, 17, 56, 56}));
  EXPECT_TRUE(streams_far({56, 17, 56, 56}));
}

// Where the last level is slow and shared, transpositions larger than the second level fetch their next lines, here 16
// rows ahead. Those larger than the first level do so if rows are near each other or do not start at lines.
TEST(StreamedPlan, FetchesLinesWhereTheLastLevelIsFar) {
  const auto ahead = [](const Dims& dims, const Machine& machine, DType dtype = DType::f32, bool between = false) {
    const Plan p = Plan::make(desc("abcd", dims, dtype), desc("acdb", dims, dtype), {}, machine);
    const BoxPlan& box = p.data().boxes()[0];
    EXPECT_TRUE(box.strided && !p.streams());
    const auto& transposition = *box.as<Transposition>();
    return transposition.ahead_between == between ? transposition.dst_ahead : -1;
  };
  EXPECT_EQ(ahead({4, 17, 56, 56}, kSlowSharedL3), 16 * 68);
  EXPECT_EQ(ahead({4, 17, 56, 56}, {}), 0);
  EXPECT_EQ(ahead({1, 260, 56, 56}, kSlowSharedL3), 16 * 1040);
  EXPECT_EQ(ahead({1, 256, 28, 28}, kSlowSharedL3), 0);
  EXPECT_EQ(ahead({1, 64, 28, 28}, kSlowSharedL3), 16 * 256);
  EXPECT_EQ(ahead({1, 64, 28, 28}, {}), 0);
  EXPECT_EQ(ahead({1, 64, 8, 8}, kSlowSharedL3), 0);  // 32 KiB
  EXPECT_EQ(ahead({1, 196, 28, 28}, kSlowSharedL3), 16 * 784);
  EXPECT_EQ(ahead({1, 300, 28, 28}, kSlowSharedL3), 0);
  EXPECT_EQ(ahead({1, 300, 28, 28}, kSlowSharedL3, DType::u16), 32 * 600);
  EXPECT_EQ(ahead({1, 256, 28, 28}, kSlowSharedL3, DType::u16), 0);
  EXPECT_EQ(ahead({1, 300, 28, 28}, kSlowSharedL3, DType::u8), 0);
  // Rows of whole lines only where the destination starts between lines.
  EXPECT_EQ(ahead({1, 320, 28, 28}, kSlowSharedL3, DType::f32, true), 16 * 1280);
  EXPECT_EQ(ahead({1, 128, 28, 28}, kSlowSharedL3, DType::u16, true), 32 * 256);
  EXPECT_EQ(ahead({1, 320, 28, 28}, {}), 0);
  // Half bytes are moved as bytes in the cache.
  const Dims halves{1000, 997, 9};
  const Plan p = Plan::make(desc("abc", halves, DType::s4), desc("bac", halves, DType::s4), {}, kSlowSharedL3);
  for (const BoxPlan& box : p.data().boxes()) EXPECT_TRUE(box.as<Stages>());
}

// Where the last level is slow and shared, panels have as few columns as hardware fetches ahead, if rows start at lines
// or values are narrowed. Other panels have a quarter of the columns for which the sets of the second level have room.
TEST(StreamedPlan, PanelsWhereTheLastLevelIsFar) {
  const auto columns = [](const Dims& dims, const Machine& machine, DType from, DType to) {
    const Plan p =
        Plan::make({Format::parse("ab").bind(dims), from}, {Format::parse("ba").bind(dims), to}, {}, machine);
    return p.data().boxes()[0].along_dst.block;
  };
  const Dims square{8192, 8192}, odd{8191, 8193};
  EXPECT_EQ(columns(square, {}, DType::f32, DType::f32), 256);
  EXPECT_EQ(columns(square, kSlowSharedL3, DType::f32, DType::f32), 32);
  EXPECT_EQ(columns({4097, 6144}, kSlowSharedL3, DType::f32, DType::f32), 64);  // 8 KiB times three
  EXPECT_EQ(columns(odd, kSlowSharedL3, DType::f32, DType::f32), columns(odd, {}, DType::f32, DType::f32));
  EXPECT_EQ(columns(square, {}, DType::f64, DType::f64), 128);
  EXPECT_EQ(columns(square, kSlowSharedL3, DType::f64, DType::f64), 32);
  EXPECT_EQ(columns(square, kSlowSharedL3, DType::f32, DType::f64), 32);
  EXPECT_EQ(columns({8192, 8191}, kSlowSharedL3, DType::bf16, DType::bf16), 64);
  EXPECT_EQ(columns({8192, 8191}, {}, DType::bf16, DType::bf16), 256);
  EXPECT_EQ(columns(square, kSlowSharedL3, DType::u8, DType::u8), 128);
  EXPECT_EQ(columns(odd, kSlowSharedL3, DType::f32, DType::bf16), 32);
  EXPECT_EQ(columns({8193, 8191}, kSlowSharedL3, DType::f32, DType::bf16), 32);
  EXPECT_EQ(columns({4097, 8192}, kSlowSharedL3, DType::f32, DType::f32), 32);
  EXPECT_GT(columns(odd, {}, DType::f32, DType::bf16), 32);
}

// Padding that is whole lines is written past the cache where the destination is beyond it; parts of lines never are.
TEST(StreamedPlan, PaddingOfWholeLines) {
  const auto streamed = [](std::string_view to, const Dims& dims) {
    const Plan p = Plan::make(desc("adbc", dims), desc(to, dims));
    return std::ranges::count_if(p.data().fills(), [](const BoxPlan& fill) { return fill.as<Fill>()->past_cache; });
  };
  EXPECT_GT(streamed("ABcd16b64a4b", {32, 67, 29, 31}), 0);
  EXPECT_EQ(streamed("ABcd16b64a4b", {8, 67, 3, 7}), 0);
  EXPECT_EQ(streamed("aBcd4b", {64, 67, 29, 31}), 0);
}

// Tiles are taken where they cost less than to read the destination's lines. Small blocks, short runs and many lines
// of the source make them dear.
TEST(StreamedPlan, TilesWhereTheyCostLess) {
  EXPECT_TRUE(is_streamed("aBcd16b", "abcd", {128, 67, 29, 31}, DType::f32));
  EXPECT_FALSE(is_streamed("aBdC32b4c", "aBCd4b8c8b4c", {256, 67, 29, 31}, DType::s8));
  EXPECT_FALSE(is_streamed("adcb", "ABcd16b16a", {32, 67, 29, 31}, DType::f32));
}

// Where rows of small elements are less than a line in the source, they are not packed to tiles of a line by a line.
TEST(StreamedPlan, NarrowStripsAreNotPacked) {
  const auto packs = [](std::string_view from, const Dims& dims) {
    return Plan::make(desc(from, dims, DType::s8), desc("dcab", dims, DType::s8))
        .data()
        .boxes()[0]
        .as<Transposition>()
        ->pack;
  };
  EXPECT_FALSE(packs("abDc32d", {256, 67, 29, 31}));
  EXPECT_TRUE(packs("abcd", {256, 67, 29, 67}));
}

// Tiles are whole lines, even if their images then take more than a page.
TEST(StreamedPlan, TilesEndAtLines) {
  const Plan p = Plan::make(desc("nChw16c", {64, 67, 56, 56}), desc("nhwc", {64, 67, 56, 56}), {}, kNoBytes,
                            {.stream = Tuning::Stream::always, .way = Tuning::Way::boxes});
  ASSERT_EQ(p.data().boxes().size(), 1u) << p.explain();
  const std::vector<TileRun> runs = runs_of(p.data().boxes()[0]);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].bytes, 16 * 67 * 4);
}

}  // namespace
}  // namespace relayout
