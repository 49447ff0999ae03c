// convert() once more: the whole way of a small call whose like was done before.
//
// The function of relayout/_convert.py tells remember() of each conversion of an array of NumPy or PyTorch that it made
// for a call of the commonest kind. call_convert() stands in front of that function: it does further calls of the same
// kind itself, and leaves all others to it. The last few kinds are kept: a kind is the two layouts, the result's type
// as the caller said it, the numbers of scale, mean and their like, and the array's type, shape and strides.
#include <array>
#include <bit>
#include <optional>

#include "python/src/arrays.h"
#include "python/src/conversion.h"
#include "python/src/copies.h"
#include "python/src/functions.h"
#include "python/src/tracing.h"
#include "python/src/watch.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// The arguments that are numbers, or short lists of them.
constexpr std::array kNumberNames{"scale", "dst_scale", "zero_point", "dst_zero_point", "mean", "std"};

struct GivenNumbers {
  bool list = false;
  InlineVector<double, 8> values{};

  bool operator==(const GivenNumbers& other) const {
    if (list != other.list || values.size() != other.values.size()) return false;
    for (int i = 0; i < values.size(); ++i)  // by their bits: as zero points 0.0 and -0.0 differ
      if (std::bit_cast<uint64_t>(values[i]) != std::bit_cast<uint64_t>(other.values[i])) return false;
    return true;
  }
};
using NumbersByName = std::array<std::optional<GivenNumbers>, kNumberNames.size()>;

struct Kind {
  nb::object src, dst, dtype;  // as the caller said them
  nb::object own_dtype;        // of the array
  nb::object conversion, shape, result_dtype;
  const Conversion* planned = nullptr;
  Array::Kind library = Array::Kind::numpy;
  Dims extents, steps;
  NumbersByName attributes;
};

/// The last kinds, and what is looked up once. Objects are released by forget(), while Python still lives.
struct Recent {
  static constexpr std::size_t kKinds = 16;
  nb::ft_mutex mutex;  // a lock where Python has no GIL
  std::array<Kind, kKinds> kinds;
  std::size_t next = 0;
  nb::object empty;
  PyObject* dtype_name = nullptr;
};
Recent& recent() {
  static auto* const kept = new Recent;  // never destroyed: Python may be gone by then
  return *kept;
}

/// A float, or an integer that a double holds; false of anything else.
bool read_number(PyObject* given, GivenNumbers& to) {
  double value = 0;
  if (PyFloat_CheckExact(given)) {
    value = PyFloat_AsDouble(given);
  } else if (PyLong_CheckExact(given)) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(given, &overflow);
    constexpr long long kMost = 1LL << 53;
    if (overflow != 0 || whole > kMost || whole < -kMost) return false;
    value = static_cast<double>(whole);
  } else {
    return false;
  }
  if (to.values.size() == 8) return false;
  to.values.push_back(value);
  return true;
}

/// Nothing where it is neither a number nor a short list or tuple of numbers.
std::optional<GivenNumbers> read_numbers(PyObject* given) {
  GivenNumbers out;
  const bool tuple = PyTuple_CheckExact(given);
  out.list = tuple || PyList_CheckExact(given);
  if (!out.list) return read_number(given, out) ? std::optional(out) : std::nullopt;
  const Py_ssize_t size = tuple ? PyTuple_Size(given) : PyList_Size(given);
  if (size > 8) return std::nullopt;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!read_number(tuple ? PyTuple_GetItem(given, i) : PyList_GetItem(given, i), out)) return std::nullopt;
  return out;
}

/// False where it is no such argument, or no such number.
bool read_attribute(PyObject* name, PyObject* given, NumbersByName& to) {
  for (std::size_t i = 0; i < kNumberNames.size(); ++i) {
    if (PyUnicode_CompareWithASCIIString(name, kNumberNames[i]) != 0) continue;
    if (given == Py_None) return true;
    to[i] = read_numbers(given);
    return to[i].has_value();
  }
  return false;
}

/// The same object, or equal texts.
bool same(nb::handle a, nb::handle b) {
  if (a.is(b)) return true;
  if (!PyUnicode_CheckExact(a.ptr()) || !PyUnicode_CheckExact(b.ptr())) return false;
  return PyUnicode_Compare(a.ptr(), b.ptr()) == 0;
}

nb::object dtype_of_array(nb::handle x) {
  PyObject* found = PyObject_GetAttr(x.ptr(), recent().dtype_name);
  if (found == nullptr) throw nb::python_error();
  return nb::steal(found);
}

/// A call of convert() that may be like one that was made before.
struct ConvertCall {
  nb::handle x, src, dst, dtype = Py_None, out = Py_None;
  int threads = 0;
  NumbersByName attributes{};
};

/// What a kind needs to be run.
struct KnownConversion {
  nb::object conversion, shape, result_dtype;
  const Conversion* planned = nullptr;
};

KnownConversion known_conversion(const ConvertCall& call, const Array& x, nb::handle own_dtype) {
  Recent& all = recent();
  const nb::ft_lock_guard lock(all.mutex);
  for (const Kind& kind : all.kinds) {
    if (kind.planned != nullptr && kind.own_dtype.is(own_dtype) && kind.library == x.kind() &&
        kind.extents == x.shape && kind.steps == x.strides && same(kind.src, call.src) && same(kind.dst, call.dst) &&
        same(kind.dtype, call.dtype) && kind.attributes == call.attributes)
      return {kind.conversion, kind.shape, kind.result_dtype, kind.planned};
  }
  return {};
}

/// Whether the result may be written to an array of the caller's without a closer look.
bool is_plain_destination(const Array& out, const Array& x, const KnownConversion& found) {
  const Side& side = found.planned->dst();
  if (out.kind() != x.kind() || out.read_only || out.shape != side.shape || !out.row_major() ||
      !dtype_of_array(out.object()).is(found.result_dtype))
    return false;
  const std::byte* from = x.data - found.planned->src().origin;
  return out.data >= from + found.planned->src().desc.span_bytes() || from >= out.data + side.desc.span_bytes();
}

/// The result; nothing where no such call was remembered.
nb::object convert_again(const ConvertCall& call) {
  const Array x(call.x);
  const KnownConversion found = known_conversion(call, x, dtype_of_array(call.x));
  if (found.planned == nullptr) return {};
  const auto run = [&](const Array& out) {
    run_plan(found.planned->plan(), x.data - found.planned->src().origin, out.data, call.threads, out.bytes());
  };
  if (!call.out.is_none()) {
    const Array out(call.out, x);
    if (!is_plain_destination(out, x, found)) return {};
    note_written(out);
    run(out);
    return nb::borrow(call.out);
  }
  const bool torch = x.kind() == Array::Kind::torch;
  nb::object made =
      torch ? torch_empty(found.shape, found.result_dtype) : recent().empty(found.shape, found.result_dtype);
  const Array out = Array::of_new(made);
  if (torch) prefer_huge_pages(out.data, out.bytes());
  run(out);
  return made;
}

/// convert(x, src, dst) with nothing but the arguments of a ConvertCall; nothing for any other call.
nb::object convert_at_once(PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const auto is_array_itself = [](PyObject* object) { return is_numpy_itself(object) || is_torch_itself(object); };
  if (count != 3 || !is_array_itself(args[0])) return {};
  ConvertCall call{.x = args[0], .src = args[1], .dst = args[2]};
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i) {
    PyObject *name = PyTuple_GetItem(names, i), *value = args[count + i];
    if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
      call.dtype = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && (value == Py_None || is_array_itself(value))) {
      call.out = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "threads") == 0 && PyLong_CheckExact(value)) {
      int overflow = 0;
      const long threads = PyLong_AsLongAndOverflow(value, &overflow);
      if (threads != static_cast<int>(threads)) return {};
      call.threads = static_cast<int>(threads);
    } else if (!read_attribute(name, value, call.attributes)) {
      return {};
    }
  }
  return convert_again(call);
}

PyObject* call_convert(PyObject* self, PyObject* const* args, size_t count, PyObject* names) {
  try {
    nb::object made = convert_at_once(args, PyVectorcall_NARGS(count), names);
    if (made.is_valid()) return made.release().ptr();
  } catch (const Error&) {  // which the long way says
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
void remember(nb::handle x, nb::handle src, nb::handle dst, nb::handle dtype, nb::dict attributes,
              nb::handle conversion, nb::handle result_dtype) {
  if (!nb::isinstance<Conversion>(conversion) || !nb::inst_ready(conversion))
    throw nb::type_error("a Conversion is needed");
  const auto* planned = nb::inst_ptr<Conversion>(conversion);
  const Array array(x);
  if (!planned->fills() || planned->dst().desc.layout.empty() || !planned->takes(array) || !array.exact()) return;
  Kind kind{nb::borrow(src),
            nb::borrow(dst),
            nb::borrow(dtype),
            dtype_of_array(x),
            nb::borrow(conversion),
            tuple_of(planned->dst().shape),
            nb::borrow(result_dtype),
            planned,
            array.kind(),
            array.shape,
            array.strides,
            {}};
  for (auto [name, value] : attributes)
    if (!read_attribute(name.ptr(), value.ptr(), kind.attributes)) return;
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
  recent().empty = nb::module_::import_("numpy").attr("empty");
  recent().dtype_name = PyUnicode_InternFromString("dtype");
  module.def(
      "with_short_way", [](nb::handle convert) { return stand_in(convert, &call_convert); }, nb::arg("convert"));
  module.def("remember_conversion", &remember, nb::arg("x"), nb::arg("src"), nb::arg("dst"), nb::arg("dtype").none(),
             nb::arg("attributes"), nb::arg("conversion"), nb::arg("result_dtype"));
  module.def("forget_conversions", &forget);
}

}  // namespace relayout::python
