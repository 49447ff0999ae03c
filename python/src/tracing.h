// Tensors of PyTorch in functions that are traced, compiled or transformed: nothing that relayout does would be
// recorded.
//
// What is refused, and in which words, says relayout/_traced.py; here is what asks it, at the cost of some dozen
// nanoseconds where nothing is traced.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace relayout::python {

/// What a dtype of PyTorch says of memory. Values of complex numbers may have to be conjugated when they are read.
struct TorchType {
  PyObject* dtype;
  int64_t item_bytes;
  bool complex;
};
/// Null for types that are not looked up here, such as quantized ones.
const TorchType* torch_type(nanobind::handle dtype);
/// A new row-major tensor of this shape and dtype.
nanobind::object torch_empty(nanobind::handle shape, nanobind::handle dtype);
/// A new row-major tensor like another one, which is of the class torch.Tensor itself.
nanobind::object torch_empty_like(nanobind::handle tensor);
/// object.name(), without a bound method.
nanobind::object call_method(nanobind::handle object, PyObject* name);

/// Throws what relayout/_traced.py says of a tensor, if it refuses it.
void explain_traced(nanobind::handle tensor);
/// Refuses any tensor while PyTorch records or transforms what is done. A tensor that has no memory of its own shows
/// that when its memory is asked for; then explain_traced() says why.
void check_torch_state(nanobind::handle tensor);
/// Likewise, and refuses a tensor that stands for others, without a look at its memory.
void check_not_traced(nanobind::handle tensor);

}  // namespace relayout::python
