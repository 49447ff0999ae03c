// relayout.interop.read_onednn_log: what oneDNN printed, as dicts with a Layout for each tensor.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/interop/onednn_verbose.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

nb::dict tensor_dict(const onednn::VerboseTensor& tensor) {
  nb::dict out;
  out["name"] = tensor.name;
  out["dtype"] = tensor.data_type == "boolean" ? "bool" : tensor.data_type;
  out["text"] = to_text(tensor);
  out["dims"] = tensor.dims ? nb::object(tuple_of(*tensor.dims)) : nb::none();
  out["layout"] = nb::none();
  out["why"] = nb::none();
  try {
    const Layout layout = onednn::tensor_of(tensor).layout;
    out["layout"] = nb::cast(PyLayout{layout, {}, {}, {}});
  } catch (const Error& error) {
    out["why"] = error.message();
  }
  return out;
}

nb::dict line_dict(int64_t number, const onednn::VerboseLine& line) {
  nb::dict out;
  out["number"] = number;
  out["timestamp"] = line.timestamp;
  out["operation"] = line.operation;
  out["engine"] = line.engine;
  out["primitive"] = line.primitive;
  out["implementation"] = line.implementation;
  out["propagation"] = line.propagation;
  nb::list tensors;
  for (const onednn::VerboseTensor& tensor : line.tensors) tensors.append(tensor_dict(tensor));
  out["tensors"] = tensors;
  out["attributes"] = line.attributes;
  out["auxiliary"] = line.auxiliary;
  out["problem"] = line.problem;
  out["time"] = line.time;
  return out;
}

nb::tuple read_log(const std::string& text) {
  const onednn::VerboseLog log = onednn::read_verbose_log(text);
  nb::list lines, others;
  for (const auto& [number, line] : log.lines) lines.append(line_dict(number, line));
  for (const onednn::VerboseLog::Other& other : log.others) {
    nb::dict entry;
    entry["number"] = other.number;
    entry["text"] = other.text;
    entry["why"] = other.why;
    others.append(entry);
  }
  return nb::make_tuple(lines, others);
}

}  // namespace

void bind_onednn_log(nb::module_& module) {
  module.def("read_onednn_log", &read_log, nb::arg("text"),
             "(lines, others) of what a program printed with ONEDNN_VERBOSE: oneDNN's lines about primitives as dicts, "
             "whose tensors have a layout, or the reason why there is none; and oneDNN's other lines with the reason.");
}

}  // namespace relayout::python
