// Choosing the axes of a unit, and listing its pieces.
#include "relayout/reorder/boxes/methods/program_unit.h"

#include <utility>

namespace relayout {
namespace {

/// The bytes that a unit should have: some lines, so that starting a unit costs little, but no more, so that the list
/// of its windows stays in the first-level cache. A unit of several stretches has kStretchBytes of each, so that most
/// lines are whole; its list is read from the second level.
constexpr int64_t kUnitBytes = 512, kStretchBytes = 256;
/// The most pieces of a unit, and the most bytes that a unit over gaps of padding has.
constexpr int64_t kMostPieces = 2048, kMostPadded = 16 << 10;
/// In units with gaps, at least one byte in kLeastWritten must be written.
constexpr int64_t kLeastWritten = 4;

/// How many steps of an axis a unit gets whose steps lie `stride` bytes apart: about `bytes`, and whole lines where
/// that takes at most twice as few steps.
int64_t steps_of_unit(const Axis& axis, int64_t bytes, int64_t width) {
  const int64_t stride = axis.stride[kDst], most = std::max<int64_t>(1, bytes / stride);
  if (axis.extent <= most + most / 2) return axis.extent;
  int64_t best = most, least_waste = width;
  for (int64_t steps = most; steps > most / 2; --steps) {
    const int64_t waste = (width - steps * stride % width) % width;
    if (waste >= least_waste) continue;
    best = steps;
    least_waste = waste;
  }
  return best;
}

/// Likewise, past the cache: as many as make whole lines, in at most half of the steps, unless the axis is part of a
/// unit as a whole.
int64_t steps_in_lines(const Axis& axis, int64_t bytes) {
  const int64_t stride = axis.stride[kDst], whole = kCacheLine / std::gcd(kCacheLine, stride);
  if (axis.extent < 2 * whole) return axis.extent;
  return std::max<int64_t>(1, std::min(bytes, axis.extent * stride / 2) / (stride * whole)) * whole;
}

}  // namespace

void spread(Pieces& pieces, std::size_t first, const Axis& axis, int64_t steps) {
  const std::size_t end = pieces.size();
  pieces.reserve(first + (end - first) * static_cast<std::size_t>(steps));
  for (int64_t i = 1; i < steps; ++i) {
    for (std::size_t p = first; p < end; ++p)
      pieces.push_back({pieces[p].dst + i * axis.stride[kDst], pieces[p].src + i * axis.stride[kSrc], pieces[p].bytes});
  }
}

void Unit::lengthen(int64_t longer) {
  if (!even()) return;
  for (std::size_t k = 1; k < stretches.size(); ++k) {
    if (stretches[k].begin - stretches[k - 1].begin < longer) return;
  }
  for (Stretch& stretch : stretches) stretch.end = stretch.begin + longer;
  run = longer;
  join();
}

void Unit::list() {
  for (const Axis& axis : std::exchange(listed_later, {})) spread(pieces, 0, axis, axis.extent);
  if (!std::ranges::is_sorted(pieces, {}, &Piece::dst)) std::ranges::sort(pieces, {}, &Piece::dst);
  join();
}

void Unit::add(const Axis& axis, int64_t count) {
  const int64_t dst = axis.stride[kDst], further = (count - 1) * dst;
  if (stretches.size() == 1) {
    run = stretches[0].end += further;
    listed_later.push_back(axis);
    listed_later.back().extent = count;
    return;
  }
  // Each stretch goes on by itself, and so do its pieces.
  Pieces out;
  out.reserve(pieces.size() * static_cast<std::size_t>(count));
  auto next = pieces.begin();
  for (Stretch& stretch : stretches) {
    const std::size_t begin = out.size();
    for (; next != pieces.end() && next->dst < stretch.end; ++next) out.push_back(*next);
    spread(out, begin, axis, count);
    stretch.end += further;
  }
  pieces = std::move(out);
  run += further;
  join();
}

void Unit::join() {
  if (pieces.size() > 1) {
    std::size_t last = 0;
    for (std::size_t p = 1; p < pieces.size(); ++p) {
      if (pieces[p].dst == pieces[last].end() && pieces[p].src == pieces[last].src + pieces[last].bytes)
        pieces[last].bytes += pieces[p].bytes;
      else
        pieces[++last] = pieces[p];
    }
    pieces.resize(last + 1);
  }
  if (stretches.size() == 1) return;
  std::size_t last = 0;
  for (std::size_t k = 1; k < stretches.size(); ++k) {
    if (stretches[k].begin <= stretches[last].end)
      stretches[last].end = std::max(stretches[last].end, stretches[k].end);
    else
      stretches[++last] = stretches[k];
  }
  stretches.resize(last + 1);
  const int64_t joined = stretches[0].end;
  if (std::ranges::all_of(stretches, [&](const Stretch& one) { return one.end - one.begin == joined; })) run = joined;
}

int64_t most_pieces(double most_ns) { return static_cast<int64_t>(std::min<double>(kMostPieces, most_ns / 2)); }

bool choose_axes(Unit& unit, Axes& axes, ProgramFills fills, const LineRules& rules) {
  const int64_t width = rules.machine.permuted_bytes;
  int64_t written = unit.run;
  for (auto next = nearest(axes, kDst); next != axes.end(); next = nearest(axes, kDst)) {
    const int64_t stride = next->stride[kDst];
    if (fills == ProgramFills::between && stride > unit.run &&
        stride * static_cast<int64_t>(unit.stretches.size()) <= kMostPadded)
      unit.lengthen(stride);
    const auto apart = static_cast<int64_t>(unit.stretches.size());
    if (stride < unit.run || (apart > 1 && !(stride == unit.run && unit.even()) && stride < unit.reach())) return false;
    if (stride > unit.run && (apart > 1 || fills != ProgramFills::nothing || stride > width ||
                              written * kLeastWritten < stride || width < kCacheLine))
      break;
    const int64_t bytes = apart == 1 ? kUnitBytes : std::max(kUnitBytes / apart, kStretchBytes);
    const int64_t most = most_pieces(rules.most_ns) / unit.count_pieces();
    const int64_t wanted = rules.past_cache ? steps_in_lines(*next, bytes) : steps_of_unit(*next, bytes, width);
    const int64_t steps = std::min(wanted, most);
    if (steps <= 1 && !(rules.past_cache && next->extent > 1)) break;
    const Axis taken = take(axes, next);
    if (unit.first.extent == 1) unit.first = taken;
    unit.add(taken, steps);
    written *= steps;
    if (steps < taken.extent) {
      unit.row = taken;
      unit.steps = steps;
      break;
    }
  }
  return true;
}

}  // namespace relayout
