// Strips and panels past the cache, and what is fetched ahead of them.
#include "relayout/reorder/boxes/methods/streamed_blocks.h"

#include <algorithm>

namespace relayout {
namespace {

/// The width of a panel in bytes of the narrower type; twice as many of the destination's row where rows and columns
/// start at lines or the columns lie a page apart in the source.
constexpr int64_t kPanelBytes = 512;
/// The rows of a strip of elements of 4 and 8 bytes whose values are not converted.
constexpr int64_t kMovedRows = 64;
/// The most columns of a panel where the last level is slow and shared: so many does hardware fetch ahead, by the times
/// in docs/lab/machines-with-a-far-last-level.md; twice as many of small elements, which are packed first.
constexpr int64_t kFollowed = 32;
/// The strips of a block of small elements. Reading the first strip and writing the last one overlap with nothing, so a
/// block needs many strips.
constexpr int64_t kStrips = 16;
/// Strips of small elements that are fetched as one where the source is read by whole lines.
constexpr int64_t kStripsTogether = 4;
/// Elements of 4 bytes go by long columns if rows and columns start at lines, columns lie a page or more apart in the
/// source, and rows have more than a panel and less than a page. A panel then has kRowBytes of a row, a block has
/// as many rows as it may, and columns, of at least kLongColumns strips, are fetched kRowBytes ahead.
constexpr int64_t kLongColumns = 4;

bool at_lines(const Axes& axes, Operand side) {
  return std::ranges::all_of(axes, [&](const Axis& a) { return a.stride[side] % kCacheLine == 0; });
}

/// How far away the same rows of the next panel lie in the source, if a later axis of the columns continues the rows
/// there: then the next panel follows these rows. 0 elsewhere, and where that axis has too few steps.
int64_t next_panel(const Loops& loops) {
  int64_t before = 1;
  for (const Axis& col : loops.along_dst.axes) {
    if (before > 1 && col.table < 0 && col.stride[kSrc] == loops.along_src.count * loops.piece[kSrc]) {
      const int64_t steps = loops.along_dst.block / before;
      return steps > 1 && 8 * steps <= col.extent ? steps * col.stride[kSrc] : 0;
    }
    before *= col.extent;
  }
  return 0;
}

class StreamedBlocks {
 public:
  StreamedBlocks(Loops& loops, StreamedBox box, const Machine& machine)
      : loops_(loops),
        machine_(machine),
        src_(loops.piece[kSrc]),
        dst_(loops.piece[kDst]),
        narrow_(std::min(src_, dst_)),
        length_(loops.along_dst.axes[0].extent * loops.along_dst.axes[0].stride[kSrc]),
        transposes_(box.kind == StreamedBox::Kind::transposes),
        copies_(box.kind == StreamedBox::Kind::copies),
        moves_(transposes_ && !box.converts && src_ >= 4),
        resized_(transposes_ && src_ != dst_),
        lines_(at_lines(loops.along_dst.axes, kSrc)),
        rows_at_lines_(at_lines(loops.along_src.axes, kDst)),
        packs_(transposes_ && narrow_ <= 2 &&
               std::min(loops.along_src.count * src_, loops.bytes_along_dst()) >= kCacheLine) {
    // Small elements are transposed by tiles of one line by one or two lines, so a strip reads one line of each column.
    // The same holds for values that are converted, where columns start at lines.
    rows_ = packs_               ? kCacheLine / narrow_
            : resized_ && lines_ ? std::max<int64_t>(16, kCacheLine / src_)
            : moves_             ? kMovedRows
                                 : std::max<int64_t>(kRowBytes / src_, 4);
    const int64_t columns_apart = loops.along_dst.axes[0].stride[kSrc], row_bytes = loops.bytes_along_dst();
    far_ = moves_ && columns_apart >= kPage;
    linear_ = loops.along_src.dense && columns_apart == loops.along_src.count * src_ &&
              loops.along_src.count * src_ <= 8 * kRowBytes && length_ >= kHalfL1;
    all_lines_ = lines_ && rows_at_lines_ && !resized_;
    by_columns_ = all_lines_ && far_ && src_ == 4 && loops.along_src.count >= kLongColumns * rows_ &&
                  row_bytes > kRowBytes && row_bytes < kPage;
  }

  bool choose() {
    const int64_t panel = choose_panel();
    choose_rows(panel);
    // Rows that follow each other are put together to one run of the destination where they are short and not whole
    // lines (converted values: half as short): some rows of a large region, or all rows of a small one, but for rows of
    // one line each, which kernels write as they are.
    const int64_t row_bytes = loops_.bytes_along_dst();
    const bool follow = loops_.along_src.axes.size() == 1 && loops_.along_src.axes[0].stride[kDst] == row_bytes &&
                        loops_.along_dst.count <= kMaxBlockSide;
    const bool one_run = follow && row_bytes * (resized_ ? 2 : 1) <= kEnoughBlock && row_bytes % kCacheLine != 0;
    const bool small = follow && (row_bytes > kCacheLine || packs_) && small_region(loops_, packs_);
    const bool few = transposes_ && interleaves(loops_);
    if ((one_run || small) && transposes_ && loops_.along_src.dense && !few) {
      choose_run(row_bytes);
      return packs_;
    }
    if (one_run)
      loops_.along_src.block = few ? kMaxBlockSide : std::clamp<int64_t>(kHalfL1 / row_bytes, 16, kMaxBlockSide);
    choose_ahead(packs_ && !one_run);
    return packs_;
  }

 private:
  /// Chooses how many columns a block has, and returns the limit that led to it.
  int64_t choose_panel() {
    const int64_t panel_bytes = (all_lines_ || far_) && loops_.along_src.count >= rows_ ? 2 * kPanelBytes : kPanelBytes;
    int64_t panel = packs_ ? kPanelBytes / narrow_ : std::max<int64_t>(128, panel_bytes / dst_);
    if (loops_.along_src.count < rows_) {
      // Few rows leave room for more columns.
      panel = std::min(kMaxBlockSide, panel * rows_ / loops_.along_src.count);
      if (!packs_) panel = std::max(panel, kMaxBlockSide / 2);
    } else if (by_columns_) {
      panel = kRowBytes / dst_;
    } else if (linear_ && moves_) {
      // As whole columns where both sides start at lines.
      panel = all_lines_ ? kInL2 / (loops_.along_src.count * src_) : kPanelBytes / dst_;
    }
    const bool capped =
        machine_.slow_shared_l3() && transposes_ && loops_.along_src.count >= rows_ && (packs_ || !linear_);
    if (capped) panel = std::min(panel, near_columns());
    // All panels have about the same size, and whole lines.
    const int64_t whole = std::max<int64_t>(16, kCacheLine / (packs_ ? narrow_ : dst_));
    const int64_t panels = std::max<int64_t>(1, (loops_.along_dst.count + (capped ? panel - 1 : panel / 2)) / panel);
    loops_.along_dst.block =
        by_columns_ ? panel
                    : std::min(kMaxBlockSide, ceil_div(ceil_div(loops_.along_dst.count, panels), whole) * whole);
    return panel;
  }

  /// The most columns of a panel where the last level is slow and shared. Where rows start at lines, or values are
  /// narrowed, a panel has so few columns that hardware fetches each of them ahead. Elsewhere, columns whose distance
  /// is a multiple of a power of two share sets of the second level, which then holds only (its size / that power) of
  /// their lines; a panel has a quarter of so many columns, as the next strip of each column is fetched too, and the
  /// destination and page tables need room. Elements of 1 byte gain nothing by the first limit, and elements of 8 bytes
  /// nothing by the second.
  int64_t near_columns() const {
    if (packs_ && src_ > narrow_) return kCacheLine / narrow_;
    if (rows_at_lines_ && dst_ > 1) return packs_ ? 2 * kFollowed : kFollowed;
    const Axis& col = loops_.along_dst.axes[0];
    const int64_t power = col.stride[kSrc] & -col.stride[kSrc];
    if (power == 0 || src_ > 4) return kMaxBlockSide;
    const int64_t most = std::max(2 * kCacheLine / narrow_, machine_.l2 / power / 4);
    return col.extent >= most ? most : kMaxBlockSide;
  }

  /// A block of few columns gets many rows, and a small region is one block, so that lists of offsets serve more
  /// pieces.
  void choose_rows(int64_t panel) {
    const int64_t piece = loops_.larger_piece(), rows = loops_.along_src.count;
    loops_.along_src.block = packs_ ? std::min(kMaxBlockSide, kStrips * rows_) : rows_;
    if (copies_) {
      loops_.along_src.block =
          std::clamp<int64_t>(2 * kHalfL1 / (std::min(loops_.along_dst.count, panel) * piece), 4, kMaxBlockSide);
    }
    if (!packs_) {
      loops_.along_src.block = std::clamp((loops_.along_dst.count * piece <= kCacheLine ? kOpenLines : kHalfL1) /
                                              (std::min(loops_.along_dst.count, loops_.along_dst.block) * piece),
                                          loops_.along_src.block, kMaxBlockSide);
    } else if (rows * loops_.along_dst.count * piece <= kHalfL1) {
      loops_.along_src.block = std::min(rows, kMaxBlockSide);
    }
    if (linear_) loops_.along_src.block = std::max(loops_.along_src.block, moves_ ? rows : 512 / src_);
    if (by_columns_) {
      const int64_t strips = ceil_div(rows, kMaxBlockSide);
      loops_.along_src.block = ceil_div(ceil_div(rows, strips), kMovedRows) * kMovedRows;
    }
  }

  /// The blocks of short rows that are written as one run: strips of about the same size, each of whole lines of the
  /// source and of at most kInL2 bytes.
  void choose_run(int64_t row_bytes) {
    const int64_t whole = std::max<int64_t>(1, kCacheLine / src_);
    const int64_t most = std::clamp(kInL2 / row_bytes, whole, kMaxBlockSide) / whole * whole;
    const int64_t strips = ceil_div(loops_.along_src.count, most);
    loops_.along_dst.block = loops_.along_dst.count;
    loops_.along_src.block =
        std::min(loops_.along_src.count, ceil_div(ceil_div(loops_.along_src.count, strips), whole) * whole);
    loops_.ahead = loops_.along_src.block * src_ + kCacheLine - 1;
  }

  /// How far ahead the source is fetched: along a source without gaps in the order of its bytes, or the next panel, or
  /// the next strips.
  void choose_ahead(bool tiles) {
    const int64_t partial = lines_ ? 0 : kCacheLine - 1;
    const bool together = tiles && lines_ && src_ == narrow_ && loops_.along_src.count >= kStripsTogether * rows_;
    const int64_t strip = (tiles ? rows_ * (together ? kStripsTogether : 1) : loops_.along_src.block) * src_;
    // Fetching the next panel gains nothing where values are widened.
    const int64_t onward = transposes_ && loops_.along_src.dense && src_ >= dst_ ? next_panel(loops_) : 0;
    if (by_columns_) {
      loops_.ahead = kRowBytes;
    } else if (linear_) {
      loops_.ahead = std::min(kInL2, length_ / 8);
    } else if (onward > 0) {
      loops_.ahead = onward + partial;
    } else if (loops_.along_src.dense && strip < loops_.along_src.count * src_) {
      const bool one = !tiles || machine_.slow_shared_l3();
      const int64_t strips = one ? 1 : ceil_div(kOpenLines, loops_.along_dst.block * strip);
      loops_.ahead = strips * strip + partial;
    }
  }

  Loops& loops_;
  const Machine& machine_;
  const int64_t src_, dst_, narrow_;  // bytes of a piece
  const int64_t length_;              // of the source, along the innermost axis of the columns
  const bool transposes_, copies_, moves_, resized_;
  const bool lines_, rows_at_lines_;  // all columns of the source, all rows of the destination, start at lines
  const bool packs_;
  int64_t rows_;
  /// far_: columns lie pages apart. linear_: a source without gaps, where each column begins at the end of the one
  /// before. by_columns_: it goes by long columns.
  bool far_, linear_, all_lines_, by_columns_;
};

}  // namespace

bool choose_streamed_blocks(Loops& loops, StreamedBox box, const Machine& machine) {
  return StreamedBlocks(loops, box, machine).choose();
}

Offsets next_block(const Loops& loops) {
  const auto step = [](const Axes& axes, int64_t count, int64_t block) -> Offsets {
    const Axis& last = axes.back();
    const int64_t before = count / last.extent;
    if (last.table >= 0 || block % before != 0) return {};
    return {block / before * last.stride[kSrc], block / before * last.stride[kDst], 0};
  };
  if (loops.along_src.block < loops.along_src.count)
    return step(loops.along_src.axes, loops.along_src.count, loops.along_src.block);
  if (loops.along_dst.block < loops.along_dst.count)
    return step(loops.along_dst.axes, loops.along_dst.count, loops.along_dst.block);
  return loops.loops.empty() ? Offsets{} : step(loops.loops, loops.loops.back().extent, 1);
}

int64_t next_columns(const Loops& loops) {
  if (!loops.along_src.dense || loops.along_src.block < loops.along_src.count) return 0;
  const int64_t step = next_block(loops)[kSrc];
  return step > 0 && step <= kInL2 ? step : 0;
}

bool small_region(const Loops& loops, bool packed) {
  const int64_t times = packed ? 1 : 2, row_bytes = loops.bytes_along_dst();
  return times * row_bytes <= 512 && times * row_bytes * loops.along_src.count <= kInL2;
}

bool interleaves(const Loops& loops) {
  const Axis &row = loops.along_src.axes[0], &col = loops.along_dst.axes[0];
  const int64_t bytes = loops.piece[kSrc];
  const bool one =
      loops.along_src.axes.size() == 1 && loops.along_dst.axes.size() == 1 && row.table < 0 && col.table < 0;
  return one && loops.piece[kDst] == bytes &&
         ((interleaved(loops.along_dst.count, loops.along_src.count, bytes) &&
           row.stride[kDst] == loops.along_dst.count * bytes) ||
          (interleaved(loops.along_src.count, loops.along_dst.count, bytes) &&
           col.stride[kSrc] == loops.along_src.count * bytes));
}

}  // namespace relayout
