// Reorders whose destination is written past the caches line by line, where rows, tiles or blocks share lines: the
// reference's bytes at any address and on any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/streamed.h"

namespace relayout::cpu {
namespace {

using test::desc;
using test::describe;
using test::isa_of_turn;
using test::kAlways;
using Expected = test::StreamedExpected;

// Rows that are as long as whole lines and follow each other, but do not always start at lines. A line that two rows
// share is written with one of them; the first line of the first row and the last line of the last row are incomplete.
// Columns of two axes, too; strips of which the last one is shorter than a tile; values that are converted, by one
// scale and by one of each column.
TEST(Stream, RowsThatShareLines) {
  const Dims dims{2, 64, 3, 7, 19};
  const std::pair<const char*, const char*> layouts[] = {
      {"abcde", "adecb"}, {"abcde", "adebc"}, {"abcde", "aBdec64b"}, {"abcde", "decab"}};
  const std::pair<DType, DType> types[] = {{DType::u8, DType::u8},    {DType::bf16, DType::bf16},
                                           {DType::f32, DType::f32},  {DType::f64, DType::f64},
                                           {DType::f32, DType::bf16}, {DType::f32, DType::u8}};
  Attributes scales;
  scales.src_scale = {std::vector<double>(64, 0.75), 2};
  for (std::size_t i = 0; i < 64; ++i) scales.src_scale.values[i] += static_cast<float>(i);
  int64_t cases = 0;
  for (const auto& [from, to] : layouts) {
    for (const auto& [src_type, dst_type] : types) {
      const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
      SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
      for (const Attributes& attributes : {Attributes(), scales}) {
        const Expected expected(src, dst, attributes);
        for (const int64_t panel : {0, 64, 96}) {
          for (const int64_t strip : {0, 26}) {
            const Plan plan = Plan::make(src, dst, attributes, {},
                                         {.stream = Tuning::Stream::always, .panel = panel, .strip = strip});
            ASSERT_TRUE(plan.streams());
            for (const int64_t past : {16, 33}) {
              const test::ScopedIsa isa_scope(isa_of_turn(cases));
              expected.expect_of(plan, past, {1, 3});
              if (HasFatalFailure()) return;
              ++cases;
            }
          }
        }
      }
    }
  }
}

// Tiles one after the other in the destination, whose runs share lines: of a few bytes, of which several make a line,
// and longer, put together in the cache or, where rows are alike, straight from the source; some filled with padding.
TEST(Stream, TilesThatShareLines) {
  struct Case {
    const char *from, *to;
    Dims dims;
    DType type;
  };
  const Case cases[] = {
      {"aCb16c", "bAc12a", {5, 17, 9}, DType::s8},       {"aCb16c", "bAc12a", {29, 17, 9}, DType::bf16},
      {"abcd", "acdB3b", {2, 7, 5, 9}, DType::s8},       {"acdb", "aBcd16b", {3, 67, 13, 31}, DType::s8},
      {"acdb", "aBcd16b", {3, 35, 13, 31}, DType::bf16}, {"aBcd16b", "acdb", {3, 67, 13, 31}, DType::s8},
      {"aBcd16b", "acdb", {3, 19, 13, 31}, DType::f32},  {"ABcd16a16b", "BAcd4b8a2b", {37, 29, 3, 3}, DType::f32}};
  int64_t tiled = 0;
  for (const Case& c : cases) {
    const TensorDesc src = desc(c.from, c.dims, c.type), dst = desc(c.to, c.dims, c.type);
    SCOPED_TRACE(describe(src, dst) + ", " + c.from + " -> " + c.to);
    const Expected expected(src, dst);
    for (const int64_t panel : {0, 4, 16}) {
      const Plan plan =
          Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always, .panel = panel, .way = Tuning::Way::boxes});
      tiled += std::ranges::any_of(plan.data().boxes(), [](const BoxPlan& box) { return box.as<TileRuns>(); });
      for (const std::string_view isa : available_isas()) {
        const test::ScopedIsa isa_scope(isa);
        for (int64_t past = 0; past < 64; past += isa == available_isas().back() ? 1 : 9) {
          expected.expect_of(plan, past, {1, 3});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(tiled, 18);
}

// Special cases: runs of half a line of which the first ones and the last one lie as if all followed each other, but
// those between do not; tiles whose rows are so long that few make a line; and rows with whole lines of padding.
TEST(Stream, RowsThatHalfFollow) {
  const auto strided = [](const Dims& dims, const Dims& strides, DType type) {
    return TensorDesc(Layout::strided(dims, strides), type);
  };
  const auto digits = [](const Dims& dims, std::vector<Digits> all, DType type) {
    return TensorDesc(Layout::from_digits(dims, all), type);
  };
  const Dims pieces{20, 4, 32, 2, 2, 8}, crops{4, 2, 2, 2, 2, 1316}, padded{18, 12, 29, 9, 1};
  const std::pair<TensorDesc, TensorDesc> cases[] = {
      {TensorDesc(Layout::contiguous(pieces), DType::f32), strided(pieces, {4096, 8, 64, 2048, 32, 1}, DType::f32)},
      {strided(crops, {106920, 35640, 11880, 3960, 1320, 1}, DType::f32),
       digits(crops,
              {Digits{{4, 32512}}, Digits{{2, 8128}}, Digits{{2, 4064}}, Digits{{2, 2032}}, Digits{{2, 1016}},
               Digits{{1016, 1}, {2, 16256}}},
              DType::f32)},
      {desc("acbEd2e", padded, DType::bf16), digits(padded,
                                                    {Digits{{8, 18792}, {3, 18}}, Digits{{2, 1566}, {6, 3132}},
                                                     Digits{{29, 54}}, Digits{{9, 1}}, Digits{{2, 9}, {1, 1}}},
                                                    DType::bf16)}};
  for (const auto& [src, dst] : cases) {
    const Expected expected(src, dst);
    const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
    for (const std::string_view isa : available_isas()) {
      const test::ScopedIsa isa_scope(isa);
      for (const int64_t past : {0, 2, 16, 32, 40}) {
        expected.expect_of(plan, past, {1, 3});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows that start anywhere in lines, of a few channels and of many, converted to wider types: a line belongs to the
// block in which it starts, which then converts some columns of the next one.
TEST(Stream, WideningTranspositions) {
  const std::pair<DType, DType> types[] = {
      {DType::u8, DType::f32},  {DType::bf16, DType::f32}, {DType::s8, DType::f16},  {DType::u8, DType::f64},
      {DType::f32, DType::f64}, {DType::f16, DType::f32},  {DType::u8, DType::bf16}, {DType::u8, DType::s32}};
  const Tuning tunings[] = {kAlways, {.stream = Tuning::Stream::always, .panel = 53, .strip = 7}};
  int64_t cases = 0;
  for (const int64_t channels : {1, 2, 3, 5, 16, 67, 130}) {
    for (const Dims& image : {Dims{61, 67}, Dims{9, 7}, Dims{1, 1031}}) {
      const Dims dims{2, channels, image[0], image[1]};
      for (const auto& [src_type, dst_type] : types) {
        const TensorDesc src = desc("acdb", dims, src_type), dst = desc("abcd", dims, dst_type);
        SCOPED_TRACE(describe(src, dst));
        const Expected expected(src, dst);
        for (const Tuning& tuning : tunings) {
          const Plan plan = Plan::make(src, dst, {}, {}, tuning);
          const test::ScopedIsa isa_scope(isa_of_turn(cases));
          // Addresses at which elements are whole, and one at which they are not.
          expected.expect_of(plan, cases % 3 == 0 ? 16 : cases % 3 == 1 ? 8 : 3, {1, 3});
          if (HasFatalFailure()) return;
          ++cases;
        }
      }
    }
  }
}

// Short rows that follow each other, of whole lines and of others. They are one stretch of the destination, made by one
// block or by several. Each block writes its own bytes of the lines that it shares.
TEST(Stream, RunsOfShortRows) {
  const std::pair<DType, DType> types[] = {
      {DType::u8, DType::u8},    {DType::bf16, DType::bf16}, {DType::f32, DType::f32}, {DType::f64, DType::f64},
      {DType::f32, DType::bf16}, {DType::f32, DType::u8},    {DType::u8, DType::f32}};
  const std::pair<const char*, const char*> layouts[] = {{"abcd", "acdb"}, {"acdb", "abcd"}, {"abcd", "cdab"}};
  const auto isas = available_isas();
  int64_t cases = 0, several = 0;
  for (const Dims& dims : {Dims{2, 200, 24, 21}, Dims{3, 90, 7, 7}, Dims{5, 61, 1, 37}, Dims{2, 1000, 9, 11},
                           Dims{5, 64, 8, 8}, Dims{3, 128, 7, 7}}) {
    for (const auto& [from, to] : layouts) {
      for (const auto& [src_type, dst_type] : types) {
        const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
        SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
        const Expected expected(src, dst);
        for (const int64_t strip : {0, 26}) {
          const Plan plan = Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always, .strip = strip});
          ASSERT_TRUE(plan.streams());
          several += strip == 0 && plan.data().boxes()[0].along_src.blocks > 1;
          for (const int64_t past : {int64_t{0}, int64_t{16}, 1 + cases % 63}) {
            const test::ScopedIsa isa_scope(past == 16 ? isas.back()
                                                       : isas[static_cast<std::size_t>(cases) % isas.size()]);
            expected.expect_of(plan, past, {1, 3});
            if (HasFatalFailure()) return;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(several, 0);
}

// Small caches: tensors of any size are beyond them, and written past them whether that is faster or not. Rows from
// shorter than a line to longer than a block's image, and as few of them as there are; every one at an address of its
// own within the line.
TEST(Stream, BeyondSmallCaches) {
  const Machine small{.l1 = 1 << 10, .l2 = 2 << 10, .l3 = 4 << 10};
  const auto isas = available_isas();
  int64_t cases = 0;
  for (const int64_t channels : {2, 3, 16, 60, 64, 130, 512, 1030}) {
    for (const Dims& dims : {Dims{1, channels, 8, 12}, Dims{2, channels, 7, 7}, Dims{1, channels, 1, 129}}) {
      for (const auto& [from, to] : {std::pair("abcd", "acdb"), {"acdb", "abcd"}, {"aBcd16b", "acdb"}}) {
        for (const auto& [src_type, dst_type] : {std::pair(DType::u8, DType::u8),
                                                 {DType::bf16, DType::bf16},
                                                 {DType::f32, DType::f32},
                                                 {DType::f32, DType::bf16},
                                                 {DType::f32, DType::s8},
                                                 {DType::u8, DType::f32},
                                                 {DType::s64, DType::s64}}) {
          const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
          SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
          const Plan plan = Plan::make(src, dst, {}, small, kAlways);
          ASSERT_TRUE(plan.streams());
          const Expected expected(src, dst);
          for (const int64_t past : {int64_t{0}, int64_t{16}, 1 + cases % 63}) {
            const test::ScopedIsa isa_scope(
                isas[static_cast<std::size_t>(past == 16 ? cases : cases + 1) % isas.size()]);
            expected.expect_of(plan, past, {1});
            if (HasFatalFailure()) return;
          }
          ++cases;
        }
      }
    }
  }
  std::printf("beyond small caches: %lld plans\n", static_cast<long long>(cases));
}

// Channel blocks of a line, of half a line, and of others, with images that make whole lines and others, in blocks that
// start and end at lines and elsewhere.
TEST(Stream, ChannelBlocks) {
  const std::pair<const char*, const char*> layouts[] = {
      {"abcd", "aBcd16b"},   {"aBcd16b", "abcd"},   {"abcd", "aBcd8b"},  {"aBcd8b", "abcd"},
      {"aBcd16b", "aBcd8b"}, {"aBcd8b", "aBcd16b"}, {"aBcd16b", "acdb"}, {"acdb", "aBcd16b"},
      {"acdb", "abcd"},      {"aBcd8b", "aBcd4b"},  {"aBcd4b", "aBcd8b"}};
  int64_t cases = 0;
  for (const auto& [from, to] : layouts) {
    for (const Dims& dims : {Dims{2, 96, 24, 31}, Dims{1, 64, 37, 33}, Dims{3, 48, 4, 4}}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const TensorDesc src = desc(from, dims, dtype), dst = desc(to, dims, dtype);
        SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
        const Expected expected(src, dst);
        for (const int64_t side : {0, 32, 47}) {
          const Plan plan =
              Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always, .panel = side, .strip = side});
          ASSERT_TRUE(plan.streams());
          for (const int64_t past : {0, 32, 20}) {
            const test::ScopedIsa isa_scope(isa_of_turn(cases));
            expected.expect_of(plan, past, {1, 2});
            if (HasFatalFailure()) return;
            ++cases;
          }
        }
      }
    }
  }
}

// Two short axes change places within a long axis of any length.
TEST(Stream, ShortAxesChangePlaces) {
  for (const int64_t extent : {5, 127, 255, 300, 2500}) {
    const Dims dims{3, 5, extent, 2, 2};
    const TensorDesc src = desc("abcde", dims, DType::u8), dst = desc("baced", dims, DType::u8);
    SCOPED_TRACE(describe(src, dst));
    const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
    for (const int64_t past : {0, 5, 63}) Expected(src, dst).expect_of(plan, past, {1});
  }
}

}  // namespace
}  // namespace relayout::cpu
