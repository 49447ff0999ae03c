// contiguous() and copy(): elements moved between arrays of equal shape, by their bits.
#pragma once

#include <nanobind/nanobind.h>

#include "python/src/arrays.h"

namespace relayout::python {

/// Whether two arrays of one library have the same type of elements.
bool same_elements(nanobind::handle a, nanobind::handle b, const Array& array_a, const Array& array_b);

void bind_copies(nanobind::module_& module);
void bind_conversion(nanobind::module_& module);
void bind_files(nanobind::module_& module);

}  // namespace relayout::python
