// Memory in rows: each cell against Layout::offset(), and what the labels leave out.
#include "relayout/show/memory.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/show/memory_text.h"

namespace relayout::show {
namespace {

MemoryRoom room(int64_t letters) {
  return {6, 3, 2, [letters](int64_t label) { return letters / (label + 1); }};
}

TEST(Memory, EachCellHoldsWhatTheLayoutSays) {
  for (const auto& [text, dims] : {std::pair<const char*, Dims>{"nchw", {2, 3, 4, 5}},
                                   {"nhwc", {2, 3, 4, 5}},
                                   {"nChw16c", {2, 17, 4, 4}},
                                   {"strides:-8,1@24", {4, 6}},
                                   {"strides:0,1", {3, 4}},
                                   {"ab;swizzle=2,3,3", {16, 16}},
                                   {"nchw", {2, 0, 4, 5}}}) {
    const Layout layout = Format::parse(text).bind(dims);
    const Memory memory(layout, std::string("nchwabcd").substr(0, static_cast<std::size_t>(dims.size())), room(60));
    EXPECT_EQ(memory.first().empty(), layout.empty()) << text;
    for (const std::vector<MemoryRow>* rows : {&memory.first(), &memory.last()}) {
      for (const MemoryRow& row : *rows) {
        EXPECT_LE(static_cast<int64_t>(row.size()), memory.columns());
        for (std::size_t k = 0; k < row.size(); ++k) {
          EXPECT_EQ(row[k].offset, row[0].offset + static_cast<int64_t>(k));
          if (row[k].slot != Slot::gap) {
            EXPECT_EQ(layout.offset(row[k].index), row[k].offset) << text;
          }
          EXPECT_EQ(row[k].label.empty(), row[k].slot != Slot::element) << text;
        }
      }
    }
  }
}

TEST(Memory, TextIsColouredOnlyWhereItIsAsked) {
  const Layout layout = Format::parse("nhwc").bind({1, 3, 2, 2});
  const std::string plain = memory_text(layout, "nchw");
  EXPECT_EQ(plain,
            "  memory    the index at each offset, c,h,w; n = 0; a bar ends a run of c\n"
            "       0  0,0,0   1,0,0   2,0,0 | 0,0,1   1,0,1   2,0,1\n"
            "       6  0,1,0   1,1,0   2,1,0 | 0,1,1   1,1,1   2,1,1\n");
  std::string coloured = memory_text(layout, "nchw", {.colour = true});
  EXPECT_NE(coloured.find("\x1b[30;48;2;"), std::string::npos);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, plain);
}

}  // namespace
}  // namespace relayout::show
