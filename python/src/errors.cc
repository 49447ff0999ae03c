// Errors of the library as exceptions of Python.
#include "python/src/errors.h"

#include "relayout/core/system_error.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// `number`: as errno has it; 0 where the system did not refuse.
void raise(const Error& error, int number = 0) {
  // What fails here, such as memory, has set an error of its own.
  PyObject* module = PyImport_ImportModule("relayout._errors");
  if (module == nullptr) return;
  const std::string code(name(error.code()));
  // Names and paths need not be UTF-8.
  const auto text = [](const std::string& bytes) {
    return PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace");
  };
  PyObject* made = PyObject_CallMethod(module, "of_code", "NNNNNi", text(code), text(error.message()),
                                       text(error.field()), text(error.value()), text(error.limit()), number);
  Py_DECREF(module);
  if (made == nullptr) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made)), made);
  Py_DECREF(made);
}

}  // namespace

void raise_as_python_exceptions() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const SystemError& error) {
      raise(error, error.number());
    } catch (const Error& error) {
      raise(error);
    } catch (const nb::cast_error&) {
      PyErr_SetString(PyExc_TypeError,
                      "relayout: an argument, or a part of one, has the wrong type or is out of range");
    }
  });
}

}  // namespace relayout::python
