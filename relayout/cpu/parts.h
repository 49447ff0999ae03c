// run_in_parts(): cpu::run() for work that takes seconds, and that somebody may want to watch or to end.
//
//     const bool all = cpu::run_in_parts(plan, src, dst, {}, {}, [&](int64_t done, int64_t total) { return !stop; });
#pragma once

#include <functional>

#include "relayout/core/elements.h"
#include "relayout/cpu/arrays.h"
#include "relayout/cpu/threads.h"
#include "relayout/reorder/plan.h"

namespace relayout::cpu {

struct PartOptions {
  /// The most bytes of source and destination together that are moved without asking whether to go on, or as few as the
  /// plan can be cut into. At 100 MB a second, which is slow, they take a third of a second.
  int64_t bytes = 32 << 20;
};

/// run(), with calls of `go_on(done, total)` after each part: on the calling thread, while no other thread works, with
/// the bytes of source and destination that were moved, and with all of them. The last call has done == total. Where it
/// answers false, the rest is not done: the destination then holds new elements in some places, and what it held before
/// in others. Returns whether it always answered true. What it throws is passed on. Between two parts the threads wait
/// for each other, some microseconds.
bool run_in_parts(const Plan& plan, const void* src, void* dst, const RunOptions& options, const PartOptions& parts,
                  const std::function<bool(int64_t done, int64_t total)>& go_on);
/// The checked form, as that of run() in reorder.h, with its errors.
bool run_in_parts(const Plan& plan, const ConstElements& src, const Elements& dst, const RunOptions& options,
                  const PartOptions& parts, const std::function<bool(int64_t done, int64_t total)>& go_on);
template <typename Src, typename Dst>
requires ArrayAmongRanges<Src, Dst>
bool run_in_parts(const Plan& plan, Src& src, Dst& dst, const RunOptions& options, const PartOptions& parts,
                  const std::function<bool(int64_t done, int64_t total)>& go_on) {
  return run_in_parts(plan, ConstElements(src), Elements(dst), options, parts, go_on);
}

}  // namespace relayout::cpu
