// Which boxes have rows of small pieces whose lines can be made by byte permutations, and what is noted of these.
#include "relayout/reorder/methods/permuted_rows.h"

#include <gtest/gtest.h>

#include "relayout/reorder/plan.h"
#include "relayout/reorder/plan_data.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

/// A machine for which nothing is planned by line programs, which do some of these boxes in the caches.
constexpr Machine kNoPrograms{.permuted_bytes = 0};

using test::desc;

BoxPlan first_box(std::string_view src, std::string_view dst, const Dims& dims, DType dtype = DType::u8) {
  return Plan::make(desc(src, dims, dtype), desc(dst, dims, dtype), {}, kNoPrograms).data().boxes()[0];
}

/// The pieces of a row as "from+bytes", a gap as "-+bytes".
std::string text(const BoxPlan& box) {
  std::string out;
  const auto* permuted = box.as<PermutedRows>();
  if (!permuted) return out;
  for (const RowSource& piece : permuted->rows.pieces) {
    out += (out.empty() ? "" : " ") + (piece.from == RowSource::kGap ? "-" : std::to_string(piece.from)) + "+" +
           std::to_string(piece.bytes);
  }
  return out;
}

TEST(PermutedRows, PiecesOfARow) {
  const Dims rgb{2, 3, 40, 50};
  const BoxPlan reversed = first_box("strides:6000,-1,150,3", "nhwc", rgb);
  EXPECT_EQ(text(reversed), "0+1 -1+1 -2+1");
  EXPECT_EQ(reversed.as<PermutedRows>()->rows.step, 3);
  EXPECT_TRUE(reversed.as<PermutedRows>()->of_region);

  const BoxPlan some = first_box("strides:8000,1,200,4", "nhwc", rgb);
  EXPECT_EQ(text(some), "0+3");
  EXPECT_EQ(some.as<PermutedRows>()->rows.step, 4);
  EXPECT_FALSE(some.as<PermutedRows>()->of_region);

  const BoxPlan cropped = first_box("strides:152320,-1,680,3", "nhwc", {1, 3, 224, 224});
  EXPECT_EQ(text(cropped), "0+1 -1+1 -2+1");
  EXPECT_FALSE(cropped.as<PermutedRows>()->of_region);

  EXPECT_EQ(text(first_box("nhwc", "strides:8000,1,200,4", rgb)), "0+3 -+1");
  EXPECT_EQ(text(first_box("nhwc", "nChw4c", rgb)), "0+3 -+1");
  EXPECT_EQ(text(first_box("strides:8000,1,200,4", "nhwc", rgb, DType::f32)), "0+12");
  EXPECT_EQ(text(first_box("strides:8000,1,200,4", "nchw", rgb)), "0+1");
}

TEST(PermutedRows, NotWhereOthersAreFasterOrLinesComeFromTooFar) {
  const Dims dims{2, 16, 40, 50};
  EXPECT_EQ(text(first_box("nhwc", "nchw", {2, 3, 40, 50})), "");                   // deinterleaved
  EXPECT_EQ(text(first_box("nChw16c", "nhwc", dims)), "");                          // pieces of 16 bytes
  EXPECT_EQ(text(first_box("strides:10000,1,250,5", "nhwc", {2, 1, 40, 50})), "");  // a line would read 316 bytes
  EXPECT_EQ(text(first_box("nhwc", "strides:16000,1,400,8", {2, 1, 40, 50})), "");  // 1 byte in 8 is written
  EXPECT_EQ(text(first_box("strides:24,1,12,4", "nhwc", {2, 3, 2, 3})), "");        // runs of only 18 bytes
}

}  // namespace
}  // namespace relayout
