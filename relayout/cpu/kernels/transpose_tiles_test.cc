// Kernels that transpose by tiles, whose rows and columns lie anywhere: right at all sizes and misalignments, and not
// one byte outside, shown by pages without access on both sides of source and destination.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"
#include "tests/support/slow_tests.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::kSides;
using test::randomize;

class EveryTileTransposition : public testing::TestWithParam<const Kernels*> {};

/// A random permutation of 16 bytes, within groups of `period` bytes.
std::array<uint8_t, 16> random_pattern(int64_t period, std::mt19937& rng) {
  std::vector<int64_t> from(static_cast<std::size_t>(period));
  std::iota(from.begin(), from.end(), 0);
  std::ranges::shuffle(from, rng);
  std::array<uint8_t, 16> pattern{};
  for (int64_t i = 0; i < 16; ++i) {
    pattern[static_cast<std::size_t>(i)] =
        static_cast<uint8_t>(i / period * period + from[static_cast<std::size_t>(i % period)]);
  }
  return pattern;
}

/// The largest power of two up to 16 that divides `bytes`.
int64_t period_of(int64_t bytes) { return std::min<int64_t>(16, bytes & -bytes); }

/// Two runs of rows and three of columns, anywhere in the source and, last first, in the destination.
void expect_tiles(const Kernels& kernels, std::size_t log2, int64_t row_run, int64_t col_run, int64_t shift,
                  Guarded::Side at, std::mt19937& rng) {
  const int64_t size = int64_t{1} << log2, rows = 2 * row_run, cols = 3 * col_run;
  const int64_t in = row_run * size, out = col_run * size;  // bytes of a run
  std::vector<int64_t> src_rows, src_cols, dst_rows, dst_cols;
  for (int64_t r = 0; r < rows; ++r) {
    src_rows.push_back(r / row_run * (in + 1) + r % row_run * size);
    dst_rows.push_back((rows - 1 - r) * (3 * out + 5));
  }
  for (int64_t c = 0; c < cols; ++c) {
    src_cols.push_back(c * (2 * in + 3));
    dst_cols.push_back((2 - c / col_run) * (out + 1) + c % col_run * size);
  }
  Guarded src(src_rows[static_cast<std::size_t>(rows - row_run)] + src_cols.back() + in, at, 63 - shift);
  Guarded dst(dst_rows.front() + 3 * out + 2, at, shift);
  randomize(src.bytes(), rng);
  randomize(dst.bytes(), rng);
  std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
  const auto read = random_pattern(period_of(in), rng), written = random_pattern(period_of(out), rng);
  // Where byte `place` of the runs' bytes comes from under a pattern.
  const auto permuted = [](const std::array<uint8_t, 16>& pattern, int64_t place) {
    return place / 16 * 16 + pattern[static_cast<std::size_t>(place % 16)];
  };
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < 3 * out; ++i) {
      const int64_t run = i / out, from = permuted(written, i % out), col = run * col_run + from / size;
      const int64_t byte = permuted(read, r % row_run * size + from % size);
      expected[static_cast<std::size_t>(dst_rows[static_cast<std::size_t>(r)] + (2 - run) * (out + 1) + i % out)] =
          src.data()[r / row_run * (in + 1) + src_cols[static_cast<std::size_t>(col)] + byte];
    }
  }
  // A prefetch may go to any address.
  const int64_t ahead = shift % 2 == 0 ? 0 : 1 << 30;
  kernels.tiles[log2](src.data(), src_rows.data(), src_cols.data(), dst.data(), dst_rows.data(), dst_cols.data(),
                      {rows, cols, row_run, col_run, read.data(), written.data(), -ahead, ahead});
  ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected))
      << size << " bytes, runs of " << row_run << " rows, " << col_run << " columns";
  ASSERT_TRUE(src.intact() && dst.intact());
}

TEST_P(EveryTileTransposition, Tiles) {
  std::mt19937 rng(14);
  for (std::size_t log2 = 0; log2 <= kElementSizes; ++log2) {
    for (const int64_t row_run : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 33, 67}) {
      for (const int64_t col_run : {1, 2, 3, 4, 6, 8, 12, 13, 16, 18, 32, 37, 64, 65, 96}) {
        for (const int64_t shift : {0, 31, 63}) {
          // The slow tests have every shift with every run, the others one with each.
          if (!test::slow_tests() && shift != std::array{0, 31, 63}[static_cast<std::size_t>(row_run + col_run) % 3]) {
            continue;
          }
          for (const Guarded::Side at : kSides) {
            expect_tiles(*GetParam(), log2, row_run, col_run, shift, at, rng);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(EveryTileTransposition, TilesAtEveryMisalignment) {
  std::mt19937 rng(15);
  for (std::size_t log2 = 0; log2 <= kElementSizes; ++log2) {
    for (int64_t shift = 0; shift < 64; ++shift) {
      for (const Guarded::Side at : kSides) {
        expect_tiles(*GetParam(), log2, 16, 64, shift, at, rng);
        expect_tiles(*GetParam(), log2, 3, 5, shift, at, rng);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryTileTransposition, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
