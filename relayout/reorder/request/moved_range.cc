// Which indices are moved: a few more than there are, where padding on both sides or the rest of the source's memory
// allows it and that makes fewer boxes.
#include <algorithm>
#include <cstdlib>

#include "relayout/reorder/boxes/policy.h"
#include "relayout/reorder/refine/refine_dim.h"
#include "relayout/reorder/request/request.h"
#include "relayout/reorder/request/shared_lines.h"

namespace relayout {
namespace {

/// Limits of reading past the end of a dim of the source (past_source()). The destination must have kMinReadPast
/// bytes, because a smaller one would only get more boxes. No dim may have more than kMaxReadPast elements, because
/// tables of offsets are made a second time.
constexpr int64_t kMinReadPast = 256 << 10, kMaxReadPast = 1 << 20;
/// Reading past the end must save more than this factor, as the steps that would leave the source's memory are moved by
/// boxes of their own.
constexpr double kPastCost = 1.12;
/// The steps that get boxes of their own may be at most one in kRestShare of the dim. Their boxes are fast only if the
/// steps are at least kRowBytes bytes apart on both sides.
constexpr int64_t kRestShare = 8;
/// At least the largest offset that indices 0..end-1 of dim d add, where no stride is negative.
int64_t largest_offset(const Layout& layout, int d, int64_t end) {
  const auto digits = layout.digits(d);
  int64_t place = 1, offset = 0;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const int64_t steps = ceil_div(end, place);
    offset += ((k + 1 < digits.size() ? std::min(steps, digits[k].extent) : steps) - 1) * digits[k].stride;
    place *= digits[k].extent;
  }
  return offset;
}

/// Whether everything between elements may be read, and no dim is too long.
bool readable(const Layout& src) {
  return without_gaps(src) && std::ranges::all_of(src.dims(), [](int64_t extent) { return extent <= kMaxReadPast; });
}

}  // namespace

Dims moved_dims(const Request& request, bool past_source) {
  Dims moved = request.src.layout.dims();
  if (request.converts || request.packed() || request.swizzled() ||
      request.attributes.padding.kind != Padding::Kind::value)
    return moved;
  for (int d = 0; d < moved.size(); ++d) {
    const int64_t capacity = request.dst.layout.capacity(d), extent = moved[d];
    const int64_t most = past_source ? capacity : std::min(request.src.layout.capacity(d), capacity);
    if (most <= extent) continue;
    const Layout src = request.src.layout.canonical(), dst = request.dst.layout.canonical();
    const DimRefiner refiner(src, dst, d, {}, 0, extent);
    // One more range of indices takes about a quarter of the time that the largest takes, mostly for lines that are
    // read once more.
    constexpr double kRange = 0.25;
    double least = 1 + kRange * static_cast<double>(refiner.ranges() - 1);
    for (const Level& level : refiner.levels()) {
      const int64_t end = ceil_div(extent, level.place) * level.place;
      if (end > most) continue;
      double time = static_cast<double>(end) / static_cast<double>(extent) - kRange;
      refiner.cut(0, end, [&](int64_t, std::size_t, int64_t) { time += kRange; });
      if (end > request.src.layout.capacity(d)) time *= kPastCost;
      if (time >= least) continue;
      least = time;
      moved[d] = end;
    }
  }
  return moved;
}

std::pair<Dims, Dims> past_source(const Request& request, const Dims& moved) {
  const std::pair<Dims, Dims> none{moved, moved};
  // For larger elements, separate boxes for the tails take no longer than moving the additional elements.
  if ((bits(request.src.dtype) != 8 && bits(request.src.dtype) != 16) || request.dst.span_bytes() < kMinReadPast ||
      !request.dst.layout.padded())
    return none;
  Dims end = moved_dims(request, true), rest = moved;
  if (end == moved || !readable(request.src.layout)) return none;
  const Layout src = request.src.layout.canonical(), dst = request.dst.layout.canonical();
  int64_t over = src.offset0() - (request.src.layout.span() - 1);
  for (int d = 0; d < end.size(); ++d) over += largest_offset(src, d, end[d]);
  if (over <= 0) return {end, moved};
  // Only the last step of some dim can read past the end of the memory. So the last step of one dim is left out: of the
  // dim with the largest steps in the source.
  int last = -1;
  int64_t cut = 0, farthest = 0;
  for (int d = 0; d < end.size(); ++d) {
    if (end[d] != moved[d] || end[d] > request.src.layout.capacity(d)) continue;
    const DimRefiner refiner(src, dst, d, {}, 0, moved[d]);
    const Level& top = refiner.levels().back();
    const int64_t before = (moved[d] - 1) / top.place * top.place;
    if (!top.affine || (moved[d] - before) * kRestShare > moved[d]) continue;
    const Offsets step = refiner.at(top.place);
    if (largest_offset(src, d, moved[d]) - largest_offset(src, d, before) < over || step[kSrc] <= farthest ||
        step[kSrc] < kRowBytes || std::abs(step[kDst]) < kRowBytes)
      continue;
    last = d;
    cut = before;
    farthest = step[kSrc];
  }
  if (last < 0) return none;
  end[last] = cut;
  rest = Dims(end.size(), 0);
  rest[last] = cut;
  return {end, rest};
}

}  // namespace relayout
