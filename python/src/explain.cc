// relayout.explain of logs, profiles, graphs and models: the report as text, JSON and HTML.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "relayout/explain/onnx_model.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

nb::tuple answer(const explaining::Report& report) {
  return nb::make_tuple(explaining::to_text(report), explaining::to_json(report), explaining::to_html(report));
}

explaining::MachineTimes machine_of(bool elsewhere) {
  return elsewhere ? explaining::MachineTimes{} : explaining::this_machine();
}

nb::tuple explain_text(const std::string& text, const std::string& profile, int64_t runs, bool elsewhere) {
  explaining::Report report;
  {
    const nb::gil_scoped_release others_run;
    report = explaining::explain(explaining::read_any(text, profile), {.machine = machine_of(elsewhere), .runs = runs});
  }
  return answer(report);
}

nb::tuple explain_model(const std::string& path, bool elsewhere) {
  explaining::Report report;
  {
    const nb::gil_scoped_release others_run;
    const explaining::MachineTimes machine = machine_of(elsewhere);
    const graph::OnnxTransposes found = graph::move_transposes(path, {}, explaining::cost_on(machine));
    report = explaining::explain(explaining::trace_of_model(path, found, machine), {.machine = machine});
  }
  return answer(report);
}

}  // namespace

void bind_explain(nb::module_& module) {
  module.def("explain_text", &explain_text, nb::arg("text"), nb::arg("profile"), nb::arg("runs"), nb::arg("elsewhere"),
             "(text, JSON, HTML) of the report of a log, a profile or a graph.");
  module.def("explain_model", &explain_model, nb::arg("path"), nb::arg("elsewhere"),
             "(text, JSON, HTML) of the report of an ONNX model.");
}

}  // namespace relayout::python
