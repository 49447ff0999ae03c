// relayout.interop.gate_places and gate_moves: the orders of gates of recurrent weights (relayout/core/gates.h).
#include "relayout/core/gates.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"

namespace nb = nanobind;

namespace relayout::python {

void bind_gates(nb::module_& module) {
  module.def(
      "gate_places", [](const std::string& order, const std::string& to) { return tuple_of(gate_places(order, to)); },
      nb::arg("order"), nb::arg("to"),
      "For each gate of `to`, where it stands in `order`: (1, 0, 2) for 'zrh', 'rzh'.");
  module.def(
      "gate_moves",
      [](const PyLayout& src, const PyLayout& dst, int dim, const std::string& order, const std::string& to) {
        nb::list out;
        for (const GateMove& move : permute_gates(src.layout, dst.layout, dim, order, to)) {
          out.append(nb::make_tuple(nb::cast(PyLayout{move.src, {}, src.letters, {}}),
                                    nb::cast(PyLayout{move.dst, {}, dst.letters, {}})));
        }
        return out;
      },
      nb::arg("src"), nb::arg("dst"), nb::arg("dim"), nb::arg("order"), nb::arg("to"),
      "A (source, destination) pair of layouts for each gate, whose copies bring the gates of `src`, in the order "
      "`order`, to `dst` in the order `to`. relayout.permute_gates() does it with an array.");
}

}  // namespace relayout::python
