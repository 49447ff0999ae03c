// Choosing the blocks of a box plan.
//
// The sizes here follow from what must stay in which cache while a block is moved, and were then confirmed by timings
// of many shapes around each limit; docs/lab has these. Start at choose_blocks() and finish() at the end.
#include "relayout/reorder/blocks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "relayout/reorder/shuffle.h"

namespace relayout {
namespace {

/// Bytes of a block of long runs that are copied, through the cache and past it.
constexpr int64_t kCopyBlock = 256 << 10, kStreamedCopyBlock = 1 << 20;
/// Bytes of the destination's lines that a block of a transposition in the cache keeps open, where its rows are short.
constexpr int64_t kTransposeBlock = 64 << 10;
/// Blocks of pieces that are copied past the cache. Bytes of a block whose rows are dense in the source (kCopiedBlock)
/// and of one whose pieces lie apart (kApartBlock); lines of each row of the former (kFewLines). Of the latter, kSide
/// rows are copied side by side, so that the reads of several places overlap.
constexpr int64_t kCopiedBlock = 128 << 10, kApartBlock = 256 << 10, kFewLines = 16, kSide = 8;
/// The most columns of a block of copied pieces of at most a line (see kMaxBesideRows).
constexpr int64_t kBesideCols = 512;
/// A region of at most kSmallRegion bytes is one block.
constexpr int64_t kSmallRegion = 16 << 10;
/// The bytes of a block whose rows of the destination are at most a line: it has few columns and many rows.
constexpr int64_t kLongStrip = 64 << 10;
/// Values of a block of long runs that are converted, through the cache and past it.
constexpr int64_t kCastBlock = 4096, kStreamedCastBlock = 64 << 10;

/// Widths of a panel, the columns of a block past the cache. In bytes of the narrower type (kPanelBytes); in bytes of
/// the destination's row, where rows and columns start at lines or the columns lie a page apart in the source
/// (kLinesPanelBytes); and in columns, where there are only a few rows (kShortRowsPanel).
constexpr int64_t kPanelBytes = 512, kLinesPanelBytes = 1024, kShortRowsPanel = 512;
/// The rows of a strip of elements of 4 and 8 bytes whose values are not converted.
constexpr int64_t kMovedRows = 64;
/// The most columns of a panel where the last level is slow and shared: so many does hardware fetch ahead, by the times
/// in docs/lab/machines-with-a-far-last-level.md. kFollowedSmall is for small elements, which are packed first.
constexpr int64_t kFollowed = 32, kFollowedSmall = 64;
/// Rows at most kNearRows bytes apart in the destination are near each other; for elements of 4 bytes whose rows do not
/// start at lines, the limit is kNearPartialRows.
constexpr int64_t kNearRows = 512, kNearPartialRows = 1024;
/// From kCrowdedColumns columns on, rows that lie a power of two apart compete for few sets of the cache, so that lines
/// fetched ahead are displaced before they are used.
constexpr int64_t kCrowdedColumns = 256;
/// The strips of a block of small elements. Reading the first strip and writing the last one overlap with nothing, so a
/// block needs many strips.
constexpr int64_t kStrips = 16;

/// For small elements, strips of kStripsAhead bytes together are fetched ahead. Where the source is read by whole
/// lines, kStripsTogether strips count as one here. Where four bytes become one, kQuarteredStrips strips are fetched
/// ahead.
constexpr int64_t kStripsAhead = 64 << 10, kStripsTogether = 4, kQuarteredStrips = 2;

/// A source that is dense for at least kLinear bytes is fetched ahead in the order of its bytes, at most kMostAhead.
constexpr int64_t kLinear = 16 << 10, kMostAhead = 128 << 10;
/// The bytes of such a source that a block has, as whole columns, where both sides start at lines.
constexpr int64_t kLinearBlock = 128 << 10;
/// Elements of 4 bytes go by long columns if rows and columns start at lines, columns lie a page or more apart in the
/// source, and rows have more than a panel and less than a page. A panel then has kColumnsPanelBytes of a row, a block
/// has as many rows as it may, and columns, of at least kLongColumns strips, are fetched kColumnsAhead bytes ahead.
constexpr int64_t kColumnsPanelBytes = 256, kColumnsAhead = 256, kLongColumns = 4;

/// Rows of at most so many bytes (half as many of converted values) that follow each other, and are not whole lines,
/// are put together in the cache and written as one run.
constexpr int64_t kRunRow = 2 << 10;

bool copies_pieces(const BoxPlan& plan, bool converts) {
  return plan.shape == KernelShape::copy && !converts && plan.shuffle == 1 && plan.piece[kDst] >= kSmallPiece;
}

/// Chooses blocks for pieces that are copied past the cache. If pieces divide lines or are whole lines, and rows are
/// fewer than columns, a block has all rows, so that the source is read in its own order; with more rows, it has a few
/// lines of each row. For other pieces, a block has long rows, and as many as use up the source's lines or are copied
/// from several places side by side.
void choose_copied_blocks(BoxPlan& plan, int64_t piece) {
  // Limits a side so that the lists of where rows and columns start stay in the first-level cache.
  const auto side = [&](int64_t other) {
    const bool pairs = piece == kCacheLine / 2 && other == 2;
    const int64_t most = pairs ? kMaxBlockSide : std::min(kMaxBlockSide, std::max<int64_t>(16, 4 * piece));
    return std::clamp<int64_t>((plan.dense_rows ? kCopiedBlock : kApartBlock) / (other * piece), 16, most);
  };
  const bool lines = kCacheLine % piece == 0 || piece % kCacheLine == 0;
  const int64_t runs = std::max<int64_t>(1, kCacheLine / piece);  // of a line
  if (piece <= kCacheLine && lines && plan.dense_rows && plan.dense_cols && plan.row_count <= plan.col_count) {
    plan.block_rows = std::min(plan.row_count, kMaxBesideRows);
    plan.block_cols = std::clamp<int64_t>(kCopiedBlock / (plan.block_rows * piece), 16, kBesideCols) / runs * runs;
  } else if (lines && plan.dense_rows && plan.row_count <= plan.col_count) {
    plan.block_rows = std::min(plan.row_count, kMaxBlockSide);
    plan.block_cols = side(plan.block_rows);
  } else {
    const int64_t rows = plan.dense_rows ? std::min(plan.row_count, std::max<int64_t>(4, kRowBytes / piece)) : 1;
    plan.block_cols = std::min(plan.col_count, lines && plan.dense_rows ? kFewLines * kCacheLine / piece : side(rows));
    // Pieces of one line each are copied in the order of the source, in long stretches.
    plan.block_rows = piece == kCacheLine && plan.dense_rows ? kMaxBlockSide
                      : plan.dense_rows                      ? side(plan.block_cols)
                                                             : ceil_div(side(plan.block_cols), kSide) * kSide;
  }
}

/// How far away the same rows of the next panel lie in the source, if a later axis of the columns continues the rows
/// there: then the next panel follows these rows. 0 elsewhere, and where that axis has too few steps.
int64_t next_panel(const BoxPlan& plan) {
  int64_t before = 1;
  for (const Axis& col : plan.cols) {
    if (before > 1 && col.table < 0 && col.stride[kSrc] == plan.row_count * plan.piece[kSrc]) {
      const int64_t steps = plan.block_cols / before;
      return steps > 1 && 8 * steps <= col.extent ? steps * col.stride[kSrc] : 0;
    }
    before *= col.extent;
  }
  return 0;
}

/// How far away the next block lies on both sides, where it is some steps of one axis further; 0 elsewhere.
Offsets next_block(const BoxPlan& plan) {
  const auto step = [](const Axes& axes, int64_t count, int64_t block) -> Offsets {
    const Axis& last = axes.back();
    const int64_t before = count / last.extent;
    if (last.table >= 0 || block % before != 0) return {};
    return {block / before * last.stride[kSrc], block / before * last.stride[kDst], 0};
  };
  if (plan.block_rows < plan.row_count) return step(plan.rows, plan.row_count, plan.block_rows);
  if (plan.block_cols < plan.col_count) return step(plan.cols, plan.col_count, plan.block_cols);
  return plan.loops.empty() ? Offsets{} : step(plan.loops, plan.loops.back().extent, 1);
}

/// How far away the next block lies in the source, for a transposition whose blocks have all rows. 0 where it lies so
/// far away that fetched lines would leave the cache before they are needed.
int64_t next_columns(const BoxPlan& plan) {
  if (plan.shape != KernelShape::transpose || !plan.dense_rows || plan.row_run > 0 || plan.block_rows < plan.row_count)
    return 0;
  const int64_t step = next_block(plan)[kSrc];
  return step > 0 && step <= kMostAhead ? step : 0;
}

/// Whether a box interleaves a few columns or deinterleaves a few rows, for which there are kernels of their own.
bool interleaves(const BoxPlan& plan) {
  const Axis &row = plan.rows[0], &col = plan.cols[0];
  const int64_t bytes = plan.piece[kSrc];
  const bool one = plan.rows.size() == 1 && plan.cols.size() == 1 && row.table < 0 && col.table < 0;
  return plan.shape == KernelShape::transpose && plan.piece[kDst] == bytes && one &&
         ((interleaved(plan.col_count, plan.row_count, bytes) && row.stride[kDst] == plan.col_count * bytes) ||
          (interleaved(plan.row_count, plan.col_count, bytes) && col.stride[kSrc] == plan.row_count * bytes));
}

/// The blocks of short rows that are written as one run: strips of about the same size, each of whole lines of the
/// source and of at most kMaxRunBytes.
void choose_run_blocks(BoxPlan& plan, int64_t row_bytes) {
  const int64_t whole = std::max<int64_t>(1, kCacheLine / plan.piece[kSrc]);
  const int64_t most = std::clamp(kMaxRunBytes / row_bytes, whole, kMaxBlockSide) / whole * whole;
  const int64_t strips = ceil_div(plan.row_count, most);
  plan.block_cols = plan.col_count;
  plan.block_rows = std::min(plan.row_count, ceil_div(ceil_div(plan.row_count, strips), whole) * whole);
  plan.ahead = plan.block_rows * plan.piece[kSrc] + kCacheLine - 1;
}

/// The most columns of a panel where the last level is slow and shared. Where rows start at lines, or values are
/// narrowed, a panel has so few columns that hardware fetches each of them ahead. Elsewhere, columns whose distance is
/// a multiple of a power of two share sets of the second level, which then holds only (its size / that power) of their
/// lines; a panel has a quarter of so many columns, as the next strip of each column is fetched too, and the
/// destination and page tables need room. Elements of 1 byte gain nothing by the first limit, and elements of 8 bytes
/// nothing by the second.
int64_t near_columns(const BoxPlan& plan, bool rows_at_lines, const Machine& machine) {
  const int64_t narrow = std::min(plan.piece[kSrc], plan.piece[kDst]);
  if (plan.pack && plan.piece[kSrc] > narrow) return kCacheLine / narrow;
  if (rows_at_lines && plan.piece[kDst] > 1) return plan.pack ? kFollowedSmall : kFollowed;
  const Axis& col = plan.cols[0];
  const int64_t power = col.stride[kSrc] & -col.stride[kSrc];
  if (power == 0 || plan.piece[kSrc] > 4) return kMaxBlockSide;
  const int64_t most = std::max(2 * kCacheLine / narrow, machine.l2 / power / 4);
  return col.extent >= most ? most : kMaxBlockSide;
}

/// The strips and panels of a box that is written past the cache; see choose_blocks().
void choose_streamed_blocks(BoxPlan& plan, int64_t piece, bool converts, const Machine& machine) {
  const int64_t src_piece = plan.piece[kSrc], row_bytes = plan.col_count * plan.piece[kDst];
  const int64_t dst_piece = plan.piece[kDst];
  const int64_t narrow = std::min(src_piece, dst_piece);
  const auto starts_at_lines = [](const Axis& a) { return a.stride[kSrc] % kCacheLine == 0; };
  const bool lines = std::ranges::all_of(plan.cols, starts_at_lines);
  plan.pack = plan.shape == KernelShape::transpose && narrow <= 2 &&
              std::min(plan.row_count * src_piece, plan.col_count * dst_piece) >= kCacheLine;
  // Small elements are transposed by tiles of one line by one or two lines, so a strip reads one line of each column.
  // The same holds for values that are converted, where columns start at lines.
  const bool resized = plan.shape == KernelShape::transpose && src_piece != dst_piece;
  const auto ends_at_lines = [](const Axis& a) { return a.stride[kDst] % kCacheLine == 0; };
  const bool rows_at_lines = std::ranges::all_of(plan.rows, ends_at_lines);
  const bool all_lines = lines && rows_at_lines && !resized;
  const bool moves = plan.shape == KernelShape::transpose && !converts && src_piece >= 4;
  const int64_t rows = plan.pack          ? kCacheLine / narrow
                       : resized && lines ? std::max<int64_t>(16, kCacheLine / src_piece)
                       : moves            ? kMovedRows
                                          : std::max<int64_t>(kRowBytes / src_piece, 4);
  const bool far = moves && plan.cols[0].stride[kSrc] >= kPage;
  // `linear`: a source without gaps, where each column begins at the end of the one before.
  const int64_t length = plan.cols[0].extent * plan.cols[0].stride[kSrc];
  const bool linear = plan.dense_rows && plan.cols[0].stride[kSrc] == plan.row_count * src_piece &&
                      plan.row_count * src_piece <= 8 * kRowBytes && length >= kLinear;
  const bool by_columns = all_lines && far && src_piece == 4 && plan.row_count >= kLongColumns * rows &&
                          row_bytes > kColumnsPanelBytes && row_bytes < kPage;
  const int64_t panel_bytes = (all_lines || far) && plan.row_count >= rows ? kLinesPanelBytes : kPanelBytes;
  int64_t panel = plan.pack ? kPanelBytes / narrow : std::max<int64_t>(128, panel_bytes / dst_piece);
  if (plan.row_count < rows) {
    // Few rows leave room for more columns.
    panel = std::min(kMaxBlockSide, panel * rows / plan.row_count);
    if (!plan.pack) panel = std::max(panel, kShortRowsPanel);
  } else if (by_columns) {
    panel = kColumnsPanelBytes / dst_piece;
  } else if (linear && moves) {
    panel = all_lines ? kLinearBlock / (plan.row_count * src_piece) : kPanelBytes / dst_piece;
  }
  const bool capped = machine.slow_shared_l3() && plan.shape == KernelShape::transpose && plan.row_count >= rows &&
                      (plan.pack || !linear);
  if (capped) panel = std::min(panel, near_columns(plan, rows_at_lines, machine));
  // All panels have about the same size, and whole lines.
  const int64_t whole = std::max<int64_t>(16, kCacheLine / (plan.pack ? narrow : dst_piece));
  const int64_t panels = std::max<int64_t>(1, (plan.col_count + (capped ? panel - 1 : panel / 2)) / panel);
  plan.block_cols =
      by_columns ? panel : std::min(kMaxBlockSide, ceil_div(ceil_div(plan.col_count, panels), whole) * whole);
  plan.block_rows = plan.pack ? std::min(kMaxBlockSide, kStrips * rows) : rows;
  if (copies_pieces(plan, converts)) return choose_copied_blocks(plan, dst_piece);
  if (plan.shape == KernelShape::copy)
    plan.block_rows = std::clamp<int64_t>((32 << 10) / (std::min(plan.col_count, panel) * piece), 4, kMaxBlockSide);
  // A block of few columns gets many rows, and a small region is one block, so that lists of offsets serve more pieces.
  if (!plan.pack)
    plan.block_rows = std::clamp((plan.col_count * piece <= kCacheLine ? kLongStrip : kSmallRegion) /
                                     (std::min(plan.col_count, plan.block_cols) * piece),
                                 plan.block_rows, kMaxBlockSide);
  else if (plan.row_count * plan.col_count * piece <= kSmallRegion)
    plan.block_rows = std::min(plan.row_count, kMaxBlockSide);
  if (linear) plan.block_rows = std::max(plan.block_rows, moves ? plan.row_count : 512 / src_piece);
  if (by_columns) {
    const int64_t strips = ceil_div(plan.row_count, kMaxBlockSide);
    plan.block_rows = ceil_div(ceil_div(plan.row_count, strips), kMovedRows) * kMovedRows;
  }
  // Short rows that follow each other are put together to one run of the destination: some rows of a large region, or
  // all rows of a small one. (For rows of one line each there are kernels of their own.)
  const bool follow =
      plan.rows.size() == 1 && plan.rows[0].stride[kDst] == row_bytes && plan.col_count <= kMaxBlockSide;
  const bool one_run = follow && row_bytes * (resized ? 2 : 1) <= kRunRow && row_bytes % kCacheLine != 0;
  const bool small = follow && (row_bytes > kCacheLine || plan.pack) && small_region(plan);
  const bool few = interleaves(plan);
  if ((one_run || small) && plan.shape == KernelShape::transpose && plan.dense_rows && !few)
    return choose_run_blocks(plan, row_bytes);
  if (one_run) plan.block_rows = few ? kMaxBlockSide : std::clamp<int64_t>((16 << 10) / row_bytes, 16, kMaxBlockSide);
  const bool tiles = plan.pack && !one_run;
  const bool together = tiles && lines && src_piece == narrow && plan.row_count >= kStripsTogether * rows;
  const int64_t strip = (tiles ? rows * (together ? kStripsTogether : 1) : plan.block_rows) * src_piece;
  // Fetching the next panel gains nothing where values are widened.
  const bool widens = src_piece < dst_piece;
  const int64_t onward = plan.shape == KernelShape::transpose && plan.dense_rows && !widens ? next_panel(plan) : 0;
  if (by_columns) {
    plan.ahead = kColumnsAhead;
  } else if (linear) {
    plan.ahead = std::min(kMostAhead, length / 8);
  } else if (onward > 0) {
    plan.ahead = onward + (lines ? 0 : kCacheLine - 1);
  } else if (plan.dense_rows && strip < plan.row_count * src_piece) {
    const bool quartered = src_piece == 4 * dst_piece;
    const int64_t strips = !tiles                     ? 1
                           : quartered                ? kQuarteredStrips
                           : machine.slow_shared_l3() ? 1
                                                      : ceil_div(kStripsAhead, plan.block_cols * strip);
    plan.ahead = strips * strip + (lines ? 0 : kCacheLine - 1);
  }
}

/// Whether the small pieces of a row lie within lines of each other on both sides, so that a block goes along the rows.
bool runs_along(const BoxPlan& plan) {
  const auto near = [&](const Axis& col) {
    return col.table < 0 && std::abs(col.stride[kSrc]) < kCacheLine &&
           (plan.dense_cols || std::abs(col.stride[kDst]) < kCacheLine);
  };
  const int64_t step = std::abs(plan.cols.back().stride[kSrc]);
  return moves_small_pieces(plan) && !plan.dense_rows && std::ranges::all_of(plan.cols, near) &&
         (plan.row_count == 1 || step <= std::abs(plan.rows[0].stride[kSrc]));
}

/// The columns of a block that goes along the rows (runs_along()): whole steps of the last axis of its columns.
int64_t columns_along(const BoxPlan& plan) {
  const int64_t inner = plan.col_count / plan.cols.back().extent;
  return std::min(plan.col_count, std::max<int64_t>(1, kMaxBlockSide / inner) * inner);
}

/// The rows (or columns) of a block of elements of 4 bits that has `other` columns (or rows). All blocks have about as
/// many, and a multiple of the elements that are moved at a time.
int64_t nibble_side(int64_t count, int64_t other) {
  constexpr int64_t kTogether = 8;
  const int64_t most = std::clamp(kMaxNibbles / other, kNibbleSide, kMaxBlockSide) / kTogether * kTogether;
  return ceil_div(ceil_div(count, ceil_div(count, most)), kTogether) * kTogether;
}

/// Chooses the blocks of a region. Through the cache they are small, so that lines stay in its first level until they
/// are complete. Past the cache a block is a *strip* of rows, a few lines of the source wide, over a *panel* of
/// columns, so that the lines of one strip are written whole while those of the next strip are fetched.
void choose_blocks(BoxPlan& plan, bool converts, bool streams, const Machine& machine) {
  const int64_t piece = std::max<int64_t>(1, std::max(plan.piece[kSrc], plan.piece[kDst]));
  if (plan.row_run > 0) return;  // plan_register_tiles() chose the blocks
  if (plan.shape == KernelShape::fill) {
    plan.block_cols = kMaxBlockSide;
    // The last column may overlap the one before it, so both must be in the same block.
    while (plan.col_count > plan.block_cols && plan.col_count % plan.block_cols == 1) --plan.block_cols;
    plan.block_rows = std::clamp<int64_t>(kCopyBlock / kCacheLine / plan.col_count, 1, kMaxBlockSide);
  } else if (plan.chunk > 0) {
    plan.block_cols = plan.col_count;
    plan.block_rows = std::clamp<int64_t>((16 << 10) / plan.chunk, 1, kMaxBlockSide);
  } else if (plan.unit_bits[kSrc] == 4 || plan.unit_bits[kDst] == 4) {
    plan.block_rows = nibble_side(plan.row_count, std::min(plan.col_count, kNibbleSide));
    plan.block_cols = nibble_side(plan.col_count, plan.block_rows);
  } else if (plan.long_runs) {
    plan.block_cols = converts  ? (streams ? kStreamedCastBlock : kCastBlock)
                      : streams ? kStreamedCopyBlock
                                : kCopyBlock;
    plan.block_rows = std::min<int64_t>(kMaxBlockSide, std::max<int64_t>(1, plan.block_cols / plan.col_count));
  } else if (runs_along(plan)) {
    plan.block_cols = std::min(columns_along(plan), kMaxBlockSide);
    plan.block_rows = std::clamp<int64_t>((16 << 10) / (piece * plan.block_cols), 1, kMaxBlockSide);
  } else if (!streams && !converts && plan.shape == KernelShape::transpose) {
    // All columns, so that the destination's lines are completed one after the other, and some lines of each.
    plan.block_cols = std::min(plan.col_count, kMaxBlockSide);
    const int64_t lines = kTransposeBlock / (kCacheLine * plan.block_cols);
    plan.block_rows = std::clamp(lines * kCacheLine, kRowBytes, kMaxBlockSide * piece) / piece;
  } else if (!streams || (!plan.dense_cols && !(copies_pieces(plan, converts) && piece >= kScatteredPiece))) {
    plan.block_rows = std::max<int64_t>(16, kRowBytes / piece);
    plan.block_cols =
        std::clamp<int64_t>((16 << 10) / (piece * std::min(plan.row_count, plan.block_rows)), 16, kMaxBlockSide);
    if (plan.col_count < plan.block_cols)
      plan.block_rows = std::clamp<int64_t>((16 << 10) / (piece * plan.col_count), 16, kMaxBlockSide);
  } else {
    choose_streamed_blocks(plan, piece, converts, machine);
  }
}

/// Whether a plan may be strided (BoxPlan::strided). The caller leaves out conversions and plans that write past the
/// cache.
bool strides(const BoxPlan& plan) {
  if (plan.rows.size() != 1 || plan.cols.size() != 1 || plan.rows[0].table >= 0 || plan.cols[0].table >= 0)
    return false;
  if (plan.shape == KernelShape::transpose)
    return !plan.pack && plan.row_run == 0 && plan.row_count > 4 && plan.col_count > 4 && !interleaves(plan);
  return (plan.shape == KernelShape::copy || plan.shape == KernelShape::gather) && !plan.long_runs && plan.chunk == 0 &&
         plan.shuffle == 1 && plan.unit_bits[kSrc] == 8 && plan.unit_bits[kDst] == 8;
}

/// Replaces blocks by those that the caller chose.
void apply(const Tuning& tuning, BoxPlan& plan) {
  const auto side = [](int64_t wanted) { return std::min(wanted, kMaxBlockSide); };
  if (tuning.panel > 0) plan.block_cols = side(tuning.panel);
  if (tuning.strip > 0) plan.block_rows = side(tuning.strip);
}

}  // namespace

BoxPlan finish(BoxPlan plan, Box box, bool converts, bool streams, const BlockRules& rules) {
  choose_blocks(plan, converts, streams, rules.machine);
  const bool tuned = streams && !plan.long_runs && plan.chunk == 0;
  if (tuned) apply(rules.tuning, plan);
  if (plan.shuffle > 1 && plan.shape == KernelShape::transpose) plan.pack = true;
  plan.strided = strides(plan) && !converts && !streams;
  plan.offset = box.offset;
  plan.loops = std::move(box.axes);
  order_loops(plan.loops);
  // A group of elements that are permuted together must not be cut by the end of a block.
  if (plan.shuffle > 1 && plan.chunk == 0)
    plan.block_rows = std::min(kMaxBlockSide, ceil_div(plan.block_rows, kGroup) * kGroup);
  plan.block_rows = std::clamp<int64_t>(plan.block_rows, 1, plan.row_count);
  plan.block_cols = std::clamp<int64_t>(plan.block_cols, 1, plan.col_count);
  if (streams && plan.ahead == 0) plan.ahead = next_columns(plan);
  if (tuned && rules.tuning.ahead > 0 && plan.ahead > 0) plan.ahead = rules.tuning.ahead;
  plan.strips = ceil_div(plan.row_count, plan.block_rows);
  plan.panels = ceil_div(plan.col_count, plan.block_cols);
  plan.blocks = plan.strips * plan.panels;
  for (const Axis& loop : plan.loops) plan.blocks *= loop.extent;
  return plan;
}

void fetch_next_block(BoxPlan& plan) {
  if (plan.row_run == 0) return;
  const Offsets next = next_block(plan);
  plan.ahead = next[kSrc];
  plan.dst_ahead = next[kDst];
}

void fetch_next_lines(BoxPlan& plan, bool beyond_second) {
  if (!plan.strided || plan.shape != KernelShape::transpose) return;
  const int64_t piece = plan.piece[kSrc], rows = kCacheLine / piece, apart = std::abs(plan.rows[0].stride[kDst]);
  if (plan.row_count <= rows) return;
  const bool whole = apart % kCacheLine == 0, near = piece >= 4 && apart <= kNearRows;
  const bool partial = piece > 1 && !whole && (piece != 4 || apart <= kNearPartialRows);
  const bool crowded = plan.col_count >= kCrowdedColumns && std::has_single_bit(static_cast<uint64_t>(apart));
  const bool always = beyond_second || near || partial, between = piece > 1 && whole && !crowded;
  plan.ahead_between = between && !always;
  if (always || between) plan.dst_ahead = rows * plan.rows[0].stride[kDst];
}

}  // namespace relayout
