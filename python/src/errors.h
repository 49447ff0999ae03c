// Errors of the library as exceptions of Python.
//
//     raise_as_python_exceptions();     // once a module; then relayout::Error becomes relayout.ParseError and so on
#pragma once

#include <nanobind/nanobind.h>

namespace relayout::python {

/// From now on an Error that leaves a function of this module is raised as the class of relayout._errors that stands
/// for its code, with the same message, field, value and limit.
void raise_as_python_exceptions();

}  // namespace relayout::python
