// Copied pieces: their region, and how many places are read and written side by side.
#include "relayout/reorder/boxes/methods/copied_pieces.h"

#include "relayout/reorder/boxes/methods/streamed_blocks.h"

namespace relayout {
namespace {

/// Adds rows to a small region of pieces that are copied through the cache until it has kEnoughBlock bytes. Boxes of
/// tiles are left as they are, because the blocks of tiles are started once for all tiles.
void grow_region(Loops& region, Axes& axes) {
  const int64_t bytes = region.along_src.count * region.bytes_along_dst();
  if (bytes * count_elements(axes) <= kHalfL1) return;
  while (region.along_src.count * region.bytes_along_dst() < kEnoughBlock) {
    const auto next = shortest(axes);
    if (next == axes.end()) return;
    region.along_src.count *= next->extent;
    region.along_src.axes.push_back(take(axes, next));
    region.along_src.dense = false;
  }
}

/// Chooses blocks for pieces that are copied past the cache. If pieces divide lines or are whole lines, and rows are
/// fewer than columns, a block has all rows, so that the source is read in its own order; with more rows, it has a few
/// lines of each row. For other pieces, a block has long rows, and as many as use up the source's lines or are copied
/// from several places side by side.
void choose_copied_blocks(Loops& loops) {
  /// Lines of each row of a block whose rows are dense in the source; rows that are copied side by side elsewhere, so
  /// that the reads of several places overlap; and the most columns of a block of pieces of at most a line.
  constexpr int64_t kFewLines = 16, kSide = 8, kBesideCols = 512;
  const int64_t piece = loops.piece[kDst];
  // Limits a side so that the lists of where rows and columns start stay in the first-level cache.
  const auto side = [&](int64_t other) {
    const bool pairs = piece == kCacheLine / 2 && other == 2;
    const int64_t most = pairs ? kMaxBlockSide : std::min(kMaxBlockSide, std::max<int64_t>(16, 4 * piece));
    return std::clamp<int64_t>((loops.along_src.dense ? kInL2 : 2 * kInL2) / (other * piece), 16, most);
  };
  const bool lines = kCacheLine % piece == 0 || piece % kCacheLine == 0;
  const int64_t runs = std::max<int64_t>(1, kCacheLine / piece);  // of a line
  if (piece <= kCacheLine && lines && loops.along_src.dense && loops.along_dst.dense &&
      loops.along_src.count <= loops.along_dst.count) {
    loops.along_src.block = std::min(loops.along_src.count, kMaxBesideRows);
    loops.along_dst.block = std::clamp<int64_t>(kInL2 / (loops.along_src.block * piece), 16, kBesideCols) / runs * runs;
  } else if (lines && loops.along_src.dense && loops.along_src.count <= loops.along_dst.count) {
    loops.along_src.block = std::min(loops.along_src.count, kMaxBlockSide);
    loops.along_dst.block = side(loops.along_src.block);
  } else {
    const int64_t rows =
        loops.along_src.dense ? std::min(loops.along_src.count, std::max<int64_t>(4, kRowBytes / piece)) : 1;
    loops.along_dst.block =
        std::min(loops.along_dst.count, lines && loops.along_src.dense ? kFewLines * kCacheLine / piece : side(rows));
    // Pieces of one line each are copied in the order of the source, in long stretches.
    loops.along_src.block = piece == kCacheLine && loops.along_src.dense ? kMaxBlockSide
                            : loops.along_src.dense                      ? side(loops.along_dst.block)
                                                    : ceil_div(side(loops.along_dst.block), kSide) * kSide;
  }
}

}  // namespace

Planned<CopiedPieces> plan_copied_pieces(Loops region, Box rest, bool streams, const BlockRules& rules) {
  // Where steps are far apart, or there are only a few, more axes in the block save loops around it.
  if (!streams) {
    add_far_steps(region, rest.axes);
    grow_region(region, rest.axes);
  }
  const int64_t piece = region.piece[kDst];
  if (!streams || (!region.along_dst.dense && piece < kScatteredPiece))
    choose_square_blocks(region);
  else if (piece < kRegister)
    choose_streamed_blocks(region, {StreamedBox::Kind::copies}, rules.machine);
  else
    choose_copied_blocks(region);
  if (streams) {
    apply_blocks(rules.tuning, region);
    apply_ahead(rules.tuning, region);
    write_past_cache(region, piece >= kScatteredPiece);
  } else {
    note_strides(region);
  }
  finish(region, std::move(rest));
  return {std::move(region), {}};
}

}  // namespace relayout
