// contiguous() and copy(): elements moved between arrays of equal shape, by their bits.
#pragma once

#include <nanobind/nanobind.h>

namespace relayout::python {

class Array;

/// Whether some element of one array and some element of the other have a byte in common. Error{limit} where that takes
/// too long to decide.
bool overlaps(const Array& a, const Array& b);

void bind_copies(nanobind::module_& module);
void bind_conversion(nanobind::module_& module);
void bind_again(nanobind::module_& module);
void bind_sharing(nanobind::module_& module);
void bind_files(nanobind::module_& module);
void bind_checkpoints(nanobind::module_& module);
void bind_checkpoint_files(nanobind::module_& module);
void bind_file_conversion(nanobind::module_& module);
void bind_whole(nanobind::module_& module);
void bind_placements(nanobind::module_& module);

}  // namespace relayout::python
