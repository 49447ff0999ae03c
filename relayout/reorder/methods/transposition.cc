// Transpositions: which regions are worth one, their blocks, and what they take.
#include "relayout/reorder/methods/transposition.h"

#include <array>
#include <bit>
#include <cstdlib>

#include "relayout/reorder/methods/streamed_blocks.h"

namespace relayout {
namespace {

/// Whether the rows and columns chosen for a transposition make a block that is worth a loop around it, and whether
/// they are long enough for the kernels.
bool fills_tiles(const Loops& region) {
  const int64_t piece = region.piece[kSrc], rows = region.along_src.count, cols = region.along_dst.count;
  if (rows * cols * piece < kRowBytes && region.elements > rows * cols) return false;
  return (rows * piece >= kRegister && cols > 1) || (cols * piece >= kRegister && rows > 1);
}

/// The share of a kernel's rate that is left where its rows do not fill all tiles of registers.
double full_tiles(const Loops& loops, int64_t piece) {
  const int64_t tile = std::max<int64_t>(1, kRegister / piece), rows = loops.along_src.count;
  return static_cast<double>(rows) / static_cast<double>(ceil_div(rows, tile) * tile);
}

bool starts_anywhere(const Axes& axes, Operand side) {
  return std::ranges::any_of(axes, [&](const Axis& a) { return a.stride[side] % kCacheLine != 0; });
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

bool scatters_rows(const Loops& loops) {
  // (Rows of a half or a quarter of a line that follow each other make lines together.)
  const int64_t bytes = loops.bytes_along_dst();
  const bool makes_lines = bytes >= kRegister && kCacheLine % bytes == 0;
  const bool follow =
      loops.along_src.axes[0].stride[kDst] == bytes && (loops.along_src.axes.size() == 1 || makes_lines);
  return (bytes < kLongRun && bytes % kCacheLine != 0 && !follow) || in_small_blocks(loops);
}

double rate(const Loops& loops, const Transposition&) {
  /// Bytes a nanosecond by log2 of an element's bytes. Rows and columns that lie multiples of kSameSets bytes apart
  /// compete for few sets of the first-level cache.
  constexpr std::array kRates{50.0, 60.0, 88.0, 75.0};
  constexpr int64_t kSameSets = 1024;
  const int64_t piece = loops.piece[kSrc], row_bytes = loops.bytes_along_dst();
  double out = kRates[static_cast<std::size_t>(std::countr_zero(static_cast<uint64_t>(piece)))];
  if (std::min(loops.along_src.count, loops.along_dst.count) > kFew) {
    out *= full_tiles(loops, piece);
    // The kernel that takes lists moves squares of whole lines, which rows of less than a line do not fill.
    if (!loops.strided && piece >= 4 && loops.along_src.count * piece < kCacheLine) out *= 0.5;
  }
  if (loops.along_dst.axes[0].stride[kSrc] % kSameSets == 0 && loops.along_src.axes[0].stride[kDst] % kSameSets == 0)
    out *= 0.6;
  // Rows of less than 32 bytes that do not follow each other leave most of a store unused.
  const bool rows_follow = loops.along_src.axes[0].stride[kDst] == row_bytes;
  return out * (rows_follow ? 1 : std::min(1.0, static_cast<double>(row_bytes) / 32));
}

/// How many times as long as its bytes alone a transposition past the cache takes that leaves parts of lines.
constexpr double kScraps = 6;

double streamed(const Loops& loops, const Transposition&, const Traffic& traffic, const Bytes& bytes) {
  const int64_t piece = loops.piece[kDst], row_bytes = loops.bytes_along_dst();
  const double memory = traffic.memory(bytes);
  if (row_bytes < kCacheLine && run_of_rows(loops) % kCacheLine != 0 && run_of_rows(loops) < kLongRunOfRows)
    return kScraps * memory;
  if (interleaves(loops)) return 1.05 * memory;
  const bool small = piece < 4;
  const bool halves = row_bytes == kCacheLine / 2 && loops.along_src.axes[0].stride[kDst] == row_bytes;
  // Rows (or columns) that lie at least a page apart need an entry of the TLB each.
  const bool far = std::abs(loops.along_dst.axes[0].stride[kSrc]) >= kPage &&
                   std::abs(loops.along_src.axes[0].stride[kDst]) >= kPage;
  const bool anywhere = (starts_anywhere(loops.along_src.axes, kDst) && !halves) ||
                        (small && starts_anywhere(loops.along_dst.axes, kSrc));
  return memory * (small ? traffic.prices.small : traffic.prices.large)[far][anywhere] /
         (small ? full_tiles(loops, piece) : 1);
}

}  // namespace relayout
