// Reorders whose destination is written past the caches: the reference's bytes at any address, on any number of
// threads, and with last blocks shorter than the others, whose lines both neighbours have a part in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::counting;
using test::desc;
using test::Guarded;

constexpr Tuning kAlways{.stream = Tuning::Stream::always};

/// A reorder's source and what the reference makes of it. Bytes of the destination that are no elements and no padding
/// keep what they were.
class Expected {
 public:
  Expected(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {})
      : src_(src.span_bytes(), Guarded::Side::end), bytes_(static_cast<std::size_t>(dst.span_bytes()), kBefore) {
    std::ranges::copy(counting(src.span_bytes()), src_.data());
    reference_reorder(src, src_.data(), dst, bytes_.data(), attributes);
  }

  /// Runs the plan into a buffer `past` bytes past a page, once a number of threads.
  void expect_of(const Plan& plan, int64_t past, std::initializer_list<int> threads) const {
    const auto size = static_cast<int64_t>(bytes_.size());
    Guarded dst(size, Guarded::Side::start, past);
    for (const int count : threads) {
      std::ranges::fill(dst.bytes(), kBefore);
      run(plan, src_.data(), dst.data(), {count});
      const auto at = std::ranges::mismatch(dst.bytes(), bytes_).in1 - dst.bytes().begin();
      ASSERT_EQ(at, size) << "the first byte that differs, of a destination " << past << " bytes past a page, " << count
                          << " threads, " << isa() << "\n"
                          << plan.explain();
      ASSERT_TRUE(dst.intact());
    }
  }

 private:
  static constexpr std::byte kBefore{0x5c};
  Guarded src_;  // nothing after its end is read
  std::vector<std::byte> bytes_;
};

/// Every other time the best instruction set, between them each in turn.
void take_isa(int64_t turn) {
  const auto isas = available_isas();
  set_isa(turn % 2 == 0 ? isas.back() : isas[static_cast<std::size_t>(turn / 2) % isas.size()]);
}

std::string describe(const TensorDesc& src, const TensorDesc& dst) {
  return join(src.layout.dims()) + " " + std::string(name(src.dtype)) + " -> " + std::string(name(dst.dtype));
}

// What plans do by themselves beyond the caches: 28 MB to 80 MB on both sides together, each at an address that memory
// from the heap has.
TEST(Stream, RealSizes) {
  struct Row {
    const char *from, *to;
    Dims dims;
    DType src, dst;
  };
  const Row rows[] = {{"abcd", "acdb", {16, 256, 56, 56}, DType::f32, DType::bf16},
                      {"acdb", "abcd", {3, 130, 121, 123}, DType::f32, DType::u8},
                      {"acdb", "abcd", {5, 512, 97, 83}, DType::u8, DType::u8},
                      {"abcd", "acdb", {2, 70, 191, 193}, DType::f32, DType::f32}};
  for (const Row& row : rows) {
    const TensorDesc src = desc(row.from, row.dims, row.src), dst = desc(row.to, row.dims, row.dst);
    SCOPED_TRACE(describe(src, dst) + ", " + row.from + " -> " + row.to);
    const Plan plan = Plan::make(src, dst);
    ASSERT_TRUE(plan.streams());
    Expected(src, dst).expect_of(plan, 16, {1, 2, 3});
    if (HasFatalFailure()) return;
  }
}

// Sizes at which threads share the work, every ISA, blocks as they are chosen and others.
TEST(Stream, EqualsTheReferenceOnEveryThreadCount) {
  const Dims dims{2, 67, 47, 61};
  const std::pair<const char*, const char*> layouts[] = {{"abcd", "acdb"},
                                                         {"acdb", "abcd"},
                                                         {"abcd", "dcba"},
                                                         {"abcd", "aBcd16b"},
                                                         {"aBcd8b", "acdb"},
                                                         {"aBcd16b", "aBcd4b"},
                                                         {"aBcd16b", "aBcd12b"},
                                                         {"acdb", "aBcd8b"},
                                                         {"aBcd48b", "ABcd2b16a4b"},
                                                         {"abcd", "abcd"},
                                                         {"abcd", "strides:211500,1,4500,71"},
                                                         {"abcd", "strides:201536,3008,64,1"},
                                                         {"strides:201536,3008,64,1", "abcd"},
                                                         {"strides:735000,1,15000,240", "acdb"}};
  const std::pair<DType, DType> types[] = {{DType::f32, DType::bf16},
                                           {DType::f32, DType::u8},
                                           {DType::u8, DType::u8},
                                           {DType::f32, DType::f32},
                                           {DType::f16, DType::f64}};
  const Tuning tunings[] = {kAlways, {.stream = Tuning::Stream::always, .panel = 37, .strip = 19, .ahead = 4096}};
  int64_t cases = 0;
  for (const auto& [from, to] : layouts) {
    for (const auto& [src_type, dst_type] : types) {
      const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
      SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
      const Expected expected(src, dst);
      for (const Tuning& tuning : tunings) {
        const Plan plan = Plan::make(src, dst, {}, {}, tuning);
        ASSERT_TRUE(plan.streams());
        take_isa(cases);
        expected.expect_of(plan, cases % 3 == 0 ? 0 : cases % 3 == 1 ? 16 : cases * 7 % 64, {1, 2, 3});
        if (HasFatalFailure()) return set_isa("");
        ++cases;
      }
    }
  }
  set_isa("");
  std::printf("streamed reorders: %lld plans\n", static_cast<long long>(cases));
}

// Weights of 3x3 and fewer: a few columns (rows) interleaved, through the cache and past it; without gaps, and in
// places that leave some.
TEST(Stream, FewColumnsOrRows) {
  const std::pair<const char*, const char*> layouts[] = {{"abcd", "acdb"},
                                                         {"acdb", "abcd"},
                                                         {"abcd", "cdba"},
                                                         {"cdba", "abcd"},
                                                         {"strides:1200,11,3,1", "acdb"},
                                                         {"acdb", "strides:1201,11,3,1"},
                                                         {"abcd", "strides:1300,1,280,90"},
                                                         {"strides:1300,1,280,90", "abcd"}};
  int64_t cases = 0;
  for (const Dims& kernel : {Dims{3, 3}, Dims{1, 9}, Dims{7, 1}, Dims{1, 5}, Dims{2, 3}, Dims{2, 2}}) {
    for (const int64_t channels : {15, 16, 33, 80}) {
      for (const auto& [from, to] : layouts) {
        // Those with gaps are made for 3x3.
        const bool gaps = std::string_view(from).starts_with('s') || std::string_view(to).starts_with('s');
        if (gaps && kernel != Dims{3, 3}) continue;
        const Dims dims{5, channels, kernel[0], kernel[1]};
        for (const DType type : {DType::f32, DType::u8, DType::f64}) {
          const TensorDesc src = desc(from, dims, type), dst = desc(to, dims, type);
          SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
          const Expected expected(src, dst);
          for (const auto stream : {Tuning::Stream::always, Tuning::Stream::never}) {
            const Plan plan = Plan::make(src, dst, {}, {}, {.stream = stream});
            for (const auto& isa : available_isas()) {
              set_isa(isa);
              expected.expect_of(plan, cases % 3 == 0 ? 0 : cases % 3 == 1 ? 16 : cases * 7 % 64, {1, 3});
              if (HasFatalFailure()) return set_isa("");
              ++cases;
            }
          }
        }
      }
    }
  }
  set_isa("");
  std::printf("interleaved reorders: %lld\n", static_cast<long long>(cases));
}

// Conversions by stages: what is moved last goes past the cache where it is lines.
TEST(Stream, WhatStagesMoveLast) {
  int64_t cases = 0;
  for (const char* to : {"OIhw4i16o4i", "OIhw16i16o4i", "OIhw2i8o4i", "OIhw8i16o2i"}) {
    for (const Dims& dims : {Dims{32, 64, 3, 3}, Dims{19, 37, 3, 3}, Dims{48, 16, 7, 1}}) {
      for (const DType type : {DType::s8, DType::bf16}) {
        const TensorDesc src = desc("oihw", dims, DType::f32), dst = desc(to, dims, type);
        SCOPED_TRACE(describe(src, dst) + ", to " + to);
        const Expected expected(src, dst);
        const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
        for (const auto& isa : available_isas()) {
          set_isa(isa);
          for (const int64_t past : {0, 64, 16, 37}) {
            expected.expect_of(plan, past, {1, 3});
            if (HasFatalFailure()) return set_isa("");
            cases += plan.data().boxes()[0].stage > 0;
          }
        }
      }
    }
  }
  set_isa("");
  EXPECT_GT(cases, 0);
}

// Columns pages apart to short rows, by panels of a few lines and long strips, the last one of each shorter; rows start
// at lines or not.
TEST(Stream, LongColumnsToShortRows) {
  const Dims dims{1, 208, 40, 40};
  const TensorDesc src = desc("abcd", dims, DType::f32), dst = desc("acdb", dims, DType::f32);
  const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
  const BoxPlan& box = plan.data().boxes()[0];
  EXPECT_GT(box.panels, 1);
  EXPECT_GT(box.strips, 1);
  EXPECT_GT(box.block_rows, 512);
  const Expected expected(src, dst);
  for (const auto& isa : available_isas()) {
    set_isa(isa);
    for (const int64_t past : {0, 16, 37}) {
      expected.expect_of(plan, past, {1, 2});
      if (HasFatalFailure()) return set_isa("");
    }
  }
  set_isa("");
}

// Where the source goes on from the rows to the second axis of columns, the same rows of the next panel are fetched;
// but not where that axis ends after a few panels.
TEST(Stream, FetchesTheNextPanel) {
  for (const auto& [extent, onward] : {std::pair(90, true), std::pair(4, false)}) {
    const Dims dims{40, 3, extent, 65};
    const TensorDesc src = desc("abcd", dims, DType::f32), dst = desc("dbca", dims, DType::f32);
    const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
    const BoxPlan& box = plan.data().boxes()[0];
    ASSERT_EQ(box.cols.size(), 2u);
    ASSERT_EQ(box.cols[1].stride[kSrc], 65 * 4);
    const int64_t next = box.block_cols / 40 * 65 * 4;
    EXPECT_EQ(box.ahead > next, onward) << box.ahead;
    if (onward) {
      EXPECT_LT(box.ahead, next + 64);
    }
    const Expected expected(src, dst);
    for (const auto isa : available_isas()) {
      set_isa(isa);
      expected.expect_of(plan, 20, {1, 2});
    }
    set_isa("");
  }
}

// Rows of whole lines that follow each other at addresses that memory from the heap has, and others: a line that two
// rows share is written by one of them, but for the first row's and the last one's. Columns of two axes, too; strips of
// which the last one is shorter than a tile; values that are converted, by one scale and by one of each column.
TEST(Stream, RowsThatShareLines) {
  const Dims dims{2, 64, 3, 7, 19};
  const std::pair<const char*, const char*> layouts[] = {
      {"abcde", "adecb"}, {"abcde", "adebc"}, {"abcde", "aBdec64b"}, {"abcde", "decab"}};
  const std::pair<DType, DType> types[] = {{DType::u8, DType::u8},    {DType::bf16, DType::bf16},
                                           {DType::f32, DType::f32},  {DType::f64, DType::f64},
                                           {DType::f32, DType::bf16}, {DType::f32, DType::u8}};
  Attributes scales;
  scales.src_scale = {std::vector<float>(64, 0.75f), 2};
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
              take_isa(cases);
              expected.expect_of(plan, past, {1, 3});
              if (HasFatalFailure()) return set_isa("");
              ++cases;
            }
          }
        }
      }
    }
  }
  set_isa("");
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
      const Plan plan = Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always, .panel = panel});
      tiled += std::ranges::any_of(plan.data().boxes(), [](const BoxPlan& box) { return box.parts.size() > 0; });
      for (const std::string_view isa : available_isas()) {
        set_isa(isa);
        for (int64_t past = 0; past < 64; past += isa == available_isas().back() ? 1 : 9) {
          expected.expect_of(plan, past, {1, 3});
          if (HasFatalFailure()) return set_isa("");
        }
      }
    }
  }
  set_isa("");
  EXPECT_GE(tiled, 18);
}

// Runs of half a line whose rows' first ones follow each other, and whose last one lies where it would, but not those
// between; tiles of rows of which few make a line, next to each other again and again; rows that are padding for lines.
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
      set_isa(isa);
      for (const int64_t past : {0, 2, 16, 32, 40}) {
        expected.expect_of(plan, past, {1, 3});
        if (HasFatalFailure()) return set_isa("");
      }
    }
  }
  set_isa("");
}

// Short rows that follow each other, of whole lines and not: a stretch of the destination in one block or several, each
// of which writes its own bytes of the lines that they share.
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
          several += strip == 0 && plan.data().boxes()[0].strips > 1;
          for (const int64_t past : {int64_t{0}, int64_t{16}, 1 + cases % 63}) {
            set_isa(past == 16 ? isas.back() : isas[static_cast<std::size_t>(cases) % isas.size()]);
            expected.expect_of(plan, past, {1, 3});
            if (HasFatalFailure()) return set_isa("");
            ++cases;
          }
        }
      }
    }
  }
  set_isa("");
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
    for (const Dims& dims : {Dims{1, channels, 16, 16}, Dims{2, channels, 7, 7}, Dims{1, channels, 1, 129}}) {
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
            set_isa(isas[static_cast<std::size_t>(past == 16 ? cases : cases + 1) % isas.size()]);
            expected.expect_of(plan, past, {1});
            if (HasFatalFailure()) return set_isa("");
          }
          ++cases;
        }
      }
    }
  }
  set_isa("");
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
    for (const Dims& dims : {Dims{2, 192, 48, 31}, Dims{1, 64, 37, 33}, Dims{3, 48, 4, 4}}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const TensorDesc src = desc(from, dims, dtype), dst = desc(to, dims, dtype);
        SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
        const Expected expected(src, dst);
        for (const int64_t side : {0, 32, 47}) {
          const Plan plan =
              Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always, .panel = side, .strip = side});
          ASSERT_TRUE(plan.streams());
          for (const int64_t past : {0, 32, 20}) {
            take_isa(cases);
            expected.expect_of(plan, past, {1, 2});
            if (HasFatalFailure()) return set_isa("");
            ++cases;
          }
        }
      }
    }
  }
  set_isa("");
}

// Groups whose bytes are permuted in pieces of any length: shorter than an image of a row, and far longer.
TEST(Stream, PermutedPieces) {
  for (const int64_t extent : {5, 127, 255, 300, 2500}) {
    const Dims dims{3, 5, extent, 2, 2};
    const TensorDesc src = desc("abcde", dims, DType::u8), dst = desc("baced", dims, DType::u8);
    SCOPED_TRACE(describe(src, dst));
    const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
    ASSERT_GT(plan.data().boxes()[0].shuffle, 1);
    for (const int64_t past : {0, 5, 63}) Expected(src, dst).expect_of(plan, past, {1});
  }
}

}  // namespace
}  // namespace relayout::cpu
