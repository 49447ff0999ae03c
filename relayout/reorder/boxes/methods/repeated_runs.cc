// Repeated pieces: which runs are worth it, and their blocks.
#include "relayout/reorder/boxes/methods/repeated_runs.h"

#include <bit>

#include "relayout/reorder/boxes/methods/long_copy.h"

namespace relayout {
namespace {

/// Bytes: the shortest runs of pieces that fill a register, where they follow each other in the source, so that shorter
/// runs are made by a transposition, and where they do not.
constexpr int64_t kLeastOfDense = kRowBytes, kLeastApart = kCacheLine;
/// The same for other pieces, whose repetitions are first put together in the cache: those that are smaller than a
/// register, and larger ones, which take fewer copies.
constexpr int64_t kLeastOfSmall = kLongRun, kLeastOfLarge = kPage;

}  // namespace

std::optional<Planned<RepeatedRuns>> plan_repeated_pieces(const Box& box, int64_t element, bool streams) {
  Box rest = box;
  const int64_t piece = take(rest.axes, find_run(rest.axes, element, element)).extent * element;
  const auto repeats = find_run(rest.axes, 0, piece);
  if (repeats == rest.axes.end() || piece > kCacheLine) return {};
  const Axis run = take(rest.axes, repeats);
  const bool in_registers = piece <= kRegister && std::has_single_bit(static_cast<uint64_t>(piece));
  const bool dense = stepping(rest.axes, kSrc, piece) != rest.axes.end();
  const int64_t least = in_registers         ? (dense ? kLeastOfDense : kLeastApart)
                        : piece <= kRegister ? kLeastOfSmall
                                             : kLeastOfLarge;
  if (run.extent * piece < least) return {};
  Planned<RepeatedRuns> out{loops_of_runs(run, rest.axes), {}};
  Loops& loops = out.loops;
  loops.elements = count_elements(box);
  loops.piece = {piece, piece};
  // Blocks end at lines where runs begin at them, and short runs are put together in the cache.
  const int64_t bytes = loops.bytes_along_dst(), most = streams && bytes < kLongRun ? kInL2 : 2 * kInL2;
  loops.along_dst.block = most / piece / kCacheLine * kCacheLine;
  loops.along_src.block = std::clamp<int64_t>(most / bytes, 1, kMaxBlockSide);
  loops.past_cache = streams;
  if (!streams) note_strides(loops);
  finish(loops, std::move(rest));
  return out;
}

}  // namespace relayout
