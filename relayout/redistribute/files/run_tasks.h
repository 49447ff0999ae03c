// run_tasks(): runs a plan of tasks between two files of this machine, under a bound of memory.
//
// Of what a task reads, two pieces are in memory: lanes (lanes.h) read one while the one before it is reordered. Where
// there is no room for that, there is one. What a task writes is collected in dense memory and written by lanes past
// the system's cache. The file is mapped instead where its disk or its layout does not allow that. A plan of two passes
// goes through an intermediate file beside the output.
//
//     const SlabSource src{.desc = src_desc, .bytes = file.bytes(0), .mapped = file.mapped(0)};
//     const SlabDestination dst{.desc = dst_desc, .bytes = writer.bytes(), .mapped = writer.mapped()};
//     const TaskPlan plan = file_plan(src, dst, 64 << 20);
//     run_tasks(plan, src, dst, {}, {}, "out.npy", [](int64_t done, int64_t total) { return true; });
#pragma once

#include <filesystem>
#include <functional>

#include "relayout/cpu/slab_reorder.h"
#include "relayout/redistribute/task_plan.h"

namespace relayout::redistribute {

/// The plan of a reorder between two files that takes at most max_memory bytes, with those of sides that are not
/// mapped, which are in memory anyway (cpu::held_bytes). Errors: limit, which says how much is enough; those of
/// make_task_plan().
TaskPlan file_plan(const cpu::SlabSource& src, const cpu::SlabDestination& dst, int64_t max_memory);

/// Runs all tasks of file_plan(). `attributes` are those of the whole tensor, without index tables; beta must be 0.
/// An intermediate file has no name, lies in the folder of `beside`, the path of the output, and takes as much disk as
/// the smaller one of both types. `go_on` is called with the elements that are done and with all, of all passes
/// together; false ends the work. Returns whether it always answered true. Errors: io (no room on the disk), those of
/// Plan::make.
bool run_tasks(const TaskPlan& plan, const cpu::SlabSource& src, const cpu::SlabDestination& dst,
               const Attributes& attributes, const cpu::RunOptions& options, const std::filesystem::path& beside,
               const std::function<bool(int64_t done, int64_t total)>& go_on);

}  // namespace relayout::redistribute
