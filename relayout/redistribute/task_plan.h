// TaskPlan: how a tensor goes from one store to another under a bound of memory.
//
// A plan is one or two passes. A pass cuts the tensor into boxes of indices, its tasks, which are independent of each
// other: each reads its box from one store, reorders it, and writes it to another. Where boxes of the allowed size
// would be read or written in pieces so short that the disk spends its time between them, the first pass writes an
// intermediate file of small blocks, each in one piece, and the second one reads it.
//
//     const TaskPlan plan = make_task_plan(from, to, {.max_memory = 256 << 20});
//     for (const Pass& pass : plan.passes)
//       for (int64_t i = 0; i < pass.count(); ++i) run(pass.from, pass.to, pass.task(i));
//     std::puts(plan.explain().c_str());
//
// A plan is a value: plan_errors() (check.h) proves that every element is written once, and that the elements in memory
// fit the bound.
#pragma once

#include <string>
#include <vector>

#include "relayout/redistribute/store.h"
#include "relayout/reorder/slabs.h"

namespace relayout::redistribute {

/// Indices from offsets on, `dims` of each dim, of the whole tensor.
using Task = Slab;

struct Pass {
  int from = 0, to = 1;  // numbers of stores
  Dims dims;             // of the tensor
  Dims step;             // extents of a task; the last ones of a dim may be smaller
  /// Extents of what a task reads at once: it holds its whole box of what it writes, and one piece of what it reads, or
  /// two where one is read while the other one is reordered.
  Dims piece;
  int pieces = 1;
  /// The dims from the outermost loop over tasks to the innermost one, so that tasks which follow each other write
  /// beside each other.
  Dims order;
  double memory = 0;  // bytes that a task takes
  Access read{}, written{};
  double seconds = 0;  // by the stores' speeds, one task after the other

  int64_t count() const;
  /// Task i, 0 <= i < count().
  Task task(int64_t i) const;
};

struct TaskPlan {
  /// 0 is the source, 1 the destination, 2 an intermediate file where there is one.
  std::vector<Store> stores;
  std::vector<Pass> passes;
  double max_memory = 0;
  /// What seconds() assumes.
  Speed read = kReadSpeed, write = kWriteSpeed;

  double bytes_read() const;
  double bytes_written() const;
  double seconds() const;
  /// No plan moves fewer bytes: all are read once and written once.
  double least_bytes() const { return stores[0].bytes() + stores[1].bytes(); }
  int64_t tasks() const;
  /// Whether all is one task that reads its box at once: an ordinary reorder.
  bool whole() const;
  /// Some lines for people: passes, tasks, bytes beside the least, memory, predicted time and what it assumes.
  std::string explain() const;
};

struct TaskPlanOptions {
  double max_memory = 1 << 30;  // bytes of one task
  double scratch_bytes = 0;     // further memory for each element of a piece, as the reorder needs
  int pieces = 1;               // of what a task reads, as many as are in memory at a time
  Speed read = kReadSpeed, write = kWriteSpeed;
  /// Dims of which a task has one index: those whose indices stand in an order that is no layout.
  Dims one_at_a_time{};
  /// The intermediate file is allowed. Without it, tasks write straight to the destination, whatever that takes.
  bool intermediate = true;
  /// It is an array in chunks (zarr), and not a file of blocks.
  bool chunked_intermediate = false;
};

/// The fastest plan of one pass or two, by the model above. Errors: invalid_argument (dims that differ), limit (even
/// the smallest task takes more than max_memory; the message says how much is enough).
/// Cost: it does not depend on the tensor's size, but grows with its dims and where little memory makes many sizes of
/// tasks possible: some milliseconds for up to 4 dims, seconds for 8 and more.
TaskPlan make_task_plan(const Store& src, const Store& dst, const TaskPlanOptions& options);

}  // namespace relayout::redistribute
