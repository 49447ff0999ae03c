// Every kernel of every table that copies, and the loops beside the table (those that go past the cache:
// copy_stream_test.cc; that transpose: transpose_test.cc; that compute: convert_test.cc): right at all sizes and
// misalignments, and not one byte outside, shown by pages without access on both sides of source and destination.
#include "relayout/cpu/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "relayout/core/format.h"
#include "relayout/cpu/runners/methods.h"
#include "relayout/reorder/plan.h"
#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/regions.h"

namespace relayout::cpu {
namespace {

using test::Guarded;
using test::kSides;
using test::randomize;
using test::steps;

/// Moves a block whose rows and columns are `row` and `col`, from `offset` on, by the gather loops.
void gather(const std::byte* src, const Offsets& offset, const Axis& row, const Axis& col, std::byte* dst,
            int64_t piece) {
  const TensorDesc nothing(Layout::contiguous({1}), piece > 0 ? DType::u8 : DType::u4);
  const Plan plan = Plan::make(nothing, nothing);
  Loops box;
  box.piece = {piece, piece};
  box.along_src.axes = {row};
  box.along_dst.axes = {col};
  const auto src_rows = steps(row.extent, row.stride[kSrc]), dst_rows = steps(row.extent, row.stride[kDst]);
  const auto src_cols = steps(col.extent, col.stride[kSrc]), dst_cols = steps(col.extent, col.stride[kDst]);
  const RunContext context{plan.data(), kernels(), src, dst};
  const Block block{src,        dst,       offset, src_rows.data(), src_cols.data(), dst_rows.data(), dst_cols.data(),
                    row.extent, col.extent};
  piece > 0 ? make(context, box, Gather(), block) : make(context, box, SubByte(), block);
}

class EveryTable : public testing::TestWithParam<const Kernels*> {};

TEST_P(EveryTable, Copy) {
  std::mt19937 rng(3);
  for (int64_t rows : {1, 2, 5}) {
    for (int64_t bytes = 0; bytes < 300; bytes += 1 + bytes / 16) {
      for (const Guarded::Side at : kSides) {
        const int64_t stride = bytes + rows % 3;
        const int64_t span = (rows - 1) * stride + bytes;
        Guarded src(span, at), dst(span, at);
        randomize(src.bytes(), rng);
        randomize(dst.bytes(), rng);
        std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
        for (int64_t r = 0; r < rows; ++r) std::copy_n(src.data() + r * stride, bytes, expected.begin() + r * stride);
        const auto at_run = steps(rows, stride);
        GetParam()->copy(src.data(), at_run.data(), kFirst, dst.data(), at_run.data(), kFirst, rows, 1, bytes, 0);
        ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected));
      }
    }
  }
}

TEST_P(EveryTable, CopyAtEveryMisalignment) {
  std::mt19937 rng(6);
  for (int64_t shift = 0; shift < 64; ++shift) {
    for (const Guarded::Side at : kSides) {
      for (const int64_t bytes : {1, 15, 64, 131}) {
        Guarded src(3 * bytes, at, shift), dst(3 * bytes, at, (shift * 5 + 1) % 64);
        randomize(src.bytes(), rng);
        const auto at_run = steps(3, bytes);
        GetParam()->copy(src.data(), kFirst, at_run.data(), dst.data(), kFirst, at_run.data(), 1, 3, bytes, 64);
        ASSERT_TRUE(std::ranges::equal(src.bytes(), dst.bytes()));
        ASSERT_TRUE(src.intact() && dst.intact());
      }
    }
  }
}

/// Six runs apart from each other, with gaps of `gap` bytes; the destination's rows are the source's backwards.
struct CopiedRuns {
  int64_t bytes, gap;
  int64_t pitch() const { return bytes + gap; }
  int64_t span() const { return 5 * pitch() + bytes; }
  std::vector<int64_t> src_rows() const { return {0, 2 * pitch(), 4 * pitch()}; }
  std::vector<int64_t> dst_rows() const { return {4 * pitch(), 2 * pitch(), 0}; }
  std::vector<int64_t> cols() const { return {0, pitch()}; }
};

// Runs are copied where the lists of rows and columns of both sides say, and gaps stay as they are.
TEST_P(EveryTable, CopyOfRegions) {
  std::mt19937 rng(11);
  for (const auto copy : {GetParam()->copy, GetParam()->copy_stream}) {
    if (!copy) continue;
    for (const int64_t bytes : {1, 8, 16, 32, 48, 64, 100, 192}) {
      for (const int64_t gap : {0, 1, 16, 64}) {
        for (const int64_t shift : {0, 1, 16, 24, 48}) {
          for (const Guarded::Side at : kSides) {
            const CopiedRuns runs{bytes, gap};
            Guarded src(runs.span(), at, 63 - shift), dst(runs.span(), at, shift);
            randomize(src.bytes(), rng);
            randomize(dst.bytes(), rng);
            std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
            for (std::size_t r = 0; r < 3; ++r) {
              for (const int64_t col : runs.cols()) {
                std::copy_n(src.data() + runs.src_rows()[r] + col, bytes, expected.begin() + runs.dst_rows()[r] + col);
              }
            }
            copy(src.data(), runs.src_rows().data(), runs.cols().data(), dst.data(), runs.dst_rows().data(),
                 runs.cols().data(), 3, 2, bytes, shift * 64);
            if (GetParam()->flush) GetParam()->flush();
            ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << bytes << " bytes, gaps of " << gap;
            ASSERT_TRUE(src.intact() && dst.intact());
          }
        }
      }
    }
  }
}

// The loops that are not in the table: gather by element, of every size and misalignment.
TEST(Gather, AtEveryMisalignment) {
  std::mt19937 rng(7);
  const int64_t rows = 3, cols = 5;
  for (const int64_t size : {1, 2, 4, 8, 16}) {
    for (int64_t shift = 0; shift < 64; ++shift) {
      for (const Guarded::Side at : kSides) {
        // Gaps of a byte and two between elements; the destination is transposed.
        const Axis row{rows, {size + 1, cols * (size + 2), 0}, -1}, col{cols, {rows * (size + 1), size + 2, 0}, -1};
        Guarded src(rows * cols * (size + 1) - 1, at, shift),
            dst(rows * cols * (size + 2) - 2, at, (shift * 3 + 1) % 64);
        randomize(src.bytes(), rng);
        randomize(dst.bytes(), rng);
        std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < cols; ++c) {
            std::copy_n(src.data() + r * row.stride[kSrc] + c * col.stride[kSrc], size,
                        expected.begin() + r * row.stride[kDst] + c * col.stride[kDst]);
          }
        }
        gather(src.data(), {0, 0, 0}, row, col, dst.data(), size);
        ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << size << " bytes";
        ASSERT_TRUE(src.intact() && dst.intact());
      }
    }
  }
}

// Elements of 4 bits: all pairs of halves; the other halves stay.
TEST(Gather, ElementsOf4Bits) {
  for (int64_t from = 0; from < 4; ++from) {
    for (int64_t to = 0; to < 4; ++to) {
      for (const Guarded::Side at : kSides) {
        Guarded src(8, at, 3), dst(8, at, 5);
        for (std::size_t i = 0; i < 8; ++i)
          src.bytes()[i] = static_cast<std::byte>(0x1f * i + 7), dst.bytes()[i] = std::byte{0x9c};
        const Axis row{3, {4, 1, 0}, -1}, col{4, {1, 3, 0}, -1};
        gather(src.data(), {from, to, 0}, row, col, dst.data(), 0);
        for (int64_t n = 0; n < 16; ++n) {
          const int64_t c = (n - to) / 3, r = (n - to) % 3;
          const bool written = n >= to && c < 4;
          const int want = written ? read_element<DType::u4>(src.data(), from + r * 4 + c) : n % 2 ? 9 : 12;
          ASSERT_EQ(read_element<DType::u4>(dst.data(), n), want) << from << " -> " << to << ", element " << n;
        }
        ASSERT_TRUE(src.intact() && dst.intact());
      }
    }
  }
}

// Any bytes of 64, columns that overlap at the end, at every misalignment.
TEST_P(EveryTable, Fill) {
  std::mt19937_64 rng(12);
  constexpr int64_t kRows = 2, kCols = 3;
  for (int64_t shift = 0; shift < 64; ++shift) {
    for (const Guarded::Side at : kSides) {
      for (int pattern = 0; pattern < 6; ++pattern) {
        const uint64_t bits = rng();
        const uint64_t mask = (pattern == 0 ? ~uint64_t{0} : rng() & (rng() >> rng() % 64)) | uint64_t{1} << 5;
        const int64_t width = 64 - std::countl_zero(mask), last = 64 + static_cast<int64_t>(rng() % 8) * 8;
        const auto rows = steps(kRows, last + width), cols = steps(kCols, 64);
        Guarded dst(kRows * (last + width), at, shift);
        std::ranges::fill(dst.bytes(), std::byte{0x3b});
        std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
        for (const int64_t row : rows) {
          for (const int64_t col : cols) {
            for (int64_t i = 0; i < width; ++i) {
              if (mask >> i & 1)
                expected[static_cast<std::size_t>(row + std::min(col, last) + i)] =
                    static_cast<std::byte>(bits >> i % 8 * 8);
            }
          }
        }
        GetParam()->fill(dst.data(), rows.data(), cols.data(), kRows, kCols, last, mask, bits, shift % 2 == 0);
        ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << std::hex << mask;
        ASSERT_TRUE(dst.intact());
      }
    }
  }
}

// Rows and columns a fixed distance apart, in the source forwards and backwards, more of one or of the other.
TEST_P(EveryTable, CopyStrided) {
  std::mt19937 rng(15);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 9}, {9, 3}, {4, 4}, {7, 13}, {13, 7}}) {
    for (const int64_t bytes : {1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 48, 64, 100, 128, 1100}) {
      for (const Guarded::Side at : kSides) {
        const int64_t gap = rows % 3 * 5;
        const Steps2 from{bytes + gap, rows * (bytes + gap)}, to{cols * bytes + gap, bytes};
        const int64_t back = rows > cols ? (cols - 1) * from[1] : 0;
        Guarded src((rows - 1) * from[0] + (cols - 1) * from[1] + bytes, at, gap);
        Guarded dst((rows - 1) * to[0] + cols * bytes, at);
        randomize(src.bytes(), rng);
        randomize(dst.bytes(), rng);
        std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
        const int64_t step = back > 0 ? -from[1] : from[1];
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < cols; ++c)
            std::copy_n(src.data() + back + r * from[0] + c * step, bytes, expected.begin() + r * to[0] + c * to[1]);
        }
        GetParam()->copy_strided(src.data() + back, {from[0], step}, dst.data(), to, rows, cols, bytes);
        ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << rows << " x " << cols << " runs of " << bytes;
        ASSERT_TRUE(src.intact() && dst.intact());
      }
    }
  }
}

// Fills as they are run: the padding of a plan, every element size, every misalignment.
TEST_P(EveryTable, FillsAtEveryMisalignment) {
  const Dims dims{2, 5, 23};
  Attributes seven;
  seven.padding = Padding::of(7);
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::s4}) {
    const Layout layout = Format::parse("aBc4b").bind(dims);
    const TensorDesc to(layout, dtype);
    const Plan plan =
        Plan::make(TensorDesc(Layout::contiguous(dims), dtype), to, seven, {}, {.way = Tuning::Way::boxes});
    ASSERT_FALSE(plan.data().fills().empty());
    const uint64_t element = encode(dtype, 7);
    for (int64_t shift = 0; shift < 64; ++shift) {
      for (const Guarded::Side at : kSides) {
        Guarded dst(to.span_bytes(), at, shift);
        std::ranges::fill(dst.bytes(), std::byte{0x3b});
        std::vector<std::byte> expected(dst.bytes().begin(), dst.bytes().end());
        for (int64_t i = 0; i < layout.span(); ++i) {
          if (layout.inverse(i, nullptr) != Slot::padding) continue;
          with_dtype(dtype,
                     [&](auto type) { write_element<type()>(expected.data(), i, read_element<type()>(&element, 0)); });
        }
        const RunContext context{plan.data(), *GetParam(), nullptr, dst.data()};
        for (const BoxPlan& fill : plan.data().fills()) run_blocks(context, fill, plan.data().tables(), 0, fill.blocks);
        ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << name(dtype);
        ASSERT_TRUE(dst.intact());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EveryTable, testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& table) { return std::string(table.param->isa); });

TEST(Kernels, TablesAreNamed) {
  ASSERT_FALSE(all_kernels().empty());
  EXPECT_EQ(all_kernels().front()->isa, "scalar");
  for (const Kernels* a : all_kernels()) {
    EXPECT_EQ(std::ranges::count_if(all_kernels(), [&](const Kernels* b) { return a->isa == b->isa; }), 1);
  }
}

}  // namespace
}  // namespace relayout::cpu
