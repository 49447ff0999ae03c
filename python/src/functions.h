// Functions of an extension module as Python's own tools expect functions: inspect.signature, pickle and copy; and what
// names the argument of a wrong type where a call fails.
#pragma once

#include <nanobind/nanobind.h>

namespace relayout::python {

/// Puts an object in the place of each function and method of a module, of its submodules and of its classes, that
/// calls it, in a few nanoseconds more, and that has a `__signature__` (relayout/_signatures.py reads it from the text
/// that nanobind keeps) and is pickled by its name. Where it raises a TypeError, relayout/_arguments.py says which
/// argument has the wrong type. To be called when all functions are defined.
void present_functions(nanobind::module_& module);

/// An object that stands for `function`, a function of Python, and is called by `call`, which gets the object itself
/// and may leave calls to call_function().
nanobind::object stand_in(nanobind::handle function, vectorcallfunc call);
/// Calls the function that a stand-in stands for.
PyObject* call_function(PyObject* stand_in, PyObject* const* args, size_t count, PyObject* names);

/// For functions and methods of Python, which relayout/_arguments.py has called by way of such objects.
void bind_functions(nanobind::module_& module);

/// For nanobind::type_slots() of a class: its objects are made by way of `__init__` as it is found by its name, in the
/// place of which present_functions() puts an object too.
PyType_Slot* made_by_init();

}  // namespace relayout::python
