// Functions of an extension module as Python's own tools expect functions: inspect.signature, pickle and copy.
#pragma once

#include <nanobind/nanobind.h>

namespace relayout::python {

/// Puts an object in the place of each function and method of a module, of its submodules and of its classes, that
/// calls it, in a few nanoseconds more, and that has a `__signature__` (relayout/_signatures.py reads it from the text
/// that nanobind keeps) and is pickled by its name. To be called when all functions are defined.
void present_functions(nanobind::module_& module);

/// An object that stands for `function`, a function of Python, and is called by `call`, which gets the object itself
/// and may leave calls to inner_function() of it.
nanobind::object stand_in(nanobind::handle function, vectorcallfunc call);
/// The function that a stand-in stands for, borrowed.
PyObject* inner_function(PyObject* stand_in);

}  // namespace relayout::python
