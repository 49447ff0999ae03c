// relayout.redistribute's Store and TaskPlan: plans of tasks between files and arrays in chunks, as values of Python.
#include "relayout/redistribute/task_plan.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/redistribute/check.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

using namespace redistribute;

using Pair = std::pair<double, double>;

Pair pair_of(const Access& access) { return {access.count, access.bytes}; }

nb::tuple box_of(const Task& task) { return nb::make_tuple(tuple_of(task.offsets), tuple_of(task.dims)); }

void check_number(const Pass& pass, int64_t i) {
  if (i >= 0 && i < pass.count()) return;
  throw Error(ErrorCode::invalid_argument,
              "task " + std::to_string(i) + " of a pass of " + std::to_string(pass.count()) + " tasks", "task",
              std::to_string(i), std::to_string(pass.count()));
}

nb::tuple slices_of(const Pass& pass, int64_t i) {
  check_number(pass, i);
  const Task task = pass.task(i);
  nb::list out;
  for (int d = 0; d < task.dims.size(); ++d)
    out.append(nb::slice(nb::int_(task.offsets[d]), nb::int_(task.offsets[d] + task.dims[d]), nb::none()));
  return nb::tuple(out);
}

/// Tasks as a scheduler was given them: a list a pass, of (offsets, dims).
std::vector<std::vector<Task>> tasks_from(nb::handle passes) {
  std::vector<std::vector<Task>> out;
  for (const nb::handle tasks : passes) {
    out.emplace_back();
    for (const nb::handle task : tasks) out.back().push_back({dims_of(task[0], "offsets"), dims_of(task[1], "dims")});
  }
  return out;
}

std::vector<std::string> errors_of(const TaskPlan& plan, nb::handle tasks) {
  return plan_errors(plan, tasks.is_none() ? tasks_of(plan) : tasks_from(tasks));
}

TaskPlan made(const Store& src, const Store& dst, double max_memory, double scratch_bytes, const Pair& read,
              const Pair& write, bool intermediate, bool chunked_intermediate) {
  return make_task_plan(src, dst,
                        {.max_memory = max_memory,
                         .scratch_bytes = scratch_bytes,
                         .read = {read.first, read.second},
                         .write = {write.first, write.second},
                         .intermediate = intermediate,
                         .chunked_intermediate = chunked_intermediate});
}

void bind_store(nb::module_& module) {
  nb::class_<Store>(module, "Store", "Where a tensor lies outside memory; made by chunked_store() or file_store().")
      .def_prop_ro("dims", [](const Store& s) { return tuple_of(s.dims()); })
      .def_prop_ro("dtype", [](const Store& s) { return std::string(name(s.dtype())); })
      .def_prop_ro(
          "chunk",
          [](const Store& s) -> nb::object {
            if (!s.in_chunks()) return nb::none();
            return nb::borrow(nb::cast(tuple_of(s.chunk())));
          },
          "Extents of a chunk; None of a file.")
      .def_prop_ro(
          "unit", [](const Store& s) { return tuple_of(s.unit()); }, "Boxes that are written begin at multiples of it.")
      .def_prop_ro("bytes", &Store::bytes, "Of all elements, without padding.")
      .def(
          "access", [](const Store& s, nb::handle box) { return pair_of(s.access(dims_of(box, "box"))); },
          nb::arg("box"), "How many ranges or chunks a box of these extents takes, and their bytes.");
  module.def(
      "chunked_store",
      [](nb::handle dims, nb::handle dtype, nb::handle chunk) {
        return Store::chunked(dims_of(dims, "dims"), dtype_of(dtype), dims_of(chunk, "chunk"));
      },
      nb::arg("dims"), nb::arg("dtype"), nb::arg("chunk"), "An array in chunks of these extents.");
  module.def(
      "file_store",
      [](const PyLayout& layout, nb::handle dtype, int64_t granule) {
        return Store::file({layout.layout, dtype_of(dtype)}, granule);
      },
      nb::arg("layout"), nb::arg("dtype"), nb::arg("granule") = 0,
      "A file whose elements lie as the layout says; granule: bytes of memory that a range takes beside its own.");
}

void bind_pass(nb::module_& module) {
  nb::class_<Pass>(module, "Pass", "All tasks between two stores of a TaskPlan.")
      .def_ro("from_store", &Pass::from, "0 is the source, 1 the destination, 2 the intermediate store.")
      .def_ro("to_store", &Pass::to)
      .def_prop_ro(
          "step", [](const Pass& p) { return tuple_of(p.step); }, "Extents of a task.")
      .def_prop_ro(
          "piece", [](const Pass& p) { return tuple_of(p.piece); }, "Extents of what a task reads at once.")
      .def_ro("memory", &Pass::memory, "Bytes that a task takes.")
      .def_ro("seconds", &Pass::seconds, "By the speeds that the plan was made for, one task after the other.")
      .def_prop_ro(
          "read", [](const Pass& p) { return pair_of(p.read); }, "Chunks or ranges that are read, bytes.")
      .def_prop_ro("written", [](const Pass& p) { return pair_of(p.written); })
      .def("__len__", &Pass::count)
      .def("task", &slices_of, nb::arg("i"), "Task i: a slice of indices of each dim.")
      .def(
          "box",
          [](const Pass& p, int64_t i) {
            check_number(p, i);
            return box_of(p.task(i));
          },
          nb::arg("i"), "Task i: its first index and its extents.");
}

}  // namespace

void bind_task_plans(nb::module_& module) {
  bind_store(module);
  bind_pass(module);
  nb::class_<TaskPlan>(module, "TaskPlan",
                       "How a tensor goes from one store to another under a bound of memory; made "
                       "by make_task_plan().")
      .def_ro("stores", &TaskPlan::stores, "The source, the destination and, where there is one, what lies between.")
      .def_ro("passes", &TaskPlan::passes)
      .def_ro("max_memory", &TaskPlan::max_memory)
      .def_prop_ro("bytes_read", &TaskPlan::bytes_read)
      .def_prop_ro("bytes_written", &TaskPlan::bytes_written)
      .def_prop_ro("least_bytes", &TaskPlan::least_bytes, "No plan moves fewer.")
      .def_prop_ro("seconds", &TaskPlan::seconds)
      .def_prop_ro("tasks", &TaskPlan::tasks, "How many there are, of all passes.")
      .def("explain", &TaskPlan::explain, "Some lines for people.")
      .def("errors", &errors_of, nb::arg("tasks") = nb::none(),
           "What is wrong with the plan, in sentences: none where every element is written once and what a task holds "
           "fits. "
           "tasks: those that a scheduler was given, a list of (offsets, dims) for each pass, instead of the plan's.");
  module.def("make_task_plan", &made, nb::arg("src"), nb::arg("dst"), nb::kw_only(), nb::arg("max_memory"),
             nb::arg("scratch_bytes") = 0.0, nb::arg("read") = pair_of({kReadSpeed.seconds_for_each, 1e9}),
             nb::arg("write") = pair_of({kWriteSpeed.seconds_for_each, 1e9}), nb::arg("intermediate") = true,
             nb::arg("chunked_intermediate") = false,
             "The fastest plan of one pass, or of two through an intermediate store. max_memory: bytes of one task; "
             "scratch_bytes: further bytes for each element of a piece. read, write: (seconds for each range or chunk, "
             "bytes per second). chunked_intermediate: it is an array in chunks, and not a file of blocks. LimitError "
             "where the smallest task takes more than max_memory.");
}

}  // namespace relayout::python
