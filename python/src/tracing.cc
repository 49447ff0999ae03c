// What PyTorch's own state means for its tensors: see tracing.h.
#include "python/src/tracing.h"

#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "python/src/arrays.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// Functions and classes of PyTorch that are looked up once; null where this PyTorch has no such thing. The first ones
/// tell, in a few dozen nanoseconds, that it may be tracing or transforming a function.
struct TorchFunctions {
  PyObject *state, *modes;         // functions, whose answers are None or 0 mostly
  PyObject *forward_ad, *level;    // a module, and the name of a number that is -1 mostly
  PyObject *wrapped, *functional;  // functions of a tensor
  PyObject *tensor, *parameter;    // classes whose tensors have memory of their own, where these say nothing else
  PyObject* increment_version;     // a function of a tensor
  PyObject *empty, *dtype;         // a function, and the name of its argument in a tuple
  PyObject *empty_like, *contiguous_format,
      *memory_format;  // a function, its argument, and the name of that in a tuple
  std::vector<TorchType> types;
};

std::vector<TorchType> types_of(nb::handle module) {
  constexpr std::pair<const char*, int> kNames[] = {
      {"float32", 4}, {"uint8", 1},       {"int64", 8},         {"float16", 2},   {"bfloat16", 2},   {"int32", 4},
      {"float64", 8}, {"int8", 1},        {"int16", 2},         {"bool", 1},      {"uint16", 2},     {"uint32", 4},
      {"uint64", 8},  {"float8_e5m2", 1}, {"float8_e4m3fn", 1}, {"complex64", 8}, {"complex128", 16}};
  std::vector<TorchType> out;
  for (const auto& [name, bytes] : kNames) {
    if (!nb::hasattr(module, name)) continue;
    const bool complex = std::string_view(name).starts_with("complex");
    out.push_back({nb::object(module.attr(name)).release().ptr(), bytes, complex});
  }
  return out;
}

const TorchFunctions& torch_functions() {
  static std::atomic<const TorchFunctions*> place{nullptr};
  if (const TorchFunctions* found = place.load(std::memory_order_acquire)) return *found;
  const nb::object module = nb::module_::import_("sys").attr("modules")["torch"];
  const auto find = [](nb::handle owner, const char* name) -> PyObject* {
    return owner.is_valid() && nb::hasattr(owner, name) ? nb::object(owner.attr(name)).release().ptr() : nullptr;
  };
  const nb::object core = module.attr("_C");
  const auto* made = new TorchFunctions{find(core, "_get_tracing_state"),
                                        find(core, "_len_torch_dispatch_stack"),
                                        find(module.attr("autograd"), "forward_ad"),
                                        PyUnicode_InternFromString("_current_level"),
                                        find(find(core, "_functorch"), "is_functorch_wrapped_tensor"),
                                        find(module, "_is_functional_tensor"),
                                        find(module, "Tensor"),
                                        find(module.attr("nn"), "Parameter"),
                                        find(find(module.attr("autograd"), "graph"), "increment_version"),
                                        find(module, "empty"),
                                        nb::make_tuple("dtype").release().ptr(),
                                        find(module, "empty_like"),
                                        find(module, "contiguous_format"),
                                        nb::make_tuple("memory_format").release().ptr(),
                                        types_of(module)};
  place.store(made, std::memory_order_release);  // of two threads at once, one answer is lost
  return *made;
}

bool is_true(nb::handle object) {
  const int answer = PyObject_IsTrue(object.ptr());
  if (answer < 0) throw nb::python_error();
  return answer != 0;
}
bool says_yes(PyObject* function) { return function != nullptr && is_true(nb::handle(function)()); }
bool says_yes(PyObject* function, nb::handle tensor) {
  return function != nullptr && is_true(nb::handle(function)(tensor));
}

long level_of(const TorchFunctions& torch) {
  return nb::cast<long>(nb::getattr(nb::handle(torch.forward_ad), nb::handle(torch.level)));
}

}  // namespace

void explain_traced(nb::handle tensor) { nb::module_::import_("relayout._traced").attr("check_torch")(tensor); }

void check_torch_state(nb::handle tensor) {
  const TorchFunctions& torch = torch_functions();
  if (says_yes(torch.state) || says_yes(torch.modes) || (torch.forward_ad != nullptr && level_of(torch) >= 0))
    explain_traced(tensor);
}

void check_not_traced(nb::handle tensor) {
  const TorchFunctions& torch = torch_functions();
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tensor.ptr()));
  check_torch_state(tensor);
  if ((type != torch.tensor && type != torch.parameter) || says_yes(torch.wrapped, tensor) ||
      says_yes(torch.functional, tensor))
    explain_traced(tensor);
}

const TorchType* torch_type(nb::handle dtype) {
  for (const TorchType& type : torch_functions().types)
    if (type.dtype == dtype.ptr()) return &type;
  return nullptr;
}

nb::object torch_empty(nb::handle shape, nb::handle dtype) {
  const TorchFunctions& torch = torch_functions();
  PyObject* args[] = {shape.ptr(), dtype.ptr()};
  PyObject* made = PyObject_Vectorcall(torch.empty, args, 1, torch.dtype);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object torch_empty_like(nb::handle tensor) {
  const TorchFunctions& torch = torch_functions();
  PyObject* args[] = {tensor.ptr(), torch.contiguous_format};
  PyObject* made = PyObject_Vectorcall(torch.empty_like, args, 1, torch.memory_format);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object call_method(nb::handle object, PyObject* name) {
  PyObject* args[] = {object.ptr()};
  PyObject* found = PyObject_VectorcallMethod(name, args, 1, nullptr);
  if (found == nullptr) throw nb::python_error();
  return nb::steal(found);
}

void note_written(const Array& array) {
  if (array.kind() != Array::Kind::torch) return;
  PyObject* increment = torch_functions().increment_version;
  if (increment == nullptr) return;
  PyObject* done = PyObject_CallFunctionObjArgs(increment, array.object().ptr(), nullptr);
  if (done == nullptr) PyErr_Clear();  // a tensor of inference mode has no versions
  Py_XDECREF(done);
}

}  // namespace relayout::python
