// The extension module relayout._native: layouts, copies, conversions, files, other systems' layouts and OpenCL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>

#include "python/src/arrays.h"
#include "python/src/buffer.h"
#include "python/src/copies.h"
#include "python/src/errors.h"
#include "python/src/functions.h"
#include "python/src/layout.h"
#include "relayout/cpu/kept_plan.h"

namespace nb = nanobind;

namespace {

using namespace relayout;

std::vector<std::string> isas() {
  std::vector<std::string> out;
  for (const std::string_view isa : cpu::available_isas()) out.emplace_back(isa);
  return out;
}

nb::dict cache_statistics() {
  const cpu::PlanCacheStatistics now = cpu::plan_cache_statistics();
  nb::dict out;
  out["hits"] = now.hits;
  out["misses"] = now.misses;
  out["entries"] = now.entries;
  return out;
}

void bind_machine(nb::module_& module) {
  module.def(
      "dtype_name", [](const std::string& text) { return std::string(name(parse_dtype(text))); }, nb::arg("text"),
      "relayout's name of the type that a text means.");
  module.def(
      "isa", [] { return std::string(cpu::isa()); }, "The instruction set in use, such as 'avx512'.");
  module.def("available_isas", &isas, "The instruction sets that this machine can run, worst first.");
  module.def(
      "set_isa", [](const std::string& name) { cpu::set_isa(name); }, nb::arg("name"),
      "Forces one of available_isas(), or the best with ''. No copy may run meanwhile.");
  module.def(
      "generated_code_problem", [] { return std::string(cpu::generated_code_problem()); },
      "Why no plan has machine code of its own here, such as that this was built without Xbyak; '' where small plans "
      "that run often have it.");
  module.def("default_threads", &cpu::default_threads,
             "Threads that threads=0 stands for; 1 in a build without oneTBB.");
  module.def("plan_cache", &cache_statistics, "Hits, misses and entries of the cache of plans.");
  module.def("clear_plan_cache", &cpu::clear_plan_cache);
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "What relayout does in C++. Import relayout instead.";
  // Objects that live when Python ends, as in a worker process that holds a layout, are no fault of a program.
  nb::set_leak_warnings(std::getenv("RELAYOUT_LEAK_WARNINGS") != nullptr);
  python::raise_as_python_exceptions();
  python::find_numpy();
  python::bind_layout(module);
  python::bind_banks(module);
  python::bind_buffer(module);
  python::bind_copies(module);
  python::bind_conversion(module);
  python::bind_again(module);
  python::bind_functions(module);
  python::bind_sharing(module);
  python::bind_files(module);
  python::bind_checkpoints(module);
  python::bind_checkpoint_files(module);
  python::bind_file_conversion(module);
  python::bind_whole(module);
  python::bind_placements(module);
  python::bind_interop(module);
  python::bind_opencl(module);
  python::bind_records(module);
  python::bind_index_tables(module);
  python::bind_task_plans(module);
  bind_machine(module);
  python::present_functions(module);
}
