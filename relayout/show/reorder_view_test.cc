// Folded moves against the library's: unfolded, they are the same moves in the same order; and the words of a reorder.
#include "relayout/show/reorder_view.h"

#include <gtest/gtest.h>

#include <functional>

#include "relayout/core/format.h"
#include "relayout/reorder/move_order.h"
#include "relayout/reorder/plan.h"
#include "relayout/show/scene.h"
#include "relayout/show/svg.h"

namespace relayout::show {
namespace {

TensorDesc bound(const char* format, const Dims& dims, DType dtype = DType::f32) {
  return {Format::parse(format).bind(dims), dtype};
}

using Turn = std::function<void(int64_t, int64_t, int64_t)>;
void each_turn(const std::vector<FoldedLoop>& loops, int64_t src, int64_t dst, int64_t block, const Turn& run,
               std::size_t depth = 0) {
  if (depth == loops.size()) return run(src, dst, block);
  const FoldedLoop& loop = loops[depth];
  for (int64_t i = 0; i < loop.times; ++i)
    each_turn(loops, src + i * loop.src, dst + i * loop.dst, block + i * loop.block, run, depth + 1);
}

std::vector<Move> unfolded(const ReorderView& view) {
  std::vector<Move> out;
  for (const FoldedBlocks& blocks : view.blocks) {
    each_turn(blocks.loops, blocks.src, blocks.dst, blocks.block, [&](int64_t src, int64_t dst, int64_t block) {
      for (const FoldedMoves& moves : blocks.moves) {
        each_turn(moves.loops, src + moves.src, dst + moves.dst, 0, [&](int64_t from, int64_t to, int64_t) {
          out.push_back({moves.fill ? -1 : from, to, moves.count, moves.fill, blocks.box, block});
        });
      }
    });
  }
  return out;
}

TEST(ReorderView, UnfoldsToTheMovesOfThePlan) {
  const std::pair<TensorDesc, TensorDesc> pairs[] = {
      {bound("nchw", {2, 3, 10, 20}), bound("nhwc", {2, 3, 10, 20})},
      {bound("nchw", {2, 17, 9, 9}), bound("nChw16c", {2, 17, 9, 9})},
      {bound("nChw16c", {2, 33, 9, 9}, DType::s8), bound("nhwc", {2, 33, 9, 9}, DType::s8)},
      {bound("Ba48b", {3, 100}), bound("Ba32b", {3, 100})},
      {bound("ab", {20, 30}, DType::s4), bound("ba", {20, 30}, DType::s4)},
      {bound("ab", {20, 30}), bound("ba", {20, 30}, DType::f16)},
      {bound("a", {0}), bound("a", {0})},
  };
  for (const auto& [src, dst] : pairs) {
    for (const Tuning::Way way : {Tuning::Way::cheapest, Tuning::Way::boxes, Tuning::Way::stages, Tuning::Way::lines}) {
      for (const Tuning::Stream stream : {Tuning::Stream::never, Tuning::Stream::always}) {
        const Plan plan = Plan::make(src, dst, {}, {.permuted_bytes = 64}, {.stream = stream, .way = way});
        std::vector<Move> expected;
        EXPECT_TRUE(for_each_move(plan, kMostMoved, [&](const Move& move) { expected.push_back(move); }));
        const ReorderView view = reorder_view(plan);
        EXPECT_TRUE(view.complete);
        EXPECT_EQ(unfolded(view), expected) << plan.explain();
      }
    }
  }
}

// A page of many elements must not hold a number for each.
TEST(ReorderView, FoldsWhatRepeats) {
  const ReorderView view = reorder_view(Plan::make(bound("nchw", {1, 16, 64, 64}), bound("nhwc", {1, 16, 64, 64})));
  EXPECT_TRUE(view.complete);
  EXPECT_LT(view.blocks.size(), 8U);
  const ReorderView large = reorder_view(Plan::make(bound("nchw", {8, 16, 64, 64}), bound("nhwc", {8, 16, 64, 64})));
  EXPECT_FALSE(large.complete);
  int64_t elements = 0;
  for (const Move& move : unfolded(large)) elements += move.count;
  EXPECT_EQ(elements, kMostMoved);
}

TEST(ReorderView, SaysBoxesNestMethodAndWhy) {
  const TensorDesc src = bound("nchw", {2, 17, 4, 5}), dst = bound("nChw8c", {2, 17, 4, 5});
  Scene scene{.title = "both",
              .views = {{.expression = "nchw", .layout = src.layout, .letters = "nchw"},
                        {.expression = "nChw8c", .layout = dst.layout, .letters = "nchw"}}};
  const std::string without = svg(scene_drawing(scene));
  scene.reorder =
      reorder_view(Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::never, .way = Tuning::Way::boxes}));
  const std::string text = scene_text(scene, false), drawing = svg(scene_drawing(scene));
  for (const char* words : {"box 1 of 2: 640 elements, n 0..1, c 0..15, h 0..3, w 0..4",
                            "box 2 of 2: 40 elements, n 0..1, c 16, h 0..3, w 0..4",
                            "padding: 280 elements, n 0..1, c 17..23, h 0..3, w 0..4", "transpose", "n in 0..1",
                            "c%8 in 0..7", "1360 -> 1920 bytes", "through the cache"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
    std::string escaped(words);
    if (const std::size_t at = escaped.find('>'); at != std::string::npos) escaped.replace(at, 1, "&gt;");
    EXPECT_NE(drawing.find(escaped), std::string::npos) << words;
    EXPECT_EQ(without.find("through the cache"), std::string::npos);
  }
  EXPECT_NE(drawing.find("a colour for each box"), std::string::npos);
}

}  // namespace
}  // namespace relayout::show
