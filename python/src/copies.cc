// contiguous() and copy(): elements moved between arrays of equal shape, by their bits.
//
// Read this first: it is the whole way of a small call. A NumPy array is read by the buffer protocol and a PyTorch
// tensor by DLPack's table of functions, the plan is one of the thread's last or comes from the library's cache, and
// the GIL is kept where the work is short.
#include "python/src/copies.h"

#include <nanobind/stl/optional.h>

#include <array>
#include <memory>
#include <string_view>

#include "python/src/arrays.h"
#include "python/src/tracing.h"
#include "python/src/watch.h"
#include "relayout/cpu/kept_plan.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// The function of relayout/_arrays.py that does the same for all other objects and orders.
nb::object in_python(const char* name) { return nb::module_::import_("relayout._arrays").attr(name); }

/// Where and how the elements of two arrays of equal shape and size of element lie, in units that both can be counted
/// in: whole elements, or parts of them where a stride is no multiple of an element or elements are large.
struct MovedSides {
  TensorDesc src_desc, dst_desc;
  std::byte *src = nullptr, *dst = nullptr;  // offset 0 of each
};

/// The layout of strided elements of so many units each: they are the innermost digit of the last dim, which may be the
/// last that a layout can have.
Layout with_parts(Dims dims, Dims strides, int64_t offset0, int64_t parts) {
  if (parts == 1) return Layout::strided(dims, strides, offset0);
  if (dims.empty()) return Layout::strided({parts}, {1}, offset0);
  std::array<Digits, kMaxDims> digits;
  for (int d = 0; d < dims.size(); ++d) digits[static_cast<std::size_t>(d)] = {{dims[d], strides[d]}};
  const int last = dims.size() - 1;
  digits[static_cast<std::size_t>(last)] = {{parts, 1}, {dims[last], strides[last]}};
  dims[last] *= parts;
  return Layout::from_digits(dims, std::span(digits).first(static_cast<std::size_t>(dims.size())), offset0);
}

MovedSides moved_sides(const Array& src, const Array& dst) {
  MovedSides out;
  if (src.desc != nullptr && dst.desc != nullptr) {
    return {*src.desc, *dst.desc, src.data + src.byte_range().first, dst.data + dst.byte_range().first};
  }
  // The largest unit of up to eight bytes that divides an element and all strides.
  uint64_t divisors = static_cast<uint64_t>(src.item_bytes) | 8;
  for (int d = 0; d < src.shape.size(); ++d) {
    if (src.shape[d] > 1) divisors |= static_cast<uint64_t>(src.strides[d]) | static_cast<uint64_t>(dst.strides[d]);
  }
  const auto unit = static_cast<int64_t>(divisors & (~divisors + 1));
  const DType dtype = unit == 8 ? DType::u64 : unit == 4 ? DType::u32 : unit == 2 ? DType::u16 : DType::u8;
  const auto side = [&](const Array& array, TensorDesc& desc, std::byte*& origin) {
    Dims dims, strides;
    int64_t offset0 = 0;
    for (int d = 0; d < array.shape.size(); ++d) {
      if (array.shape[d] == 1) continue;
      dims.push_back(array.shape[d]);
      strides.push_back(array.strides[d] / unit);
      if (strides.back() < 0) offset0 -= strides.back() * (dims.back() - 1);
    }
    desc = TensorDesc(with_parts(dims, strides, offset0, array.item_bytes / unit), dtype);
    origin = array.data - offset0 * unit;
  };
  side(src, out.src_desc, out.src);
  side(dst, out.dst_desc, out.dst);
  return out;
}

/// The types of elements of a copy that converts them; none where bits are moved.
struct ElementTypes {
  DType src, dst;
  bool operator==(const ElementTypes&) const = default;
};

/// The plan of a copy and how many bytes before the arrays' first elements offset 0 of each layout lies. The last few
/// of each thread are kept: making both layouts and asking the library's cache takes as long as copying some KiB.
struct Copy {
  Dims shape, src_strides, dst_strides;
  int64_t item_bytes = -1;
  std::optional<ElementTypes> types;
  std::string_view isa;
  std::shared_ptr<cpu::KeptPlan> kept;
  int64_t src_before = 0, dst_before = 0;
};

MovedSides converted_sides(const Array& src, const Array& dst, const ElementTypes& types) {
  const auto [src_desc, from] = src.tensor(types.src);
  const auto [dst_desc, to] = dst.tensor(types.dst);
  return {src_desc, dst_desc, from, to};
}

Copy copy_of(const Array& src, const Array& dst, const std::optional<ElementTypes>& types) {
  const MovedSides sides = types ? converted_sides(src, dst, *types) : moved_sides(src, dst);
  return {src.shape,
          src.strides,
          dst.strides,
          src.item_bytes,
          types,
          cpu::isa(),
          std::make_shared<cpu::KeptPlan>(cpu::cached_plan(sides.src_desc, sides.dst_desc)),
          src.data - sides.src,
          dst.data - sides.dst};
}

const Copy& remembered_copy(const Array& src, const Array& dst, const std::optional<ElementTypes>& types) {
  thread_local std::array<Copy, 4> copies;
  thread_local std::size_t next = 0;
  for (const Copy& known : copies) {
    if (known.item_bytes == src.item_bytes && known.types == types && known.shape == src.shape &&
        known.src_strides == src.strides && known.dst_strides == dst.strides && known.isa == cpu::isa())
      return known;
  }
  Copy& slot = copies[next++ % copies.size()];
  slot = copy_of(src, dst, types);
  return slot;
}

/// As of every conversion, progress hears of one without elements.
void say_nothing_is_left(const Progress& progress) {
  if (!progress.watched()) return;
  Watched work(progress);
  work.go_on(0, 0);
  work.finish();
}

void move(const Array& src, const Array& dst, int threads, const Progress& progress,
          const std::optional<ElementTypes>& types = std::nullopt) {
  const int64_t bytes = dst.bytes();
  if (bytes == 0) return say_nothing_is_left(progress);
  // The strides of a Buffer do not say where elements in blocks lie.
  const bool strided = src.desc == nullptr && dst.desc == nullptr;
  const Copy copy = strided ? remembered_copy(src, dst, types) : copy_of(src, dst, types);
  run_plan(copy.kept->use(), src.data - copy.src_before, dst.data - copy.dst_before, threads, bytes, progress);
}

/// Whether the bytes of two arrays meet.
bool share_memory(const Array& a, const Array& b) {
  const auto [a_low, a_high] = a.byte_range();
  const auto [b_low, b_high] = b.byte_range();
  return a_low != a_high && b_low != b_high && a.data + a_low < b.data + b_high && b.data + b_low < a.data + a_high;
}

nb::object contiguous(nb::handle x, nb::handle order, std::optional<bool> copy, int threads, nb::handle progress) {
  const Py_UCS4 letter =
      PyUnicode_Check(order.ptr()) && PyUnicode_GetLength(order.ptr()) == 1 ? PyUnicode_ReadChar(order.ptr(), 0) : 0;
  const bool columns = letter == 'F';
  if ((letter != 'C' && letter != 'F') || !is_array(x) || (columns && !is_numpy(x)))
    return in_python("contiguous")(x, order, copy, threads, progress);
  const Array src(x);
  if (!copy.value_or(false) && (columns ? src.column_major() : src.row_major())) return nb::borrow(x);
  if (copy && !*copy) {
    throw Error(ErrorCode::needs_copy, "the elements lie in another order, and copy=False forbids to move them", "copy",
                "False");
  }
  nb::object out = empty_like(src, columns);
  if (src.kind() == Array::Kind::torch) {
    const Array dst(out, src, Array::RowMajor());
    prefer_huge_pages(dst.data, dst.bytes());
    move(src, dst, threads, progress);
    return out;
  }
  const Array dst = Array::of_new(out);
  move(src, dst, threads, progress);
  return out;
}

/// Whether two arrays of one library have the same type of elements.
bool same_elements(nb::handle a, nb::handle b, const Array& array_a, const Array& array_b) {
  if (array_a.item_bytes != array_b.item_bytes || array_a.kind() != array_b.kind()) return false;
  static PyObject* name = PyUnicode_InternFromString("dtype");
  const nb::object type_a = nb::steal(PyObject_GetAttr(a.ptr(), name)),
                   type_b = nb::steal(PyObject_GetAttr(b.ptr(), name));
  if (!type_a.is_valid() || !type_b.is_valid()) throw nb::python_error();
  if (type_a.is(type_b)) return true;
  const int equal = PyObject_RichCompareBool(type_a.ptr(), type_b.ptr(), Py_EQ);
  if (equal < 0) throw nb::python_error();
  return equal != 0;
}

/// Whether every stride is a whole number of elements.
bool steps_by_elements(const Array& array) {
  if (array.desc != nullptr) return false;
  for (int d = 0; d < array.shape.size(); ++d)
    if (array.shape[d] > 1 && array.strides[d] % array.item_bytes != 0) return false;
  return true;
}

/// The types of two arrays whose elements are converted in one pass; nothing where relayout/_arrays.py finds a way.
std::optional<ElementTypes> converted_types(const Array& src, const Array& dst) {
  if (src.kind() != dst.kind() || !steps_by_elements(src) || !steps_by_elements(dst) || share_memory(src, dst))
    return {};
  static PyObject* name = PyUnicode_InternFromString("dtype");
  const auto type = [](const Array& array) {
    const nb::object dtype = nb::steal(PyObject_GetAttr(array.object().ptr(), name));
    if (!dtype.is_valid()) throw nb::python_error();
    return known_dtype(dtype);
  };
  const std::optional<DType> from = type(src), to = type(dst);
  if (!from || !to) return {};
  return ElementTypes{*from, *to};
}

void copy(nb::handle dst_object, nb::handle src_object, int threads, nb::handle progress) {
  if (!is_array(dst_object) || !is_array(src_object)) {
    in_python("copy")(dst_object, src_object, threads, progress);
    return;
  }
  const Array dst(dst_object);
  const Array src(src_object, dst);
  if (dst.read_only) throw Error(ErrorCode::invalid_argument, "the destination is read-only", "dst");
  if (src.shape != dst.shape || !same_elements(src_object, dst_object, src, dst)) {
    if (src.shape == dst.shape) {
      if (const auto types = converted_types(src, dst)) {
        note_written(dst);
        return move(src, dst, threads, progress, types);
      }
    }
    in_python("copy_converted")(dst_object, src_object, threads, progress);
    return;
  }
  note_written(dst);
  if (!share_memory(src, dst)) return move(src, dst, threads, progress);
  if (src.data == dst.data && src.strides == dst.strides) return;
  // What is still to be read may be written first. So the values are moved out of the way, as NumPy does.
  const nb::object between = empty_like(src, false);
  const Array held = Array::of_new(between);
  move(src, held, threads, {progress, 0, 2});
  move(held, dst, threads, {progress, 1, 2});
}

}  // namespace

void bind_copies(nb::module_& module) {
  module.def("contiguous", &contiguous, nb::arg("x"), nb::arg("order") = "C", nb::kw_only(),
             nb::arg("copy") = nb::none(), nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
             nb::sig("def contiguous(x: typing.Any, order: typing.Any = 'C', *, copy: bool | None = None, "
                     "threads: int = 0, progress: typing.Any = None) -> typing.Any"),
             "The same array with its elements in one run of memory, in the library's own class of arrays.\n\n"
             "x: a NumPy array, a PyTorch tensor, a JAX array, or anything with `__dlpack__` or the buffer protocol.\n"
             "order: 'C' (row-major), 'F' (first dim innermost), 'K' (the order that the dims have in memory), "
             "'channels_last', 'channels_last_3d', or a tag without blocks, such as 'nhwc' for dims n, c, h, w.\n"
             "copy: None returns x itself, or a NumPy view of a mere buffer, where its elements lie so already; True "
             "copies always; False raises "
             "NeedsCopyError where a copy is needed.\n"
             "threads: the most threads to use; 0 stands for all.\n"
             "progress: as for `convert`; not called where no element moves.\n\n"
             "An array without dims stays one. From 32 KiB on other threads of Python run meanwhile.");
  module.def(
      "copy", &copy, nb::arg("dst"), nb::arg("src"), nb::kw_only(), nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(),
      "Writes the elements of src into dst, whose shape src's is or can be broadcast to. Other types of elements "
      "are converted as `convert` does. Both may share memory: all is read as it was before the call. "
      "progress: as for `convert`.");
  module.def("check_not_traced", &check_not_traced, nb::arg("tensor"));
  module.def("check_values_are_stored", &check_values_are_stored, nb::arg("tensor"));
  module.def(
      "may_share_memory", [](nb::handle a, nb::handle b) { return share_memory(Array(a), Array(b)); }, nb::arg("a"),
      nb::arg("b"), "Whether the address ranges of two arrays meet.");
}

}  // namespace relayout::python
