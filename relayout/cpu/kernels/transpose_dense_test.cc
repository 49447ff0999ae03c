// Tests of transpositions past the cache where the columns of the source (split) or the rows of the destination (join)
// are as long as a cache line or half of one and follow each other without gaps.
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

class DenseTransposition : public testing::TestWithParam<const Kernels*> {};

/// Checks a kernel that splits: columns of `height` elements that follow each other from any address on become rows of
/// whole lines. The bytes between the rows must stay as they are.
void expect_split(const Kernels& kernels, DeinterleaveKernel split, int64_t size, int64_t height, std::mt19937& rng) {
  if (!split) return;
  for (const int64_t lines : {1, 2, 3, 5, 8, 17}) {
    for (const int64_t shift : {0, 4, 60}) {
      const int64_t cols = lines * kCacheLine / size, stride = (lines + 1) * kCacheLine;
      Guarded src(cols * height * size, Guarded::Side::start, shift),
          dst(height * stride - kCacheLine, Guarded::Side::end);
      randomize(src.bytes(), rng);
      std::ranges::fill(dst.bytes(), std::byte{0x3c});
      std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
      for (int64_t c = 0; c < cols; ++c) {
        for (int64_t r = 0; r < height; ++r)
          std::copy_n(src.data() + (c * height + r) * size, size, expected.begin() + r * stride + c * size);
      }
      split(src.data(), dst.data(), steps(height, stride).data(), cols);
      kernels.flush();
      ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << height << " rows of " << cols;
      ASSERT_TRUE(src.intact());
    }
  }
}

/// Checks a kernel that joins: `width` columns at any addresses become rows that follow each other, of which the first
/// one starts at a line.
void expect_join(const Kernels& kernels, InterleaveKernel join, int64_t size, int64_t width, std::mt19937& rng) {
  if (!join) return;
  for (const int64_t rows : {1, 2, 3, 15, 16, 17, 31, 48, 67}) {
    for (const int64_t gap : {0, 4, 60}) {
      const int64_t stride = rows * size + gap, bytes = rows * width * size;
      Guarded src(width * stride - gap, Guarded::Side::end), dst(bytes, Guarded::Side::start);
      randomize(src.bytes(), rng);
      std::vector<std::byte> expected(static_cast<std::size_t>(bytes));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < width; ++c)
          std::copy_n(src.data() + c * stride + r * size, size, expected.begin() + (r * width + c) * size);
      }
      join(src.data(), steps(width, stride).data(), dst.data(), rows);
      kernels.flush();
      ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " rows of " << width;
      ASSERT_TRUE(dst.intact());
    }
  }
}

TEST_P(DenseTransposition, Splits) {
  std::mt19937 rng(41);
  const Kernels& k = *GetParam();
  for (std::size_t log2 = 0; log2 < k.split_lines.size(); ++log2)
    expect_split(k, k.split_lines[log2], int64_t{1} << log2, kCacheLine >> log2, rng);
  expect_split(k, k.split_halves, 4, 8, rng);
}

TEST_P(DenseTransposition, Joins) {
  std::mt19937 rng(43);
  const Kernels& k = *GetParam();
  for (std::size_t log2 = 0; log2 < k.join_lines.size(); ++log2)
    expect_join(k, k.join_lines[log2], int64_t{1} << log2, kCacheLine >> log2, rng);
  expect_join(k, k.join_halves, 4, 8, rng);
}

INSTANTIATE_TEST_SUITE_P(Isa, DenseTransposition, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
