// Growing chunks, and putting their axes together to stretches.
#include "relayout/reorder/boxes/methods/chunk.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace relayout {
namespace {

/// A stretch of the source goes on over gaps that are no longer than it is, or than kShortGap elements.
constexpr int64_t kShortGap = 32;
bool goes_on(int64_t run, int64_t step) { return step <= std::max(kMostSpread * run, run + kShortGap); }
/// Puts the axes of a chunk, the nearest on one side first, together to stretches.
class StretchBuilder {
 public:
  StretchBuilder(const Together::Footprint& own, Operand side, int64_t unit, int64_t element, bool gaps, bool computes)
      : side_(side), unit_(unit), element_(element), gaps_(gaps), computes_(computes) {
    out_.run = own.length;
    out_.bases = own.starts;
    out_.base_pitch = 0;
  }

  void add(ChunkAxis& a) {
    const int64_t stride = a.axis.stride[side_], step = std::abs(stride) / unit_, sign = stride < 0 ? -1 : 1;
    const int64_t attribute = computes_ ? sign * a.axis.stride[kAttribute] : 0;
    const bool moves = a.steps > 1 && stride != 0;
    if (moves && stride >= out_.bases.back()) fold();
    const bool goes = moves && dense_ && goes_on_by(step, a.steps, attribute);
    whole_ = whole_ && a.steps == a.axis.extent;
    if (!moves) return;
    if (sign < 0) {
      out_.first[side_] += (a.steps - 1) * a.axis.stride[side_];
      if (computes_) out_.first[kAttribute] += (a.steps - 1) * a.axis.stride[kAttribute];
    }
    if (goes) {
      a.apart[side_] = sign * step;
      return;
    }
    end_stretch();
    a.apart[side_] = sign * out_.count * out_.pitch;
    Axis axis{a.steps, {}, -1};
    axis.stride[side_] = std::abs(stride);
    axis.stride[kAttribute] = attribute;
    out_.axes.push_back(axis);
    out_.count *= a.steps;
  }

  Stretches finish(const std::vector<ChunkAxis>& axes) {
    fold();
    if (dense_) out_.pitch = out_.run;
    if (out_.base_pitch == 0) out_.base_pitch = out_.count * out_.pitch;
    out_.count *= static_cast<int64_t>(out_.bases.size());
    for (const ChunkAxis& a : axes) out_.origin += std::max<int64_t>(0, -(a.steps - 1) * a.apart[side_]);
    return std::move(out_);
  }

 private:
  /// Lets stretches go on over the steps of an axis, if these follow each other or leave gaps that may be read or
  /// written.
  bool goes_on_by(int64_t step, int64_t times, int64_t attribute) {
    const bool first = out_.run == 1 && step == 1;
    const bool continues = step == out_.run && (first || attribute == out_.run_attribute * out_.run);
    const bool near = side_ == kSrc ? goes_on(out_.run, step) : whole_ && out_.bases.size() == 1;
    const bool spreads = gaps_ && step > out_.run && near && attribute == 0 && out_.run_attribute == 0;
    if (!continues && !spreads) return false;
    if (first) out_.run_attribute = attribute;
    // The destination's padding behind the last step is written as well.
    out_.run = side_ == kDst && spreads ? times * step : out_.run + (times - 1) * step;
    return true;
  }

  /// Makes one stretch of those from each base on, if these lie evenly and follow each other.
  void fold() {
    const auto bases = static_cast<int64_t>(out_.bases.size());
    if (bases == 1 || !dense_ || !whole_) return;
    const int64_t apart = out_.bases[1];
    for (std::size_t i = 1; i < out_.bases.size(); ++i) {
      if (out_.bases[i] - out_.bases[i - 1] != apart) return;
    }
    auto starts = std::exchange(out_.bases, {0});
    if (apart / unit_ >= out_.run && goes_on_by(apart / unit_, bases, 0))
      out_.base_pitch = apart / unit_;
    else
      out_.bases = std::move(starts);
  }

  void end_stretch() {
    if (!dense_) return;
    dense_ = false;
    // Stretches are an odd number of lines apart, so that they do not compete for few sets of the cache.
    const int64_t bytes = out_.run * element_;
    out_.pitch = bytes < kCacheLine ? out_.run : (ceil_div(bytes, kCacheLine) | 1) * kCacheLine / element_;
  }

  const Operand side_;
  const int64_t unit_, element_;
  const bool gaps_;
  const bool computes_;  // with attribute values, which those of a stretch must have in common or evenly spaced
  /// Whether all axes so far are of the stretch; and whether the chunk has all their steps.
  bool dense_ = true, whole_ = true;
  Stretches out_;
};

}  // namespace

Chunk::Chunk(const Axes& axes, std::array<int64_t, 2> units, std::array<int64_t, 2> periods, const Together& together)
    : units_(units), periods_(periods), together_(&together), count_(together.most) {
  for (const Axis& axis : axes) {
    if (axis.table >= 0)
      tables_.push_back(axis);
    else
      axes_.push_back({axis, 1, {}});
  }
  for (const Operand side : {kSrc, kDst}) {
    order_[side].resize(axes_.size());
    std::iota(order_[side].begin(), order_[side].end(), std::size_t{0});
    sort_few(order_[side], [&](std::size_t i) { return std::abs(axes_[i].axis.stride[side]); });
  }
}

/// Takes steps until both sides have long stretches, then as many as a small chunk has, of at most `most` elements.
/// `goals` are in elements. With `divide`, extents are cut into equal parts.
void Chunk::grow(std::array<int64_t, 2> goals, int64_t small, int64_t most, bool divide) {
  const auto short_of = [&](Operand side) {
    return static_cast<double>(stretch(side)) / static_cast<double>(goals[side]);
  };
  while (true) {
    const Operand first = short_of(kSrc) < short_of(kDst) ? kSrc : kDst, other = first == kSrc ? kDst : kSrc;
    if ((short_of(first) < 1 && extend(first, most)) || (short_of(other) < 1 && extend(other, most))) continue;
    break;
  }
  while (extend(kDst, small) || extend(kSrc, small)) {
  }
  for (ChunkAxis& a : axes_) a.steps = rounded(a, divide);
}

Axes Chunk::loops(std::vector<Stages::Rest>& rests) const {
  Axes out = tables_;
  for (const ChunkAxis& a : axes_) {
    if (a.steps == a.axis.extent) continue;
    Axis loop = a.axis, rest = a.axis;
    loop.extent = a.axis.extent / a.steps;
    for (std::size_t k = 0; k < kOperands; ++k) {
      loop.stride[k] = a.axis.stride[k] * a.steps;
      rest.stride[k] = a.axis.stride[k] * (a.axis.extent % a.steps);
    }
    if (a.axis.extent % a.steps != 0) rests.push_back({0, loop.stride[kDst], rest.stride});
    out.push_back(loop);
  }
  erase_if(out, [&](const Axis& loop) {
    return loop.table < 0 && loop.extent == 1 &&
           std::ranges::none_of(rests, [&](const auto& r) { return r.loop_stride == loop.stride[kDst]; });
  });
  order_loops(out);
  for (Stages::Rest& rest : rests) {
    rest.loop = static_cast<std::size_t>(
        std::ranges::find_if(out, [&](const Axis& loop) { return loop.stride[kDst] == rest.loop_stride; }) -
        out.begin());
  }
  return out;
}

Stretches Chunk::lay_out(Operand side, int64_t element, bool gaps, bool computes) {
  StretchBuilder builder(together_->footprints[side], side, units_[side], element, gaps, computes);
  for (const std::size_t i : order_[side]) builder.add(axes_[i]);
  return builder.finish(axes_);
}

int64_t Chunk::written(const Stretches& out) const {
  int64_t count = out.count * out.run;
  for (const ChunkAxis& a : axes_) {
    if (a.steps != a.axis.extent) count = count / a.steps * a.axis.extent;
  }
  for (const Axis& axis : tables_) count *= axis.extent;
  return count;
}

/// Elements that follow each other on one side, or nearly.
int64_t Chunk::stretch(Operand side) const {
  int64_t out = together_->footprints[side].length;
  for (const std::size_t i : order_[side]) {
    const ChunkAxis& a = axes_[i];
    const int64_t step = std::abs(a.axis.stride[side]) / units_[side];
    if (!goes_on(out, step)) break;
    if (step != 0) out += (a.steps - 1) * step;
    if (a.steps < a.axis.extent) break;
  }
  return out;
}

/// Doubles the steps of the nearest axis that is not whole, if there is room. An axis that is far away is only good
/// for its own side's short stretches.
bool Chunk::extend(Operand side, int64_t most) {
  for (const std::size_t i : order_[side]) {
    ChunkAxis& a = axes_[i];
    if (a.steps == a.axis.extent) continue;
    const int64_t steps = std::min({a.axis.extent, 2 * a.steps, a.steps * most / count_});
    if (steps <= a.steps) return false;
    count_ = count_ / a.steps * steps;
    a.steps = steps;
    return true;
  }
  return false;
}

/// Steps that cut an axis into about equal parts, or that are whole lines of the destination, or whole periods of a
/// swizzle.
int64_t Chunk::rounded(const ChunkAxis& a, bool divide) const {
  const int64_t extent = a.axis.extent;
  if (a.steps == extent) return extent;
  if (periods_ != std::array<int64_t, 2>{1, 1}) {
    int64_t steps = 1;
    for (const Operand side : {kSrc, kDst})
      steps = std::max(steps, periods_[side] / std::gcd(periods_[side], a.axis.stride[side]));
    return std::min(extent, std::max(a.steps / steps, int64_t{1}) * steps);
  }
  if (divide) {
    int64_t steps = a.steps;
    while (extent % steps != 0) --steps;
    return steps;
  }
  const int64_t line = units_[kDst] == 1 ? 2 * kCacheLine : kCacheLine, stride = a.axis.stride[kDst];
  const int64_t unit = line / std::gcd(line, stride), equal = ceil_div(extent, ceil_div(extent, a.steps));
  return a.steps >= unit ? std::min(extent, ceil_div(equal, unit) * unit) : equal;
}

}  // namespace relayout
