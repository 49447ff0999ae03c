// What stages are planned: stretches, buffers, and boxes of tails done together.
#include "relayout/reorder/boxes/methods/stages.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/reorder/plan.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout {
namespace {

Plan plan(std::string_view from, DType src, std::string_view to, DType dst, const Dims& dims,
          const Attributes& attributes = {}) {
  return Plan::make({Format::parse(from).bind(dims), src}, {Format::parse(to).bind(dims), dst}, attributes, {},
                    {.way = Tuning::Way::stages});
}

const Stages& stages_of(const Plan& plan) { return *plan.data().boxes()[0].as<Stages>(); }

TEST(StagesPlan, HalfBytesAreUnpackedMovedAndPacked) {
  const Plan p = plan("nchw", DType::s4, "nhwc", DType::s4, {2, 3, 37, 41});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  const Stages& stages = stages_of(p);
  EXPECT_TRUE(stages.reads && stages.writes);
  EXPECT_FALSE(stages.converts);
  // All of a chunk follows each other on both sides: three channels are read, and all pixels written with them.
  EXPECT_EQ(stages.out.count, 1);
  EXPECT_LE(stages.in.count, 3);
  for (const BoxPlan& move : stages.moves) EXPECT_FALSE(move.sub_byte());
}

TEST(StagesPlan, BoxesOfATailAreOneChunk) {
  // 35 = 2 x 16 + 3 channels: two boxes. The source's three blocks are stretches, the destination has one.
  const Plan p = plan("nChw16c", DType::s4, "nhwc", DType::s4, {2, 35, 40, 50});
  ASSERT_EQ(p.data().boxes().size(), 1u);
  const Stages& stages = stages_of(p);
  EXPECT_EQ(stages.moves.size(), 2u);
  EXPECT_EQ(stages.out.run % 35, 0);
  EXPECT_EQ(stages.in.count % 3, 0);
}

TEST(StagesPlan, ATableBecomesRuns) {
  // Blocks of 6 and 5 share a table of 30 channels, which has runs of 5, 1, 4, 2, 3, 3, 2, 4, 1 and 5.
  const auto plan_on = [](int64_t permuted_bytes) {
    const Dims dims{40, 30, 50};
    return Plan::make({Format::parse("nCw6c").bind(dims), DType::u4}, {Format::parse("nCw5c").bind(dims), DType::u4},
                      {}, {.permuted_bytes = permuted_bytes});
  };
  const Plan p = plan_on(0);
  ASSERT_EQ(p.data().boxes().size(), 1u);
  EXPECT_EQ(stages_of(p).moves.size(), 10u);
  // They are moved by one line program where the machine permutes bytes.
  const Plan wide = plan_on(64);
  ASSERT_EQ(stages_of(wide).moves.size(), 1u);
  EXPECT_TRUE(stages_of(wide).moves[0].as<ProgrammedLines>()) << wide.explain();
}

TEST(StagesPlan, PaddingIsPartOfTheBuffer) {
  const Plan p = plan("nchw", DType::u4, "nChw16c", DType::u4, {4, 5, 12, 12});
  EXPECT_TRUE(stages_of(p).fills);
  EXPECT_TRUE(p.data().fills().empty());
  EXPECT_EQ(stages_of(p).out.run % 16, 0);
  // Padding that is kept must not be written.
  Attributes keep;
  keep.padding.kind = Padding::Kind::keep;
  const Plan kept = plan("nchw", DType::u4, "nChw16c", DType::u4, {4, 5, 12, 12}, keep);
  EXPECT_FALSE(stages_of(kept).fills);
  EXPECT_EQ(stages_of(kept).out.run, 5);
  // A value that the conversion would change is filled afterwards.
  Attributes one;
  one.padding = {Padding::Kind::value, 1};
  const Plan ones = plan("nchw", DType::s8, "nChw16c", DType::f32, {4, 5, 12, 12}, one);
  EXPECT_FALSE(stages_of(ones).fills);
  EXPECT_FALSE(ones.data().fills().empty());
}

TEST(StagesPlan, ValuesAreConvertedOnTheWiderSide) {
  const Plan narrowing = plan("abc", DType::f32, "cba", DType::s8, {40, 30, 50});
  const Stages& narrows = stages_of(narrowing);
  EXPECT_TRUE(narrows.reads && narrows.converts && !narrows.converts_last && !narrows.writes);
  EXPECT_EQ(narrows.between, DType::s8);
  const Plan widening = plan("abc", DType::s8, "cba", DType::f32, {40, 30, 50});
  const Stages& widens = stages_of(widening);
  EXPECT_TRUE(widens.writes && widens.converts_last && !widens.reads);
  EXPECT_EQ(widens.between, DType::s8);
}

TEST(StagesPlan, ChunksFitTheirBuffers) {
  for (const Dims& dims :
       {Dims{1, 1, 1}, Dims{3, 5000, 7}, Dims{257, 255, 129}, Dims{2, 2, 300000}, Dims{70000, 3, 2}}) {
    for (const char* to : {"cba", "bca", "bac", "cab"}) {
      const Plan p = plan("abc", DType::s4, to, DType::s4, dims);
      if (!p.data().boxes()[0].as<Stages>()) continue;  // these elements can be paired
      const Stages& stages = stages_of(p);
      EXPECT_LE(std::max(stages.in.bytes(1), stages.out.bytes(1)), Stages::kMaxBytes) << p.explain();
      EXPECT_LE(std::max(stages.in.count, stages.out.count), Stages::kMaxStretches) << p.explain();
    }
  }
}

}  // namespace
}  // namespace relayout
