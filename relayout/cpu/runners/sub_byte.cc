// Unpacking and packing the sub-byte elements of a block. Elements that follow each other in memory form a stretch,
// and each stretch is unpacked or packed at once.
#include "relayout/cpu/runners/sub_byte.h"

#include <algorithm>

#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Cuts a list into stretches of entries that follow each other in memory.
class ListedStretches {
 public:
  ListedStretches(Starts list, int64_t count) : list_(list), entries_(count) {
    for (int64_t i = 0; i < count; ++i) {
      if (i == 0 || list[i] != list[i - 1] + 1) first_[count_++] = i;
    }
    first_[count_] = count;
  }

  bool longer_than(const ListedStretches& other) const { return entries_ * other.count_ > other.entries_ * count_; }

  /// Calls run(start in memory, index of the first entry, number of entries) for each stretch.
  template <typename Run>
  void each(Run run) const {
    for (int64_t i = 0; i < count_; ++i) run(list_[first_[i]], first_[i], first_[i + 1] - first_[i]);
  }

 private:
  Starts list_;
  int64_t entries_, count_ = 0;
  int64_t first_[kMaxListed + 1];
};

/// Transposes a tile whose columns lie one after the other into one whose rows do.
void transpose_tile(const Kernels& kernels, const std::byte* from, std::byte* to, int64_t rows, int64_t cols) {
  const Dense col_starts(cols, rows), row_starts(rows, cols);
  kernels.transpose[0](from, col_starts.at, to, row_starts.at, rows, cols, 0);
}

}  // namespace

void fetch_sub_byte(const Kernels& kernels, const std::byte* memory, int64_t offset, Starts rows, Starts cols,
                    const Block& block, DType type, std::byte* tile) {
  const ListedStretches down(rows, block.rows), along(cols, block.cols);
  const UnpackKernel unpack = unpack_kernel(kernels, bits(type), kind(type) == DTypeKind::signed_integer);
  const auto fetch = [&](Starts lines, int64_t count, const ListedStretches& stretches, int64_t length, std::byte* to) {
    stretches.each([&](int64_t at, int64_t first, int64_t n) {
      unpack(memory, offset + at, lines, count, n, to + first, length);
    });
  };
  if (!down.longer_than(along)) return fetch(rows, block.rows, along, block.cols, tile);
  std::byte turned[kMaxBuffered];
  fetch(cols, block.cols, down, block.rows, turned);
  transpose_tile(kernels, turned, tile, block.rows, block.cols);
}

void put_sub_byte(const RunContext& context, const std::byte* tile, const Block& block) {
  const ListedStretches down(block.dst_rows, block.rows), along(block.dst_cols, block.cols);
  const PackKernel pack = pack_kernel(context.kernels, bits(context.plan.dst().dtype));
  const auto put = [&](const std::byte* from, int64_t length, Starts lines, int64_t count,
                       const ListedStretches& stretches) {
    stretches.each([&](int64_t at, int64_t first, int64_t n) {
      pack(from + first, length, context.dst, block.offset[kDst] + at, lines, count, n, context.shared);
    });
  };
  if (!down.longer_than(along)) return put(tile, block.cols, block.dst_rows, block.rows, along);
  std::byte turned[kMaxBuffered];
  transpose_tile(context.kernels, tile, turned, block.cols, block.rows);
  put(turned, block.rows, block.dst_cols, block.cols, down);
}

void fill_sub_byte(const RunContext& context, std::byte value, const Block& block) {
  const ListedStretches down(block.dst_rows, block.rows), along(block.dst_cols, block.cols);
  std::byte line[kMaxListed];
  std::fill_n(line, std::max(block.rows, block.cols), value);
  const PackKernel pack = pack_kernel(context.kernels, bits(context.plan.dst().dtype));
  const auto put = [&](Starts lines, int64_t count, const ListedStretches& stretches) {
    stretches.each([&](int64_t at, int64_t, int64_t n) {
      pack(line, 0, context.dst, block.offset[kDst] + at, lines, count, n, context.shared);
    });
  };
  if (down.longer_than(along)) return put(block.dst_cols, block.cols, down);
  put(block.dst_rows, block.rows, along);
}

void make(const RunContext& context, const Loops& loops, const SubByte&, const Block& block) {
  prefetch(loops, block);
  std::byte tile[kMaxBuffered];
  fetch_sub_byte(context.kernels, context.src, block.offset[kSrc], block.src_rows, block.src_cols, block,
                 context.plan.src().dtype, tile);
  put_sub_byte(context, tile, block);
}

}  // namespace relayout::cpu
