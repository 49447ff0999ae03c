// Index tables: what their makers list, against loops, and what is refused.
#include "relayout/core/index_table.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::error_of;

std::vector<int64_t> list_of(const IndexTable& table) { return {table.entries().begin(), table.entries().end()}; }

TEST(IndexTable, RaggedRowsStandAtTheStartsOfLongRows) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<int64_t> starts{0}, expected;
    const int64_t rows = random() % 6, longest = random() % 9 + 1;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t length = random() % (longest + 1);
      for (int64_t j = 0; j < length; ++j) expected.push_back(r * longest + j);
      starts.push_back(starts.back() + length);
    }
    const IndexTable table = IndexTable::ragged(2, starts, longest);
    EXPECT_EQ(list_of(table), expected);
    EXPECT_EQ(table.dim(), 2);
    EXPECT_EQ(table.indices(), static_cast<int64_t>(expected.size()));
    table.check(table.indices(), rows * longest, true, "rows");
  }
}

TEST(IndexTable, SparseRowsCountTheColumnsOfAllRowsBefore) {
  const std::vector<int64_t> starts{0, 2, 2, 5}, columns{1, 3, 0, 2, 3};
  EXPECT_EQ(list_of(IndexTable::sparse_rows(0, starts, columns, 4)), (std::vector<int64_t>{1, 3, 8, 10, 11}));
  EXPECT_TRUE(IndexTable::sparse_rows(0, std::vector<int64_t>{0}, {}, 4).entries().empty());
}

TEST(IndexTable, WrongStartsAreNamed) {
  const auto ragged = [](std::vector<int64_t> starts, int64_t longest) {
    return error_of([&] { IndexTable::ragged(0, starts, longest); }).message();
  };
  EXPECT_EQ(ragged({}, 3),
            "index table: the first of the rows' starts is none; it must be 0, and the last one is where all rows end");
  EXPECT_EQ(ragged({2, 3}, 3),
            "index table: the first of the rows' starts is 2; it must be 0, and the last one is where all rows end");
  EXPECT_EQ(ragged({0, 4, 3}, 9), "index table: row 1 starts at 4 and ends at 3; starts must not descend");
  EXPECT_EQ(ragged({0, 1, 5}, 3), "index table: row 1 has 4 indices, more than the longest row, 3");
  EXPECT_EQ(ragged({0, 1}, -1), "index table: longest is -1; it must be 0 or more");
  const auto sparse = [](std::vector<int64_t> starts, std::vector<int64_t> columns, int64_t count) {
    return error_of([&] { IndexTable::sparse_rows(0, starts, columns, count); }).message();
  };
  EXPECT_EQ(sparse({0, 1}, {1, 2}, 3), "index table: there are 2 column indices, and the rows' starts end at 1");
  EXPECT_EQ(sparse({0, 1, 2}, {1, 3}, 3), "index table: entry 1, of row 1, is column 3; there are 3");
  EXPECT_EQ(sparse({0, 1}, {0}, int64_t{1} << 62),
            "index table: columns is 4611686018427387904, which overflows 63 bits");
  EXPECT_EQ(error_of([] { IndexTable(12, {}); }).message(),
            "index table: its dim is 12; dims are numbered from 0, at most to 11");
  EXPECT_EQ(error_of([] { IndexTable(0, {}, 0); }).message(),
            "index table: its block is 0; a block has 1 index or more");
}

TEST(IndexTable, EntriesOutOfBoundsAreNamed) {
  const auto message = [](const IndexTable& table, int64_t indices, int64_t extent, bool distinct) {
    return error_of([&] { table.check(indices, extent, distinct, "the table"); }).message();
  };
  EXPECT_EQ(message(IndexTable(0, {0, 5, 2}), 3, 5, false),
            "reorder: entry 1 of the table is index 5; the layout has 0 to 4, and -1 stands for none");
  EXPECT_EQ(message(IndexTable(0, {0, -2}), 2, 5, false),
            "reorder: entry 1 of the table is index -2; the layout has 0 to 4, and -1 stands for none");
  EXPECT_EQ(message(IndexTable(0, {2, 1}, 16), 32, 40, false),
            "reorder: entry 0 of the table is block 2, of which the layout has only 8 of 16 indices");
  EXPECT_EQ(message(IndexTable(0, {0}), 1, 0, false),
            "reorder: entry 0 of the table is index 0; the layout's dim is empty");
  const Error twice = error_of([] { IndexTable(0, {3, -1, 1, -1, 3}).check(5, 5, true, "the table"); });
  EXPECT_EQ(twice.code(), ErrorCode::not_injective);
  EXPECT_EQ(twice.message(), "reorder: entries 0 and 4 of the table are both 3; those of a destination must differ");
  // A few entries of a large dim.
  EXPECT_EQ(message(IndexTable(0, {99999, 5, -1, 99999}), 4, 100000, true),
            "reorder: entries 0 and 3 of the table are both 99999; those of a destination must differ");
  IndexTable(0, {1, 2}, 16).check(24, 40, true, "a last block of 8 of both");
  IndexTable(0, {3, 3, -1}).check(3, 5, false, "a source's entries may repeat");
}

TEST(IndexTable, EqualTablesHaveEqualEntries) {
  const IndexTable table(1, {3, 1}, 2), copy = table;
  EXPECT_TRUE(copy == table && table == IndexTable(1, {3, 1}, 2));
  EXPECT_FALSE(table == IndexTable(1, {3, 1}, 1) || table == IndexTable(0, {3, 1}, 2) ||
               table == IndexTable(1, {3, 2}, 2));
}

}  // namespace
}  // namespace relayout
