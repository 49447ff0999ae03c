// The law of refine.h: the boxes hold every index of the range once, with the offsets of both layouts.
#include "relayout/reorder/refine/refine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/testing.h"

namespace relayout {
namespace {

/// All offset tuples of a box, by walking its axes.
void collect(const Box& box, const Tables& tables, std::vector<Offsets>& out) {
  std::vector<Offsets> all{box.offset};
  for (const Axis& axis : box.axes) {
    std::vector<Offsets> next;
    for (const Offsets& base : all) {
      for (int64_t j = 0; j < axis.extent; ++j) {
        Offsets at = base;
        for (std::size_t k = 0; k < kOperands; ++k)
          at[k] += axis.table < 0 ? j * axis.stride[k] : tables.at(static_cast<std::size_t>(axis.table))[j][k];
        next.push_back(at);
      }
    }
    all = std::move(next);
  }
  out.insert(out.end(), all.begin(), all.end());
}

/// All offset tuples of a range of indices, by definition.
std::vector<Offsets> by_definition(const Layout& src, const Layout& dst, const AttributeSteps& attributes,
                                   const Dims& begin, const Dims& end) {
  std::vector<Offsets> out;
  test::each_index(begin, end, [&](const Dims& index) {
    int64_t third = 0;
    for (int d = 0; d < index.size(); ++d) {
      const AttributeStep step = attributes.data()[d];
      third += index[d] / step.group * step.stride;
    }
    out.push_back({src.offset(index), dst.offset(index), third});
  });
  return out;
}

void expect_law(const Layout& src, const Layout& dst, const AttributeSteps& attributes, const Dims& begin,
                const Dims& end) {
  Tables tables;
  std::vector<Offsets> whole, simple;
  for (Box box : refine(src, dst, attributes, begin, end, tables)) {
    collect(box, tables, whole);
    simplify(box);
    collect(box, tables, simple);
  }
  auto expected = by_definition(src, dst, attributes, begin, end);
  std::ranges::sort(expected);
  std::ranges::sort(whole);
  std::ranges::sort(simple);
  EXPECT_EQ(whole, expected);
  EXPECT_EQ(simple, expected);
}

TEST(Refine, WorkedExample) {
  Tables tables;
  const Dims dims{17, 5};
  const auto boxes =
      refine(Format::parse("ab").bind(dims), Format::parse("Ab8a").bind(dims), no_attributes(2), {0, 0}, dims, tables);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_TRUE(tables.empty());
  EXPECT_EQ(boxes[0].axes.size(), 3u);  // a as 8 and 2, b
  EXPECT_EQ(boxes[1].offset, (Offsets{80, 80, 0}));
}

TEST(Refine, BlocksThatDoNotNestUseOneTable) {
  Tables tables;
  const Dims dims{960, 2};
  const auto boxes = refine(Format::parse("Ab48a").bind(dims), Format::parse("Ab32a").bind(dims), no_attributes(2),
                            {0, 0}, dims, tables);
  ASSERT_EQ(boxes.size(), 1u);  // 960 is a multiple of the lcm
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].size(), 6);  // 96 / 16
  int table_axes = 0;
  for (const Axis& axis : boxes[0].axes) table_axes += axis.table >= 0;
  EXPECT_EQ(table_axes, 1);
}

TEST(Refine, CoversEveryIndexOnce) {
  std::mt19937 rng(9);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(rng); };
  const char* const tags[] = {"ab",       "ba",    "Ba4b",  "BA4b2a",   "BA3b2a2b",      "AB6a5b",
                              "BA2a8b3a", "Ba12b", "Ba16b", "BA5b3a4b", "strides:-70,1", "strides:1,-9"};
  for (int round = 0; round < 3000; ++round) {
    const Dims dims{pick(1, 9), pick(1, 60)};
    const auto bind = [&] {
      while (true) {
        try {
          return Format::parse(tags[pick(0, std::size(tags) - 1)]).bind(dims);
        } catch (const Error&) {  // these dims do not fit every tag of the list
        }
      }
    };
    const Layout src = bind(), dst = bind();
    Dims begin(2, 0), end = dims;
    if (pick(0, 2) == 0) {
      for (int d = 0; d < 2; ++d) {
        begin[d] = pick(0, static_cast<int>(dims[d]) - 1);
        end[d] = pick(static_cast<int>(begin[d]), static_cast<int>(dims[d]));
      }
    }
    expect_law(src, dst, {{pick(0, 1) * 7, pick(1, 3)}, {pick(0, 1), pick(1, 20)}}, begin, end);
  }
}

// The boxes of the padding of some dims have every index past the extent of any of these dims, each once.
TEST(Refine, PaddingIsCoveredOnce) {
  const Dims dims{3, 17, 5, 7};
  for (const char* tag : {"aBcd16b", "ABcd4a16b", "ABcD2d8b2a", "Bacd48b", "ABCD4a8b2c4d2b", "abcd"}) {
    const Layout layout = Format::parse(tag).bind(dims);
    for (uint32_t without = 0; without < 16; ++without) {
      Dims end = layout.padded_dims();
      for (int d = 0; d < dims.size(); ++d) {
        if (without >> d & 1) end[d] = dims[d];
      }
      std::vector<Offsets> expected, actual;
      test::each_index(Dims(dims.size(), 0), layout.padded_dims(), [&](const Dims& index) {
        bool padding = false;
        for (int d = 0; d < dims.size(); ++d) padding = padding || (index[d] >= dims[d] && !(without >> d & 1));
        int64_t offset = layout.offset0();
        for (int d = 0; d < dims.size(); ++d) offset += layout.dim_offset(d, index[d]);
        if (padding) expected.push_back({offset, offset, 0});
      });
      Tables tables;
      for (const Box& box : refine_padding(layout, without, tables)) collect(box, tables, actual);
      std::ranges::sort(expected);
      std::ranges::sort(actual);
      EXPECT_EQ(actual, expected) << tag << " without " << without;
    }
  }
}

TEST(Refine, HugeExtentsMakeNoHugeTables) {
  const Dims dims{int64_t{1} << 40, 2};
  Tables tables;
  const auto boxes =
      refine(Layout::strided(dims, {0, 0}), Format::parse("Ab48a").bind(dims), no_attributes(2), {0, 0}, dims, tables);
  EXPECT_TRUE(tables.empty());
  EXPECT_EQ(boxes.size(), 2u);
  const auto refuse = [&] {
    refine(Format::parse("Ab1000003a").bind(dims), Format::parse("Ab1000033a").bind(dims), no_attributes(2), {0, 0},
           dims, tables);
  };
  EXPECT_EQ(test::code_of(refuse), ErrorCode::limit);
}

// Tails that would need too many boxes. Then dims go by table: as a whole, or only above the levels that divide the
// range.
TEST(Refine, ManyTailsGoByTableAndTheLawHolds) {
  const Dims dims{7, 7, 7, 7, 7, 7}, none(6, 0);
  const Layout plain = Format::parse("fabcde").bind(dims);
  const Layout blocked = Format::parse("ABCDEF2a2b2c2d2e2f2a2b2c2d2e2f").bind(dims);
  Tables tables;
  EXPECT_LE(refine(plain, blocked, no_attributes(plain.ndims()), none, dims, tables).size(),
            static_cast<std::size_t>(kMaxBoxes));
  EXPECT_FALSE(tables.empty());
  expect_law(plain, blocked, {{1, 1}, {7, 1}, {0, 1}, {49, 5}, {0, 1}, {0, 1}}, none, dims);
  expect_law(plain, blocked, no_attributes(6), {0, 1, 3, 1, 1, 1}, dims);

  // A dim of 2 * 31: its lowest level stays an axis.
  const Dims even{62, 7, 7, 7, 7, 7};
  Tables coarse;
  const Layout from = Format::parse("abcdef").bind(even);
  const Layout to = Format::parse("ABCDEF2a2b2c2d2e2f2a2b2c2d2e2f2a4a2a").bind(even);
  const auto boxes = refine(from, to, no_attributes(from.ndims()), none, even, coarse);
  EXPECT_LE(boxes.size(), static_cast<std::size_t>(kMaxBoxes));
  for (const auto& table : coarse) EXPECT_LE(table.size(), 31u);
}

}  // namespace
}  // namespace relayout
