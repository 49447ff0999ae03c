// Functions of an extension module as Python's own tools expect functions: inspect.signature, pickle and copy. Calls
// with arguments of wrong types fail with an error that names the argument.
//
// nanobind's types of functions cannot be changed or derived from, so two types stand in front of them: one for
// functions, and one for methods, which binds to an object as methods of Python do. Both have the names that nanobind's
// types have, by which its generator of stubs knows functions.
#include "python/src/functions.h"

#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace relayout::python {
namespace {

struct Function {
  // clang-format off
  PyObject_HEAD
  PyObject* inner;  // of nanobind, or of Python
  // clang-format on
  vectorcallfunc call;
  PyObject* weak_references;  // jax.jit and functools' caches hold functions so
};

PyObject* inner_of(PyObject* self) { return reinterpret_cast<Function*>(self)->inner; }

/// After a call that raised a TypeError: raises one that names the argument of a wrong type instead, if there is one.
/// The question costs a TypeError; what goes wrong in asking it, memory for instance, leaves the error as it was.
void explain_type_error(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  nb::python_error raised;
  if (raised.type().is(PyExc_TypeError)) {
    try {
      nb::list given;
      for (Py_ssize_t i = 0; i < count; ++i) given.append(nb::handle(args[i]));
      nb::dict named;
      for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i)
        named[nb::handle(PyTuple_GetItem(names, i))] = nb::handle(args[count + i]);
      const nb::object said =
          nb::module_::import_("relayout._arguments")
              .attr("explained")(nb::handle(inner_of(self)), nb::tuple(given), named, nb::str(raised.value()));
      if (!said.is_none()) {
        PyErr_SetObject(PyExc_TypeError, said.ptr());
        return;
      }
    } catch (nb::python_error&) {
    }
  }
  raised.restore();
}

PyObject* call_inner(PyObject* self, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* result = PyObject_Vectorcall(inner_of(self), args, count, names);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0)
    explain_type_error(self, args, PyVectorcall_NARGS(count), names);
  return result;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(inner_of(self));
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Function*>(self)->inner);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<Function*>(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

/// What nanobind's function knows: its name, module and text.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (PyUnicode_CompareWithASCIIString(name, "__module__") == 0) return PyObject_GetAttr(inner_of(self), name);
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
  PyErr_Clear();
  return PyObject_GetAttr(inner_of(self), name);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(inner_of(self)); }

PyObject* signature(PyObject* self, void*) {
  PyObject* module = PyImport_ImportModule("relayout._signatures");
  if (module == nullptr) return nullptr;
  PyObject* found = PyObject_CallMethod(module, "signature_of", "O", inner_of(self));
  Py_DECREF(module);
  return found;
}

/// pickle and copy look a function up by its name in its module.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(inner_of(self), "__qualname__"); }

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  static PyObject* const method = nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();
  return PyObject_CallFunctionObjArgs(method, self, object, nullptr);
}

/// A function is no method, but has __get__, by which help() knows functions.
PyObject* bind_to_nothing(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyObject* documentation(PyObject* self, void*) { return PyObject_GetAttrString(inner_of(self), "__doc__"); }
/// By which inspect.getsource finds a function of Python.
PyObject* wrapped(PyObject* self, void*) { return Py_NewRef(inner_of(self)); }

PyGetSetDef properties[] = {{"__doc__", &documentation, nullptr, nullptr, nullptr},
                            {"__signature__", &signature, nullptr, nullptr, nullptr},
                            {"__wrapped__", &wrapped, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", &reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyTypeObject* make_type(const char* name, bool binds) {
  const auto slot = [](int id, auto* value) { return PyType_Slot{id, reinterpret_cast<void*>(value)}; };
  std::vector<PyType_Slot> slots = {
      slot(Py_tp_members, members),         slot(Py_tp_getset, properties),       slot(Py_tp_methods, methods),
      slot(Py_tp_getattro, &get_attribute), slot(Py_tp_traverse, &traverse),      slot(Py_tp_clear, &clear),
      slot(Py_tp_dealloc, &dealloc),        slot(Py_tp_call, &PyVectorcall_Call), slot(Py_tp_repr, &represent)};
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  slots.push_back(slot(Py_tp_descr_get, binds ? &bind : &bind_to_nothing));
  if (binds) flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  slots.push_back({0, nullptr});
  PyType_Spec spec{name, static_cast<int>(sizeof(Function)), 0, flags, slots.data()};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

nb::object presented(nb::handle inner, PyTypeObject* type, vectorcallfunc call = &call_inner) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) throw nb::python_error();
  auto* function = reinterpret_cast<Function*>(made);
  function->inner = nb::borrow(inner).release().ptr();
  function->call = call;
  return nb::steal(made);
}

struct Types {
  nb::object functions, methods;  // nanobind's
  PyTypeObject *function = nullptr, *method = nullptr;
};

/// The functions among the members of a module or class, and those of its submodules and classes.
void present_members(nb::handle owner, const std::string& module, const Types& types) {
  const nb::object members_of = nb::getattr(owner, "__dict__");
  const nb::list names(members_of.attr("keys")());
  for (nb::handle name : names) {
    const auto text = nb::cast<std::string>(nb::str(name));
    // Python looks its own methods up by their names, in ways of their own.
    if (text.starts_with("__") && text != "__init__" && text != "__getitem__") continue;
    const nb::object member = members_of[name];
    if (member.type().is(types.functions))
      nb::setattr(owner, name, presented(member, types.function));
    else if (member.type().is(types.methods))
      nb::setattr(owner, name, presented(member, types.method));
    else if (PyType_Check(member.ptr()) || PyModule_Check(member.ptr())) {
      const nb::object home = member.attr(PyModule_Check(member.ptr()) ? "__name__" : "__module__");
      if (nb::cast<std::string>(nb::str(home)).starts_with(module)) present_members(member, module, types);
    }
  }
}

}  // namespace

void present_functions(nb::module_& module) {
  // A function and a method of nanobind, whose types are asked for.
  const nb::object function = nb::cpp_function([] {});
  Types types;
  types.functions = nb::borrow(function.type());
  for (nb::handle value : nb::list(module.attr("Layout").attr("__dict__").attr("values")())) {
    if (std::strcmp(nb::type_name(value.type()).c_str(), "nanobind.nb_method") == 0)
      types.methods = nb::borrow(value.type());
  }
  types.function = make_type("nanobind.nb_func", false);
  types.method = make_type("nanobind.nb_method", true);
  present_members(module, nb::cast<std::string>(module.attr("__name__")), types);
}

PyObject* call_function(PyObject* stand_in, PyObject* const* args, size_t count, PyObject* names) {
  return call_inner(stand_in, args, count, names);
}

nb::object stand_in(nb::handle function, vectorcallfunc call) {
  static PyTypeObject* const type = make_type("relayout._native.function", false);
  return presented(function, type, call);
}

void bind_functions(nb::module_& module) {
  module.def(
      "with_named_arguments", [](nb::handle function) { return stand_in(function, &call_inner); }, nb::arg("function"),
      "A function that calls one of Python, and whose TypeErrors name the argument of a wrong type.");
  module.def(
      "with_named_arguments_of_method",
      [](nb::handle method) {
        static PyTypeObject* const type = make_type("relayout._native.method", true);
        return presented(method, type);
      },
      nb::arg("method"), "Likewise of a method.");
}

namespace {
int init_by_name(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "no constructor");
  return -1;
}
}  // namespace

PyType_Slot* made_by_init() {
  static PyType_Slot slots[] = {{Py_tp_init, reinterpret_cast<void*>(&init_by_name)}, {0, nullptr}};
  return slots;
}

}  // namespace relayout::python
