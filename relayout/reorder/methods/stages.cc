// Planning conversions by stages. At a time, the cache holds a *chunk* of the tensor. A chunk is made of *stretches*,
// which are dense on the side of the wider type and are converted as a whole.
#include "relayout/reorder/methods/stages.h"

#include <bit>
#include <cstdlib>

#include "relayout/reorder/moves.h"

namespace relayout {
namespace {

/// A stretch first grows to kStretch values; with fewer than kShortest, stages are not worth it.
constexpr int64_t kStretch = 64, kShortest = 2;
/// On the other side, steps of less than kNearSteps units stay within one chunk where there is room, so that the chunk
/// completes the lines there.
constexpr int64_t kNearSteps = 2 * kCacheLine;
/// The most bytes of the larger elements that transposing a group makes.
constexpr int64_t kMostGrouped = 8;

/// A chunk of fewer than kSmallChunk bytes is too small. Then cut_for_stages() cuts an axis to a multiple of
/// kRoundSteps steps.
constexpr int64_t kSmallChunk = 4 << 10, kRoundSteps = 64;

/// How many candidates for a divisor of an extent are tried. Where none divides it, divisor_within() returns a power of
/// two, and divisor_over() the extent itself.
constexpr int64_t kTries = 32;

/// A large divisor of `extent`, at most `most`.
int64_t divisor_within(int64_t extent, int64_t most) {
  const int64_t first = ceil_div(extent, most);
  for (int64_t pieces = first; pieces < first + kTries; ++pieces) {
    if (extent % pieces == 0) return extent / pieces;
  }
  return std::min(extent & -extent, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))));
}

/// A small divisor of `extent` that is over `least`.
int64_t divisor_over(int64_t extent, int64_t least) {
  const int64_t first = extent / (least + 1);
  for (int64_t pieces = first; pieces > std::max<int64_t>(1, first - kTries); --pieces) {
    if (extent % pieces == 0) return extent / pieces;
  }
  return extent;
}

/// Splits some steps off an axis of the list and returns them. Their number divides the extent and is at most `wanted`.
/// If that would be less than half of `wanted`, it may be larger, up to `most`. If it is the whole extent, the axis is
/// removed.
Axis take_steps(Axes& axes, Axes::iterator at, int64_t wanted, int64_t most) {
  int64_t steps = divisor_within(at->extent, wanted);
  if (steps < at->extent && steps < wanted / 2) {
    const int64_t more = divisor_over(at->extent, wanted);
    if (more <= most) steps = more;
  }
  if (steps == at->extent) return take(axes, at);
  Axis taken = *at;
  *at = cut(taken, steps);
  return taken;
}

/// The axes of a chunk, those that make its stretches first.
class Chunk {
 public:
  Chunk(Axes& axes, Operand dense, int64_t dense_bytes, int64_t most)
      : axes_(axes), dense_(dense), bytes_(dense_bytes), most_(most) {}

  /// First grows a stretch, then adds the axes that complete lines of the other side, then whatever there is room for.
  void grow() {
    while (stretch_ < kStretch && add_dense(2 * kStretch / stretch_)) {
    }
    add_nearest(kNearSteps);
    most_ -= most_ / 4;
    while (add_dense(most_)) {
    }
    add_nearest(std::numeric_limits<int64_t>::max());
    const auto rest = taken_.begin() + static_cast<std::ptrdiff_t>(stretch_axes_);
    std::stable_sort(rest, taken_.end(), [&](const Axis& a, const Axis& b) {
      return std::abs(a.stride[dense_]) < std::abs(b.stride[dense_]);
    });
  }

  const Axes& taken() const { return taken_; }
  int64_t stretch() const { return stretch_; }

 private:
  /// The next axis of the stretches, or some steps of it.
  bool add_dense(int64_t wanted) {
    const auto axis = stepping(axes_, dense_, bytes_ * stretch_);
    if (axis == axes_.end()) return false;
    // All values of a stretch must have one attribute value, or attribute values that step evenly along it.
    if (stretch_axes_ > 0 && axis->stride[kAttribute] != taken_[0].stride[kAttribute] * stretch_) return false;
    if (!add(axis, wanted)) return false;
    std::rotate(taken_.begin() + static_cast<std::ptrdiff_t>(stretch_axes_), taken_.end() - 1, taken_.end());
    stretch_ *= taken_[stretch_axes_++].extent;
    return true;
  }

  void add_nearest(int64_t within) {
    const Operand other = dense_ == kSrc ? kDst : kSrc;
    while (true) {
      const auto axis = nearest(axes_, other);
      if (axis == axes_.end() || std::abs(axis->stride[other]) >= within || !add(axis, most_)) return;
    }
  }

  bool add(Axes::iterator axis, int64_t wanted) {
    const int64_t room = std::max<int64_t>(1, most_ / count_);
    const Axis steps = take_steps(axes_, axis, std::min(wanted, room), room);
    if (steps.extent == 1) return false;
    taken_.push_back(steps);
    count_ *= steps.extent;
    return true;
  }

  Axes& axes_;
  Operand dense_;
  int64_t bytes_, most_, count_ = 1, stretch_ = 1;
  Axes taken_;
  std::size_t stretch_axes_ = 0;
};

/// Looks for groups (Stages::group_rows) in a chunk of 1-byte elements. They are possible if the axis along which the
/// other side is dense has 2, 4 or 8 steps whose distance in the cache is no power of two. Transposing each group makes
/// one larger element of these steps. Returns the index of that axis in `taken`, or the size of `taken`.
std::size_t find_groups(const Axes& taken, Operand other, Stages& out) {
  int64_t run = 1;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const int64_t steps = taken[i].extent;
    if (taken[i].stride[other] == 1) {
      const bool odd = (run & (run - 1)) != 0, even = (steps & (steps - 1)) == 0;
      if (!odd || !even || steps > kMostGrouped || steps * run > Stages::kMaxGroup) break;
      out.group_rows = steps;
      out.group_cols = run;
      return i;
    }
    run *= steps;
  }
  return taken.size();
}

}  // namespace

std::optional<BoxPlan> plan_stages(const Box& box, const ConvertedTypes& types, bool streams) {
  const bool last = units(types.dst) > units(types.src) || types.sums;
  const DType between = last ? types.src : types.dst;
  const Operand dense = last ? kDst : kSrc, in_cache = last ? kSrc : kDst;
  Planned<Stages> out{};
  Loops& loops = out.loops;
  Stages& method = out.method;
  loops.loops = box.axes;
  Chunk chunk(loops.loops, dense, units(last ? types.dst : types.src), Stages::kMaxBytes / units(between));
  chunk.grow();
  if (chunk.stretch() < kShortest) return std::nullopt;
  Box stretches, moved;
  const std::size_t grouped = units(between) == 1 ? find_groups(chunk.taken(), in_cache, method) : 0;
  int64_t at = units(between);
  for (const Axis& axis : chunk.taken()) {
    stretches.axes.push_back(axis);
    stretches.axes.back().stride[in_cache] = at;
    moved.axes.push_back(axis);
    moved.axes.back().stride[dense] = at;
    moved.axes.back().stride[kAttribute] = 0;
    at *= axis.extent;
  }
  if (method.group_rows > 0) {
    for (std::size_t i = 0; i < grouped; ++i) moved.axes[i].stride[dense] *= method.group_rows;
    moved.axes[grouped].stride[dense] = 1;
  }
  method.bytes = at;
  method.converts_last = last;
  loops.offset = box.offset;
  loops.elements = count_elements(box);
  loops.past_cache = streams && !types.sums;
  loops.blocks = loops.elements / count_elements(moved);
  simplify(stretches);
  simplify(moved);
  auto left = cut_for_tiles(moved, units(between));
  const auto convert = [&] { return convert_runs(stretches, types, false); };
  auto& stages = method.stages;
  stages.reserve(Stages::kMaxStages);
  if (!last) stages.push_back(convert());
  stages.push_back(plan_move(std::move(moved), between, false, {}));
  if (left) stages.push_back(plan_move(*std::move(left), between, false, {}));
  if (last) stages.push_back(convert());
  // While one chunk is converted, the source of a later chunk is fetched.
  if (!loops.loops.empty() && loops.loops.back().stride[kSrc] != 0) {
    const int64_t step = loops.loops.back().stride[kSrc];
    stages.front().ahead = step * ceil_div(kRunsAhead, std::abs(step));
  }
  BoxPlan plan(std::move(out));
  plan.describe(plan.as<Stages>()->moving());
  return plan;
}

std::optional<Box> cut_for_stages(Box& box, const BoxPlan& plan) {
  const auto* stages = plan.as<Stages>();
  if (!stages || stages->bytes >= kSmallChunk) return std::nullopt;
  const auto uneven = [](const Axis& a) {
    return a.table < 0 && a.extent >= 4 * kRoundSteps && a.extent % kRoundSteps != 0;
  };
  auto longest = box.axes.end();
  for (auto axis = box.axes.begin(); axis != box.axes.end(); ++axis) {
    if (uneven(*axis) && (longest == box.axes.end() || axis->extent > longest->extent)) longest = axis;
  }
  if (longest == box.axes.end()) return std::nullopt;
  return cut_off(box, static_cast<std::size_t>(longest - box.axes.begin()),
                 longest->extent / kRoundSteps * kRoundSteps);
}

}  // namespace relayout
