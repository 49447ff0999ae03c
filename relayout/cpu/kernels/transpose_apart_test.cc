// Transpositions past the cache whose columns lie pages apart, as those of large images do: several squares side by
// side, with columns that start at lines and anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::randomize;
using test::steps;

constexpr int64_t kMostRows = 67;

class TranspositionOfColumnsApart : public testing::TestWithParam<const Kernels*> {};

/// Calls check(log2, size, rows, lines, src, columns) for each case. The source's memory ends with its last column.
template <typename Check>
void each_region(std::mt19937& rng, const Check& check) {
  for (std::size_t log2 = 0; log2 < 4; ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (const int64_t lines : {4, 5, 9}) {
      for (const int64_t apart : {4096, 4096 + 4, 4096 - 4, 8192 + 1, 4096 + 192, 5000}) {
        for (const int64_t rows : {16, 17, 32, 48, int{kMostRows}}) {
          const int64_t cols = lines * kCacheLine / size;
          Guarded src((cols - 1) * apart + rows * size, Guarded::Side::end);
          const auto columns = steps(cols, apart);
          for (const int64_t at : columns)
            randomize(src.bytes().subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(rows * size)), rng);
          check(log2, size, rows, lines, src.data(), columns);
        }
      }
    }
  }
}

/// Row r of the result.
std::vector<std::byte> row_of(const std::byte* src, const std::vector<int64_t>& columns, int64_t r, int64_t size) {
  std::vector<std::byte> row;
  for (const int64_t at : columns) row.insert(row.end(), src + at + r * size, src + at + (r + 1) * size);
  return row;
}

TEST_P(TranspositionOfColumnsApart, Streams) {
  std::mt19937 rng(31);
  each_region(rng, [&](std::size_t log2, int64_t size, int64_t rows, int64_t lines, const std::byte* src,
                       const std::vector<int64_t>& columns) {
    const auto kernel = GetParam()->transpose_stream[log2];
    if (!kernel) return;
    const int64_t stride = (lines + 1) * kCacheLine, bytes = lines * kCacheLine;
    Guarded dst((rows - 1) * stride + bytes, Guarded::Side::end);
    std::ranges::fill(dst.bytes(), std::byte{0x3c});
    kernel(src, columns.data(), dst.data(), steps(rows, stride).data(), rows, bytes / size, 256);
    GetParam()->flush();
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = row_of(src, columns, r, size);
      ASSERT_TRUE(std::equal(row.begin(), row.end(), dst.data() + r * stride)) << size << " bytes, row " << r;
      if (r + 1 == rows) break;
      ASSERT_EQ(kCacheLine,
                std::count(dst.data() + r * stride + bytes, dst.data() + (r + 1) * stride, std::byte{0x3c}));
    }
  });
}

// One call does the first line of columns, and another call all others.
TEST_P(TranspositionOfColumnsApart, Carries) {
  std::mt19937 rng(37);
  each_region(rng, [&](std::size_t log2, int64_t size, int64_t rows, int64_t lines, const std::byte* src,
                       const std::vector<int64_t>& columns) {
    const auto kernel = GetParam()->transpose_carried[log2];
    if (!kernel) return;
    const int64_t first = kCacheLine / size, stride = lines * kCacheLine + 5;
    Guarded dst(rows * stride + kCacheLine, Guarded::Side::start, 7);
    std::ranges::fill(dst.bytes(), std::byte{0x3c});
    alignas(64) std::byte carry[kMostRows * kCacheLine];
    const auto starts = steps(rows, stride);
    kernel(src, columns.data(), dst.data(), starts.data(), carry, true, rows, first, 256);
    kernel(src, columns.data() + first, dst.data() + kCacheLine, starts.data(), carry, false, rows,
           static_cast<int64_t>(columns.size()) - first, 256);
    GetParam()->flush();
    std::vector<std::byte> expected(dst.bytes().size(), std::byte{0x3c});
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = row_of(src, columns, r, size);
      const std::byte* const to = dst.data() + r * stride;
      const int64_t skip = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kCacheLine - 1);
      std::copy_n(row.begin() + skip, (lines - 1) * kCacheLine, expected.begin() + r * stride + skip);
      ASSERT_TRUE(std::equal(row.end() - kCacheLine, row.end(), carry + r * kCacheLine)) << size << " bytes, row " << r;
    }
    ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " rows";
    ASSERT_TRUE(dst.intact());
  });
}

INSTANTIATE_TEST_SUITE_P(Isa, TranspositionOfColumnsApart,
                         testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
