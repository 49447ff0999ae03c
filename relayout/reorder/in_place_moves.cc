// In-place reorders that move bits along one box of axes: exchanged tiles, and cycles of runs.
#include <numeric>

#include "relayout/reorder/in_place_steps.h"
#include "relayout/reorder/refine.h"

namespace relayout {
namespace {

/// A tile of a swap: it and its mirror image stay in the first-level cache.
constexpr int64_t kTileBytes = 16 << 10;
/// Axes inside a tile together. More goes into the loops.
constexpr int64_t kInnerBytes = 8 << 10;
/// Runs of this many bytes move at the speed of memory; panels are not made for longer ones.
constexpr int64_t kLongRun = 256;
constexpr int64_t kMaxRun = 1 << 10;

int64_t reach(std::span<const Axis> axes, Operand side) {
  int64_t out = 0;
  for (const Axis& axis : axes) out += (axis.extent - 1) * axis.stride[side];
  return out;
}

int64_t count(std::span<const Axis> axes) {
  int64_t out = 1;
  for (const Axis& axis : axes) out *= axis.extent;
  return out;
}

bool is_swap(const Axis& a, const Axis& b) {
  return a.extent == b.extent && a.stride[kSrc] == b.stride[kDst] && a.stride[kDst] == b.stride[kSrc];
}

/// Makes the plans that exchange tiles.
class TileMaker {
 public:
  TileMaker(const SwapStep& step, std::span<const Axis> inner, const ByteBox& box)
      : step_(step),
        inner_(inner),
        element_(box.element),
        dtype_(box.dtype),
        inner_bytes_(count(inner) * box.element) {}

  /// P has `rows` values of x and `cols` of y; row u, column v is the element (x, y) of P and (y, x) of Q.
  Plan save(int64_t rows, int64_t cols) const { return make(rows, cols, at_p(), at_scratch(rows, cols)); }
  Plan move(int64_t rows, int64_t cols) const { return make(rows, cols, at_q(), at_p()); }
  Plan restore(int64_t rows, int64_t cols) const { return make(rows, cols, at_scratch(rows, cols), at_q()); }

 private:
  struct Place {
    int64_t row, col;  // strides in bytes
    bool scratch = false;
  };
  Place at_p() const { return {step_.x_stride, step_.y_stride}; }
  Place at_q() const { return {step_.y_stride, step_.x_stride}; }
  /// Dense, in the order of Q.
  Place at_scratch(int64_t rows, int64_t cols) const {
    if (step_.y_stride < step_.x_stride) return {inner_bytes_, rows * inner_bytes_, true};
    return {cols * inner_bytes_, inner_bytes_, true};
  }

  TensorDesc desc(int64_t rows, int64_t cols, const Place& place) const {
    Dims dims{rows, cols}, strides{place.row / element_, place.col / element_};
    int64_t dense = count(inner_);
    for (const Axis& axis : inner_) {
      dense /= axis.extent;
      dims.push_back(axis.extent);
      strides.push_back(place.scratch ? dense : axis.stride[kDst] / element_);
    }
    return {Layout::strided(dims, strides), dtype_};
  }
  Plan make(int64_t rows, int64_t cols, const Place& from, const Place& to) const {
    return Plan::make(desc(rows, cols, from), desc(rows, cols, to));
  }

  const SwapStep& step_;
  std::span<const Axis> inner_;
  int64_t element_;
  DType dtype_;
  int64_t inner_bytes_;
};

int64_t largest_divisor(int64_t n, int64_t limit) {
  int64_t best = 1;
  for (int64_t d = 1; d <= limit && d <= n / d; ++d) {
    if (n % d != 0) continue;
    best = std::max(best, d);
    if (n / d <= limit) best = std::max(best, n / d);
  }
  return best;
}

/// The distance of neighbours is the extent of what is inside: both sides are full.
bool dense(std::span<const Axis> axes, Operand side, int64_t unit) {
  std::vector<Axis> sorted(axes.begin(), axes.end());
  std::ranges::sort(sorted, {}, [&](const Axis& axis) { return axis.stride[side]; });
  for (const Axis& axis : sorted) {
    if (axis.stride[side] != unit) return false;
    unit *= axis.extent;
  }
  return true;
}

/// Every axis steps over all that those of smaller stride reach, so that an offset tells its index.
bool nested(std::span<const Axis> axes, Operand side, int64_t unit) {
  std::vector<Axis> sorted(axes.begin(), axes.end());
  std::ranges::sort(sorted, {}, [&](const Axis& axis) { return axis.stride[side]; });
  for (const Axis& axis : sorted) {
    if (axis.stride[side] < unit) return false;
    unit += (axis.extent - 1) * axis.stride[side];
  }
  return true;
}

void sort_by_dst(std::vector<Axis>& axes) {
  std::ranges::sort(axes, std::ranges::greater(), [](const Axis& axis) { return axis.stride[kDst]; });
}

std::vector<CycleStep::Place> places(std::span<const Axis> axes, Operand side) {
  std::vector<CycleStep::Place> out;
  int64_t value = count(axes);
  for (const Axis& axis : axes) {
    value /= axis.extent;
    out.push_back({axis.extent, axis.stride[side], value});
  }
  std::ranges::sort(out, std::ranges::greater(), &CycleStep::Place::stride);
  return out;
}

/// Takes the axes that step alike on both sides, and over all the rest, out of a box as loops.
std::vector<InPlaceLoop> peel(Box& box, int64_t element) {
  std::vector<InPlaceLoop> loops;
  while (!box.axes.empty()) {
    const Axis outer = box.axes.front();
    const std::span rest = std::span(box.axes).subspan(1);
    const int64_t begin = std::min(box.offset[kSrc], box.offset[kDst]);
    const int64_t end = std::max(box.offset[kSrc] + reach(rest, kSrc), box.offset[kDst] + reach(rest, kDst)) + element;
    if (rest.empty() || outer.stride[kSrc] != outer.stride[kDst] || outer.stride[kDst] < end - begin) break;
    loops.push_back({outer.extent, outer.stride[kSrc], outer.stride[kDst]});
    box.axes.erase(box.axes.begin());
  }
  return loops;
}

/// The cycles of a box: the longest common run is the unit.
std::optional<CycleStep> plain_cycles(const ByteBox& byte_box) {
  Box box = byte_box.box;
  CycleStep step;
  step.loops = peel(box, byte_box.element);
  int64_t run = byte_box.element;
  std::erase_if(box.axes, [&](const Axis& axis) {
    const bool is_run = axis.stride[kSrc] == byte_box.element && axis.stride[kDst] == byte_box.element;
    if (is_run) run *= axis.extent;
    return is_run;
  });
  // Units of source and destination must not lie across each other.
  step.unit = std::gcd(run, box.offset[kSrc] - box.offset[kDst]);
  for (const Axis& axis : box.axes) step.unit = std::gcd(std::gcd(step.unit, axis.stride[kSrc]), axis.stride[kDst]);
  if (step.unit < run) box.axes.push_back({run / step.unit, {step.unit, step.unit, 0}, -1});
  step.axes = std::move(box.axes);
  step.units = count(step.axes);
  step.src_offset = box.offset[kSrc];
  step.dst_offset = box.offset[kDst];
  if (!nested(step.axes, kSrc, step.unit) || !nested(step.axes, kDst, step.unit)) return std::nullopt;
  step.closed =
      step.src_offset == step.dst_offset && dense(step.axes, kSrc, step.unit) && dense(step.axes, kDst, step.unit);
  step.src_places = places(step.axes, kSrc);
  step.dst_places = places(step.axes, kDst);
  return step;
}

/// Two steps through a third arrangement: within windows of one side, T of the other side's innermost axis become
/// neighbours (staged), and are one run of the cycles.
class Panels {
 public:
  /// `windowed`: the side whose windows are staged. Both sides are dense.
  Panels(const CycleStep& cycles, const ByteBox& box, Operand windowed, int64_t max_window)
      : cycles_(cycles),
        box_(box),
        side_(windowed),
        other_(windowed == kSrc ? kDst : kSrc),
        target_(std::min(kStagedTarget, max_window)) {
    const auto near = std::ranges::find_if(cycles.axes, [&](const Axis& a) { return a.stride[other_] == cycles.unit; });
    if (near == cycles.axes.end() || near->stride[side_] == cycles.unit) return;
    near_ = *near;
    run_ = largest_divisor(near_.extent, std::min(max_window / near_.stride[side_], kMaxRun / cycles.unit));
  }

  /// Neighbours that become one run; 1 or less where there is no such arrangement.
  int64_t run() const { return run_; }

  std::vector<InPlaceStep> steps() const {
    CycleStep cycles = cycles_;
    cycles.unit *= run_;
    cycles.units /= run_;
    for (Axis& axis : cycles.axes) {
      if (axis.stride[other_] == near_.stride[other_]) axis.extent /= run_, axis.stride[other_] *= run_;
      if (axis.stride[side_] <= near_.stride[side_]) axis.stride[side_] *= run_;
    }
    std::erase_if(cycles.axes, [](const Axis& axis) { return axis.extent == 1; });
    sort_by_dst(cycles.axes);
    cycles.src_places = places(cycles.axes, kSrc);
    cycles.dst_places = places(cycles.axes, kDst);
    std::vector<InPlaceStep> out;
    out.push_back(std::move(cycles));
    out.insert(side_ == kSrc ? out.begin() : out.end(), staged());
    return out;
  }

 private:
  StagedStep staged() const {
    StagedStep step;
    step.loops = cycles_.loops;
    step.src_offset = step.dst_offset = cycles_.src_offset;
    step.independent = true;
    const int64_t window = near_.stride[side_] * run_, windows = cycles_.units * cycles_.unit / window;
    const int64_t together = largest_divisor(windows, std::max<int64_t>(1, target_ / window));
    if (together < windows) step.loops.push_back({windows / together, window * together, window * together});
    // The axes of some windows as they lie on the windowed side, and in the third arrangement.
    const int64_t elements = cycles_.unit / box_.element;
    Dims dims{together, run_, elements}, lie{window, near_.stride[side_], box_.element},
        third{window, cycles_.unit, box_.element};
    for (const Axis& axis : cycles_.axes) {
      if (axis.stride[side_] >= near_.stride[side_]) continue;
      dims.push_back(axis.extent);
      lie.push_back(axis.stride[side_]);
      third.push_back(axis.stride[side_] * run_);
    }
    for (int d = 0; d < dims.size(); ++d) lie[d] /= box_.element, third[d] /= box_.element;
    const TensorDesc a(Layout::strided(dims, lie), box_.dtype), b(Layout::strided(dims, third), box_.dtype);
    step.plans.push_back(side_ == kSrc ? Plan::make(a, b) : Plan::make(b, a));
    return step;
  }

  const CycleStep& cycles_;
  const ByteBox& box_;
  Operand side_, other_;
  int64_t target_;
  Axis near_;
  int64_t run_ = 1;
};

}  // namespace

std::optional<ByteBox> byte_box(const TensorDesc& src, const TensorDesc& dst) {
  if (bits(src.dtype) < 8) return std::nullopt;
  Tables tables;
  const Dims zero(src.layout.ndims(), 0);
  std::vector<Box> boxes = refine(src.layout, dst.layout, zero, zero, src.layout.dims(), tables);
  if (boxes.size() != 1 || !tables.empty()) return std::nullopt;
  ByteBox out{std::move(boxes.front()), bits(src.dtype) / 8, src.dtype};
  simplify(out.box);
  for (std::size_t side : {kSrc, kDst}) {
    out.box.offset[side] *= out.element;
    for (Axis& axis : out.box.axes) {
      if (axis.stride[side] <= 0) return std::nullopt;
      axis.stride[side] *= out.element;
    }
  }
  sort_by_dst(out.box.axes);
  return out;
}

std::optional<SwapStep> make_swap(const ByteBox& byte_box, int64_t max_scratch) {
  const Box& box = byte_box.box;
  if (box.offset[kSrc] != box.offset[kDst]) return std::nullopt;
  std::vector<Axis> moved, still;
  for (const Axis& axis : box.axes) (axis.stride[kSrc] == axis.stride[kDst] ? still : moved).push_back(axis);
  if (moved.size() != 2 || !is_swap(moved[0], moved[1])) return std::nullopt;
  SwapStep step;
  step.offset = box.offset[kDst];
  step.extent = moved[0].extent;
  step.x_stride = moved[0].stride[kDst];
  step.y_stride = moved[0].stride[kSrc];
  // What is inside both axes moves with them, while it is small; `still` is in the order of the strides.
  std::vector<Axis> inner;
  int64_t bytes = byte_box.element;
  while (!still.empty() && still.back().stride[kDst] < std::min(step.x_stride, step.y_stride) &&
         static_cast<int>(inner.size()) < kMaxDims - 2) {
    Axis& axis = still.back();
    const int64_t most = std::min(kInnerBytes, max_scratch) / bytes;
    int64_t taken = largest_divisor(axis.extent, most);
    if (taken * bytes < kLongRun && axis.extent * bytes <= max_scratch) taken = axis.extent;
    bytes *= taken;
    if (taken > 1) inner.insert(inner.begin(), {taken, axis.stride, -1});
    if (taken < axis.extent) {
      axis.extent /= taken;
      for (int64_t& stride : axis.stride) stride *= taken;
      break;
    }
    still.pop_back();
  }
  for (const Axis& axis : still) step.loops.push_back({axis.extent, axis.stride[kSrc], axis.stride[kDst]});
  if (bytes > max_scratch) return std::nullopt;
  while (step.tile < step.extent && 4 * step.tile * step.tile * bytes <= std::min(kTileBytes, max_scratch)) {
    step.tile *= 2;
  }
  step.tile = std::min(step.tile, step.extent);
  const TileMaker maker(step, inner, byte_box);
  const int64_t whole = step.tile, last = step.extent % step.tile;
  for (int64_t cols : {whole, last}) {
    if (cols == 0) continue;
    step.save.push_back(maker.save(whole, cols));
    step.move.push_back(maker.move(whole, cols));
    step.restore.push_back(maker.restore(whole, cols));
  }
  if (last > 0) {
    step.save_last.push_back(maker.save(last, last));
    step.restore_last.push_back(maker.restore(last, last));
  }
  return step;
}

std::vector<InPlaceStep> make_cycles(const ByteBox& box, int64_t max_staged, int64_t max_scratch,
                                     int64_t& least_scratch) {
  const auto cycles = plain_cycles(box);
  if (!cycles) return {};
  std::vector<std::vector<InPlaceStep>> choices;
  if (cycles->closed && cycles->unit < kLongRun && cycles->axes.size() <= kMaxDims - 3) {
    const Panels before(*cycles, box, kSrc, max_staged), after(*cycles, box, kDst, max_staged);
    const Panels& better = before.run() >= after.run() ? before : after;
    if (better.run() > 1) choices.push_back(better.steps());
  }
  choices.push_back({*cycles});
  for (std::vector<InPlaceStep>& steps : choices) {
    int64_t bytes = 0;
    for (const InPlaceStep& step : steps) bytes = std::max(bytes, scratch_bytes(step));
    if (bytes <= max_scratch) return std::move(steps);
    least_scratch = std::min(least_scratch, bytes);
  }
  return {};
}

}  // namespace relayout
