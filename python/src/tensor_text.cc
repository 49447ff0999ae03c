// relayout.interop.tensors_in_text: tensors in the words in which programs print them.
#include "relayout/interop/tensor_text.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

nb::dict text_tensor_dict(const TextTensor& tensor) {
  nb::dict out;
  out["name"] = tensor.name;
  out["expression"] = tensor.expression;
  out["dims"] = tensor.dims ? nb::object(tuple_of(*tensor.dims)) : nb::none();
  out["dtype"] = tensor.dtype ? nb::object(nb::str(std::string(name(*tensor.dtype)).c_str())) : nb::none();
  out["why"] = tensor.problem ? nb::object(nb::str(tensor.problem->message().c_str())) : nb::none();
  return out;
}

nb::list read_tensors(const std::string& text) {
  nb::list out;
  for (const TextTensor& tensor : tensors_in_text(text)) out.append(text_tensor_dict(tensor));
  return out;
}

}  // namespace

void bind_tensor_text(nb::module_& module) {
  module.def("tensors_in_text", &read_tensors, nb::arg("text"),
             "The tensors of a text, as dicts of name, expression, dims, dtype and, where there is no layout, why: an "
             "array of PyTorch or NumPy, a line or a tensor of oneDNN, the header of a safetensors file. "
             "relayout.layout() takes such a text of one tensor, or \"NAME of TEXT\".");
}

}  // namespace relayout::python
