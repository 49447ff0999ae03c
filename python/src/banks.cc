// relayout.bank_conflicts() and relayout.find_swizzle(): accesses of a GPU's warp to a tile in shared memory.
#include "relayout/core/banks.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

nb::dict dict_of(const banks::Collision& worst) {
  nb::list indices;
  for (const Dims& index : worst.indices) indices.append(tuple_of(index));
  nb::dict out;
  out["request"] = worst.request;
  out["phase"] = worst.phase;
  out["bank"] = worst.bank;
  out["lanes"] = nb::cast(worst.lanes);
  out["indices"] = indices;
  return out;
}

nb::dict bank_conflicts(const PyLayout& layout, const std::string& access, nb::handle dtype) {
  const banks::Count count = banks::count({layout.layout, dtype_of(dtype)}, banks::Access::parse(access));
  nb::dict out;
  out["requests"] = count.requests;
  out["phases"] = count.phases;
  out["wavefronts"] = count.wavefronts;
  out["conflicts"] = count.wavefronts - count.phases;
  out["ways"] = count.ways;
  out["worst"] = count.worst ? nb::object(dict_of(*count.worst)) : nb::none();
  return out;
}

nb::object find_swizzle(const PyLayout& layout, const std::vector<std::string>& texts, nb::handle dtype) {
  std::vector<banks::Access> accesses;
  for (const std::string& text : texts) accesses.push_back(banks::Access::parse(text));
  const auto found = banks::find({layout.layout, dtype_of(dtype)}, accesses);
  if (!found) return nb::none();
  return nb::cast(PyLayout{layout.layout.with_swizzle(*found), {}, layout.letters, {}, layout.origin});
}

}  // namespace

void bind_banks(nb::module_& module) {
  module
      .def("bank_conflicts", &bank_conflicts, nb::arg("layout"), nb::arg("access"), nb::arg("dtype") = "f16",
           "Counts the bank conflicts of a GPU's warp in a tile in shared memory: the whole tile's requests, their "
           "phases, the wavefronts that these take, conflicts (wavefronts over one a phase), and the worst phase, with "
           "the lanes that want different words of one bank. access: 'row', 'row:8' (8 elements a lane), 'column', "
           "'ldmatrix', 'lanes:0,0/1,0'.")
      .def("find_swizzle", &find_swizzle, nb::arg("layout"), nb::arg("accesses"), nb::arg("dtype") = "f16",
           "The layout with the swizzle of the fewest bits with which no lanes collide in any of the accesses, or None "
           "where there is none. Each candidate is counted over the whole tile.");
}

}  // namespace relayout::python
