// relayout.Layout: the layout class of Python, its questions and its text.
#include "python/src/layout.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "python/src/arrays.h"
#include "python/src/functions.h"
#include "relayout/core/decide.h"
#include "relayout/interop/spelling.h"
#include "relayout/interop/tensor_text.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

std::string dims_text(const Dims& dims) {
  std::string out = "(";
  for (const int64_t extent : dims) out += std::to_string(extent) + ", ";
  if (dims.size() > 1) out.resize(out.size() - 2);
  if (dims.size() == 1) out.pop_back();
  return out + ")";
}

nb::tuple digits_of(const PyLayout& self) {
  nb::list dims;
  for (int d = 0; d < self.layout.ndims(); ++d) {
    nb::list digits;
    for (const Digit& digit : self.layout.digits(d)) digits.append(nb::make_tuple(digit.extent, digit.stride));
    dims.append(nb::tuple(digits));
  }
  return nb::tuple(dims);
}

/// One stride a dim, 0 where a dim has one index. Error{unsupported} names a dim with blocks.
Dims strides_of(const Layout& layout) {
  require_plain(layout, "strides");
  const Layout simple = layout.canonical();
  Dims out;
  for (int d = 0; d < simple.ndims(); ++d) {
    if (simple.digits(d).size() > 1) {
      throw Error(ErrorCode::unsupported,
                  "dim " + std::to_string(d) + " has blocks, so that no single stride steps along it; digits says more",
                  "dims[" + std::to_string(d) + "]");
    }
    out.push_back(layout.dim(d) > 1 ? simple.digits(d)[0].stride : 0);
  }
  return out;
}

Integers strides_bytes(const PyLayout& self, nb::handle said) {
  const DType dtype = dtype_of(said);
  const int width = bits(dtype);
  Dims out = strides_of(self.layout);
  for (int64_t& stride : out) {
    if (stride * width % 8 != 0) {
      throw Error(ErrorCode::unsupported,
                  "a stride of " + std::to_string(stride) + " elements of " + std::string(name(dtype)) +
                      " is no whole number of bytes",
                  "dtype", std::string(name(dtype)));
    }
    stride = stride * width / 8;
  }
  return tuple_of(out);
}

std::string spelled_as(const PyLayout& self, const std::string& system, nb::handle dtype) {
  const Spelling said = spelling(system, {self.layout, dtype_of(dtype)}, self.letters);
  if (!said.refusal.empty()) throw Error(ErrorCode::unsupported, said.refusal, "system", system);
  return said.text;
}

nb::tuple aliases(const PyLayout& self) {
  const auto tag = tag_of(self.layout);
  const std::vector<std::string> names = tag ? aliases_of(*tag) : std::vector<std::string>();
  nb::list out;
  for (const std::string& name : names) out.append(nb::str(name.c_str()));
  return nb::tuple(out);
}

nb::object index_at(const PyLayout& self, int64_t offset) {
  Dims index;
  switch (self.layout.inverse(offset, &index)) {
    case Slot::element: return nb::make_tuple("element", tuple_of(index));
    case Slot::padding: return nb::make_tuple("padding", tuple_of(index));
    case Slot::gap: break;
  }
  return nb::make_tuple("gap", nb::none());
}

/// What equal layouts have in common, however they are spelled: extents, capacities and some of their offsets.
std::string offsets_text(const Layout& layout) {
  std::string out = join(layout.dims()) + "|" + join(layout.padded_dims());
  for (int d = 0; d < layout.ndims() && !layout.empty(); ++d) {
    Dims index(layout.ndims(), 0);
    for (int64_t i = 1; i < layout.capacity(d); i *= 2) {
      index[d] = i;
      out += "," + std::to_string(layout.offset(index));
    }
  }
  return out + "|" + std::to_string(layout.empty() ? 0 : layout.offset(Dims(layout.ndims(), 0)));
}

nb::object difference_of(const PyLayout& a, const PyLayout& b) {
  const auto found = difference(a.layout, b.layout);
  if (!found) return nb::none();
  nb::dict out;
  out["index"] = tuple_of(found->index);
  out["offset_a"] = found->offset_a;
  out["offset_b"] = found->offset_b;
  out["count"] = found->count ? nb::object(nb::int_(*found->count)) : nb::none();
  return out;
}

/// Views of one layout_of() count from one address, as layouts with a base do as far as their maker says.
std::optional<bool> layouts_overlap(const PyLayout& a, const PyLayout& b) {
  if (a.origin != 0 && b.origin != 0 && a.origin != b.origin) {
    throw Error(ErrorCode::invalid_argument,
                "both layouts are of arrays, each counted from its own array's lowest address, which says nothing of "
                "where one array lies in the other: ask relayout.overlaps(x, y) of the arrays, or give "
                "layout_of(x, base=...) the array that both are parts of",
                "other");
  }
  const Answer answer = overlap(a.layout, b.layout).answer;
  if (answer == Answer::undecided) return std::nullopt;
  return answer == Answer::yes;
}

}  // namespace

std::pair<std::string, Dims> PyLayout::spelled() const {
  if (!expression.empty()) return {expression, expression_dims};
  const auto tag = tag_of(layout);
  if (!tag) return {digits_expression(layout), layout.dims()};
  for (const std::string& name : aliases_of(*tag)) {  // the name in the domain that the letters of the dims are of
    if (letters == Format::parse(name).dim_names(layout.ndims())) return {name, layout.dims()};
  }
  return {*tag, layout.dims()};
}

std::string PyLayout::repr() const {
  const auto [text, dims] = spelled();
  return "relayout.layout(" + std::string(nb::repr(nb::str(text.c_str())).c_str()) + ", " + dims_text(dims) + ")";
}

std::string PyLayout::names() const {
  if (!letters.empty()) return letters;
  std::string out;
  for (int d = 0; d < layout.ndims(); ++d) out += static_cast<char>('a' + d);
  return out;
}

PyLayout parse_layout(const std::string& expression, nb::handle dims) {
  TypedLayout typed{expression};
  if (is_tensor_text(expression)) {
    if (!dims.is_none()) typed.dims = join(dims_of(dims, "dims"));
    typed = in_expressions(typed);
  }
  const Format format = Format::parse(typed.text);
  Dims bound;
  if (typed.dims) {
    bound = parse_dims(*typed.dims);
  } else if (!dims.is_none()) {
    bound = dims_of(dims, "dims");
  } else if (const auto known = format.default_dims()) {
    bound = *known;
  } else {
    throw Error(ErrorCode::invalid_argument, escaped(expression) + " does not say the dims: give them too", "dims");
  }
  Layout layout = format.bind(bound);
  std::string letters = format.dim_names(layout.ndims());
  return {std::move(layout), format.text(), std::move(letters), bound};
}

bool is_layout(nb::handle object) { return nb::isinstance<PyLayout>(object) && nb::inst_ready(object); }

namespace {

void bind_sizes(nb::class_<PyLayout>& type) {
  type.def_prop_ro(
          "dims", [](const PyLayout& l) { return tuple_of(l.layout.dims()); }, "The extent of each dim.")
      .def_prop_ro("ndim", [](const PyLayout& l) { return l.layout.ndims(); })
      .def_prop_ro(
          "padded_dims", [](const PyLayout& l) { return tuple_of(l.layout.padded_dims()); },
          "Each dim's capacity: its extent, with the padding of its last block.")
      .def_prop_ro("digits", &digits_of,
                   "Each dim's digits (extent, stride), innermost first. UnsupportedError with a swizzle: see plain.")
      .def_prop_ro(
          "offset0", [](const PyLayout& l) { return l.layout.offset0(); },
          "The offset of element (0, 0, ...), in elements; with a swizzle, what is added under it.")
      .def_prop_ro(
          "swizzle",
          [](const PyLayout& l) -> nb::object {
            const Swizzle& s = l.layout.swizzle();
            return s.identity() ? nb::none() : nb::object(nb::make_tuple(s.bits(), s.base(), s.shift()));
          },
          "(bits, base, shift) of the exclusive or behind the offsets, CuTe's Swizzle<3, 3, 3>; None without one.")
      .def_prop_ro(
          "plain",
          [](const PyLayout& l) {
            return l.layout.swizzled() ? PyLayout{l.layout.plain(), {}, l.letters, {}, l.origin} : l;
          },
          "The layout without its swizzle.")
      .def_prop_ro("elements", [](const PyLayout& l) { return l.layout.elements(); })
      .def_prop_ro(
          "span_elements", [](const PyLayout& l) { return l.layout.span(); }, "How many elements a buffer must have.")
      .def(
          "span_bytes", [](const PyLayout& l, nb::handle t) { return TensorDesc(l.layout, dtype_of(t)).span_bytes(); },
          nb::arg("dtype"), "How many bytes a buffer must have.")
      .def_prop_ro(
          "strides_elements", [](const PyLayout& l) { return tuple_of(strides_of(l.layout)); },
          "One stride a dim, in elements; 0 for a dim with one index. UnsupportedError where a dim has blocks.")
      .def("strides_bytes", &strides_bytes, nb::arg("dtype"), "As strides_elements, in bytes.")
      .def_prop_ro(
          "tag", [](const PyLayout& l) { return tag_of(l.layout); },
          "The tag in letters a to l that is this layout, or None.")
      .def_prop_ro("aliases", &aliases,
                   "The names of that tag in letters of dims, the commonest first: ('nhwc', 'ohwi', 'giwo') for acdb.")
      .def_prop_ro("names", &PyLayout::names, "A letter for each dim.");
}

void bind_questions(nb::class_<PyLayout>& type) {
  type.def_prop_ro(
          "expression", [](const PyLayout& l) { return l.spelled().first; }, "An expression of this layout.")
      .def_prop_ro(
          "injective", [](const PyLayout& l) { return l.layout.injective(); },
          "Whether no two elements share an offset.")
      .def_prop_ro(
          "dense", [](const PyLayout& l) { return l.layout.dense(); }, "Whether the elements fill one run of memory.")
      .def_prop_ro(
          "packed", [](const PyLayout& l) { return l.layout.packed(); }, "As dense, with padding counted as elements.")
      .def_prop_ro("padded", [](const PyLayout& l) { return l.layout.padded(); })
      .def_prop_ro(
          "broadcast", [](const PyLayout& l) { return l.layout.broadcast(); }, "Whether some dim repeats its values.")
      .def(
          "offset",
          [](const PyLayout& l, const nb::args& index) {
            const bool one = index.size() == 1 && !PyLong_Check(nb::object(index[0]).ptr());
            return l.layout.offset(dims_of(one ? nb::object(index[0]) : nb::object(index), "index"));
          },
          "The offset of an index in elements: `offset(0, 16, 2, 3)`. It may lie in the padding.")
      .def("index", &index_at, nb::arg("offset"),
           "What lies at an offset: ('element', index), ('padding', index) or ('gap', None).")
      .def("as_", &spelled_as, nb::arg("system"), nb::arg("dtype") = "f32",
           "The layout in the words of another system, as text to paste there: relayout.SYSTEMS has their names. "
           "UnsupportedError says why a system cannot say it.")
      .def("difference", &difference_of, nb::arg("other"),
           "None where each element has the same offset in both; else the first index that has not, as a dict.")
      .def("overlaps", &layouts_overlap, nb::arg("other"),
           "Whether two layouts over one buffer share an element; None where that takes too long to decide. Offsets "
           "count from the buffer's begin, so layouts of two arrays (`layout_of`), and views of these, are refused "
           "unless both were given `base=`; `relayout.overlaps(x, y)` looks at the arrays' addresses.")
      .def_prop_ro("_spelled",
                   [](const PyLayout& l) {
                     const auto [text, dims] = l.spelled();
                     return nb::make_tuple(text, tuple_of(dims));
                   })
      .def(
          "_of_array",
          [](const PyLayout& l, bool based) {
            static std::atomic<int64_t> arrays = 0;
            PyLayout out = l;
            out.origin = based ? PyLayout::kBased : ++arrays;
            return out;
          },
          nb::arg("based"))
      .def(
          "same_function", [](const PyLayout& a, const PyLayout& b) { return a.layout == b.layout; }, nb::arg("other"));
}

void bind_protocols(nb::class_<PyLayout>& type) {
  type.def(
          "__eq__",
          [](const PyLayout& a, nb::handle b) { return is_layout(b) && a.layout == nb::inst_ptr<PyLayout>(b)->layout; },
          nb::arg("other").none(), "Whether both are the same function, however they are spelled.")
      .def("__hash__", [](const PyLayout& l) { return nb::hash(nb::str(offsets_text(l.layout).c_str())); })
      .def("__repr__", &PyLayout::repr)
      // It never changes, and a copy counts from the same address.
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, nb::arg("memo"))
      .def("__reduce__", [](const PyLayout& l) {
        const auto [text, dims] = l.spelled();
        // pickle looks functions up by their names, which those of this module do not have.
        const nb::object restored = nb::module_::import_("relayout._layout").attr("restored");
        const nb::object based = l.origin == 0 ? nb::none() : nb::object(nb::bool_(l.origin == PyLayout::kBased));
        return nb::make_tuple(restored, nb::make_tuple(text, tuple_of(dims), based));
      });
}

}  // namespace

void bind_layout(nb::module_& module) {
  nb::class_<PyLayout> type(
      module, "Layout", nb::type_slots(made_by_init()),
      "Where each element of a tensor lies: offset(i) = offset0 + the sum over all digits of digit "
      "times stride, in elements. It never changes. `relayout.layout()` makes it.");
  type.def(
      "__init__",
      [](PyLayout* self, const std::string& expression, nb::handle dims) {
        new (self) PyLayout(parse_layout(expression, dims));
      },
      nb::arg("expression"), nb::arg("dims") = nb::none(), "As relayout.layout().");
  bind_sizes(type);
  bind_questions(type);
  bind_protocols(type);
  bind_layout_views(type);
  bind_show(module, type);

  module.def("layout", &parse_layout, nb::arg("expression"), nb::arg("dims") = nb::none(),
             "The layout that an expression gives to a tensor of these dims: a tag (\"nChw16c\"), strides "
             "(\"strides:5,1@3\"), another system's text (\"cute:(4,2):(1,4)\"), with views at its end "
             "(\".narrow(1,8,8)\"). `dims` may be left out where the expression says them.");
  nb::list names;
  for (const std::string_view system : systems()) names.append(nb::str(system.data(), system.size()));
  module.attr("SYSTEMS") = nb::tuple(names);
}

}  // namespace relayout::python
