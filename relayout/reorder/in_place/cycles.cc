// In-place permutations of runs: plain cycles, and steps before or after them that make the runs of the cycles longer.
//
// Start at Permuter::steps(), which says what is tried in which order.
#include <numeric>
#include <tuple>

#include "relayout/reorder/in_place/steps.h"

namespace relayout {
namespace {

/// The most bytes of a run that staging panels makes: longer runs would not move faster.
constexpr int64_t kMaxRun = 1 << 10;

int64_t span_of(std::span<const Axis> axes, Operand side) {
  int64_t out = 0;
  for (const Axis& axis : axes) out += axis.reach(side);
  return out;
}

/// Whether the stride of each axis is at least what the axes of smaller strides span, so that no two indices have the
/// same offset. With `dense`, it must be exactly that, so that there are no gaps.
bool nested(std::span<const Axis> axes, Operand side, int64_t unit, bool dense) {
  std::vector<Axis> sorted(axes.begin(), axes.end());
  std::ranges::sort(sorted, {}, [&](const Axis& axis) { return axis.stride[side]; });
  for (const Axis& axis : sorted) {
    if (axis.stride[side] < unit || (dense && axis.stride[side] > unit)) return false;
    unit += axis.reach(side);
  }
  return true;
}

std::vector<CycleStep::SideAxis> side_axes(std::span<const Axis> axes, Operand side) {
  std::vector<CycleStep::SideAxis> out;
  int64_t value = count(axes);
  for (const Axis& axis : axes) {
    value /= axis.extent;
    out.push_back({axis.extent, axis.stride[side], value});
  }
  std::ranges::sort(out, std::ranges::greater(), &CycleStep::SideAxis::stride);
  return out;
}

/// Sets the members of a step that follow from its axes and its unit.
void finish(CycleStep& step) {
  erase_if(step.axes, [](const Axis& axis) { return axis.extent == 1; });
  std::ranges::sort(step.axes, std::ranges::greater(), [](const Axis& axis) { return axis.stride[kDst]; });
  step.units = count(step.axes);
  step.src_axes = side_axes(step.axes, kSrc);
  step.dst_axes = side_axes(step.axes, kDst);
  step.closed = step.src_offset == step.dst_offset && nested(step.axes, kSrc, step.unit, true) &&
                nested(step.axes, kDst, step.unit, true);
}

/// Takes the outer axes out of a box as loops: those that step equally far on both sides, and farther than all other
/// axes together reach.
void peel(Box& box, int64_t element, std::vector<InPlaceLoop>& loops) {
  while (!box.axes.empty()) {
    const Axis outer = box.axes.front();
    const std::span rest = std::span(box.axes).subspan(1);
    const int64_t begin = std::min(box.offset[kSrc], box.offset[kDst]);
    const int64_t end =
        std::max(box.offset[kSrc] + span_of(rest, kSrc), box.offset[kDst] + span_of(rest, kDst)) + element;
    if (rest.empty() || outer.stride[kSrc] != outer.stride[kDst] || outer.stride[kDst] < end - begin) break;
    loops.push_back({outer.extent, outer.stride[kSrc], outer.stride[kDst]});
    box.axes.erase(box.axes.begin());
  }
}

/// The cycles of a box: outer axes are loops, and the longest run that both sides have is the unit. Nothing where two
/// indices can have one offset.
std::optional<CycleStep> plain_cycles(Box box, std::vector<InPlaceLoop> loops, int64_t element) {
  simplify(box);
  CycleStep step;
  step.loops = std::move(loops);
  peel(box, element, step.loops);
  int64_t run = element;
  erase_if(box.axes, [&](const Axis& axis) {
    const bool is_run = axis.stride[kSrc] == element && axis.stride[kDst] == element;
    if (is_run) run *= axis.extent;
    return is_run;
  });
  // Units of both sides must start at multiples of the unit, so that no unit of the source overlaps two of the
  // destination.
  step.unit = std::gcd(run, box.offset[kSrc] - box.offset[kDst]);
  for (const Axis& axis : box.axes) step.unit = std::gcd(std::gcd(step.unit, axis.stride[kSrc]), axis.stride[kDst]);
  if (step.unit < run) box.axes.push_back({run / step.unit, {step.unit, step.unit, 0}, -1});
  step.axes = std::move(box.axes);
  step.src_offset = box.offset[kSrc];
  step.dst_offset = box.offset[kDst];
  if (!nested(step.axes, kSrc, step.unit, false) || !nested(step.axes, kDst, step.unit, false)) return std::nullopt;
  finish(step);
  return step;
}

/// Strides of the dims of a plan in bytes, on both sides.
struct PlanDims {
  Dims dims, src, dst;

  void add(int64_t extent, int64_t src_stride, int64_t dst_stride) {
    dims.push_back(extent);
    src.push_back(src_stride);
    dst.push_back(dst_stride);
  }
  void add(int64_t extent, int64_t stride, int64_t other, Operand side) {
    side == kSrc ? add(extent, stride, other) : add(extent, other, stride);
  }
  Plan make(int64_t element, DType dtype) const {
    Dims a = src, b = dst;
    for (int64_t& stride : a) stride /= element;
    for (int64_t& stride : b) stride /= element;
    return Plan::make({Layout::strided(dims, a), dtype}, {Layout::strided(dims, b), dtype});
  }
};

/// Cycles are slow where units are short. So Panels moves several units together, by way of a third arrangement of the
/// buffer between those of the source and the destination. One side is cut into windows. A staged step brings together,
/// within each window, `run` units that are neighbours on the other side. The cycles then move them as one run. (If the
/// windows are the destination's, the cycles come first.) If `run` does not divide the extent of the axis along which
/// the units are neighbours, the rest of that axis lies behind all windows, and a merge step moves it to its place.
class Panels {
 public:
  /// `windowed`: the side whose windows are staged. The cycles must be closed (CycleStep::closed).
  Panels(const CycleStep& cycles, Operand windowed, int64_t max_scratch)
      : cycles_(cycles), side_(windowed), other_(windowed == kSrc ? kDst : kSrc), max_scratch_(max_scratch) {
    const auto near = std::ranges::find_if(cycles.axes, [&](const Axis& a) { return a.stride[other_] == cycles.unit; });
    if (near == cycles.axes.end() || near->stride[side_] == cycles.unit) return;
    near_ = *near;
    const int64_t most = std::min(max_scratch / near_.stride[side_], kMaxRun / cycles.unit);
    run_ = largest_divisor(near_.extent, most);
    const bool outermost = near_.stride[side_] * near_.extent == cycles.units * cycles.unit;
    if (run_ * cycles.unit >= kCacheLine || !outermost) return;
    // The best arrangement has long runs (more than kLongMove is no better) and the fewest steps of the axis to merge.
    const auto worth = [&](int64_t run) {
      return std::pair(std::min(run * cycles.unit, kLongMove), -(near_.extent % run));
    };
    const int64_t shortest = run_, row_bytes = cycles.units / near_.extent * cycles.unit;
    for (int64_t run = std::min(most, near_.extent); run > shortest; --run) {
      if (near_.extent % run * row_bytes <= max_scratch && worth(run) > worth(run_)) run_ = run;
    }
  }

  /// How many units are moved as one; 1 where there is no such arrangement.
  int64_t run() const { return run_; }
  int64_t run_bytes() const { return run_ * cycles_.unit; }
  /// Compares two arrangements. The better one has longer runs (beyond kLongMove all count alike); if they are equal,
  /// it needs no merge; if they are equal in that too, it has smaller windows.
  bool better_than(const Panels& other) const {
    const auto worth = [](const Panels& p) {
      return std::tuple(std::min(p.run_bytes(), kLongMove), p.near_.extent % p.run_ == 0,
                        -p.near_.stride[p.side_] * p.run_);
    };
    return worth(*this) >= worth(other);
  }

  std::vector<InPlaceStep> steps(int64_t element, DType dtype) const {
    const int64_t rest = near_.extent % run_;
    CycleStep whole = cycles_;  // all units but those of the rest
    for (Axis& axis : whole.axes) {
      if (axis.stride[other_] == cycles_.unit) {
        axis.extent -= rest;
      } else {
        axis.stride[other_] = axis.stride[other_] / near_.extent * (near_.extent - rest);
      }
    }
    finish(whole);
    std::vector<InPlaceStep> out{staged(whole, element, dtype), cycles(whole)};
    if (rest > 0) out.push_back(merge(rest, element, dtype));
    if (side_ == kDst) std::ranges::reverse(out);
    return out;
  }

 private:
  CycleStep cycles(CycleStep step) const {
    for (Axis& axis : step.axes) {
      if (axis.stride[other_] == step.unit) axis.extent /= run_, axis.stride[other_] *= run_;
      if (axis.stride[side_] <= near_.stride[side_]) axis.stride[side_] *= run_;
    }
    step.unit *= run_;
    finish(step);
    return step;
  }

  StagedStep staged(const CycleStep& whole, int64_t element, DType dtype) const {
    StagedStep step;
    step.loops = whole.loops;
    step.src_offset = step.dst_offset = whole.src_offset;
    step.independent = true;
    const int64_t window = near_.stride[side_] * run_, windows = whole.units * whole.unit / window;
    const int64_t target = std::min(kStagedTarget, max_scratch_);
    const int64_t together = largest_divisor(windows, std::max<int64_t>(1, target / window));
    if (together < windows) step.loops.push_back({windows / together, window * together, window * together});
    // The axes of `together` windows, with strides on the windowed side and in the third arrangement.
    PlanDims dims;
    dims.add(together, window, window);
    dims.add(run_, near_.stride[side_], whole.unit, side_);
    dims.add(whole.unit / element, element, element);
    for (const Axis& axis : whole.axes) {
      if (axis.stride[side_] < near_.stride[side_])
        dims.add(axis.extent, axis.stride[side_], axis.stride[side_] * run_, side_);
    }
    step.plans.push_back(dims.make(element, dtype));
    return step;
  }

  /// Merges the rest of the axis. On the windowed side it lies behind all windows, on the other side at the ends of the
  /// rows.
  MergeStep merge(int64_t rest, int64_t element, DType dtype) const {
    MergeStep step;
    step.loops = cycles_.loops;
    step.offset = cycles_.src_offset;
    step.rows = cycles_.units / near_.extent;
    step.row_bytes = (near_.extent - rest) * cycles_.unit;
    step.tail_bytes = rest * cycles_.unit;
    step.split = side_ == kDst;
    PlanDims dims;
    dims.add(rest, near_.stride[side_], cycles_.unit, side_);
    dims.add(cycles_.unit / element, element, element);
    for (const Axis& axis : cycles_.axes) {
      if (axis.stride[other_] != cycles_.unit)
        dims.add(axis.extent, axis.stride[side_], axis.stride[other_] / near_.extent * rest, side_);
    }
    step.tails.push_back(dims.make(element, dtype));
    return step;
  }

  const CycleStep& cycles_;
  Operand side_, other_;
  int64_t max_scratch_;
  Axis near_;
  int64_t run_ = 1;
};

/// Chooses the steps of one permutation.
class Permuter {
 public:
  Permuter(int64_t element, DType dtype, int64_t max_staged, int64_t max_scratch)
      : element_(element), dtype_(dtype), max_staged_(max_staged), max_scratch_(max_scratch) {}

  /// The steps of the permutation: an empty list where nothing moves; nullopt where no steps fit the scratch memory, or
  /// where two indices may share an offset.
  std::optional<std::vector<InPlaceStep>> steps(const Box& box, std::vector<InPlaceLoop> loops) const {
    const auto cycles = plain_cycles(box, std::move(loops), element_);
    if (!cycles) return std::nullopt;
    if (cycles->closed && cycles->axes.empty()) return std::vector<InPlaceStep>{};
    // Where runs are long, cycles are as fast as any other method.
    if (!cycles->closed || cycles->unit >= kLongMove || cycles->axes.size() > kMaxDims - 3) return fitting({*cycles});
    if (auto step = in_parts(*cycles)) return fitting({std::move(*step)});
    const Panels first(*cycles, kSrc, max_staged_), last(*cycles, kDst, max_staged_);
    const Panels& panels = first.better_than(last) ? first : last;
    if (panels.run() > 1 && (panels.run_bytes() >= kCacheLine || cycles->axes.size() == 2)) {
      if (auto out = fitting(panels.steps(element_, dtype_))) return out;
    }
    if (cycles->axes.size() > 2) {
      if (auto out = turned(*cycles)) return out;
    }
    return fitting({*cycles});
  }

 private:
  std::optional<std::vector<InPlaceStep>> fitting(std::vector<InPlaceStep> steps) const {
    int64_t bytes = 0;
    for (const InPlaceStep& step : steps) bytes = std::max(bytes, scratch_bytes(step));
    return bytes <= max_scratch_ ? std::optional(std::move(steps)) : std::nullopt;
  }

  /// One step that does each turn of the loops by itself: it stages a turn that fits the scratch, or exchanges tiles
  /// where two axes of equal extent change places.
  std::optional<InPlaceStep> in_parts(const CycleStep& cycles) const {
    const int64_t bytes = cycles.units * cycles.unit;
    if (bytes <= max_staged_) {
      StagedStep step;
      step.loops = cycles.loops;
      step.src_offset = step.dst_offset = cycles.src_offset;
      step.independent = true;
      PlanDims dims;
      dims.add(cycles.unit / element_, element_, element_);
      for (const Axis& axis : cycles.axes) dims.add(axis.extent, axis.stride[kSrc], axis.stride[kDst]);
      step.plans.push_back(dims.make(element_, dtype_));
      return step;
    }
    ByteBox box{{{cycles.src_offset, cycles.dst_offset, 0}, cycles.axes}, element_, dtype_};
    if (cycles.unit > element_) box.box.axes.push_back({cycles.unit / element_, {element_, element_, 0}, -1});
    auto swap = make_swap(box, max_staged_);
    if (!swap) return std::nullopt;
    swap->loops.insert(swap->loops.begin(), cycles.loops.begin(), cycles.loops.end());
    return std::move(*swap);
  }

  /// A transposition that brings the destination's outermost axis to the front, followed by the steps for the rest.
  std::optional<std::vector<InPlaceStep>> turned(const CycleStep& cycles) const {
    const Axis front = cycles.axes.front();
    const int64_t inside = front.stride[kSrc], outside = cycles.units * cycles.unit / inside / front.extent;
    Box turn{{cycles.src_offset, cycles.src_offset, 0}, {}}, rest = turn;
    turn.axes = {{front.extent, {inside, inside * outside, 0}, -1},
                 {outside, {inside * front.extent, inside, 0}, -1},
                 {inside / element_, {element_, element_, 0}, -1}};
    for (Axis axis : cycles.axes) {
      if (axis.stride[kSrc] > inside) axis.stride[kSrc] /= front.extent;
      if (axis.stride[kDst] != front.stride[kDst]) rest.axes.push_back(axis);
    }
    rest.axes.push_back({cycles.unit / element_, {element_, element_, 0}, -1});
    std::vector<InPlaceLoop> loops = cycles.loops;
    auto out = steps(turn, loops);
    if (!out) return std::nullopt;
    loops.push_back({front.extent, inside * outside, inside * outside});
    auto more = steps(rest, loops);
    if (!more) return std::nullopt;
    out->insert(out->end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
    return out;
  }

  int64_t element_;
  DType dtype_;
  int64_t max_staged_, max_scratch_;
};

}  // namespace

std::vector<InPlaceStep> make_cycles(const ByteBox& box, int64_t max_staged, int64_t max_scratch,
                                     int64_t& least_scratch) {
  const Permuter permuter(box.element, box.dtype, max_staged, max_scratch);
  if (auto steps = permuter.steps(box.box, {})) return std::move(*steps);
  // Plain cycles always work if the scratch holds their bits.
  if (const auto cycles = plain_cycles(box.box, {}, box.element)) {
    least_scratch = std::min(least_scratch, scratch_bytes(*cycles));
  }
  return {};
}

}  // namespace relayout
