// Picking axes out of a box.
#include "relayout/reorder/axes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace relayout {

void scale(Offsets& offsets, int64_t src_units, int64_t dst_units) {
  offsets[kSrc] *= src_units;
  offsets[kDst] *= dst_units;
}

void scale(Box& box, int64_t src_units, int64_t dst_units) {
  scale(box.offset, src_units, dst_units);
  for (Axis& axis : box.axes) scale(axis.stride, src_units, dst_units);
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

int64_t distance(const Axis& loop) {
  return std::min(std::abs(loop.stride[kSrc]), 4 * std::abs(loop.stride[kDst]));
}

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

Axes::iterator DenseAxes::next(Axes& axes) const {
  const auto axis = stepping(axes, operand, piece * count);
  if (axis == axes.end() || fused.empty()) return axis;
  return axis->stride[kAttribute] == fused[0].stride[kAttribute] * count ? axis : axes.end();
}

void DenseAxes::add(Axes& axes, Axes::iterator axis) {
  count *= axis->extent;
  fused.push_back(take(axes, axis));
}

void turn_rows(Box& box, int64_t src, int64_t dst) {
  for (int64_t run = src;;) {
    const auto axis = std::ranges::find_if(box.axes, [&](const Axis& a) {
      return a.table < 0 && a.extent > 1 && (a.stride[kSrc] == run || a.stride[kSrc] == -run);
    });
    if (axis == box.axes.end() || axis->stride[kDst] == dst) return;
    run *= axis->extent;
    if (axis->stride[kSrc] > 0) continue;
    for (std::size_t k = 0; k < kOperands; ++k) {
      box.offset[k] += (axis->extent - 1) * axis->stride[k];
      axis->stride[k] = -axis->stride[k];
    }
  }
}

}  // namespace relayout
