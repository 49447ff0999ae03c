// relayout.explain of logs, profiles, graphs and models: the report as text, JSON and HTML.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "relayout/explain/onnx_model.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

nb::tuple answer(const explaining::Report& report) {
  nb::list replays;
  for (const explaining::Reorder& reorder : report.reorders) {
    const std::string text = explaining::bug_report(report, reorder);
    replays.append(nb::bytes(text.data(), text.size()));  // a log's words need not be UTF-8
  }
  const std::string text = explaining::to_text(report);
  return nb::make_tuple(nb::bytes(text.data(), text.size()), explaining::to_json(report), explaining::to_html(report),
                        replays);
}

explaining::MachineTimes machine_of(bool elsewhere) {
  return elsewhere ? explaining::MachineTimes{} : explaining::this_machine();
}

nb::tuple explain_text(const std::string& text, const std::string& profile, const std::string& model, int64_t runs,
                       bool elsewhere) {
  explaining::Report report;
  {
    const nb::gil_scoped_release others_run;
    const auto nodes = model.empty() ? std::vector<explaining::NamedNode>() : explaining::named_nodes(model);
    report = explaining::explain(explaining::read_any(text, profile, nodes),
                                 {.machine = machine_of(elsewhere), .runs = runs});
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
  module.def("explain_text", &explain_text, nb::arg("text"), nb::arg("profile"), nb::arg("model"), nb::arg("runs"),
             nb::arg("elsewhere"), "(text, JSON, HTML, texts for bug reports) of a log, a profile or a graph.");
  module.def("explain_model", &explain_model, nb::arg("path"), nb::arg("elsewhere"),
             "(text, JSON, HTML, texts for bug reports) of an ONNX model.");
}

}  // namespace relayout::python
