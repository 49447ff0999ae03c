// Transpositions: which regions are worth one, their blocks, and what they take.
#include "relayout/reorder/boxes/methods/transposition.h"

#include <bit>
#include <cstdlib>

#include "relayout/reorder/boxes/methods/streamed_blocks.h"

namespace relayout {
namespace {

/// Whether the rows and columns chosen for a transposition are long enough for the kernels.
bool fills_tiles(const Loops& region) {
  const int64_t piece = region.piece[kSrc], rows = region.along_src.count, cols = region.along_dst.count;
  return (rows * piece >= kRegister && cols > 1) || (cols * piece >= kRegister && rows > 1);
}

}  // namespace

std::optional<Planned<Transposition>> plan_transposition(const Loops& region, const Box& rest, bool streams,
                                                         const BlockRules& rules) {
  if (!fills_tiles(region)) return {};
  Planned<Transposition> out{region, {}};
  Loops& loops = out.loops;
  if (streams) {
    out.method.pack = choose_streamed_blocks(loops, {StreamedBox::Kind::transposes}, rules.machine);
    apply_blocks(rules.tuning, loops);
  } else {
    // All columns, so that the destination's lines are completed one after the other, and some lines of each.
    loops.along_dst.block = std::min(loops.along_dst.count, kMaxBlockSide);
    const int64_t piece = loops.piece[kSrc], lines = kOpenLines / (kCacheLine * loops.along_dst.block);
    loops.along_src.block = std::clamp(lines * kCacheLine, kRowBytes, kMaxBlockSide * piece) / piece;
    if (loops.along_src.count > kFew && loops.along_dst.count > kFew && !interleaves(loops)) note_strides(loops);
  }
  out.method.joins = finish_transposition(loops, rest, out.method.pack, streams, rules.tuning);
  return out;
}

bool finish_transposition(Loops& loops, Box rest, bool packs, bool streams, const Tuning& tuning) {
  finish(loops, std::move(rest));
  if (!streams) return false;
  if (loops.ahead == 0) loops.ahead = next_columns(loops);
  apply_ahead(tuning, loops);
  write_past_cache(loops);
  const auto even = [](const Axis& a) { return a.stride[kAttribute] == 0; };
  const int64_t row_bytes = loops.bytes_along_dst();
  return loops.past_cache && row_bytes % kCacheLine == 0 && loops.along_src.axes.size() == 1 &&
         loops.along_src.axes[0].stride[kDst] == row_bytes && even(loops.along_src.axes[0]) &&
         std::ranges::all_of(loops.along_dst.axes, even) &&
         (loops.along_dst.blocks == 1 || loops.along_dst.block * loops.piece[kDst] % kCacheLine == 0) &&
         (loops.along_src.blocks * loops.along_dst.blocks > 1 || !small_region(loops, packs));
}

void fetch_next_lines(const Loops& loops, Transposition& method, bool beyond_second) {
  // Rows at most kLongRun bytes apart in the destination are near each other; for elements of 4 bytes whose rows do not
  // start at lines, the limit is twice that. From kEnoughSteps columns on, rows that lie a power of two apart compete
  // for few sets of the cache, so that lines fetched ahead are displaced before they are used.
  if (!loops.strided) return;
  const int64_t piece = loops.piece[kSrc], rows = kCacheLine / piece,
                apart = std::abs(loops.along_src.axes[0].stride[kDst]);
  if (loops.along_src.count <= rows) return;
  const bool whole = apart % kCacheLine == 0, near = piece >= 4 && apart <= kLongRun;
  const bool partial = piece > 1 && !whole && (piece != 4 || apart <= 2 * kLongRun);
  const bool crowded = loops.along_dst.count >= kEnoughSteps && std::has_single_bit(static_cast<uint64_t>(apart));
  const bool always = beyond_second || near || partial, between = piece > 1 && whole && !crowded;
  method.ahead_between = between && !always;
  if (always || between) method.dst_ahead = rows * loops.along_src.axes[0].stride[kDst];
}

}  // namespace relayout
