// The views of relayout.Layout: the same elements under other indices, in the words of NumPy and PyTorch.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/core/view.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// A view of a layout, which counts from the same address.
PyLayout view_of(const PyLayout& of, Layout layout, std::string letters = {}) {
  return {std::move(layout), {}, std::move(letters), {}, of.origin};
}

/// The integers of a call: f(1, 2) and f((1, 2)).
Dims numbers(const nb::args& args, const char* what) {
  const bool one = args.size() == 1 && !PyLong_Check(nb::object(args[0]).ptr());
  return dims_of(one ? nb::object(args[0]) : nb::object(args), what);
}

PyLayout permuted(const PyLayout& self, const nb::args& args) {
  const Dims order = numbers(args, "order");
  InlineVector<int, kMaxDims> axes;
  std::string letters;
  for (const int64_t axis : order) {
    if (axis != static_cast<int>(axis)) throw nb::index_error(("no dim " + std::to_string(axis)).c_str());
    axes.push_back(static_cast<int>(axis));
  }
  Layout out = permute(self.layout, axes);
  for (const int axis : axes) letters += self.names()[static_cast<std::size_t>(axis < 0 ? axis + axes.size() : axis)];
  return view_of(self, std::move(out), std::move(letters));
}

struct SliceIndices {
  int64_t start, step, count;
};

SliceIndices indices_of(nb::handle slice, int64_t extent) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
  const Py_ssize_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
  return {start, step, count};
}

Layout sliced(const Layout& layout, int d, nb::handle item) {
  const auto [start, step, count] = indices_of(item, layout.dim(d));
  if (count == 0) return slice(layout, d, 0, 0, 1);
  if (step > 0) return slice(layout, d, start, start + (count - 1) * step + 1, step);
  // From the last index on backwards: the same indices forwards, reversed.
  const int64_t first = start + (count - 1) * step;
  return flip(slice(layout, d, first, start + 1, -step), d);
}

/// layout[1, ..., ::2, None]: integers select, slices slice, None adds a dim of extent 1, as in NumPy.
PyLayout item_of(const PyLayout& self, nb::handle key) {
  nb::list items;
  if (PyTuple_Check(key.ptr())) {
    for (nb::handle item : nb::borrow<nb::tuple>(key)) items.append(item);
  } else {
    items.append(key);
  }
  int named = 0;
  bool ellipsis = false;
  for (nb::handle item : items) {
    if (item.ptr() == Py_Ellipsis) {
      if (ellipsis) throw nb::index_error("an index may have one ellipsis");
      ellipsis = true;
    } else if (!item.is_none()) {
      ++named;
    }
  }
  if (named > self.layout.ndims()) throw nb::index_error("too many indices for a layout of fewer dims");
  Layout out = self.layout;
  std::string letters = self.names();
  int d = 0;
  for (nb::handle item : items) {
    if (item.ptr() == Py_Ellipsis) {
      d += self.layout.ndims() - named;
    } else if (item.is_none()) {
      out = unsqueeze(out, d);
      letters.clear();
      ++d;
    } else if (PySlice_Check(item.ptr())) {
      out = sliced(out, d, item);
      ++d;
    } else {
      int64_t i = PyNumber_AsSsize_t(item.ptr(), PyExc_IndexError);
      if (i == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
      if (i < -out.dim(d) || i >= out.dim(d)) {
        throw nb::index_error(("index " + std::to_string(i) + " of dim " + std::to_string(d) + ", whose extent is " +
                               std::to_string(out.dim(d)))
                                  .c_str());
      }
      if (i < 0) i += out.dim(d);
      out = select(out, d, i);
      if (!letters.empty()) letters.erase(static_cast<std::size_t>(d), 1);
    }
  }
  return view_of(self, std::move(out), letters.size() == static_cast<std::size_t>(out.ndims()) ? letters : "");
}

void bind_parts(nb::class_<PyLayout>& type) {
  type.def("__getitem__", &item_of, nb::arg("key").none(),
           "A part, in NumPy's notation: integers, slices with any step, `...` and None.")
      .def("permute", &permuted, "The dims in another order: result dim i is dim order[i], as in PyTorch and NumPy.")
      .def(
          "transpose", [](const PyLayout& l, int a, int b) { return view_of(l, transpose(l.layout, a, b)); },
          nb::arg("dim0"), nb::arg("dim1"), "Two dims exchanged.")
      .def(
          "view",
          [](const PyLayout& l, const nb::args& dims) { return view_of(l, view(l.layout, numbers(dims, "dims"))); },
          "Other dims over the same elements in row-major order, one of them -1 if need be. NeedsCopyError names the "
          "dims that stand in the way.")
      .def(
          "flatten", [](const PyLayout& l, int first, int last) { return view_of(l, flatten(l.layout, first, last)); },
          nb::arg("start_dim") = 0, nb::arg("end_dim") = -1)
      .def(
          "flip", [](const PyLayout& l, int d) { return view_of(l, flip(l.layout, d), l.letters); }, nb::arg("dim"),
          "A dim from its end to its begin.")
      .def(
          "narrow",
          [](const PyLayout& l, int d, int64_t s, int64_t n) {
            return view_of(l, narrow(l.layout, d, s, n), l.letters);
          },
          nb::arg("dim"), nb::arg("start"), nb::arg("length"))
      .def(
          "select", [](const PyLayout& l, int d, int64_t i) { return view_of(l, select(l.layout, d, i)); },
          nb::arg("dim"), nb::arg("index"));
}

void bind_other_dims(nb::class_<PyLayout>& type) {
  type.def(
          "expand",
          [](const PyLayout& l, const nb::args& dims) { return view_of(l, expand(l.layout, numbers(dims, "dims"))); },
          "Dims of extent 1 repeated; -1 keeps an extent.")
      .def(
          "squeeze",
          [](const PyLayout& l, std::optional<int> d) {
            return view_of(l, d ? squeeze(l.layout, *d) : squeeze(l.layout));
          },
          nb::arg("dim") = nb::none(), "Without a dim of extent 1, or without all of them.")
      .def(
          "unsqueeze", [](const PyLayout& l, int d) { return view_of(l, unsqueeze(l.layout, d)); }, nb::arg("dim"))
      .def(
          "split",
          [](const PyLayout& l, int d, nb::handle parts) {
            return view_of(l, split(l.layout, d, dims_of(parts, "parts")));
          },
          nb::arg("dim"), nb::arg("parts"), "One dim as several, outermost first.")
      .def(
          "merge", [](const PyLayout& l, int a, int b) { return view_of(l, merge(l.layout, a, b)); }, nb::arg("first"),
          nb::arg("last"), "Dims first to last as one; digits make this possible for any strides.")
      .def(
          "unfold",
          [](const PyLayout& l, int d, int64_t n, int64_t s) { return view_of(l, unfold(l.layout, d, n, s)); },
          nb::arg("dim"), nb::arg("size"), nb::arg("step"), "Windows of a dim, as PyTorch's unfold.")
      .def(
          "diagonal",
          [](const PyLayout& l, int64_t o, int a, int b) { return view_of(l, diagonal(l.layout, o, a, b)); },
          nb::arg("offset") = 0, nb::arg("dim0") = 0, nb::arg("dim1") = 1)
      .def(
          "as_strided",
          [](const PyLayout& l, nb::handle dims, nb::handle strides, std::optional<int64_t> offset0) {
            return view_of(l,
                           as_strided(l.layout, dims_of(dims, "dims"), dims_of(strides, "strides_elements"), offset0));
          },
          nb::arg("dims"), nb::arg("strides_elements"), nb::arg("offset0") = nb::none())
      .def(
          "submemory",
          [](const PyLayout& l, nb::handle dims, nb::handle offsets) {
            return view_of(l, submemory(l.layout, dims_of(dims, "dims"), dims_of(offsets, "offsets")), l.letters);
          },
          nb::arg("dims"), nb::arg("offsets"), "oneDNN's submemory descriptor.")
      .def(
          "canonical", [](const PyLayout& l) { return view_of(l, l.layout.canonical(), l.letters); },
          "The same layout with the simplest digits.");
}

}  // namespace

void bind_layout_views(nb::class_<PyLayout>& type) {
  bind_parts(type);
  bind_other_dims(type);
}

}  // namespace relayout::python
