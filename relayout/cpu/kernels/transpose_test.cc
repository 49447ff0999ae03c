// Tests of the kernels that transpose, of every table: by tiles of registers, past the cache, with carried lines, and
// interleaving. At all sizes and misalignments they must give the right bytes and touch no others. Pages without access
// on both sides of source and destination show that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "relayout/cpu/kernels/kernels.h"
#include "tests/support/regions.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::kSides;
using test::randomize;
using test::steps;

class EveryTransposition : public testing::TestWithParam<const Kernels*> {};

TEST_P(EveryTransposition, Transpose) {
  std::mt19937 rng(1);
  int64_t calls = 0;
  for (int log2 = 0; log2 < kElementSizes; ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67}) {
      for (int64_t cols : {1, 2, 3, 4, 6, 8, 13, 16, 18, 32, 37, 65}) {
        for (const int64_t misalign : {0, 1, 3, 8}) {
          for (const Guarded::Side at : kSides) {
            const int64_t src_stride = rows * size + misalign, dst_stride = cols * size + misalign / 2;
            Guarded src((cols - 1) * src_stride + rows * size, at);
            Guarded dst((rows - 1) * dst_stride + cols * size, at);
            randomize(src.bytes(), rng);
            randomize(dst.bytes(), rng);
            std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t c = 0; c < cols; ++c)
                std::memcpy(&expected[static_cast<std::size_t>(r * dst_stride + c * size)],
                            src.data() + c * src_stride + r * size, static_cast<std::size_t>(size));
            }
            GetParam()->transpose[static_cast<std::size_t>(log2)](src.data(), steps(cols, src_stride).data(),
                                                                  dst.data(), steps(rows, dst_stride).data(), rows,
                                                                  cols, misalign * 64);
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
            ++calls;
          }
        }
      }
    }
  }
  RecordProperty("calls", static_cast<int>(calls));
}

// The same where rows and columns are given by strides, forwards and backwards.
TEST_P(EveryTransposition, TransposeStrided) {
  std::mt19937 rng(14);
  for (std::size_t log2 = 0; log2 < kElementSizes; ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67}) {
      for (int64_t cols : {1, 2, 3, 4, 6, 8, 13, 16, 18, 32, 37, 65, 150}) {
        for (const int64_t gap : {0, 3}) {
          for (const Guarded::Side at : kSides) {
            const int64_t src_stride = rows * size + gap, dst_stride = cols * size + gap;
            Guarded src((cols - 1) * src_stride + rows * size, at), dst((rows - 1) * dst_stride + cols * size, at);
            randomize(src.bytes(), rng);
            for (const bool backwards : {false, true}) {
              randomize(dst.bytes(), rng);
              std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
              for (int64_t r = 0; r < rows; ++r) {
                for (int64_t c = 0; c < cols; ++c) {
                  std::copy_n(src.data() + (backwards ? cols - 1 - c : c) * src_stride + r * size, size,
                              expected.begin() + (backwards ? rows - 1 - r : r) * dst_stride + c * size);
                }
              }
              const std::byte* from = src.data() + (backwards ? (cols - 1) * src_stride : 0);
              std::byte* to = dst.data() + (backwards ? (rows - 1) * dst_stride : 0);
              const int64_t sign = backwards ? -1 : 1;
              const std::vector<std::byte> before(dst.bytes().begin(), dst.bytes().end());
              for (const int64_t ahead : {int64_t{0}, sign * dst_stride * 64 / size}) {
                std::ranges::copy(before, dst.data());
                GetParam()->transpose_strided[log2](from, sign * src_stride, to, sign * dst_stride, rows, cols, ahead);
                ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
              }
            }
          }
        }
      }
    }
  }
}

// All 64 misalignments of either side of a tile that is larger than any register.
TEST_P(EveryTransposition, TransposeAtEveryMisalignment) {
  std::mt19937 rng(2);
  for (int log2 = 0; log2 < kElementSizes; ++log2) {
    const int64_t size = int64_t{1} << log2, rows = 19, cols = 21;
    for (int64_t shift = 0; shift < 64; ++shift) {
      Guarded src(rows * cols * size, Guarded::Side::end, shift),
          dst(rows * cols * size, Guarded::Side::end, 63 - shift);
      randomize(src.bytes(), rng);
      const std::byte* from = src.data();
      std::byte* to = dst.data();
      GetParam()->transpose[static_cast<std::size_t>(log2)](from, steps(cols, rows * size).data(), to,
                                                            steps(rows, cols * size).data(), rows, cols, 0);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c)
          ASSERT_EQ(
              0, std::memcmp(to + (r * cols + c) * size, from + (c * rows + r) * size, static_cast<std::size_t>(size)));
      }
      ASSERT_TRUE(src.intact() && dst.intact());
      const std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
      randomize(dst.bytes(), rng);
      GetParam()->transpose_strided[static_cast<std::size_t>(log2)](from, rows * size, to, cols * size, rows, cols, 0);
      ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected));
      ASSERT_TRUE(src.intact() && dst.intact());
    }
  }
}

// Rows of the destination start at cache lines and are whole lines. The source may begin at any address.
TEST_P(EveryTransposition, TransposeStream) {
  std::mt19937 rng(8);
  for (std::size_t log2 = 0; log2 < kElementSizes; ++log2) {
    const auto kernel = GetParam()->transpose_stream[log2];
    if (!kernel) continue;
    const int64_t size = int64_t{1} << log2;
    for (int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67, 128}) {
      for (int64_t lines : {1, 2, 3, 5}) {
        for (const int64_t misalign : {0, 1, 3, 8}) {
          for (const Guarded::Side at : kSides) {
            const int64_t cols = lines * 64 / size, src_stride = rows * size + misalign;
            const int64_t dst_stride = lines * 64 + misalign * 64;
            Guarded src((cols - 1) * src_stride + rows * size, at), dst((rows - 1) * dst_stride + lines * 64, at);
            randomize(src.bytes(), rng);
            randomize(dst.bytes(), rng);
            std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t c = 0; c < cols; ++c)
                std::copy_n(src.data() + c * src_stride + r * size, size, expected.begin() + r * dst_stride + c * size);
            }
            const auto from = steps(cols, src_stride), to = steps(rows, dst_stride);
            kernel(src.data(), from.data(), dst.data(), to.data(), rows, cols, misalign * 4096);
            GetParam()->flush();
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
            const auto pipelined = log2 < 2 ? GetParam()->transpose_pipelined[log2] : nullptr;
            if (!pipelined) continue;
            for (int64_t r = 0; r < rows; ++r) std::fill_n(dst.data() + r * dst_stride, lines * 64, std::byte{0x3c});
            pipelined(src.data(), from.data(), dst.data(), to.data(), nullptr, false, rows, cols, nullptr,
                      misalign * 4096);
            GetParam()->flush();
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
          }
        }
      }
    }
  }
}

// Rows of the destination are a quarter or a half of a line and follow each other.
TEST_P(EveryTransposition, TransposeStreamsPartsOfLines) {
  std::mt19937 rng(29);
  for (std::size_t log2 = 0; log2 < kElementSizes; ++log2) {
    const auto kernel = GetParam()->transpose_stream[log2];
    if (!kernel) continue;
    const int64_t size = int64_t{1} << log2;
    for (const int64_t row_bytes : {16, 32}) {
      const int64_t cols = row_bytes / size;
      for (const int64_t rows : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 64, 67}) {
        for (const Guarded::Side at : kSides) {
          const int64_t src_stride = rows * size + 3;
          Guarded src((cols - 1) * src_stride + rows * size, at), dst(rows * row_bytes, at);
          randomize(src.bytes(), rng);
          std::vector<std::byte> expected(dst.bytes().size());
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < cols; ++c)
              std::copy_n(src.data() + c * src_stride + r * size, size, expected.begin() + r * row_bytes + c * size);
          }
          const auto columns = steps(cols, src_stride), starts = steps(rows, row_bytes);
          kernel(src.data(), columns.data(), dst.data(), starts.data(), rows, cols, 64);
          GetParam()->flush();
          ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
          ASSERT_TRUE(dst.intact());
        }
      }
    }
  }
}

// The kernel writes the whole lines of each row but the last one, and keeps the last 64 bytes of the row in `carry`. It
// touches nothing else. The columns come in one call or in two.
TEST_P(EveryTransposition, TransposeCarried) {
  std::mt19937 rng(17);
  for (std::size_t log2 = 0; log2 < kElementSizes; ++log2) {
    const auto kernel = GetParam()->transpose_carried[log2];
    if (!kernel) continue;
    const int64_t size = int64_t{1} << log2, tile = 16 / size;
    for (int64_t rows : {tile, tile + 1, 2 * tile + 1, int64_t{33}, int64_t{47}, int64_t{67}}) {
      for (int64_t lines : {1, 2, 5}) {
        for (const int64_t shift : {0, 1, 8, 13, 63}) {
          const int64_t cols = lines * 64 / size, src_stride = rows * size + shift, dst_stride = lines * 64 + shift;
          Guarded src((cols - 1) * src_stride + rows * size, Guarded::Side::end);
          Guarded dst((rows - 1) * dst_stride + lines * 64 + 64, Guarded::Side::start, shift);
          randomize(src.bytes(), rng);
          randomize(dst.bytes(), rng);
          std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end()), last;
          for (int64_t r = 0; r < rows; ++r) {
            std::vector<std::byte> row(static_cast<std::size_t>(lines * 64));
            for (int64_t c = 0; c < cols; ++c)
              std::copy_n(src.data() + c * src_stride + r * size, size, row.begin() + c * size);
            last.insert(last.end(), row.end() - 64, row.end());
            // Written are lines - 1 whole lines, from the first one that starts within the row on.
            const auto skip = -reinterpret_cast<intptr_t>(dst.data() + r * dst_stride) & 63;
            std::copy_n(row.begin() + skip, (lines - 1) * 64, expected.begin() + r * dst_stride + skip);
          }
          const auto columns = steps(cols, src_stride), starts = steps(rows, dst_stride);
          const int64_t first = lines == 5 ? 2 * 64 / size : cols;
          const std::vector<std::byte> before(dst.bytes().begin(), dst.bytes().end());
          const auto expect = [&](auto run) {
            std::ranges::copy(before, dst.data());
            alignas(64) std::byte carry[67 * 64];
            run(src.data(), columns.data(), dst.data(), carry, true, first, shift * 4096);
            if (first < cols)
              run(src.data(), columns.data() + first, dst.data() + first * size, carry, false, cols - first, 0);
            GetParam()->flush();
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes, " << rows << " x " << cols;
            ASSERT_TRUE(std::equal(last.begin(), last.end(), carry)) << size << " bytes, " << rows << " x " << cols;
          };
          expect([&](auto* from, auto* cols_from, auto* to, auto* carry, bool is_first, int64_t count, int64_t ahead) {
            kernel(from, cols_from, to, starts.data(), carry, is_first, rows, count, ahead);
          });
          const auto pipelined = log2 < 2 ? GetParam()->transpose_pipelined[log2] : nullptr;
          if (!pipelined) continue;
          expect([&](auto* from, auto* cols_from, auto* to, auto* carry, bool is_first, int64_t count, int64_t ahead) {
            pipelined(from, cols_from, to, starts.data(), carry, is_first, rows, count, nullptr, ahead);
          });
        }
      }
    }
  }
}

TEST_P(EveryTransposition, InterleaveAndBack) {
  std::mt19937 rng(9);
  for (std::size_t log2 = 0; log2 < 4; ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (std::size_t k = 2; k <= kMostInterleaved; ++k) {
      if (!GetParam()->interleave[k - 2][log2]) continue;
      const auto few = static_cast<int64_t>(k);
      for (int64_t n : {1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 130}) {
        for (int64_t shift = 0; shift < 64; shift += 7) {
          for (const Guarded::Side at : kSides) {
            const auto apart = steps(few, n * size + shift);
            Guarded planes(apart.back() + n * size, at, shift), together(few * n * size, at, 63 - shift);
            Guarded back(planes.bytes().size(), at, shift);
            randomize(planes.bytes(), rng);
            std::ranges::copy(planes.bytes(), back.bytes().begin());
            GetParam()->interleave[k - 2][log2](planes.data(), apart.data(), together.data(), n);
            for (int64_t i = 0; i < n * few; ++i) {
              ASSERT_EQ(0, std::memcmp(together.data() + i * size,
                                       planes.data() + apart[static_cast<std::size_t>(i % few)] + i / few * size,
                                       static_cast<std::size_t>(size)));
            }
            for (const int64_t plane : apart) std::fill_n(back.data() + plane, n * size, std::byte{});
            GetParam()->deinterleave[k - 2][log2](together.data(), back.data(), apart.data(), n);
            ASSERT_TRUE(std::ranges::equal(back.bytes(), planes.bytes()));
            ASSERT_TRUE(planes.intact() && together.intact() && back.intact());
          }
        }
      }
    }
  }
}

// Past the cache: interleaves from any address, and deinterleaves into rows of whole lines.
TEST_P(EveryTransposition, InterleaveAndBackInLines) {
  if (!GetParam()->copy_stream) return;
  std::mt19937 rng(23);
  for (std::size_t log2 = 0; log2 < 4; ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (std::size_t k = 2; k <= kMostInterleaved; ++k) {
      if (!GetParam()->interleave_stream[k - 2][log2]) continue;
      const auto few = static_cast<int64_t>(k);
      for (const int64_t lines : {1, 2, 5, 9}) {
        for (const int64_t shift : {0, 1, 4, 8, 12, 24, 36, 48, 63}) {
          const int64_t n = lines * 64 / size;
          const auto apart = steps(few, lines * 64);
          Guarded planes(apart.back() + n * size, Guarded::Side::end), back(planes.bytes().size(), Guarded::Side::end);
          Guarded together(few * n * size, Guarded::Side::start, shift), plain(few * n * size, Guarded::Side::end);
          randomize(planes.bytes(), rng);
          GetParam()->interleave_stream[k - 2][log2](planes.data(), apart.data(), together.data(), n);
          GetParam()->interleave[k - 2][log2](planes.data(), apart.data(), plain.data(), n);
          GetParam()->deinterleave_stream[k - 2][log2](plain.data(), back.data(), apart.data(), n);
          GetParam()->flush();
          ASSERT_TRUE(std::ranges::equal(together.bytes(), plain.bytes()));
          ASSERT_TRUE(std::ranges::equal(back.bytes(), planes.bytes()));
          ASSERT_TRUE(together.intact() && back.intact());
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryTransposition, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace relayout::cpu
