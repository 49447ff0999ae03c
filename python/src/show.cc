// Pictures: what a notebook shows of a layout.
#include <nanobind/stl/string.h>

#include "python/src/layout.h"
#include "relayout/show/memory_drawing.h"
#include "relayout/show/svg.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

std::string picture_of(const PyLayout& layout) {
  std::string dims = join(layout.layout.dims(), "x");
  const std::string title = layout.spelled().first + "  " + (dims.empty() ? "scalar" : dims);
  return show::svg(show::memory_drawing(layout.layout, layout.names(), title));
}

}  // namespace

void bind_show(nb::class_<PyLayout>& type) { type.def("_repr_html_", &picture_of, "Memory in rows, as SVG."); }

}  // namespace relayout::python
