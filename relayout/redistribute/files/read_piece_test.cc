// Boxes of files that are read into dense memory: every element at the place that the dense layout says.
#include "relayout/redistribute/files/read_piece.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "relayout/core/error.h"
#include "relayout/core/format.h"
#include "relayout/io/direct.h"
#include "relayout/reorder/slabs.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

using test::each_index;

TEST(ReadPiece, EveryElementOfEveryBox) {
  struct Case {
    const char* format;
    Dims dims, offsets, box;
    int64_t ranges;
  };
  for (const Case& c : {Case{"ab", {30, 40}, {3, 5}, {4, 7}, 4}, Case{"ab", {30, 40}, {3, 0}, {4, 40}, 1},
                        Case{"ba", {30, 40}, {3, 5}, {4, 7}, 7}, Case{"abc", {4, 5, 6}, {1, 2, 3}, {2, 3, 2}, 6},
                        Case{"aBc4b", {3, 10, 5}, {1, 4, 2}, {2, 6, 3}, 4}, Case{"a", {9}, {8}, {1}, 1},
                        Case{"cab", {4, 5, 6}, {0, 0, 0}, {4, 5, 6}, 1}}) {
    const TensorDesc whole(Format::parse(c.format).bind(c.dims), DType::u16);
    const std::vector<std::byte> bytes = test::counting(static_cast<std::size_t>(whole.span_bytes()));
    std::FILE* file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    std::fputs("head", file);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fflush(file);
    const TensorDesc view = slab_view(whole, {c.offsets, c.box});
    const std::optional<DenseBox> box = dense_box(view);
    ASSERT_TRUE(box.has_value()) << c.format;
    EXPECT_EQ(box->ranges(), c.ranges) << c.format;
    std::vector<std::byte> dense(static_cast<std::size_t>(box->bytes()));
    fetch(*box, ::fileno(file), 4);
    for (int64_t i = 0; i < box->transfers(); ++i) read(box->transfer(i, 4), {.descriptor = ::fileno(file)}, {}, dense);
    each_index(c.box, [&](const Dims& index) {
      const auto from = static_cast<std::size_t>(2 * view.layout.offset(index));
      const auto at = static_cast<std::size_t>(2 * box->desc.layout.offset(index));
      ASSERT_EQ(dense[at], bytes[from]) << c.format << " " << join(index);
      ASSERT_EQ(dense[at + 1], bytes[from + 1]) << c.format << " " << join(index);
    });
    const Transfer behind = box->transfer(0, 5 + static_cast<int64_t>(bytes.size()));
    EXPECT_THROW(read(behind, {.descriptor = ::fileno(file)}, {}, dense), Error);
    std::fclose(file);
  }
}

// A read past the cache may bring less than it was asked for, without the end of the file. A file that is shorter plays
// the descriptor past the cache here, and ends within a block.
TEST(ReadPiece, GoesOnWhereAReadPastTheCacheIsShort) {
  const std::vector<std::byte> bytes = test::counting(3 * io::kDirectBlock);
  std::FILE* whole = std::tmpfile();
  std::FILE* shorter = std::tmpfile();
  ASSERT_TRUE(whole != nullptr && shorter != nullptr);
  std::fwrite(bytes.data(), 1, bytes.size(), whole);
  std::fwrite(bytes.data(), 1, io::kDirectBlock + 700, shorter);
  std::fflush(whole);
  std::fflush(shorter);
  const Transfer transfer{.at = 100, .dense = 5, .bytes = 2 * io::kDirectBlock};
  std::vector<std::byte> own(kLaneBytes), dense(5 + 2 * io::kDirectBlock), expected(dense);
  std::ranges::copy(std::span(bytes).subspan(100, 2 * io::kDirectBlock), expected.begin() + 5);
  read(transfer, {.descriptor = ::fileno(whole), .direct = ::fileno(shorter)}, own, dense);
  EXPECT_TRUE(dense == expected);
  // Where the file itself ends there, the error says at which byte.
  const ReadFrom cut{.descriptor = ::fileno(shorter), .direct = ::fileno(shorter)};
  const Error error = test::error_of([&] { read(transfer, cut, own, dense); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_NE(error.message().find("ends at byte 4796"), std::string::npos) << error.message();
  std::fclose(whole);
  std::fclose(shorter);
}

TEST(ReadPiece, WhatHasNoDenseForm) {
  EXPECT_FALSE(dense_box({Layout::strided({4, 3}, {2, 1}), DType::f32}));  // rows that overlap
  EXPECT_FALSE(dense_box({Layout::strided({4}, {0}), DType::f32}));        // one element for all
  EXPECT_FALSE(dense_box({Layout::strided({4}, {-1}, 3), DType::f32}));    // from back to front
  EXPECT_FALSE(dense_box({Layout::contiguous({4}), DType::u4}));           // halves of bytes
}

}  // namespace
}  // namespace relayout::redistribute
