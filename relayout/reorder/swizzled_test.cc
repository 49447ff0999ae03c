// Refinement of swizzled layouts: its law, and which boxes it makes.
#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/reorder/refine/refine.h"
#include "tests/support/swizzled_layouts.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

void collect_box(const Box& box, const Tables& tables, std::size_t axis, const Offsets& at, std::vector<Offsets>& out) {
  if (axis == box.axes.size()) return out.push_back(at);
  for (int64_t j = 0; j < box.axes[axis].extent; ++j) {
    Offsets next = at;
    const int32_t table = box.axes[axis].table;
    for (std::size_t k = 0; k < kOperands; ++k)
      next[k] += table < 0 ? j * box.axes[axis].stride[k] : tables.at(static_cast<std::size_t>(table))[j][k];
    collect_box(box, tables, axis + 1, next, out);
  }
}

std::size_t tables_of(const Layout& src, const Layout& dst, std::size_t* boxes = nullptr) {
  Tables tables;
  const auto made = refine(src, dst, no_attributes(dst.ndims()), Dims(dst.ndims(), 0), dst.dims(), tables);
  if (boxes != nullptr) *boxes = made.size();
  return tables.size();
}

TEST(SwizzledBoxes, HoldEveryIndexOnceWithItsOffsets) {
  test::SwizzledLayouts random(11);
  int by_table = 0, by_boxes = 0;
  for (int turn = 0; turn < 2500; ++turn) {
    const Dims dims = random.dims(turn % 10 ? 12 : 40);
    Layout src = random.layout(dims), dst = random.layout(dims);
    if (turn % 3 != 0) src = src.with_swizzle(random.swizzle());
    if (turn % 3 != 1) dst = dst.with_swizzle(random.swizzle());
    AttributeSteps attribute = no_attributes(dims.size());
    for (AttributeStep& step : attribute) step = {random.pick(0, 3), random.pick(0, 2) ? 1 : random.pick(2, 5)};
    Dims begin(dims.size(), 0), end = dims;
    if (turn % 5 == 0) {
      for (int d = 0; d < dims.size(); ++d) begin[d] = random.pick(0, dims[d]), end[d] = random.pick(0, dims[d]);
    }
    Tables tables;
    std::vector<Offsets> found, expected;
    const auto boxes = refine(src, dst, attribute, begin, end, tables);
    for (Box box : boxes) {
      collect_box(box, tables, 0, box.offset, found);
      const std::size_t count = found.size();
      simplify(box);
      std::vector<Offsets> simple;
      collect_box(box, tables, 0, box.offset, simple);
      ASSERT_LE(simple.size(), count);
    }
    test::each_index(begin, end, [&](const Dims& index) {
      int64_t third = 0;
      for (int d = 0; d < index.size(); ++d) {
        const auto& [stride, group] = attribute[static_cast<std::size_t>(d)];
        third += index[d] / group * stride;
      }
      expected.push_back({src.offset(index), dst.offset(index), third});
    });
    std::ranges::sort(found);
    std::ranges::sort(expected);
    ASSERT_EQ(found, expected) << digits_expression(src) << " -> " << digits_expression(dst);
    for (const auto& table : tables) ASSERT_EQ(table[0], Offsets{});
    (tables.empty() ? by_boxes : by_table) += !boxes.empty();
  }
  EXPECT_GT(by_table, 300);
  EXPECT_GT(by_boxes, 300);
}

// What GPUs have needs no table: a box for each value of the bits that are read.
TEST(SwizzledBoxes, TilesNeedNoTable) {
  const Dims dims{128, 64};
  const Layout plain = Layout::contiguous(dims);
  for (int bits = 1; bits <= 3; ++bits) {
    const Layout tile = plain.with_swizzle(Swizzle::make(bits, 3, 3));
    std::size_t boxes = 0;
    EXPECT_EQ(tables_of(plain, tile, &boxes), 0u);
    EXPECT_EQ(boxes, std::size_t{1} << bits);
    EXPECT_EQ(tables_of(tile, plain, &boxes), 0u);
    EXPECT_EQ(boxes, std::size_t{1} << bits);
    EXPECT_EQ(tables_of(tile, tile, &boxes), 0u);
    EXPECT_EQ(boxes, std::size_t{1} << bits);
  }
  // A pitch that is no power of two carries: one table of the steps in a period.
  std::size_t boxes = 0;
  const Layout pitched = Layout::strided(dims, {72, 1}).with_swizzle(Swizzle::make(3, 3, 3));
  EXPECT_EQ(tables_of(plain, pitched, &boxes), 1u);
  EXPECT_EQ(boxes, 1u);
}

}  // namespace
}  // namespace relayout
