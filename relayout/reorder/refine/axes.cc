// Simplifying boxes, and picking axes out of them.
#include "relayout/reorder/refine/axes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace relayout {
namespace {

/// Whether `outer` goes on where `inner` ends, on every operand.
bool continues(const Axis& outer, const Axis& inner) {
  if (outer.table >= 0 || inner.table >= 0) return false;
  for (std::size_t k = 0; k < kOperands; ++k) {
    const auto end = checked_mul(inner.stride[k], inner.extent);
    if (!end || outer.stride[k] != *end) return false;
  }
  return true;
}

/// Makes an axis of a box go the other way.
void turn(Box& box, Axis& axis) {
  for (std::size_t k = 0; k < kOperands; ++k) {
    box.offset[k] += axis.reach(k);
    axis.stride[k] = -axis.stride[k];
  }
}

}  // namespace

void scale(Offsets& offsets, int64_t src_units, int64_t dst_units) {
  offsets[kSrc] *= src_units;
  offsets[kDst] *= dst_units;
}

void scale(Box& box, int64_t src_units, int64_t dst_units) {
  scale(box.offset, src_units, dst_units);
  for (Axis& axis : box.axes) scale(axis.stride, src_units, dst_units);
}

void simplify(Box& box) {
  Axes& axes = box.axes;
  erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
  for (Axis& axis : axes) {
    if (axis.table < 0 && axis.stride[kDst] < 0) turn(box, axis);
  }
  // The steps of a table are uneven, so axes with tables are sorted last and stay outermost.
  sort_few(axes, [](const Axis& a) { return std::pair(a.table >= 0, a.stride[kDst]); });
  // An axis can only continue an axis of a smaller destination stride. That axis is complete by then, as the axes are
  // sorted by destination stride, so one pass joins all.
  std::size_t kept = 0;
  for (const Axis& axis : axes) {
    const auto inner = std::find_if(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(kept),
                                    [&](const Axis& a) { return continues(axis, a); });
    if (inner != axes.begin() + static_cast<std::ptrdiff_t>(kept)) {
      inner->extent *= axis.extent;
    } else {
      axes[kept++] = axis;
    }
  }
  axes.resize(kept);
  std::ranges::reverse(axes);
}

Interval reach(const Offsets& start, const Axes& axes, Operand operand, int64_t unit) {
  Interval out{start[operand], start[operand] + unit};
  for (const Axis& axis : axes) {
    const int64_t far = axis.reach(operand);
    (far < 0 ? out.begin : out.end) += far;
  }
  return out;
}

int64_t count_elements(const Axes& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

Axes::iterator nearest(Axes& axes, Operand operand) {
  auto best = axes.end();
  for (auto a = axes.begin(); a != axes.end(); ++a) {
    if (a->table >= 0) continue;
    if (best == axes.end() || std::abs(a->stride[operand]) < std::abs(best->stride[operand])) best = a;
  }
  return best;
}

Axes::iterator stepping(Axes& axes, Operand operand, int64_t stride) {
  return std::ranges::find_if(axes, [&](const Axis& a) { return a.table < 0 && a.stride[operand] == stride; });
}

Axes::iterator find_run(Axes& axes, int64_t src, int64_t dst) {
  return std::ranges::find_if(
      axes, [&](const Axis& a) { return a.table < 0 && a.stride[kSrc] == src && a.stride[kDst] == dst; });
}

int64_t distance(const Axis& loop) { return std::min(std::abs(loop.stride[kSrc]), 4 * std::abs(loop.stride[kDst])); }

Axes::iterator shortest(Axes& axes) {
  auto best = axes.end();
  for (auto a = axes.begin(); a != axes.end(); ++a) {
    if (a->table < 0 && (best == axes.end() || distance(*a) < distance(*best))) best = a;
  }
  return best;
}

void order_loops(Axes& loops) {
  sort_few(loops, [](const Axis& a) { return std::pair(a.table < 0, -distance(a)); });
}

Axis take(Axes& axes, Axes::iterator at) {
  if (at == axes.end()) return {};
  const Axis out = *at;
  axes.erase(at);
  return out;
}

Axis cut(Axis& axis, int64_t steps) {
  Axis outer = axis;
  outer.extent /= steps;
  for (int64_t& stride : outer.stride) stride *= steps;
  axis.extent = steps;
  return outer;
}

Box cut_off(Box& box, std::size_t at, int64_t extent) {
  Box rest = box;
  Axis& axis = box.axes[at];
  rest.axes[at].extent = axis.extent - extent;
  axis.extent = extent;
  for (std::size_t k = 0; k < kOperands; ++k) rest.offset[k] += extent * axis.stride[k];
  return rest;
}

Axes::iterator DenseAxes::next(Axes& axes) const {
  const auto axis = stepping(axes, operand, piece * count);
  if (axis == axes.end() || fused.empty()) return axis;
  return axis->stride[kAttribute] == fused[0].stride[kAttribute] * count ? axis : axes.end();
}

void DenseAxes::add(Axes& axes, Axes::iterator axis) {
  count *= axis->extent;
  fused.push_back(take(axes, axis));
}

void turn_along_src(Box& box, int64_t src, int64_t dst) {
  for (int64_t run = src;;) {
    const auto axis = std::ranges::find_if(box.axes, [&](const Axis& a) {
      return a.table < 0 && a.extent > 1 && (a.stride[kSrc] == run || a.stride[kSrc] == -run);
    });
    if (axis == box.axes.end() || axis->stride[kDst] == dst) return;
    run *= axis->extent;
    if (axis->stride[kSrc] < 0) turn(box, *axis);
  }
}

}  // namespace relayout
