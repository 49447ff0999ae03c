// Sides of a conversion: which layout the memory of an array has, by what its user says of it.
//
// An array stands for a layout in one of two ways: its shape is the physical array that the layout describes,
// (N, C/16, H, W, 16) for nChw16c, with any strides; or it is one run of elements that is long enough. What a user says
// is a layout expression, or a relayout.Layout, which means what its expression means.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "python/src/arrays.h"

namespace relayout::python {

/// A source or a destination.
struct Side {
  TensorDesc desc;
  Dims shape;              // of its array
  int64_t origin = 0;      // bytes from offset 0 to the array's first element
  std::string expression;  // of a Layout: one that gives it
  std::string letters;     // of the tensor's dims; a, b, ... where none are known
  Dims buffer_dims{};      // of a destination: those that the expression is bound to, before its views
};

/// The side of a source that is an array of this shape, strides (in bytes) and size of element. `dims` are the tensor's
/// own, or None where the expression or the shape says them. Errors: those of Format, invalid_argument (another shape),
/// buffer_too_small, unsupported (strides that are no multiple of an element, or a Layout over an array with gaps).
Side source_side(nanobind::handle said, nanobind::handle dims, const Dims& shape, const Dims& strides,
                 int64_t item_bytes, DType dtype);
/// The side of a destination for a tensor of these dims; `shape` is then the shape of the array that it is.
Side destination_side(nanobind::handle said, const Dims& dims, DType dtype);

/// Refuses an array that cannot be this destination: Error{invalid_argument} (read-only, another shape),
/// Error{unsupported} (neither one run of elements nor the physical array that the layout describes),
/// Error{buffer_too_small}.
void check_destination(const Side& side, const Array& array);
/// The side over an array that check_destination() takes and that has strides of its own, such as a part of a larger
/// one. Error{unsupported}: strides that are no multiple of an element.
Side strided_destination(const Side& side, const Array& array);
/// Refuses a Buffer with blocks or gaps: its shape and strides do not say where its elements lie, as those of an array
/// do.
void check_strided(const Array& array, const char* what);

/// "2x17x5x4".
std::string shape_text(const Dims& dims);
int64_t product(const Dims& dims);

}  // namespace relayout::python
