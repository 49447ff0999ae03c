// One block whose destination is written past the cache, each line as a whole and once: a line that is written in two
// stores would have to be read first.
//
// Where rows start at lines, the kernels write lines straight from registers. Transpositions whose rows start anywhere
// carry the last, incomplete line of each row to the next columns (line_transposition.h). Elsewhere the block is first
// made in the first-level cache, as an *image* of what it writes that starts at the same byte of a line as the
// destination does, and its lines are written from there.
//
// Which block writes a line that two blocks share? The one in which the line starts: it also makes the few elements
// that complete its last line, and leaves the beginning of its first line to the block before. In some boxes, each
// block writes only its own bytes instead: copied pieces, interleaved columns, rows of a
// half or a quarter of a line, and rows that follow each other.
#include "relayout/cpu/runners/past_cache.h"

#include <numeric>

#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {
namespace {

/// The most bytes and rows of an image, and the bytes of a row that are made at a time.
constexpr int64_t kImage = 40 << 10;
constexpr int64_t kMaxRows = 64;
constexpr int64_t kTileBytes = kMostStreamedPiece, kTileImage = 12 << 10;

void write_lines(const RunContext& context, const std::byte* image, std::byte* dst, int64_t begin, int64_t end) {
  if (begin >= end) return;
  context.kernels.copy_stream(image + begin, kFirst, kFirst, dst + begin, kFirst, kFirst, 1, 1, end - begin, 0);
}

/// Runs a block whose rows follow each other in the destination: an image of the whole run is made and written. In
/// lines that it shares with other blocks, the block writes only its own bytes, through the cache. A store that waits
/// for its line holds up all stores after it, so these lines are prefetched while the image is made.
[[gnu::noinline]] void stream_run(const RunContext& context, const BoxPlan& box, Block block) {
  alignas(kPage) std::byte memory[kInL2 + kCacheLine];
  std::byte* const dst = block.dst;
  const int64_t bytes = block.rows * block.cols * box.piece[kDst];
  __builtin_prefetch(dst, 1, 3);
  __builtin_prefetch(dst + bytes - 1, 1, 3);
  block.dst = memory + (kCacheLine - to_line(dst)) % kCacheLine;
  make_block(context, box, block);
  write_lines(context, block.dst, dst, 0, bytes);
}

/// Up to where a block writes that has `bytes` bytes at dst, and `more` bytes that can follow: to the end of the last
/// line that starts in the block.
int64_t end_of_own(const std::byte* dst, int64_t bytes, int64_t more) {
  return bytes + std::min(more, to_line(dst + bytes));
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
          if (last) end = carried + end_of_own(dst + lines[r] + carried, (block.cols - col) * piece, extra * piece);
          write_lines(context, memory + starts[r], dst + lines[r], begin, end);
        }
      }
      if (!last) context.kernels.copy(memory, rest, kFirst, memory, starts, kFirst, rows, 1, kCacheLine, 0);
    }
  }
}

}  // namespace

void stream_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
                  const IndexRange& cols) {
  const int64_t row_bytes = box.bytes_along_dst();
  // The answer must be the same for all blocks of a box, as two of them may share a line.
  const bool one_run = cols.most >= cols.total && box.along_src.axes.size() == 1 &&
                       box.along_src.axes[0].stride[kDst] == row_bytes && rows.most * row_bytes <= kInL2;
  // Rows are converted straight to where they belong. But where a row ends within the line in which the next one
  // begins, each would wait for two parts of lines; an image of rows of up to a page takes less time than that.
  const bool within_lines = one_run && box.as<ConvertedRuns>() && row_bytes % kCacheLine != 0 && row_bytes < kPage;
  const auto streamed = [&](const auto& method) { return stream(context, box, method, block); };
  if (!within_lines && std::visit(streamed, box.method)) return;
  if (one_run) return stream_run(context, box, block);
  if (!std::visit([&](const auto& method) { return carry(context, box, method, block, cols); }, box.method))
    stream_rows(context, box, block, cols);
}

}  // namespace relayout::cpu
