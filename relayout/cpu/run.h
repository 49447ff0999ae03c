// Running the boxes of a plan (internal to cpu).
//
// A box is run block by block. A *block* is what the kernels see: base pointers and lists of where its rows and columns
// start. It is moved by move_block.cc (elements of 4 bits with the help of nibbles.cc) or converted by cast_block.cc.
// Where the destination is written past the cache, stream_block.cc writes it line by line. Some boxes are run as a
// whole by a file of their own: tiles.cc, image_tiles.cc, stages.cc and permuted_run.cc.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/reorder/plan_data.h"

namespace relayout::cpu {

/// What all blocks of a box have in common.
struct RunContext {
  const PlanData& plan;
  const Kernels& kernels;
  const std::byte* src;
  std::byte* dst;
  /// Within a tile or a stage: the index in the plan's attribute values that the offsets of the box count from.
  int64_t attribute = 0;
  /// The destination is the image of a tile in the cache, so it is not written past the cache.
  bool in_tile = false;
  /// This is a stage that moves bits, although the plan converts.
  bool moves = false;

  bool converts() const { return plan.converts() && !moves; }
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
  /// How many entries the list of a block has: up to `extra` more than its own rows or columns, see stream_block().
  int64_t listed(int64_t extra) const { return std::min(most + extra, total - begin); }
};

/// Some rows and columns of a box. Piece (r, c) goes from src + src_rows[r] + src_cols[c] to dst + dst_rows[r] +
/// dst_cols[c]; where columns are dense, their list is not used. On a side whose units are nibbles the pointer is that
/// of the whole tensor, and `offset` tells where the block starts.
struct Block {
  const std::byte* src;
  std::byte* dst;
  Offsets offset;  // of the first piece; kAttribute: into the plan's attribute values
  Starts src_rows, src_cols, dst_rows, dst_cols;
  int64_t rows, cols;
  /// How many bytes ahead the source is prefetched. 0 means that it is not prefetched or, past the cache, that
  /// BoxPlan::ahead holds.
  int64_t ahead = 0;
  /// The kernel shall write past the cache: rows start at lines of the destination and are whole lines, or make whole
  /// lines one after the other.
  bool stream = false;
  /// If this is not null, the kernel shall write past the cache although rows start anywhere in lines; it then says
  /// which columns of the region the block has.
  const IndexRange* lines = nullptr;
};

/// Some rows and columns of a block, from (row, col) on.
Block sub_block(const BoxPlan& box, const Block& block, int64_t row, int64_t rows, int64_t col, int64_t cols);

/// Runs blocks [begin, end) of a box. Disjoint ranges of blocks write disjoint bytes, so threads can run them at the
/// same time. The exception is a destination of nibbles, where two blocks may share a byte.
void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// Runs one block, which has `rows` and `cols` of its region: past the cache or through it, as suits the block.
void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
               const IndexRange& cols);

/// Runs tiles [begin, end) of a box with nested runs (tiles.cc).
void run_tiles(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// What the kernel of tiles of registers is told about a block of `rows` rows and `cols` columns.
inline TileShape tile_shape(const BoxPlan& box, int64_t rows, int64_t cols, int64_t dst_ahead) {
  return {rows,
          cols,
          std::min(box.row_run, rows),
          std::min(box.col_run, cols),
          box.pattern.data(),
          box.dst_pattern.data(),
          box.ahead,
          dst_ahead};
}

/// Runs blocks [begin, end) of a box by tiles of registers, each by way of an image (image_tiles.cc).
void run_image_tiles(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// Runs turns [begin, end) of the loops of a conversion by stages (stages.cc).
void run_stages(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// Bytes from an address to the next line; 0 at the start of a line.
inline int64_t to_line(const std::byte* at) {
  return -static_cast<int64_t>(reinterpret_cast<uintptr_t>(at)) & (kCacheLine - 1);
}

/// Runs one block through the cache: bits are moved (move_block.cc), or values are converted (cast_block.cc).
void move_block(const RunContext& context, const BoxPlan& box, const Block& block);
void cast_block(const RunContext& context, const BoxPlan& box, const Block& block);
/// Runs one block through the cache by move_block() or cast_block(), with the source prefetched as far ahead as the
/// plan says.
void make_block(const RunContext& context, const BoxPlan& box, const Block& block);
/// Whether the kernels of a box prefetch as they read (Block::ahead, which make_block() sets where it is 0).
bool fetches(const RunContext& context, const BoxPlan& box);
/// Transposes elements of `bytes` bytes with the kernel that suits the block.
void transpose_by_kernel(const RunContext& context, const BoxPlan& box, const Block& block, int64_t bytes);
/// Whether transpose_by_kernel() interleaves a few columns into rows that follow each other, or deinterleaves columns
/// of a few rows, by a kernel for that number of columns or rows. So few would not fill a tile of a transposition.
bool interleaves(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes);
bool deinterleaves(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes);
/// The most columns that kernels interleave while they convert.
inline constexpr int64_t kMostConverted = 4;
/// Whether cast_block() converts the columns of a box before it transposes them; it can then write past the cache.
bool narrows(const RunContext& context, const BoxPlan& box);

/// Converts a block and writes it straight past the cache: long runs at any address and, with block.stream set, other
/// shapes. Without a kernel for these types or this shape, does nothing and returns false.
bool cast_stream(const RunContext& context, const BoxPlan& box, const Block& block);

/// Converts a block to a wider type while it transposes it, and writes it past the cache although rows start anywhere
/// in lines: each block writes the lines that start in it. Without a kernel for these types, does nothing and returns
/// false.
bool widen_lines(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& cols);

/// Whether the blocks of a box are written past the cache; and runs one such block (stream_block.cc).
bool streams(const RunContext& context, const BoxPlan& box);
void stream_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
                  const IndexRange& cols);

inline std::size_t log2_size(int64_t bytes) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<uint64_t>(bytes)));
}

/// The kernel of a table that interleaves `few` columns of `many` rows (or deinterleaves `few` rows of `many` columns),
/// or null. Kernels for more than four columns (rows) work by whole registers, so `many` must fill one.
template <typename Table>
auto few_kernel(const Table& table, int64_t few, int64_t many, int64_t bytes) {
  const bool has = few >= 2 && few <= kMostInterleaved && (few <= 4 || many * bytes >= 64);
  return has ? table[static_cast<std::size_t>(few - 2)][log2_size(bytes)] : nullptr;
}

/// Whether each region of a box is one block that is deinterleaved by a kernel for more than four rows. Even past the
/// cache, these kernels write no byte outside their block, wherever rows start.
inline bool deinterleaves_whole(const RunContext& context, const BoxPlan& box) {
  return box.shape == KernelShape::transpose && !context.converts() && box.shuffle == 1 && box.row_run == 0 &&
         box.row_count > 4 && box.rows.size() == 1 && box.cols.size() == 1 && box.strips == 1 && box.panels == 1 &&
         box.cols[0].stride[kSrc] == box.row_count * box.piece[kSrc] &&
         few_kernel(context.kernels.deinterleave_stream, box.row_count, box.col_count, box.piece[kSrc]) != nullptr;
}

/// Runs `rows` rows and `cols` columns of a strided box, from the first ones on. Inline, because a small reorder does
/// little more than this.
inline void run_strided(const Kernels& kernels, const BoxPlan& box, const std::byte* src, std::byte* dst, int64_t rows,
                        int64_t cols) {
  const Axis &row = box.rows[0], &col = box.cols[0];
  if (box.shape == KernelShape::transpose) {
    const int64_t ahead = box.ahead_between && to_line(dst) == 0 ? 0 : box.dst_ahead;
    return kernels.transpose_strided[log2_size(box.piece[kSrc])](src, col.stride[kSrc], dst, row.stride[kDst], rows,
                                                                 cols, ahead);
  }
  kernels.copy_strided(src, {row.stride[kSrc], col.stride[kSrc]}, dst, {row.stride[kDst], col.stride[kDst]}, rows, cols,
                       box.piece[kSrc]);
}

}  // namespace relayout::cpu
