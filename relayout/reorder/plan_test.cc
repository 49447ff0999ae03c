// Tests of plans: which kernel shape a pair of layouts gets, which axes are joined, and what explain() prints.
#include "relayout/reorder/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;
using test::error_of;

Plan plan_of(std::string_view from, std::string_view to, const Dims& dims, DType dtype = DType::f32) {
  return Plan::make(desc(from, dims, dtype), desc(to, dims, dtype));
}

TEST(Plan, EqualLayoutsAreOneCopy) {
  const Plan p = plan_of("nchw", "nchw", {2, 3, 4, 5});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  EXPECT_EQ(p.data().boxes()[0].shape(), KernelShape::copy);
  EXPECT_EQ(p.data().boxes()[0].along_dst.count, 480);
  EXPECT_TRUE(p.data().boxes()[0].loops.empty());
  EXPECT_FALSE(p.converts());
}

TEST(Plan, AxesFuseIntoATranspose) {
  const Plan p = plan_of("nchw", "nhwc", {2, 64, 4, 5});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  const BoxPlan& box = p.data().boxes()[0];
  EXPECT_EQ(box.shape(), KernelShape::transpose);
  EXPECT_EQ(box.piece[kSrc], 4);
  EXPECT_EQ(box.along_src.count, 20);  // h and w together
  EXPECT_EQ(box.along_dst.count, 64);
  EXPECT_EQ(box.loops.size(), 1u);
}

TEST(Plan, ShortRunsBecomeLargerElements) {
  const Plan p = plan_of("abc", "bac", {7, 9, 2});
  EXPECT_EQ(p.data().boxes()[0].piece[kSrc], 8);
  const Plan bytes = plan_of("abc", "bac", {7, 9, 16}, DType::u8);
  EXPECT_EQ(bytes.data().boxes()[0].piece[kSrc], 16);
  const Plan nibbles = plan_of("abc", "bac", {7, 9, 4}, DType::s4);
  EXPECT_EQ(nibbles.data().boxes()[0].piece[kSrc], 2);
  // Three nibbles are no whole bytes: they are moved as bytes, by stages.
  EXPECT_TRUE(plan_of("abc", "bac", {7, 9, 3}, DType::s4).data().boxes()[0].as<Stages>());
}

TEST(Plan, WhatBothSidesStartWithIsOneElement) {
  // The same 16 bytes are innermost on both sides: 8 steps of b and 2 of a.
  const BoxPlan both = plan_of("ABcd16b2a", "ABcd2a8b", {32, 64, 5, 7}, DType::u8).data().boxes()[0];
  EXPECT_EQ(both.shape(), KernelShape::transpose);
  EXPECT_EQ(both.piece[kSrc], 16);
  // Tiles of aBcd4b -> ABcd4b2a: a piece has the block of 4 b, which both sides have, and two steps along d.
  const Box box{{}, {{640, {1, 2, 0}, -1}, {2, {640, 1, 0}, -1}, {16, {1280, 1280, 0}, -1}}};
  const auto one = plan_register_tiles(box, 1);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->loops.piece[kSrc], 8);
  const std::array<uint8_t, 16> a_first{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
  EXPECT_EQ(one->method.dst_pattern, a_first);
  // Here the two sides have different innermost dims.
  EXPECT_EQ(plan_of("abcd", "acdb", {2, 16, 16, 16}, DType::u8).data().boxes()[0].piece[kSrc], 1);
}

TEST(Plan, ShortTailsAreGatheredFromFewBlocks) {
  // The tail is one channel of a block: single bytes that lie apart on both sides. All axes are rows or columns.
  const Plan p = plan_of("nChw16c", "nhwc", {4, 17, 8, 8}, DType::u8);
  ASSERT_EQ(p.data().boxes().size(), 2u);
  EXPECT_EQ(p.data().boxes()[1].shape(), KernelShape::gather);
  EXPECT_TRUE(p.data().boxes()[1].loops.empty());
  EXPECT_EQ(p.data().boxes()[1].along_src.count * p.data().boxes()[1].along_dst.count, 4 * 64);
}

// A few long runs are interleaved without tiles of registers.
TEST(Plan, FewAreInterleaved) {
  for (const auto& [from, to] : {std::pair("Abcd4a", "ABcd4a2b"), {"ABcd4a2b", "Abcd4a"}}) {
    const Plan p = plan_of(from, to, {8, 4, 29, 31}, DType::u8);
    ASSERT_EQ(p.data().boxes().size(), 1u);
    ASSERT_TRUE(p.data().boxes()[0].as<Transposition>());
    EXPECT_EQ(std::min(p.data().boxes()[0].along_src.count, p.data().boxes()[0].along_dst.count), 2);
  }
}

// The same where the rows of an image lie apart or run backwards: then they are a loop.
TEST(Plan, FewAreInterleavedRowByRow) {
  const Dims dims{8, 3, 224, 224};
  for (const auto& [from, to] : {std::pair("strides:172032,1,768,3", "nchw"),
                                 {"strides:150528,1,-672,3", "nchw"},
                                 {"nchw", "strides:172032,1,768,3"},
                                 {"nchw", "strides:150528,1,-672,3"}}) {
    const Plan p = plan_of(from, to, dims, DType::u8);
    ASSERT_EQ(p.data().boxes().size(), 1u);
    const BoxPlan& box = p.data().boxes()[0];
    EXPECT_EQ(box.shape(), KernelShape::transpose) << p.explain();
    EXPECT_EQ(std::min(box.along_src.count, box.along_dst.count), 3) << p.explain();
    EXPECT_EQ(std::max(box.along_src.count, box.along_dst.count), 224) << p.explain();
    EXPECT_TRUE(box.along_src.axes.size() == 1 && box.along_dst.axes.size() == 1) << p.explain();
  }
}

// Groups of 16 bytes that differ in their order alone go by a line program; where they do not make long runs, what both
// sides start with is one larger element.
TEST(Plan, PermutedGroups) {
  for (const auto& [from, to] : {std::pair("aBCd4c4b", "aBCd2b4c2b"), std::pair("aBCd4b4c", "aBCd4c4b")}) {
    const Plan p = plan_of(from, to, {8, 64, 32, 5}, DType::s8);
    ASSERT_EQ(p.data().boxes().size(), 1u) << from;
    ASSERT_TRUE(p.data().boxes()[0].as<ProgrammedLines>()) << p.explain();
  }
  const Plan p = plan_of("aBCd4c4b", "ABcd8a2b", {32, 68, 28, 31}, DType::bf16);
  EXPECT_EQ(p.data().boxes()[0].shape(), KernelShape::transpose) << p.explain();
  EXPECT_EQ(p.data().boxes()[0].piece[kSrc], 4) << p.explain();
}

// Gathers have blocks that are not too small, whichever axes are short: where there are few rows, a block has more
// columns.
TEST(Plan, SmallAxesMakeNoSmallBlocks) {
  for (const auto& [from, to] : {std::pair("ABcd4a4b", "BAcd2b8a16b2a"), std::pair("ABcd8b8a", "ABcd4b16a4b")}) {
    const Plan p = plan_of(from, to, {32, 67, 29, 31}, DType::s8);
    for (const BoxPlan& box : p.data().boxes()) {
      if (box.shape() == KernelShape::gather) {
        EXPECT_GE(box.along_src.block * box.along_dst.block, 256) << p.explain();
      }
    }
  }
  const Plan few = plan_of("ABcd4b16a4b", "bcda", {32, 67, 29, 31});
  EXPECT_GE(few.data().boxes()[0].along_src.block * few.data().boxes()[0].along_dst.block, 1024) << few.explain();
}

// 16 rows by 9 x 16 columns would be many small blocks. So the axis of 32 steps is cut: four steps are columns as well,
// and the other eight, which do not follow the rows in the source, are a loop.
TEST(Plan, FewRowsTakeAPartOfAnAxis) {
  const Plan p = plan_of("OIhw16i16o", "oihw", {512, 512, 3, 3});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  EXPECT_EQ(p.data().boxes()[0].along_dst.count, 4 * 16 * 9);
  EXPECT_EQ(p.data().boxes()[0].along_src.count, 16);
  EXPECT_EQ(p.data().boxes()[0].elements, 512 * 512 * 3 * 3);
}

// A block of 256 bytes, 8 x 2 pieces of 16, would take longer to start than to copy.
TEST(Plan, SmallRegionsOfPiecesGrow) {
  const Dims dims{32, 67, 29, 31};
  const Plan p = Plan::make(desc("ABcd4b32a4b", dims), desc("ABcd8a8b", dims), {}, {.permuted_bytes = 0});
  ASSERT_FALSE(p.streams());
  const BoxPlan& box = p.data().boxes()[0];
  EXPECT_EQ(box.shape(), KernelShape::copy);
  EXPECT_EQ(box.piece[kDst], 16);
  EXPECT_GE(box.along_src.block * box.along_dst.block * 16, 2 << 10) << p.explain();
}

TEST(Plan, OddAxesAreCutForTiles) {
  const Plan p = plan_of("nchw", "nChw8c", {2, 16, 29, 31}, DType::u8);
  ASSERT_EQ(p.data().boxes().size(), 2u);
  EXPECT_EQ(p.data().boxes()[0].elements, 2 * 16 * 898);
  EXPECT_EQ(p.data().boxes()[0].piece[kSrc], 2);
  EXPECT_EQ(p.data().boxes()[1].elements, 2 * 16);
}

TEST(Plan, TailsAreBoxesAndPaddingIsFilled) {
  const Plan p = plan_of("nchw", "nChw8c", {2, 17, 5, 4});
  EXPECT_EQ(p.data().boxes().size(), 2u);
  int64_t moved = 0, filled = 0;
  for (const BoxPlan& box : p.data().boxes()) moved += box.elements;
  for (const BoxPlan& box : p.data().fills()) filled += box.elements;
  EXPECT_EQ(moved, 680);
  EXPECT_EQ(filled, 280);
  Attributes keep;
  keep.padding = Padding::keep();
  EXPECT_TRUE(Plan::make(p.src(), p.dst(), keep).data().fills().empty());
  EXPECT_EQ(p.cost().bytes_read, 680 * 4);
  EXPECT_EQ(p.cost().bytes_written, 960 * 4);
  EXPECT_GT(p.cost().nanoseconds, 0);
}

// Padding that both sides have is moved with the data where that makes fewer boxes, and is filled afterwards.
TEST(Plan, PaddingOfBothSidesIsMoved) {
  const Plan p = plan_of("nChw16c", "nChw8c", {2, 29, 5, 4});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  EXPECT_EQ(p.data().boxes()[0].elements, 2 * 32 * 20);
  ASSERT_EQ(p.data().fills().size(), 1u);
  EXPECT_EQ(p.data().fills()[0].elements, 2 * 3 * 20);
  // Padding is not moved with Padding::keep, beyond the padding of either side, or where only a small part of a block
  // is data.
  Attributes keep;
  keep.padding = Padding::keep();
  EXPECT_EQ(Plan::make(p.src(), p.dst(), keep).data().boxes()[0].elements, 2 * 16 * 20);
  EXPECT_EQ(plan_of("nChw16c", "nhwc", {2, 29, 5, 4}).data().boxes()[0].elements, 2 * 16 * 20);
  EXPECT_EQ(plan_of("aBcd16b", "aBcd32b", {2, 17, 5, 4}).data().boxes().size(), 2u);
}

// Where only the destination has padding, nothing is read past the source's dims: each element is moved once.
TEST(Plan, TailsAreMovedOnce) {
  const Dims dims{32, 67, 29, 31};
  const Plan p = plan_of("acdb", "aBCd8b8c", dims, DType::u8);
  int64_t moved = 0, filled = 0;
  for (const BoxPlan& box : p.data().boxes()) moved += box.elements;
  for (const BoxPlan& box : p.data().fills()) filled += box.elements;
  EXPECT_EQ(moved, 32 * 67 * 29 * 31);
  EXPECT_EQ(filled, 32 * (72 * 32 - 67 * 29) * 31);
  // Here the source has padding too (b has capacity 96 and c 30), and no more than that is moved.
  EXPECT_EQ(plan_of("aBdC48b2c", "aBCd16b16c", dims, DType::u8).data().boxes()[0].elements % (31 * 32), 0);
}

TEST(Plan, PaddingIsFilledBySixtyFourBytes) {
  // Each of 25 blocks has 3 bytes of padding in 16. One store of 64 bytes fills four blocks; the seventh and last store
  // starts at block 21 and overlaps the sixth.
  const Plan p = plan_of("nchw", "nChw16c", {2, 29, 5, 5}, DType::u8);
  ASSERT_EQ(p.data().fills().size(), 1u);
  const BoxPlan& fill = p.data().fills()[0];
  EXPECT_EQ(fill.as<Fill>()->mask, uint64_t{0x0007000700070007});
  EXPECT_EQ(fill.along_dst.count, 7);
  EXPECT_EQ(fill.as<Fill>()->last_col, 21 * 16);
}

// In the cache, a region whose rows are one axis and whose columns are one axis is moved by strides, without lists.
TEST(Plan, EvenRegionsAreStrided) {
  const auto strided = [](std::string_view from, std::string_view to, const Dims& dims, DType type, bool streams) {
    const auto stream = streams ? Tuning::Stream::always : Tuning::Stream::never;
    return Plan::make(desc(from, dims, type), desc(to, dims, type), {}, {}, {.stream = stream})
        .data()
        .boxes()[0]
        .strided;
  };
  const Dims dims{2, 64, 8, 8};
  for (const DType type : {DType::u8, DType::f32}) {
    EXPECT_TRUE(strided("nChw16c", "nhwc", dims, type, false));
    EXPECT_TRUE(strided("nhwc", "nChw16c", dims, type, false));
    EXPECT_FALSE(strided("nChw16c", "nhwc", dims, type, true));
  }
  EXPECT_TRUE(strided("nchw", "nhwc", dims, DType::f32, false));
  EXPECT_FALSE(strided("abcd", "cabd", {3, 4, 5, 600}, DType::f32, false));  // long runs
}

// Where one side has only short runs in the order of the other, values are converted in dense stretches, and the
// elements are moved as the narrower type.
TEST(Plan, ShortRunsAreConvertedByStages) {
  const auto boxes = [](std::string_view from, DType src, std::string_view to, DType dst, const Attributes& a = {}) {
    const Plan p = Plan::make(desc(from, {64, 32, 3, 3}, src), desc(to, {64, 32, 3, 3}, dst), a);
    EXPECT_EQ(p.cost().bytes_read, 64 * 32 * 9 * bits(src) / 8 + (a.beta != 0 ? 64 * 32 * 9 * bits(dst) / 8 : 0));
    EXPECT_EQ(p.cost().bytes_written, 64 * 32 * 9 * bits(dst) / 8);
    return std::vector(p.data().boxes().begin(), p.data().boxes().end());
  };
  const auto narrowed = boxes("oihw", DType::f32, "OIhw4i16o4i", DType::s8);
  ASSERT_EQ(narrowed.size(), 1u);
  ASSERT_TRUE(narrowed[0].as<Stages>());
  const Stages& stages = *narrowed[0].as<Stages>();
  EXPECT_TRUE(stages.reads);
  EXPECT_FALSE(stages.writes);
  EXPECT_FALSE(stages.converts_last);
  EXPECT_LE(stages.in.bytes(1), Stages::kMaxBytes);
  EXPECT_GE(stages.in.run, 64);
  const BoxPlan widened = boxes("OIhw4i16o4i", DType::s8, "oihw", DType::f32)[0];
  ASSERT_TRUE(widened.as<Stages>());
  EXPECT_TRUE(widened.as<Stages>()->converts_last && widened.as<Stages>()->writes);
  // With beta, the old values are read where values are converted, and must be dense there.
  Attributes sum;
  sum.beta = 1;
  EXPECT_TRUE(boxes("oihw", DType::f32, "OIhw4i16o4i", DType::s8, sum)[0].as<Stages>()->converts_last);
  // As boxes, long rows are converted directly, without stages.
  const Plan direct = Plan::make(desc("nchw", {2, 64, 56, 56}), desc("nhwc", {2, 64, 56, 56}, DType::s8), {}, {},
                                 {.way = Tuning::Way::boxes});
  EXPECT_TRUE(direct.data().boxes()[0].as<ConvertedTransposition>());
}

// Where channels have a scale each and lie innermost or in blocks, the scales repeat along a run of the same layout.
TEST(Plan, RunsHavePeriodsOfAttributeValues) {
  const auto run_of = [](std::string_view layout, std::string_view to, const Dims& dims, uint32_t mask) {
    Attributes attributes;
    attributes.src_scale.mask = mask;
    int64_t count = 1;
    for (int d = 0; d < dims.size(); ++d) count *= mask >> d & 1 ? dims[d] : 1;
    attributes.src_scale.values.assign(static_cast<std::size_t>(count), 0.5);
    const Plan plan = Plan::make(desc(layout, dims, DType::s8), desc(to, dims, DType::f16), attributes, {},
                                 {.way = Tuning::Way::boxes});
    return BoxPlan(plan.data().boxes()[0]);
  };
  const auto period_of = [&](std::string_view layout, const Dims& dims, uint32_t mask) {
    const BoxPlan box = run_of(layout, layout, dims, mask);
    const auto* runs = box.as<ConvertedRuns>();
    return runs ? runs->period() : -1;
  };
  EXPECT_EQ(period_of("acdb", {2, 5, 7, 7}, 0b10), 5);
  EXPECT_EQ(period_of("ABcd8a8b", {40, 24, 3, 3}, 0b1), 64);
  EXPECT_EQ(period_of("ABcd4b8a2b", {24, 24, 5, 1}, 0b11), 64);
  EXPECT_EQ(period_of("ABcd4a8b2a", {48, 24, 5, 1}, 0b1), 64);
  EXPECT_EQ(period_of("abcd", {40, 5, 3, 1}, 0b10), 15);
  EXPECT_EQ(period_of("abcd", {3, 5, 30, 30}, 0b10), 1);       // long runs with one value each
  EXPECT_EQ(period_of("ABcd16a32b", {64, 64, 3, 3}, 0b1), 1);  // a period is too long
  // Rows are the steps that make a block, where the nearest in the destination are few.
  EXPECT_EQ(run_of("aBc8b", "aBc32b", {3, 64, 99}, 0b10).along_src.count, 99);
}

// 37 rows of b by 5 at a time leave 2, of 43 elements each in the source and of 131 in the destination.
TEST(Plan, ExplainSaysWhatChunksLeave) {
  const std::string text = plan_of("abc", "cba", {131, 37, 43}, DType::s4).explain();
  EXPECT_NE(text.find("      loop  7 steps of 215 elements -> 655 elements\n"
                      "      rest  one more of 86 elements -> 262 elements\n"),
            std::string::npos)
      << text;
}

TEST(Plan, ExplainSaysWhatIsDone) {
  const std::string text = plan_of("nchw", "nChw8c", {2, 17, 5, 4}).explain();
  for (const char* part :
       {"2x17x5x4", "from  f32 abcd", "to    f32 aBcd8b", "padded to 2x24x5x4", "transpose of 4-byte elements",
        "2 boxes", "280 elements set to 0", "reads 2720 bytes, writes 3840"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  Attributes a;
  a.src_scale = {{2.0f}, 0};
  a.dst_zero_point = {{3}, 0};
  const std::string quantize =
      Plan::make(desc("nchw", {1, 2, 3, 4}), desc("nhwc", {1, 2, 3, 4}, DType::u8), a).explain();
  EXPECT_NE(quantize.find("dst = u8(src scale * src + dst zero point)"), std::string::npos) << quantize;
  EXPECT_NE(plan_of("ab", "ba", {0, 3}).explain().find("nothing to do"), std::string::npos);
  const TensorDesc src = desc("nchw", {2, 64, 56, 56}), dst = desc("nhwc", {2, 64, 56, 56});
  const auto by = [&](int64_t l3, Tuning::Stream stream) {
    return Plan::make(src, dst, {}, {32 << 10, 256 << 10, l3}, {.stream = stream}).explain();
  };
  EXPECT_NE(by(1 << 20, Tuning::Stream::by_size).find("past the cache, as that is expected to take less time"),
            std::string::npos);
  EXPECT_NE(by(32 << 20, Tuning::Stream::always).find("past the cache, as was asked for"), std::string::npos);
  EXPECT_EQ(by(32 << 20, Tuning::Stream::by_size).find("past the cache"), std::string::npos);
  EXPECT_NE(by(1 << 20, Tuning::Stream::by_size).find("blocks of 64 x 64, fetched 256 bytes ahead\n"),
            std::string::npos);
  EXPECT_EQ(by(32 << 20, Tuning::Stream::by_size).find("ahead"), std::string::npos);
  const Plan tables = Plan::make(desc("Ba48b", {2, 200}), desc("Ba32b", {2, 200}), {}, {}, {.way = Tuning::Way::boxes});
  EXPECT_NE(tables.explain().find("by table"), std::string::npos);
}

// Twelve dims with tails in two places each would need 3^12 boxes; tables avoid that. Planning time grows with the
// number of boxes.
TEST(Plan, ManyTailsMakeNoManyBoxes) {
  const Dims dims(12, 7);
  const Plan p =
      plan_of("abcdefghijkl", "ABCDEFGHIJKL2a2b2c2d2e2f2g2h2i2j2k2l2a2b2c2d2e2f2g2h2i2j2k2l", dims, DType::u8);
  EXPECT_LE(p.data().boxes().size(), 512u);
  EXPECT_LE(p.data().fills().size(), 12 * 512u);
  int64_t moved = 0, filled = 0;
  for (const BoxPlan& box : p.data().boxes()) moved += box.elements;
  for (const BoxPlan& box : p.data().fills()) filled += box.elements;
  EXPECT_EQ(moved, 13'841'287'201);             // 7^12
  EXPECT_EQ(moved + filled, int64_t{1} << 36);  // 8^12
}

TEST(Plan, TablesAreBoundedInBytes) {
  // Blocks that do not nest over 50 million indices: 1.2 GB of offsets.
  const Dims dims{50'000'000, 2};
  const Error tables = error_of([&] { plan_of("Ab7000003a", "Ab7000001a", dims, DType::u8); });
  EXPECT_EQ(tables.code(), ErrorCode::limit);
  EXPECT_EQ(tables.field(), "dims[0]");
  EXPECT_EQ(tables.value(), "1200000000");
  EXPECT_EQ(tables.limit(), "1073741824");
  // Each of the dims that the mask has is small, but together they have 2^28 values.
  Attributes a;
  a.src_scale = {std::vector<double>(1 << 14, 1.0), 1};
  a.dst_scale = {std::vector<double>(1 << 14, 1.0), 2};
  const Dims square{1 << 14, 1 << 14};
  const Error values = error_of([&] { Plan::make(desc("ab", square), desc("ba", square), a); });
  EXPECT_EQ(values.code(), ErrorCode::limit);
  EXPECT_EQ(values.limit(), "1073741824");
}

// Strides in bytes overflow 64 bits when they are multiplied by the extent.
TEST(Plan, ExtremeStridesDoNotOverflow) {
  const std::vector<Digits> digits{Digits{{2, int64_t{1} << 59}, {2, 1}}, Digits{{2, 2}}};
  const TensorDesc extreme(Layout::from_digits({4, 2}, digits), DType::f64);
  const TensorDesc plain(Layout::contiguous({4, 2}), DType::f64);
  for (const auto& [src, dst] : {std::pair(extreme, plain), std::pair(plain, extreme), std::pair(extreme, extreme)}) {
    const Plan p = Plan::make(src, dst);
    int64_t moved = 0;
    for (const BoxPlan& box : p.data().boxes()) moved += box.elements;
    EXPECT_EQ(moved, 8);
    EXPECT_FALSE(p.explain().empty());
  }
  // Flipped, and as far as a size in bytes can go.
  const int64_t far = (std::numeric_limits<int64_t>::max() >> 4) - 1;
  const TensorDesc flipped(Layout::strided({2, 2}, {-far + 1, 1}, far - 1), DType::f64);
  EXPECT_EQ(Plan::make(flipped, flipped).cost().bytes_read, 32);
  EXPECT_EQ(
      Plan::make(flipped, TensorDesc(Layout::strided({2, 2}, {1, -far + 1}, far - 1), DType::s8)).cost().bytes_written,
      4);
  // Nothing steps along a dim of one index, so that its stride may be any number.
  const TensorDesc one_row(Layout::strided({1, 2}, {std::numeric_limits<int64_t>::max(), 1}), DType::f64);
  EXPECT_EQ(Plan::make(one_row, one_row, {}, {}, {.stream = Tuning::Stream::always}).cost().bytes_written, 16);
  // Many elements without memory for them: plans are priced, not run.
  const Dims huge{int64_t{1} << 30, int64_t{1} << 29};
  const TensorDesc all(Layout::contiguous(huge), DType::f64), one(Layout::strided(huge, {0, 0}), DType::f64);
  EXPECT_EQ(Plan::make(one, all).data().boxes()[0].elements, int64_t{1} << 59);
}

}  // namespace
}  // namespace relayout
