// Sides of a conversion: see sides.h.
#include "python/src/sides.h"

#include "python/src/layout.h"
#include "relayout/core/gates.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

bool row_major(const Dims& shape, const Dims& strides, int64_t item_bytes) {
  int64_t expected = item_bytes;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

/// Of an argument, "x" or "out", whose layout is called `layout`.
[[noreturn]] void refuse_shape(const std::string& argument, const Dims& shape, const std::string& layout,
                               const Dims& wanted) {
  throw Error(
      ErrorCode::invalid_argument,
      argument + " is an array of " + shape_text(shape) + ", and " + layout + " describes one of " + shape_text(wanted),
      "shape", shape_text(shape), shape_text(wanted));
}

/// Elements that an array of this many bytes holds of a type.
int64_t held(const Dims& shape, int64_t item_bytes, DType dtype) {
  return product(shape) * item_bytes * 8 / bits(dtype);
}

Side source_of_layout(const Layout& layout, const Dims& shape, const Dims& strides, int64_t item_bytes, DType dtype) {
  const Side out{{layout, dtype}, shape, 0, {}, {}};
  if (!row_major(shape, strides, item_bytes)) {
    throw Error(ErrorCode::unsupported,
                "the memory of a Layout is one run of elements, and this array has strides of its own; name the layout "
                "by an expression, or make the array contiguous first",
                "x");
  }
  if (held(shape, item_bytes, dtype) < layout.span()) {
    throw Error(ErrorCode::buffer_too_small,
                "x holds " + std::to_string(held(shape, item_bytes, dtype)) + " elements, and its layout takes " +
                    std::to_string(layout.span()),
                "x", std::to_string(product(shape) * item_bytes), std::to_string(out.desc.span_bytes()));
  }
  return out;
}

/// Whether an array lies as a layout of its own dims says, as each array does of which layout_of() made the layout.
bool lies_so(const Layout& layout, const Dims& shape, const Dims& strides, int64_t item_bytes, DType dtype) {
  if (layout.dims() != shape || bits(dtype) != item_bytes * 8) return false;
  Dims in_elements;
  int64_t offset0 = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && strides[d] % item_bytes != 0) return false;
    in_elements.push_back(shape[d] > 1 ? strides[d] / item_bytes : 0);
    if (in_elements[d] < 0) offset0 -= in_elements[d] * (shape[d] - 1);
  }
  return !layout.empty() && Layout::strided(shape, in_elements, offset0) == layout;
}

/// The array's own strides as those of the physical array.
Side source_with_strides(const Format& format, const Dims& dims, const Dims& shape, const Dims& strides,
                         int64_t item_bytes, DType dtype) {
  Dims in_elements;
  int64_t offset0 = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && strides[d] % item_bytes != 0) {
      throw Error(ErrorCode::unsupported,
                  "strides[" + std::to_string(d) + "] is no multiple of an element; make the array contiguous first",
                  "strides", std::to_string(strides[d]), std::to_string(item_bytes));
    }
    in_elements.push_back(shape[d] > 1 ? strides[d] / item_bytes : 0);
    if (in_elements[d] < 0) offset0 -= in_elements[d] * (shape[d] - 1);
  }
  return {{format.bind_physical(dims, in_elements, offset0), dtype}, shape, offset0 * item_bytes, format.text(), {}};
}

}  // namespace

std::string shape_text(const Dims& dims) {
  std::string out;
  for (const int64_t extent : dims) out += (out.empty() ? "" : "x") + std::to_string(extent);
  return out.empty() ? "no dims" : out;
}

int64_t product(const Dims& dims) {
  int64_t out = 1;
  for (const int64_t extent : dims) out *= extent;
  return out;
}

namespace {

/// The side of an array of any shape and strides under an expression.
Side source_of_format(const Format& format, nb::handle given_dims, const Dims& shape, const Dims& strides,
                      int64_t item_bytes, DType dtype) {
  const bool dense = row_major(shape, strides, item_bytes);
  // Elements of another size than the array's own are bytes, which are one run of memory.
  const bool as_bytes = bits(dtype) != item_bytes * 8;
  Dims dims;
  if (!given_dims.is_none()) {
    dims = dims_of(given_dims, "dims");
  } else if (const auto known = format.default_dims()) {
    dims = *known;
  } else {
    dims = format.dims_from_physical(shape);
  }
  const std::optional<Dims> physical = format.physical_shape(dims);
  if (physical && *physical == shape && !as_bytes) {
    if (dense) return {{format.bind(dims), dtype}, shape, 0, format.text(), {}};
    return source_with_strides(format, dims, shape, strides, item_bytes, dtype);
  }
  if (shape.size() > 1 && physical && !as_bytes && !has_joined_gates(format, shape, dims))
    refuse_shape("x", shape, escaped(format.text()), *physical);
  Side out = source_of_layout(format.before_views(dims), shape, strides, item_bytes, dtype);
  out.desc = {format.bind(dims), dtype};
  out.expression = format.text();
  return out;
}

}  // namespace

Side source_side(nb::handle said, nb::handle given_dims, const Dims& shape, const Dims& strides, int64_t item_bytes,
                 DType dtype) {
  Side out;
  if (is_layout(said)) {
    const PyLayout& own = *nb::inst_ptr<PyLayout>(said);
    const auto [text, dims] = own.spelled();
    const Format format = Format::parse(text);
    // Of another shape than the expression's, the array is its memory, one element after the other.
    if (!own.layout.swizzled() && lies_so(own.layout, shape, strides, item_bytes, dtype))
      out = {{own.layout, dtype}, shape, own.layout.offset0() * item_bytes, {}, {}};
    else if (format.physical_shape(dims) == shape && bits(dtype) == item_bytes * 8)
      out = source_of_format(format, tuple_of(dims), shape, strides, item_bytes, dtype);
    else
      out = source_of_layout(own.layout, shape, strides, item_bytes, dtype);
    out.expression = text;
    out.letters = own.names();
    return out;
  }
  const Format format = Format::parse(nb::cast<std::string>(said));
  out = source_of_format(format, given_dims, shape, strides, item_bytes, dtype);
  out.letters = format.dim_names(out.desc.layout.ndims());
  return out;
}

Side destination_side(nb::handle said, const Dims& dims, DType dtype) {
  if (is_layout(said)) {
    const PyLayout& own = *nb::inst_ptr<PyLayout>(said);
    const auto [text, before] = own.spelled();
    const Dims shape = Format::parse(text).physical_shape(before).value_or(Dims{own.layout.span()});
    return {{own.layout, dtype}, shape, 0, text, own.names(), before};
  }
  const Format format = Format::parse(nb::cast<std::string>(said));
  Dims bound = dims;
  if (!format.views().empty()) {
    if (const auto before = format.dims_before_views(dims)) bound = *before;
  }
  Side out{{format.bind(bound), dtype}, {}, 0, format.text(), {}};
  out.letters = format.dim_names(out.desc.layout.ndims());
  const std::optional<Dims> physical = format.physical_shape(bound);
  out.shape = physical ? *physical : Dims{format.buffer_span(bound)};
  out.buffer_dims = bound;
  return out;
}

namespace {

/// Whether elements of so many bytes may have strides of their own as this destination: where its layout describes an
/// array of them.
bool is_array_of(const Side& side, int64_t item_bytes) {
  if (bits(side.desc.dtype) != item_bytes * 8 || side.expression.empty()) return false;
  const Format format = Format::parse(side.expression);
  return !format.is_image() && format.physical_shape(side.buffer_dims) == side.shape;
}

}  // namespace

Side strided_destination(const Side& side, const Array& array) {
  Side out = source_with_strides(Format::parse(side.expression), side.buffer_dims, array.shape, array.strides,
                                 array.item_bytes, side.desc.dtype);
  out.buffer_dims = side.buffer_dims;
  return out;
}

void check_destination(const Side& side, const Array& array) {
  if (array.read_only) throw Error(ErrorCode::invalid_argument, "the destination is read-only", "out");
  if (array.shape != side.shape && array.shape.size() != 1)
    refuse_shape("out", array.shape, side.expression.empty() ? "its layout" : escaped(side.expression), side.shape);
  if (!array.row_major()) {
    if (array.desc == nullptr && array.shape == side.shape && is_array_of(side, array.item_bytes)) return;
    throw Error(ErrorCode::unsupported,
                "out must have its elements row-major in one run of memory, or be an array of " +
                    shape_text(side.shape) + " of " + std::string(name(side.desc.dtype)) +
                    " under a layout that describes one",
                "out");
  }
  if (array.bytes() < side.desc.span_bytes()) {
    throw Error(ErrorCode::buffer_too_small,
                "out has " + std::to_string(array.bytes()) + " bytes, and its layout takes " +
                    std::to_string(side.desc.span_bytes()),
                "out", std::to_string(array.bytes()), std::to_string(side.desc.span_bytes()));
  }
}

void check_strided(const Array& array, const char* what) {
  if (array.desc == nullptr || array.row_major()) return;
  throw Error(ErrorCode::unsupported, "a Buffer that is not row-major: give numpy.asarray(buffer)", what);
}

}  // namespace relayout::python
