// Running the boxes of a plan (internal to cpu).
//
// A box is run block by block. A *block* is what the kernels see: base pointers and lists of where its rows and columns
// start. It is moved by move_block.cc, converted by cast_block.cc, and, where the destination is beyond the caches,
// written line by line by stream_block.cc.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/reorder/plan_data.h"

namespace relayout::cpu {

/// Everything a box needs that does not change from block to block.
struct RunContext {
  const PlanData& plan;
  const Kernels& kernels;
  const std::byte* src;
  std::byte* dst;
  /// Where attribute values of a part of a tile start, and whether that is made in the cache.
  int64_t attribute = 0;
  bool in_tile = false;
  /// A stage that only moves bits.
  bool moves = false;

  bool converts() const { return plan.converts() && !moves; }
};

/// Rows or columns beyond its own that a block may do, so as to complete a line of 64 bytes.
inline constexpr int64_t kMaxExtra = 64;
inline constexpr int64_t kMaxListed = kMaxBlockSide + kMaxExtra;

/// Rows (columns) of a box that one block has.
struct Part {
  int64_t begin, most, total;

  int64_t count() const { return std::min(most, total - begin); }
  int64_t end() const { return begin + count(); }
  /// How many a block's lists hold: some more than its own, see stream_block().
  int64_t listed(int64_t extra) const { return std::min(most + extra, total - begin); }
};

/// Some rows and columns of a box. Piece (r, c) goes from src + src_rows[r] + src_cols[c] to dst + dst_rows[r] +
/// dst_cols[c]; columns that are dense need no list. A side whose units are nibbles has no pointer of its own: there,
/// offset tells where the block starts.
struct Block {
  const std::byte* src;
  std::byte* dst;
  Offsets offset;  // of the first piece; kAttribute: into the plan's attribute values
  Starts src_rows, src_cols, dst_rows, dst_cols;
  int64_t rows, cols;
  /// The source is prefetched so many bytes ahead; 0 for not, or, past the cache, for as the box says.
  int64_t ahead = 0;
  /// Rows start at lines of the destination and are whole lines, or make lines one after the other: they are written
  /// past the cache.
  bool stream = false;
  /// Rows start anywhere: their lines are written past the cache. The columns that the block is.
  const Part* lines = nullptr;
};

/// Rows and columns of a block, from (row, col) on.
Block part_of(const BoxPlan& box, const Block& block, int64_t row, int64_t rows, int64_t col, int64_t cols);

/// Does blocks [begin, end) of a box. Disjoint ranges write disjoint bytes, except where the destination's unit
/// start. It is moved by move_block.cc (elements of 4 bits by way of nibbles.cc), converted by cast_block.cc, and,
/// where
// the destination is beyond the caches, written line by line by stream_block.cc, or by way of an image by
// image_tiles.cc..
void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// One block, which is `rows` and `cols` of its box, however that is done.
void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const Part& rows, const Part& cols);

/// Does tiles [begin, end) of a box with parts (tiles.cc).
void run_tiles(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// A block of a box by tiles.
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

/// Does blocks [begin, end) of a box of register tiles by way of an image (image_tiles.cc).
void run_image_tiles(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// Does chunks [begin, end) of a conversion by stages (stages.cc).
void run_stages(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// Bytes from an address to the next line.
inline int64_t to_line(const std::byte* at) { return -static_cast<int64_t>(reinterpret_cast<uintptr_t>(at)) & 63; }

/// One block through the cache: moved (move_block.cc), or with its values converted (cast_block.cc).
void move_block(const RunContext& context, const BoxPlan& box, const Block& block);
void cast_block(const RunContext& context, const BoxPlan& box, const Block& block);
/// One or the other, the source prefetched as far ahead as the plan says.
void make_block(const RunContext& context, const BoxPlan& box, const Block& block);
/// Whether the kernels of a box prefetch as they read: by block.ahead, which make_block() sets where it is 0.
bool fetches(const RunContext& context, const BoxPlan& box);
/// The transposition of elements of `bytes` by the kernel that suits the block.
void transpose_by_kernel(const RunContext& context, const BoxPlan& box, const Block& block, int64_t bytes);
/// Whether that interleaves a few columns of rows that follow each other, or columns of as many rows, by a kernel for
/// their number: no tile of a transposition would be filled. The first has one answer for all blocks of a box.
bool interleaves(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes);
bool deinterleaves(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes);
/// Those of conversions are for so many columns.
inline constexpr int64_t kMostConverted = 4;
/// Whether cast_block() converts a box's columns before it transposes them; then it can stream.
bool narrows(const RunContext& context, const BoxPlan& box);

/// Converts a block straight past the cache: long runs anywhere; with block.stream set also other shapes. False where
/// the values or the shape are not made for it.
bool cast_stream(const RunContext& context, const BoxPlan& box, const Block& block);

/// Whether blocks of a box are written past the cache, and one such block (stream_block.cc).
bool streams(const RunContext& context, const BoxPlan& box);
void stream_block(const RunContext& context, const BoxPlan& box, const Block& block, const Part& rows,
                  const Part& cols);

inline std::size_t log2_size(int64_t bytes) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<uint64_t>(bytes)));
}

/// The kernel of a table that (de)interleaves `few` columns (rows) of `many` rows (columns), or null. Those of more
/// than four do as many at a time as a register has, or one by one.
template <typename Table>
auto few_kernel(const Table& table, int64_t few, int64_t many, int64_t bytes) {
  const bool has = few >= 2 && few <= kMostInterleaved && (few <= 4 || many * bytes >= 64);
  return has ? table[static_cast<std::size_t>(few - 2)][log2_size(bytes)] : nullptr;
}

/// Whether each region of a box is one block that is deinterleaved by such a kernel of more than four rows: past the
/// cache, too, it writes just its own bytes, wherever rows start.
inline bool deinterleaves_whole(const RunContext& context, const BoxPlan& box) {
  return box.shape == KernelShape::transpose && !context.converts() && box.shuffle == 1 && box.row_run == 0 &&
         box.row_count > 4 && box.rows.size() == 1 && box.cols.size() == 1 && box.strips == 1 && box.panels == 1 &&
         box.cols[0].stride[kSrc] == box.row_count * box.piece[kSrc] &&
         few_kernel(context.kernels.deinterleave_stream, box.row_count, box.col_count, box.piece[kSrc]) != nullptr;
}

/// Rows and columns of a strided box, from the first ones on. Here, as small reorders are little else.
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
