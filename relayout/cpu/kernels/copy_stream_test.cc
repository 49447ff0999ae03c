// Kernels that copy past the cache: right for runs of all sizes, at all misalignments, in every shape that has code of
// its own; and not one byte outside is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"
#include "tests/support/slow_tests.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::kSides;
using test::randomize;
using test::steps;

class EveryStreamedCopy : public testing::TestWithParam<const Kernels*> {};

// Every table but the plain one has stores that write past the cache.
TEST_P(EveryStreamedCopy, CopyStream) {
  ASSERT_EQ(GetParam()->copy_stream == nullptr, GetParam() == scalar_kernels());
  ASSERT_EQ(GetParam()->flush == nullptr, GetParam() == scalar_kernels());
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(10);
  for (int64_t shift = 0; shift < 64; ++shift) {
    for (const Guarded::Side at : kSides) {
      for (const int64_t bytes : {0, 1, 15, 63, 64, 65, 131, 700}) {
        Guarded src(3 * bytes, at, shift), dst(3 * bytes, at, (shift * 5 + 1) % 64);
        randomize(src.bytes(), rng);
        const auto at_run = steps(3, bytes);
        GetParam()->copy_stream(src.data(), at_run.data(), kFirst, dst.data(), at_run.data(), kFirst, 3, 1, bytes,
                                shift * 64);
        GetParam()->flush();
        ASSERT_TRUE(std::ranges::equal(src.bytes(), dst.bytes()));
        ASSERT_TRUE(src.intact() && dst.intact());
      }
    }
  }
}

/// Copies rows x cols runs past the cache. The source's runs have these steps; the destination's follow each other,
/// with gaps between rows.
void expect_copied(const Kernels& kernels, int64_t rows, int64_t cols, int64_t bytes,
                   std::pair<int64_t, int64_t> src_steps, int64_t dst_gap, int64_t shift, bool swapped,
                   std::mt19937& rng) {
  const auto src_cols = steps(cols, src_steps.second), src_rows = steps(rows, src_steps.first);
  const auto dst_cols = steps(cols, bytes), dst_rows = steps(rows, cols * bytes + dst_gap);
  const Guarded::Side at = kSides[static_cast<std::size_t>(shift / 8 % 2)];
  Guarded src(src_rows.back() + src_cols.back() + bytes, at), dst(dst_rows.back() + cols * bytes, at, shift);
  randomize(src.bytes(), rng);
  randomize(dst.bytes(), rng);
  std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
  for (const int64_t row : steps(rows, 1)) {
    for (const int64_t col : steps(cols, 1)) {
      const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(col);
      std::copy_n(src.data() + src_rows[r] + src_cols[c], bytes, expected.begin() + dst_rows[r] + dst_cols[c]);
    }
  }
  if (swapped)
    kernels.copy_stream(src.data(), src_cols.data(), src_rows.data(), dst.data(), dst_cols.data(), dst_rows.data(),
                        cols, rows, bytes, 0);
  else
    kernels.copy_stream(src.data(), src_rows.data(), src_cols.data(), dst.data(), dst_rows.data(), dst_cols.data(),
                        rows, cols, bytes, 0);
  kernels.flush();
  EXPECT_TRUE(std::ranges::equal(dst.bytes(), expected))
      << rows << " x " << cols << " runs of " << bytes << " bytes, steps of " << src_steps.first << " and "
      << src_steps.second << ", a gap of " << dst_gap << ", shifted by " << shift;
  EXPECT_TRUE(src.intact() && dst.intact());
}

/// With gaps between the source's runs.
void expect_streamed(const Kernels& kernels, int64_t rows, int64_t cols, int64_t bytes, int64_t src_gap,
                     int64_t dst_gap, int64_t shift, std::mt19937& rng) {
  expect_copied(kernels, rows, cols, bytes, {cols * (bytes + src_gap), bytes + src_gap}, dst_gap, shift, false, rng);
}

// Pieces that make lines of the destination together, in rows that follow each other or not.
TEST_P(EveryStreamedCopy, CopyStreamOfPieces) {
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(12);
  for (const int64_t bytes : {1, 5, 16, 24, 32, 48, 64, 100, 128, 250, 700}) {
    for (const int64_t src_gap : {0, 3, 200}) {
      for (const int64_t dst_gap : {0, 7}) {
        for (int64_t shift = 0; shift < 64; shift += bytes % 16 == 0 ? 8 : 9)
          expect_streamed(*GetParam(), 3, 30, bytes, src_gap, dst_gap, shift, rng);
      }
    }
  }
}

// Many runs, of one list or of rows.
TEST_P(EveryStreamedCopy, CopyStreamOfManyRuns) {
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(13);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 150}, {75, 1}, {19, 11}, {5, 37}}) {
    for (const int64_t bytes : {64, 96, 128, 192, 224, 256, 320, 384, 448, 500}) {
      for (const int64_t src_gap : {0, 32, 71}) {
        for (const int64_t dst_gap : {0, 64, 100}) {
          for (const int64_t shift : {0, 32, 47})
            expect_streamed(*GetParam(), rows, cols, bytes, src_gap, dst_gap, shift, rng);
        }
      }
    }
  }
}

TEST_P(EveryStreamedCopy, CopyStreamOfLongRuns) {
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(14);
  for (const auto& [rows, bytes] :
       {std::pair<int64_t, int64_t>{8, 4096}, {11, 4160}, {19, 5000}, {1, 33001}, {3, 34048}}) {
    for (const int64_t src_gap : {0, 71}) {
      for (const int64_t dst_gap : {0, 64, 100}) {
        for (const int64_t shift : {0, 1, 32, 63}) {
          expect_streamed(*GetParam(), rows, 1, bytes, src_gap, dst_gap, shift, rng);
          expect_streamed(*GetParam(), 1, rows, bytes, src_gap, 0, shift, rng);
        }
      }
    }
  }
}

// Channels last to channel blocks: the source goes on from row to row, the destination from column to column. Lines of
// a few rows are made side by side, wherever these start.
TEST_P(EveryStreamedCopy, CopyStreamOfLinesSideBySide) {
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(15);
  for (const int64_t bytes : {16, 32, 64}) {
    for (const int64_t rows : {2, 5, 16, 64, 65}) {
      for (const int64_t cols : {rows, rows + 3, int64_t{67}, int64_t{200}}) {
        if (cols < rows || (rows > 16 && cols == 200 && !test::slow_tests())) continue;
        for (const int64_t dst_gap : {0, 64, 20}) {
          for (const int64_t shift : {0, 1, 4, 16, 31, 32, 48, 63}) {
            const int64_t col_step = rows * bytes + (shift % 3 == 1 ? 24 : 0);
            expect_copied(*GetParam(), rows, cols, bytes, {bytes, col_step}, dst_gap, shift, shift % 2 == 1, rng);
          }
        }
      }
    }
  }
}

// Channel blocks to channels last: rows of whole lines that follow each other, each put together of runs that lie
// apart.
TEST_P(EveryStreamedCopy, CopyStreamOfJoinedLines) {
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(16);
  for (const int64_t bytes : {16, 32, 64}) {
    for (const int64_t cols : {2, 4, 16, 20}) {
      for (const int64_t rows : {20, 21, 67}) {
        for (int64_t shift = 0; shift < 64; shift += 3)
          expect_copied(*GetParam(), rows, cols, bytes, {bytes, (rows + 1) * bytes}, 0, shift, shift % 2 == 1, rng);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryStreamedCopy, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
