// Errors of the library as exceptions of Python.
#include "python/src/errors.h"

#include "relayout/core/error.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

void raise(const Error& error) {
  // What fails here, such as memory, has set an error of its own.
  PyObject* module = PyImport_ImportModule("relayout._errors");
  if (module == nullptr) return;
  const std::string code(name(error.code()));
  PyObject* made = PyObject_CallMethod(module, "of_code", "sssss", code.c_str(), error.message().c_str(),
                                       error.field().c_str(), error.value().c_str(), error.limit().c_str());
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
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace relayout::python
