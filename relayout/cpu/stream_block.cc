// One block whose destination is written past the cache, each line as a whole and once: a line that is written in two
// stores would have to be read first.
//
// Where rows start at lines, the kernels write lines straight from registers. Transpositions whose rows start anywhere
// carry the last, incomplete line of each row to the next columns (stream_lines.h). Elsewhere the block is first made
// in the first-level cache, as an *image* of what it writes that starts at the same byte of a line as the destination
// does, and its lines are written from there.
//
// Which block writes a line that two blocks share? The one in which the line starts: it also makes the few elements
// that complete its last line, and leaves the beginning of its first line to the block before. In some boxes, each
// block writes only its own bytes instead: copied pieces, lines by byte permutations, interleaved columns, rows of a
// half or a quarter of a line, and rows that follow each other.
#include <numeric>

#include "relayout/cpu/run.h"

namespace relayout::cpu {
namespace {

/// How many bytes ahead a copy prefetches, beyond what the processor prefetches by itself in a linear read.
constexpr int64_t kCopyAhead = 2 << 10;
/// Lines of at most kLinesBeside columns are copied side by side. If columns lie pages apart, lines of more columns
/// compete for few sets of the first-level cache, so that lines that the processor fetches ahead are lost.
constexpr int64_t kLinesBeside = 8;
/// The most bytes and rows of an image, and the bytes of a row that are made at a time.
constexpr int64_t kImage = 40 << 10;
constexpr int64_t kMaxRows = 64;
constexpr int64_t kTileBytes = 512, kTileImage = 12 << 10;

/// Whether all rows of a block start at multiples of `unit` bytes: at lines, or at halves or quarters of lines.
bool at_lines(const BoxPlan& box, const Block& block, int64_t unit = kCacheLine) {
  return to_line(block.dst) % unit == 0 &&
         std::ranges::all_of(box.rows, [&](const Axis& a) { return a.stride[kDst] % unit == 0; });
}

/// Whether a box copies pieces of at least 16 bytes, which a kernel writes past the cache. Smaller ones go by an image.
bool copies_pieces(const RunContext& context, const BoxPlan& box) {
  return box.shape == KernelShape::copy && !box.long_runs && !context.converts() && box.shuffle == 1 &&
         box.piece[kDst] >= kSmallPiece;
}

/// Copies pieces of half a line by whole lines: on one side two pieces make a line and the lines follow each other, on
/// the other side each piece lies by itself. Where pieces lie otherwise, does nothing and returns false.
bool copy_pairs(const RunContext& context, const BoxPlan& box, const Block& b) {
  const auto split = context.kernels.split_lines[5];
  const auto join = context.kernels.join_lines[5];
  if (!split || !join || box.piece[kDst] != kCacheLine / 2 || box.rows.size() != 1 || box.cols.size() != 1)
    return false;
  const Axis &row = box.rows[0], &col = box.cols[0];
  if (row.table >= 0 || col.table >= 0 || row.stride[kSrc] != kCacheLine / 2 || col.stride[kDst] != kCacheLine / 2)
    return false;
  if (!at_lines(box, b)) return false;
  if (box.row_count == 2 && col.stride[kSrc] == kCacheLine && b.rows == 2 && b.cols % 2 == 0)
    split(b.src + b.src_cols[0], b.dst, b.dst_rows, b.cols);
  else if (box.col_count == 2 && row.stride[kDst] == kCacheLine && b.cols == 2)
    join(b.src + b.src_rows[0], b.src_cols, b.dst + b.dst_rows[0], b.rows);
  else
    return false;
  return true;
}

/// Copies pieces past the cache. Where they are whole lines, or fractions of lines that start at multiples of their
/// size, the shorter of rows and columns is the inner loop, so that the source is read, or the destination written, in
/// a few places side by side. The exception is pieces of a quarter of a line in more than four rows. Too many lines
/// would be incomplete at a time, unless the kernel puts them together in registers.
void copy_pieces(const RunContext& context, const BoxPlan& box, const Block& b) {
  if (copy_pairs(context, box, b)) return;
  const int64_t bytes = box.piece[kDst], unit = std::min(bytes, kCacheLine);
  const auto& copy = context.kernels.copy_stream;
  const bool many_quarters = bytes == kCacheLine / 4 && b.rows > 4;
  if (box.dense_rows && box.row_count <= box.col_count && kCacheLine % unit == 0 && bytes % unit == 0 &&
      at_lines(box, b, unit) && !many_quarters)
    return copy(b.src, b.src_cols, b.src_rows, b.dst, b.dst_cols, b.dst_rows, b.cols, b.rows, bytes, 0);
  const int64_t beside = bytes == kCacheLine && at_lines(box, b) ? kLinesBeside : b.cols;
  for (int64_t c = 0; c < b.cols; c += beside)
    copy(b.src, b.src_rows, b.src_cols + c, b.dst, b.dst_rows, b.dst_cols + c, b.rows, std::min(beside, b.cols - c),
         bytes, 0);
}

// Inlined by force, as gcc drops calls of a function that only prefetches.
[[gnu::always_inline]] inline void prefetch(const BoxPlan& box, const Block& block, int64_t ahead) {
  const int64_t bytes = box.dense_rows ? block.rows * box.piece[kSrc] : kCacheLine;
  for (int64_t c = 0; c < block.cols; ++c) {
    for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(block.src + block.src_cols[c] + ahead + i, 0, 2);
  }
}

/// Whether rows are a quarter or half of a line and make lines one after the other. The answer is the same for all
/// blocks of a box, as two blocks may share a line, of which each then writes its own rows.
bool writes_partial_lines(const BoxPlan& box, const Block& block) {
  const int64_t row_bytes = box.col_count * box.piece[kDst];
  if (box.shape != KernelShape::transpose || (row_bytes != 16 && row_bytes != 32) || box.panels > 1) return false;
  const auto even = [&](const Axis& a) { return a.table < 0 && a.stride[kDst] % row_bytes == 0; };
  return box.rows[0].stride[kDst] == row_bytes && to_line(block.dst) % row_bytes == 0 &&
         std::ranges::all_of(box.rows, even) && std::ranges::all_of(box.loops, even);
}

/// Runs a block by kernels that write whole lines from registers. If rows do not start at lines, or there is no such
/// kernel, does nothing and returns false.
bool stream_direct(const RunContext& context, const BoxPlan& box, Block block) {
  const Kernels& kernels = context.kernels;
  const bool converts = context.converts();
  const int64_t bytes = box.piece[kDst];
  if (box.long_runs && !converts) {
    kernels.copy_stream(block.src, block.src_rows, kFirst, block.dst, block.dst_rows, kFirst, block.rows, 1,
                        block.cols * bytes, kCopyAhead);
    return true;
  }
  if (box.long_runs) return cast_stream(context, box, block);
  if (copies_pieces(context, box)) {
    copy_pieces(context, box, block);
    return true;
  }
  block.stream = true;
  const bool moves = box.shape == KernelShape::transpose && !converts && box.shuffle == 1;
  if ((moves || (converts && block.cols <= kMostConverted && narrows(context, box))) &&
      interleaves(kernels, box, block, bytes)) {
    converts ? cast_block(context, box, block) : transpose_by_kernel(context, box, block, bytes);
    return true;
  }
  if (deinterleaves_whole(context, box)) {
    transpose_by_kernel(context, box, block, bytes);
    return true;
  }
  const bool partial = writes_partial_lines(box, block);
  if (!partial && (!at_lines(box, block) || block.cols * bytes % kCacheLine != 0)) return false;
  if (box.shuffle > 1 && box.shape != KernelShape::transpose) return false;
  if (block.ahead == 0) block.ahead = box.ahead;
  if (!partial && converts && cast_stream(context, box, block)) return true;
  if (!partial && moves && deinterleaves(kernels, box, block, bytes)) {
    transpose_by_kernel(context, box, block, bytes);
    return true;
  }
  if (box.shape == KernelShape::transpose) {
    if (!kernels.transpose_stream[log2_size(bytes)] || (!partial && block.rows * bytes < 16)) return false;
    if (converts && !narrows(context, box)) return false;
    converts ? cast_block(context, box, block) : move_block(context, box, block);
    return true;
  }
  return false;
}

/// Does the same for rows that start anywhere in lines.
bool stream_lines(const RunContext& context, const BoxPlan& box, Block block, const IndexRange& cols) {
  const bool converts = context.converts();
  const int64_t bytes = box.piece[kDst], total = std::min(cols.total, cols.end() + kCacheLine / bytes) - cols.begin;
  if (converts && widen_lines(context, box, block, cols)) return true;
  if (box.shape != KernelShape::transpose || !context.kernels.transpose_carried[log2_size(bytes)]) return false;
  if (block.rows * bytes < 16 || total * bytes < kCacheLine || (converts && !narrows(context, box))) return false;
  block.lines = &cols;
  if (block.ahead == 0) block.ahead = box.ahead;
  converts ? cast_block(context, box, block) : move_block(context, box, block);
  return true;
}

void write_lines(const RunContext& context, const std::byte* image, std::byte* dst, int64_t begin, int64_t end) {
  if (begin >= end) return;
  context.kernels.copy_stream(image + begin, kFirst, kFirst, dst + begin, kFirst, kFirst, 1, 1, end - begin, 0);
}

/// Runs a block whose rows follow each other in the destination: an image of the whole run is made and written. In
/// lines that it shares with other blocks, the block writes only its own bytes, through the cache. A store that waits
/// for its line holds up all stores after it, so these lines are prefetched while the image is made.
[[gnu::noinline]] void stream_run(const RunContext& context, const BoxPlan& box, Block block) {
  alignas(kPage) std::byte memory[kMaxRunBytes + kCacheLine];
  std::byte* const dst = block.dst;
  const int64_t bytes = block.rows * block.cols * box.piece[kDst];
  __builtin_prefetch(dst, 1, 3);
  __builtin_prefetch(dst + bytes - 1, 1, 3);
  block.dst = memory + (kCacheLine - to_line(dst)) % kCacheLine;
  make_block(context, box, block);
  write_lines(context, block.dst, dst, 0, bytes);
}

/// Which bytes a block writes of its `bytes` bytes at dst and the `more` bytes that can follow: from the first line
/// that starts in the block to the end of the last line that does.
struct Own {
  int64_t begin, end;
};
Own own(const std::byte* dst, int64_t bytes, int64_t more, bool first) {
  const int64_t end = bytes + std::min(more, to_line(dst + bytes));
  return {std::min(first ? 0 : to_line(dst), end), end};
}

/// The number of columns of about `bytes` bytes whose bytes are whole lines.
int64_t whole_lines(int64_t piece, int64_t bytes) {
  const int64_t unit = kCacheLine / std::gcd(piece, kCacheLine);
  return ceil_div(std::max<int64_t>(1, bytes / piece), unit) * unit;
}

/// Runs a block whose rows do not follow each other. The image of a row is a few lines long. Some columns of all rows
/// are made at a time; then the whole lines of each image are written, and what is left of the last line is moved to
/// the start of the image.
void stream_rows(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& cols) {
  alignas(64) std::byte memory[kImage];
  const int64_t piece = box.piece[kDst];
  const bool whole = at_lines(box, block) && block.cols * piece % kCacheLine == 0;
  const int64_t extra = whole ? 0 : std::min(ceil_div(kCacheLine - 1, piece), cols.total - cols.end());
  // Where there are few rows, more columns are made at a time.
  const int64_t tile = whole_lines(piece, std::max(kTileBytes, kTileImage / block.rows)), tile_bytes = tile * piece;
  const int64_t pitch = tile_bytes + ceil_div(extra * piece, kCacheLine) * kCacheLine + 2 * kCacheLine;
  // At least a line of the source is read at a time.
  const int64_t rows_most = std::max<int64_t>(kMaxRows / 2, kCacheLine / box.piece[kSrc]);
  int64_t most = std::clamp<int64_t>(kImage / pitch, 1, rows_most);
  // All passes have about as many rows.
  most = ceil_div(block.rows, ceil_div(block.rows, most));
  // Groups of the source that are permuted must be read whole.
  if (box.shuffle > 1 && box.shape == KernelShape::transpose) most = std::max<int64_t>(16, most / 16 * 16);
  int64_t starts[kMaxRows], made[kMaxRows], lines[kMaxRows], rest[kMaxRows];
  for (int64_t row = 0; row < block.rows; row += most) {
    const int64_t rows = std::min(most, block.rows - row);
    for (int64_t r = 0; r < rows; ++r) {
      starts[r] = r * pitch;
      rest[r] = starts[r] + tile_bytes;
      const int64_t carried = (kCacheLine - to_line(block.dst + block.dst_rows[row + r])) % kCacheLine;
      made[r] = starts[r] + carried;
      lines[r] = block.dst_rows[row + r] - carried;
    }
    for (int64_t col = 0; col < block.cols; col += tile) {
      const bool last = col + tile >= block.cols;
      Block image = sub_block(box, block, row, rows, col, last ? block.cols - col + extra : tile);
      image.dst = memory;
      image.dst_rows = made;
      make_block(context, box, image);
      std::byte* dst = block.dst + col * piece;
      if (col > 0 && !last) {
        context.kernels.copy_stream(memory, starts, kFirst, dst, lines, kFirst, rows, 1, tile_bytes, 0);
      } else {
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t carried = made[r] - starts[r];
          // An incomplete first line belongs to the block before, if there is one.
          const int64_t begin = col > 0 ? 0 : cols.begin == 0 ? carried : carried > 0 ? kCacheLine : 0;
          int64_t end = tile_bytes;
          if (last) end = carried + own(dst + lines[r] + carried, (block.cols - col) * piece, extra * piece, false).end;
          write_lines(context, memory + starts[r], dst + lines[r], begin, end);
        }
      }
      if (!last) context.kernels.copy(memory, rest, kFirst, memory, starts, kFirst, rows, 1, kCacheLine, 0);
    }
  }
}

}  // namespace

bool fetches(const RunContext& context, const BoxPlan& box) {
  return context.converts() ? box.long_runs || narrows(context, box) : box.shape != KernelShape::gather;
}

void make_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  // Where the kernels do not prefetch as they read, the next block is prefetched here at once.
  if (!fetches(context, box)) {
    if (const int64_t ahead = block.ahead != 0 ? block.ahead : box.ahead; ahead != 0) prefetch(box, block, ahead);
  } else if (block.ahead == 0 && box.ahead != 0) {
    Block ahead = block;
    ahead.ahead = box.ahead;
    return make_block(context, box, ahead);
  }
  if (context.converts())
    cast_block(context, box, block);
  else
    move_block(context, box, block);
}

bool streams(const RunContext& context, const BoxPlan& box) {
  return context.plan.streams() && !context.in_tile && context.kernels.copy_stream &&
         (box.dense_cols || (copies_pieces(context, box) && box.piece[kDst] >= kScatteredPiece)) &&
         box.unit_bits[kSrc] == 8 && box.unit_bits[kDst] == 8 && context.plan.attributes().beta == 0 &&
         (box.long_runs || box.piece[kDst] <= kTileBytes);
}

void stream_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
                  const IndexRange& cols) {
  if (stream_direct(context, box, block)) return;
  const int64_t row_bytes = cols.total * box.piece[kDst];
  // The answer must be the same for all blocks of a box, as two of them may share a line.
  const bool one_run = cols.most >= cols.total && box.rows.size() == 1 && box.rows[0].stride[kDst] == row_bytes &&
                       rows.most * row_bytes <= kMaxRunBytes;
  if (one_run)
    stream_run(context, box, block);
  else if (!stream_lines(context, box, block, cols))
    stream_rows(context, box, block, cols);
}

}  // namespace relayout::cpu
