// Reorders whose destination is written past the caches: the reference's bytes at any address, on any number of
// threads, and with last blocks shorter than the others, whose lines both neighbours have a part in.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>
#include <vector>

#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/slow_tests.h"
#include "tests/support/streamed.h"

namespace relayout::cpu {
namespace {

using test::desc;
using test::describe;
using test::isa_of_turn;
using test::kAlways;
using Expected = test::StreamedExpected;

// Plans without tuning for tensors larger than the caches, 28 MB to 80 MB on both sides together, at addresses as the
// heap gives them. The reference takes seconds for all of them, so the ordinary tests have only one that moves and one
// that converts.
TEST(Stream, RealSizes) {
  struct Row {
    const char *from, *to;
    Dims dims;
    DType src, dst;
  };
  std::vector<Row> rows = {{"acdb", "abcd", {3, 130, 121, 123}, DType::f32, DType::u8},
                           {"abcd", "acdb", {2, 70, 191, 193}, DType::f32, DType::f32}};
  if (test::slow_tests()) {
    rows.push_back({"abcd", "acdb", {16, 256, 56, 56}, DType::f32, DType::bf16});
    rows.push_back({"acdb", "abcd", {5, 512, 97, 83}, DType::u8, DType::u8});
  }
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
  int64_t cases = 0, pairs = 0;
  for (const auto& [from, to] : layouts) {
    for (const auto& [src_type, dst_type] : types) {
      if (pairs++ % 2 != 0 && !test::slow_tests()) continue;  // the slow tests have every type in every layout
      const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
      SCOPED_TRACE(describe(src, dst) + ", " + from + " -> " + to);
      const Expected expected(src, dst);
      for (const Tuning& tuning : tunings) {
        const Plan plan = Plan::make(src, dst, {}, {}, tuning);
        ASSERT_TRUE(plan.streams());
        const test::ScopedIsa isa_scope(isa_of_turn(cases));
        expected.expect_of(plan, cases % 3 == 0 ? 0 : cases % 3 == 1 ? 16 : cases * 7 % 64, {1, 2, 3});
        if (HasFatalFailure()) return;
        ++cases;
      }
    }
  }
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
        // The layouts with gaps are strides for 3x3 weights.
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
              const test::ScopedIsa isa_scope(isa);
              expected.expect_of(plan, cases % 3 == 0 ? 0 : cases % 3 == 1 ? 16 : cases * 7 % 64, {1, 3});
              if (HasFatalFailure()) return;
              ++cases;
            }
          }
        }
      }
    }
  }
  std::printf("interleaved reorders: %lld\n", static_cast<long long>(cases));
}

// Conversions by stages whose last stages move: they write whole lines past the cache.
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
          const test::ScopedIsa isa_scope(isa);
          for (const int64_t past : {0, 64, 16, 37}) {
            expected.expect_of(plan, past, {1, 3});
            if (HasFatalFailure()) return;
            cases += plan.data().boxes()[0].as<Stages>() != nullptr;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 0);
}

/// Attribute values for each index of the dims of a mask, in one of four forms: a scale of the source; that with a zero
/// point of the destination; zero points of both sides; a mean for all, and a scale.
Attributes values_for(int64_t count, uint32_t mask, int64_t form) {
  const auto list = [&](double first, double step) {
    PerMask out{{}, mask};
    for (int64_t i = 0; i < count; ++i) out.values.push_back(first + step * static_cast<double>(i * 37 % 64));
    return out;
  };
  Attributes out;
  if (form != 2) out.src_scale = list(3.0 / 64, 1.0 / 64);
  if (form == 1) out.dst_zero_point = {{7}, 0};
  if (form == 2) out.src_zero_point = list(3, 1);
  if (form == 2) out.dst_zero_point = list(5, 1);
  if (form == 3) out.mean = {{0.5}, 0};
  return out;
}

// Scales of the dim that changes fastest, which repeat in runs that go on over the others: shorter than what is
// converted at a time and longer, and by whole lines or not. Rows that share lines; pieces with a scale each. Periods
// of two and three axes, in long and short runs; columns whose elements' and whose own values differ.
TEST(Stream, ScalesOfEachElementRowAndPiece) {
  struct Row {
    const char *from, *to;
    Dims dims;
    uint32_t mask;
  };
  std::vector<Row> rows = {{"abc", "bac", {7, 5, 503}, 0b000},
                           {"abc", "bac", {7, 5, 503}, 0b001},
                           {"abc", "bac", {7, 5, 503}, 0b100},
                           {"abcd", "ABcd16a8b", {32, 24, 1, 1}, 0b0001},
                           {"ABcd8a8b", "abcd", {40, 24, 3, 1}, 0b01},
                           {"aBc8b", "acb", {3, 40, 29}, 0b010},
                           {"aBcd16b", "aBcd64b", {3, 128, 5, 7}, 0},
                           {"abc", "bac", {300, 2, 129}, 0b000},
                           {"ABcd8a8b", "ABcd8a8b", {40, 24, 3, 3}, 1},
                           {"ABcd8a8b", "ABcd8a8b", {40, 7, 1, 1}, 0b0011},
                           {"ABcd4b8a2b", "ABcd4b8a2b", {24, 24, 5, 1}, 0b0011},
                           {"ABcd4a8b2a", "ABcd4a8b2a", {48, 24, 17, 3}, 0b0001},
                           {"abc", "abc", {90, 5, 3}, 0b010},
                           {"abc", "abc", {3, 3, 70}, 0b010},
                           {"aBcd4b", "aBcd4b", {3, 43, 2, 2}, 0b0010},
                           {"aBc8b", "aBc32b", {3, 64, 37}, 0b010},
                           {"ABcd16a4b", "abcd", {20, 24, 5, 1}, 0b11},
                           {"abc", "acb", {7, 20, 33}, 0b110}};
  for (const int64_t period : {7, 48, 223, 500, 513, 1024, 1400})
    rows.push_back({"ab", "ab", {3000 / period + 2, period}, 0b10});
  const std::pair<DType, DType> types[] = {{DType::f32, DType::s32}, {DType::s8, DType::f16}, {DType::u8, DType::f32},
                                           {DType::f32, DType::u64}, {DType::f32, DType::s8}, {DType::s32, DType::f64}};
  int64_t turn = 0;
  for (const Row& row : rows) {
    int64_t count = 1;
    for (int d = 0; d < row.dims.size(); ++d) count *= row.mask >> d & 1 ? row.dims[d] : 1;
    for (const auto& [src_type, dst_type] : types) {
      const Attributes attributes = values_for(count, row.mask, turn++ % 4);
      const TensorDesc src = desc(row.from, row.dims, src_type), dst = desc(row.to, row.dims, dst_type);
      SCOPED_TRACE(describe(src, dst) + ", " + row.from + " -> " + row.to);
      const Expected expected(src, dst, attributes);
      for (const auto way : {Tuning::Way::boxes, Tuning::Way::stages}) {
        for (const auto stream : {Tuning::Stream::always, Tuning::Stream::never}) {
          const Plan plan = Plan::make(src, dst, attributes, {}, {.stream = stream, .way = way});
          for (const int64_t past : {0, 16, 37}) {
            const test::ScopedIsa isa_scope(isa_of_turn(turn++));
            expected.expect_of(plan, past, {1, 3});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Columns pages apart to short rows, by panels of a few lines and long strips, the last one of each shorter; rows start
// at lines or not.
TEST(Stream, LongColumnsToShortRows) {
  const Dims dims{1, 208, 40, 40};
  const TensorDesc src = desc("abcd", dims, DType::f32), dst = desc("acdb", dims, DType::f32);
  const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
  const BoxPlan& box = plan.data().boxes()[0];
  EXPECT_GT(box.along_dst.blocks, 1);
  EXPECT_GT(box.along_src.blocks, 1);
  EXPECT_GT(box.along_src.block, 512);
  const Expected expected(src, dst);
  for (const auto& isa : available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    for (const int64_t past : {0, 16, 37}) {
      expected.expect_of(plan, past, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

// Where the second axis of the columns continues the rows in the source, the same rows of the next panel are fetched,
// unless that axis has only a few panels.
TEST(Stream, FetchesTheNextPanel) {
  for (const auto& [extent, onward] : {std::pair(90, true), std::pair(4, false)}) {
    const Dims dims{40, 3, extent, 65};
    const TensorDesc src = desc("abcd", dims, DType::f32), dst = desc("dbca", dims, DType::f32);
    const Plan plan = Plan::make(src, dst, {}, {}, kAlways);
    const BoxPlan& box = plan.data().boxes()[0];
    ASSERT_EQ(box.along_dst.axes.size(), 2u);
    ASSERT_EQ(box.along_dst.axes[1].stride[kSrc], 65 * 4);
    const int64_t next = box.along_dst.block / 40 * 65 * 4;
    EXPECT_EQ(box.ahead > next, onward) << box.ahead;
    if (onward) {
      EXPECT_LT(box.ahead, next + 64);
    }
    const Expected expected(src, dst);
    for (const auto isa : available_isas()) {
      const test::ScopedIsa isa_scope(isa);
      expected.expect_of(plan, 20, {1, 2});
    }
  }
}

}  // namespace
}  // namespace relayout::cpu
