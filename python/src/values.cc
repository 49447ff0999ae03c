// Numbers, tuples of them and paths, as Python gives and takes them.
#include <string>

#include "python/src/arrays.h"

namespace nb = nanobind;

namespace relayout::python {

int64_t int64_of(nb::handle object) {
  const int64_t value = PyLong_AsLongLong(object.ptr());
  if (value != -1 || PyErr_Occurred() == nullptr) return value;
  nb::python_error error;
  if (!error.matches(PyExc_OverflowError)) throw error;
  throw Error(ErrorCode::overflow, "a number of over 64 bits", "dims");
}

Dims dims_of(nb::handle sequence, const char* what) {
  Dims out;
  if (PyLong_Check(sequence.ptr())) {
    out.push_back(int64_of(sequence));
    return out;
  }
  if (!PySequence_Check(sequence.ptr()) || PyUnicode_Check(sequence.ptr()) || PyBytes_Check(sequence.ptr()))
    throw nb::type_error((std::string(what) + " must be a sequence of integers").c_str());
  const Py_ssize_t size = PySequence_Size(sequence.ptr());
  if (size < 0) throw nb::python_error();
  if (size > kMaxDims) {
    throw Error(ErrorCode::limit,
                std::string(what) + " has " + std::to_string(size) + " entries; at most " + std::to_string(kMaxDims),
                what, std::to_string(size), std::to_string(kMaxDims));
  }
  for (Py_ssize_t i = 0; i < size; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(sequence.ptr(), i));
    if (!item.is_valid()) throw nb::python_error();
    const nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    out.push_back(int64_of(index));
  }
  return out;
}

std::string path_of(nb::handle path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) {
    nb::python_error error;
    if (!error.matches(PyExc_ValueError)) throw error;
    throw Error(ErrorCode::invalid_argument, std::string("no path: ") + nb::str(error.value()).c_str(), "path");
  }
  const nb::object owner = nb::steal(bytes);
  return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
}

Integers tuple_of(std::span<const int64_t> numbers) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  if (out == nullptr) throw nb::python_error();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SetItem(out, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  return nb::steal<Integers>(out);
}

}  // namespace relayout::python
