// Pictures: what a notebook shows of a layout, and pages.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/cpu/reorder.h"
#include "relayout/show/html.h"
#include "relayout/show/memory_drawing.h"
#include "relayout/show/svg.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

std::string title_of(const PyLayout& layout) {
  const std::string dims = join(layout.layout.dims(), "x");
  return layout.spelled().first + "  " + (dims.empty() ? "scalar" : dims);
}

std::string picture_of(const PyLayout& layout) {
  return show::svg(show::memory_drawing(layout.layout, layout.names(), title_of(layout)));
}

/// A layout, the name of its side, its type and its values.
using ShownSide = std::tuple<PyLayout, std::string, std::string, std::vector<std::string>>;

/// `plan`: with how the elements of the first side are moved to the second, unless nothing can be moved
/// to that, as to a layout in which indices share an offset.
std::string page_of(const std::vector<ShownSide>& sides, const std::string& title, bool plan) {
  show::Scene scene{title, {}};
  for (const auto& [layout, name, dtype, values] : sides) {
    show::View view;
    view.name = name;
    view.expression = layout.spelled().first;
    view.layout = layout.layout;
    view.letters = layout.names();
    view.dtype = dtype_of(nb::str(dtype.c_str()));
    view.values = values;
    scene.views.push_back(std::move(view));
    const auto [text, dims] = layout.spelled();
    scene.typed.push_back({text, join(dims), dtype});
    if (title.empty()) scene.title += (scene.title.empty() ? "" : " and ") + title_of(layout);
  }
  if (plan && scene.views.size() == 2) {
    const show::View &from = scene.views[0], &to = scene.views[1];
    try {
      scene.reorder = show::reorder_view(cpu::make_plan({from.layout, from.dtype}, {to.layout, to.dtype}));
    } catch (const Error&) {
      // What cannot be moved can be looked at.
    }
  }
  return show::html(scene);
}

}  // namespace

void bind_show(nb::module_& module, nb::class_<PyLayout>& type) {
  type.def("_repr_html_", &picture_of, "Memory in rows, as SVG.");
  module.def("_page", &page_of, nb::arg("sides"), nb::arg("title"), nb::arg("plan"), "A page of HTML.");
}

}  // namespace relayout::python
