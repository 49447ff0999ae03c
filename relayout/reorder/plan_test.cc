// Plans: the kernel shape each pair gets, what is folded, and the words.
#include "relayout/reorder/plan.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"

namespace relayout {
namespace {

TensorDesc desc(std::string_view format, const Dims& dims, DType dtype = DType::f32) { return TensorDesc(Format::parse(format).bind(dims), dtype); }

Plan plan(std::string_view from, std::string_view to, const Dims& dims, DType dtype = DType::f32) { return Plan::make(desc(from, dims, dtype), desc(to, dims, dtype)); }

TEST(Plan, EqualLayoutsAreOneCopy) {
  const Plan p = plan("nchw", "nchw", {2, 3, 4, 5});
  ASSERT_EQ(p.boxes().size(), 1u);
  EXPECT_EQ(p.boxes()[0].shape, KernelShape::copy);
  EXPECT_EQ(p.boxes()[0].cols.extent, 480);
  EXPECT_TRUE(p.boxes()[0].loops.empty());
  EXPECT_FALSE(p.converts());
}

TEST(Plan, AxesFuseIntoATranspose) {
  const Plan p = plan("nchw", "nhwc", {2, 64, 4, 5});
  ASSERT_EQ(p.boxes().size(), 1u);
  const BoxPlan& box = p.boxes()[0];
  EXPECT_EQ(box.shape, KernelShape::transpose);
  EXPECT_EQ(box.element_bytes, 4);
  EXPECT_EQ(box.rows.extent, 20);  // h and w together
  EXPECT_EQ(box.cols.extent, 64);
  EXPECT_EQ(box.loops.size(), 1u);
}

TEST(Plan, ShortRunsBecomeLargerElements) {
  const Plan p = plan("abc", "bac", {7, 9, 2});
  EXPECT_EQ(p.boxes()[0].element_bytes, 8);
  const Plan bytes = plan("abc", "bac", {7, 9, 16}, DType::u8);
  EXPECT_EQ(bytes.boxes()[0].element_bytes, 16);
  const Plan nibbles = plan("abc", "bac", {7, 9, 4}, DType::s4);
  EXPECT_EQ(nibbles.boxes()[0].element_bytes, 2);
  EXPECT_EQ(plan("abc", "bac", {7, 9, 3}, DType::s4).boxes()[0].element_bytes, 0);
}

TEST(Plan, TailsAreBoxesAndPaddingIsFilled) {
  const Plan p = plan("nchw", "nChw8c", {2, 17, 5, 4});
  EXPECT_EQ(p.boxes().size(), 2u);
  int64_t moved = 0, filled = 0;
  for (const BoxPlan& box : p.boxes()) moved += box.elements;
  for (const BoxPlan& box : p.fills()) filled += box.elements;
  EXPECT_EQ(moved, 680);
  EXPECT_EQ(filled, 280);
  Attributes keep;
  keep.padding = Padding::keep();
  EXPECT_TRUE(Plan::make(p.src(), p.dst(), keep).fills().empty());
  EXPECT_EQ(p.cost().bytes_read, 680 * 4);
  EXPECT_EQ(p.cost().bytes_written, 960 * 4);
  EXPECT_GT(p.cost().nanoseconds, 0);
}

TEST(Plan, ExplainSaysWhatIsDone) {
  const std::string text = plan("nchw", "nChw8c", {2, 17, 5, 4}).explain();
  for (const char* part : {"2x17x5x4", "from  f32 abcd", "to    f32 aBcd8b", "padded to 2x24x5x4", "transpose of 4-byte elements", "2 boxes", "280 elements set to 0", "reads 2720 bytes, writes 3840"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  Attributes a;
  a.src_scale = {{2.0f}, 0};
  a.dst_zero_point = {{3}, 0};
  const std::string quantize = Plan::make(desc("nchw", {1, 2, 3, 4}), desc("nhwc", {1, 2, 3, 4}, DType::u8), a).explain();
  EXPECT_NE(quantize.find("dst = u8(src scale * src + dst zero point)"), std::string::npos) << quantize;
  EXPECT_NE(plan("ab", "ba", {0, 3}).explain().find("nothing to do"), std::string::npos);
  EXPECT_NE(plan("Ba48b", "Ba32b", {2, 200}).explain().find("by table"), std::string::npos);
}

}  // namespace
}  // namespace relayout
