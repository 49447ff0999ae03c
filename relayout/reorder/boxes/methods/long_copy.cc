// Long runs: when, and how much of them at a time.
#include "relayout/reorder/boxes/methods/long_copy.h"

namespace relayout {

Loops loops_of_runs(const Axis& run, Axes& axes, int64_t fewest_rows) {
  Loops loops;
  loops.long_runs = loops.along_dst.dense = true;
  loops.along_dst.count = run.extent;
  loops.along_dst.axes = {run};
  auto next = nearest(axes, kDst);
  if (next != axes.end() && next->extent < fewest_rows) {
    const auto better = [&](const Axis& a) {
      if (a.extent < fewest_rows || next->extent < fewest_rows) return a.extent > next->extent;
      return std::abs(a.stride[kDst]) < std::abs(next->stride[kDst]);
    };
    for (auto a = axes.begin(); a != axes.end(); ++a)
      if (a->table < 0 && better(*a)) next = a;
  }
  if (next == axes.end()) next = std::ranges::find_if(axes, &Axis::listed);
  loops.along_src.axes = {take(axes, next)};
  loops.along_src.count = loops.along_src.axes[0].extent;
  return loops;
}

std::optional<Planned<LongCopy>> plan_long_copy(const Box& box, int64_t element, bool streams) {
  Box rest = box;
  const auto run = find_run(rest.axes, element, element);
  if (run == rest.axes.end()) return {};
  const int64_t bytes = take(rest.axes, run).extent * element;
  // Runs whose starts only a table says are fetched ahead by it, as pieces are, unless the processor does that itself.
  const bool listed = std::ranges::any_of(rest.axes, &Axis::listed) && nearest(rest.axes, kDst) == rest.axes.end();
  if (!rest.axes.empty() && bytes < (listed ? kPage : kLongRun)) return {};
  Loops loops = loops_of_runs({bytes, {1, 1, 0}, -1}, rest.axes);
  loops.elements = count_elements(box);
  loops.along_dst.block = streams ? 8 * kInL2 : 2 * kInL2;
  loops.along_src.block = std::clamp<int64_t>(loops.along_dst.block / bytes, 1, kMaxBlockSide);
  loops.past_cache = streams;
  finish(loops, std::move(rest));
  return Planned<LongCopy>{std::move(loops), {}};
}

}  // namespace relayout
