// Running the boxes of a plan (internal to cpu).
//
// A box is run block by block. A *block* is what the kernels see: base pointers and lists of where its rows and columns
// start. Each method of reorder/boxes/methods/ has a runner here (the conversions share files), which makes blocks
// through the cache and, where it can, past it (methods.h); listed.h steps from block to block, and past_cache.h writes
// the lines of blocks for which a method has no kernel. run_blocks.cc chooses the runner by the plan's method.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout::cpu {

/// What all blocks of a box have in common.
struct RunContext {
  const PlanData& plan;
  const Kernels& kernels;
  const std::byte* src;
  std::byte* dst;
  /// Within a tile or a stage: the index in the plan's attribute values that the offsets of the box count from.
  int64_t attribute = 0;
  /// Several threads run the box at the same time, each some of its blocks. Blocks may then share bytes of a
  /// destination of sub-byte elements.
  bool shared = false;
  /// The source's memory, of which a kernel may also read what lies beside a box; none within a stage.
  std::span<const std::byte> readable = {};
};

/// The most columns beyond its own that a block may make, so as to complete its last line; and so the most entries that
/// the lists of a block have.
inline constexpr int64_t kMaxExtra = 64;
inline constexpr int64_t kMaxListed = kMaxBlockSide + kMaxExtra;

/// Which rows (or columns) of a region one block has: `most` from index `begin` on, or fewer at the end of the region.
/// The region has `total`.
struct IndexRange {
  int64_t begin, most, total;

  int64_t count() const { return std::min(most, total - begin); }
  int64_t end() const { return begin + count(); }
  /// How many entries the list of a block has: up to `extra` more than its own rows or columns, see past_cache.h.
  int64_t listed(int64_t extra) const { return std::min(most + extra, total - begin); }
};

/// Some rows and columns of a box. Piece (r, c) goes from src + src_rows[r] + src_cols[c] to dst + dst_rows[r] +
/// dst_cols[c]; where columns are dense, their list is not used. On a side of sub-byte elements the pointer is that
/// of the whole tensor, and `offset` tells where the block starts.
struct Block {
  const std::byte* src;
  std::byte* dst;
  Offsets offset;  // of the first piece; kAttribute: into the plan's attribute values
  Starts src_rows, src_cols, dst_rows, dst_cols;
  int64_t rows, cols;
  /// How many bytes ahead the source is prefetched. 0 means that it is not prefetched or, past the cache, that
  /// Loops::ahead holds.
  int64_t ahead = 0;
  /// The kernel shall write past the cache: rows start at lines of the destination and are whole lines, or make whole
  /// lines one after the other.
  bool stream = false;
  /// Rows that step along an index table: how many entries the lists of rows have behind those of the block.
  int64_t rows_behind = 0;
  /// If this is not null, the kernel shall write past the cache although rows start anywhere in lines; it then says
  /// which columns of the region the block has.
  const IndexRange* lines = nullptr;
};

/// Some rows and columns of a block, from (row, col) on.
Block sub_block(const Loops& loops, const Block& block, int64_t row, int64_t rows, int64_t col, int64_t cols);

/// Runs blocks [begin, end) of a box. Disjoint ranges of blocks, and the boxes of a plan that move elements, write
/// disjoint bytes, or with context.shared parts of bytes, so threads can run them at the same time. Padding is filled
/// afterwards, because boxes may write to it. (beta reads the destination, and so other threads' halves too.)
void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// Whether a method makes single blocks. Of others, such as stages, only run_blocks() runs a box.
bool makes_blocks(const BoxPlan& box);
/// Runs one block of such a box, which has `rows` and `cols` of its region: past the cache or through it, as the plan
/// says.
void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
               const IndexRange& cols);
/// Runs one block through the cache, with the source prefetched as far ahead as the plan says. Error: internal where
/// the method makes no blocks; inside of cpu::run(), which throws nothing, that ends the program.
void make_block(const RunContext& context, const BoxPlan& box, const Block& block);

/// Bytes from an address to the next line; 0 at the start of a line.
inline int64_t to_line(const std::byte* at) {
  return -static_cast<int64_t>(reinterpret_cast<uintptr_t>(at)) & (kCacheLine - 1);
}

/// Whether all rows of a block start at multiples of `unit` bytes: at lines, or at halves or quarters of lines.
inline bool at_lines(const Loops& loops, const Block& block, int64_t unit = kCacheLine) {
  return to_line(block.dst) % unit == 0 && std::ranges::all_of(loops.along_src.axes, [&](const Axis& a) {
           return a.stride[kDst] % unit == 0 && (a.table < 0 || a.stride[kDst] != 0);
         });
}

/// A block whose source is prefetched as far ahead as the plan says, unless the block says otherwise.
inline Block fetched_ahead(const Loops& loops, Block block) {
  if (block.ahead == 0) block.ahead = loops.ahead;
  return block;
}

/// Prefetches what lies `ahead` bytes after `bytes` bytes of some columns, for kernels that do not prefetch as they
/// read. Inlined by force, as gcc drops calls of a function that only prefetches.
[[gnu::always_inline]] inline void prefetch_columns(const Block& block, int64_t col, int64_t cols, int64_t bytes,
                                                    int64_t ahead) {
  if (ahead == 0) return;
  for (int64_t c = col; c < col + cols; ++c) {
    for (int64_t b = 0; b < bytes; b += kCacheLine) __builtin_prefetch(block.src + block.src_cols[c] + ahead + b, 0, 2);
  }
}
/// The same for a whole block whose rows are prefetched where they are dense, and else a line of each column.
[[gnu::always_inline]] inline void prefetch(const Loops& loops, const Block& block) {
  prefetch_columns(block, 0, block.cols, loops.along_src.dense ? block.rows * loops.piece[kSrc] : kCacheLine,
                   block.ahead != 0 ? block.ahead : loops.ahead);
}

/// A box of the same rows and columns of pieces of `bytes` bytes, one side of which lies in a buffer. Kernels are
/// chosen by the step of a direction that is one axis; of others, two axes are enough to tell that they are not, and no
/// more are copied, as that would allocate memory.
inline Loops in_buffer(const Loops& loops, int64_t bytes) {
  const auto first = [](const Axes& axes) {
    return Axes(axes.begin(), axes.begin() + std::min<std::size_t>(axes.size(), 2));
  };
  Loops out;
  out.piece = {bytes, bytes};
  out.along_src.axes = first(loops.along_src.axes);
  out.along_dst.axes = first(loops.along_dst.axes);
  return out;
}

inline std::size_t log2_size(int64_t bytes) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<uint64_t>(bytes)));
}

/// Repeats a piece in each of `rows` runs of `bytes` bytes of a strided box.
void repeat_strided(const Kernels& kernels, const BoxPlan& box, const std::byte* src, std::byte* dst, int64_t rows,
                    int64_t bytes);

/// Runs `rows` rows and `cols` columns of a strided box, from the first ones on: a transposition, pieces that are
/// repeated, or pieces or elements that are copied. Inline, because a small reorder does little more than this.
inline void run_strided(const Kernels& kernels, const BoxPlan& box, const std::byte* src, std::byte* dst, int64_t rows,
                        int64_t cols) {
  const Axis &row = box.along_src.axes[0], &col = box.along_dst.axes[0];
  if (const auto* transposition = box.as<Transposition>()) {
    const int64_t ahead = transposition->ahead_between && to_line(dst) == 0 ? 0 : transposition->dst_ahead;
    return kernels.transpose_strided[log2_size(box.piece[kSrc])](src, col.stride[kSrc], dst, row.stride[kDst], rows,
                                                                 cols, ahead);
  }
  if (box.as<RepeatedRuns>()) return repeat_strided(kernels, box, src, dst, rows, cols * box.piece[kDst]);
  kernels.copy_strided(src, {row.stride[kSrc], col.stride[kSrc]}, dst, {row.stride[kDst], col.stride[kDst]}, rows, cols,
                       box.piece[kSrc]);
}

}  // namespace relayout::cpu
