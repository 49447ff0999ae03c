// convert() of NumPy arrays once more: the whole way of a small call whose like was done before.
//
// The function of relayout/_convert.py tells remember() of each conversion that it made for a call without attributes
// and destination. call_convert() stands in front of that function: it does further calls of the same kind itself, and
// leaves all others to it. The last few kinds are kept: a kind is the two layouts, the result's type as the caller said
// it, and the array's type, shape and strides.
#include <array>

#include "python/src/arrays.h"
#include "python/src/conversion.h"
#include "python/src/copies.h"
#include "python/src/functions.h"
#include "python/src/watch.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

struct Kind {
  nb::object src, dst, dtype;  // as the caller said them
  nb::object own_dtype;        // of the array
  nb::object conversion, shape, result_dtype;
  const Conversion* planned = nullptr;
  Dims extents, steps;
};

/// The last kinds, and what is looked up once. Objects are released by forget(), while Python still lives.
struct Recent {
  static constexpr std::size_t kKinds = 16;
  nb::ft_mutex mutex;  // a lock where Python has no GIL
  std::array<Kind, kKinds> kinds;
  std::size_t next = 0;
  nb::object empty;
  PyObject *ndarray = nullptr, *dtype_name = nullptr;
};
Recent& recent() {
  static auto* const kept = new Recent;  // never destroyed: Python may be gone by then
  return *kept;
}

/// The same object, or equal texts.
bool same(nb::handle a, nb::handle b) {
  if (a.is(b)) return true;
  if (!PyUnicode_CheckExact(a.ptr()) || !PyUnicode_CheckExact(b.ptr())) return false;
  return PyUnicode_Compare(a.ptr(), b.ptr()) == 0;
}

bool equal(const Dims& dims, const Py_ssize_t* numbers) {
  for (int d = 0; d < dims.size(); ++d)
    if (dims[d] != numbers[d]) return false;
  return true;
}

nb::object numpy_type_of(nb::handle x) {
  PyObject* found = PyObject_GetAttr(x.ptr(), recent().dtype_name);
  if (found == nullptr) throw nb::python_error();
  return nb::steal(found);
}

/// The result; nothing where no such call was remembered. `x` is a numpy.ndarray.
nb::object convert_again(nb::handle x, nb::handle src, nb::handle dst, nb::handle dtype, int threads) {
  Recent& all = recent();
  const nb::object own = numpy_type_of(x);
  View view;
  if (PyObject_GetBuffer(x.ptr(), &view, PyBUF_STRIDES) != 0) {
    PyErr_Clear();  // the long way says what is wrong
    return {};
  }
  nb::object conversion, shape, result_dtype;
  const Conversion* planned = nullptr;
  {
    const nb::ft_lock_guard lock(all.mutex);
    for (const Kind& kind : all.kinds) {
      if (kind.planned == nullptr || !kind.own_dtype.is(own) || kind.extents.size() != view.ndim ||
          !equal(kind.extents, view.shape) || !equal(kind.steps, view.strides) || !same(kind.src, src) ||
          !same(kind.dst, dst) || !same(kind.dtype, dtype))
        continue;
      conversion = kind.conversion;
      shape = kind.shape;
      result_dtype = kind.result_dtype;
      planned = kind.planned;
      break;
    }
  }
  if (planned == nullptr) return {};
  nb::object made = all.empty(shape, result_dtype);
  View out;
  if (PyObject_GetBuffer(made.ptr(), &out, PyBUF_STRIDES | PyBUF_WRITABLE) != 0) throw nb::python_error();
  run_plan(planned->plan(), static_cast<std::byte*>(view.buf) - planned->src().origin, out.buf, threads, out.len);
  return made;
}

/// convert(x, src, dst), perhaps with dtype= and threads=, of a NumPy array; nothing for any other call.
nb::object convert_at_once(PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count != 3 || reinterpret_cast<PyObject*>(Py_TYPE(args[0])) != recent().ndarray) return {};
  nb::handle dtype = Py_None;
  long threads = 0;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i) {
    PyObject *name = PyTuple_GetItem(names, i), *value = args[count + i];
    if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
      dtype = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "threads") == 0 && PyLong_CheckExact(value)) {
      int overflow = 0;
      threads = PyLong_AsLongAndOverflow(value, &overflow);
      if (threads != static_cast<int>(threads)) return {};
    } else {
      return {};
    }
  }
  return convert_again(args[0], args[1], args[2], dtype, static_cast<int>(threads));
}

PyObject* call_convert(PyObject* self, PyObject* const* args, size_t count, PyObject* names) {
  try {
    nb::object made = convert_at_once(args, PyVectorcall_NARGS(count), names);
    if (made.is_valid()) return made.release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  return call_function(self, args, count, names);
}

/// Keeps a conversion that writes every byte of its result, for further calls of its kind.
void remember(nb::handle x, nb::handle src, nb::handle dst, nb::handle dtype, nb::handle conversion,
              nb::handle result_dtype) {
  if (!nb::isinstance<Conversion>(conversion) || !nb::inst_ready(conversion))
    throw nb::type_error("a Conversion is needed");
  const auto* planned = nb::inst_ptr<Conversion>(conversion);
  const Array array(x);
  if (!planned->fills() || planned->dst().desc.layout.empty() || !planned->takes(array) || !array.exact()) return;
  Kind kind{nb::borrow(src),
            nb::borrow(dst),
            nb::borrow(dtype),
            numpy_type_of(x),
            nb::borrow(conversion),
            tuple_of(planned->dst().shape),
            nb::borrow(result_dtype),
            planned,
            array.shape,
            array.strides};
  Recent& all = recent();
  {
    const nb::ft_lock_guard lock(all.mutex);
    std::swap(all.kinds[all.next++ % Recent::kKinds], kind);
  }
}

void forget() {
  Recent& all = recent();
  std::array<Kind, Recent::kKinds> gone;
  const nb::ft_lock_guard lock(all.mutex);
  std::swap(all.kinds, gone);
}

}  // namespace

void bind_again(nb::module_& module) {
  recent().ndarray = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  recent().empty = nb::module_::import_("numpy").attr("empty");
  recent().dtype_name = PyUnicode_InternFromString("dtype");
  module.def(
      "with_short_way", [](nb::handle convert) { return stand_in(convert, &call_convert); }, nb::arg("convert"));
  module.def("remember_conversion", &remember, nb::arg("x"), nb::arg("src"), nb::arg("dst"), nb::arg("dtype").none(),
             nb::arg("conversion"), nb::arg("result_dtype"));
  module.def("forget_conversions", &forget);
}

}  // namespace relayout::python
