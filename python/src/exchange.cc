// The table of functions by which a library of Python gives its tensors to C without a capsule (DLPack 1.3).
#include "python/src/exchange.h"

#include <array>

namespace relayout::python {
namespace {

struct Answer {
  PyTypeObject* type = nullptr;
  const dlpack::DLPackExchangeAPI* api = nullptr;
};

const dlpack::DLPackExchangeAPI* ask(PyTypeObject* type) {
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  const dlpack::DLPackExchangeAPI* api = nullptr;
  if (capsule != nullptr && PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
    api = dlpack::known_version(
        static_cast<const dlpack::DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api")));
  }
  Py_XDECREF(capsule);
  PyErr_Clear();
  return api;
}

}  // namespace

const dlpack::DLPackExchangeAPI* exchange_api(PyTypeObject* type) {
  // The types are kept alive, so that no other type can take the place of one of them in memory. The table itself lives
  // as long as the process, as DLPack demands.
  thread_local std::array<Answer, 4> answers;
  thread_local std::size_t next = 0;
  for (const Answer& answer : answers)
    if (answer.type == type) return answer.api;
  Answer& answer = answers[next++ % answers.size()];
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  Py_XDECREF(reinterpret_cast<PyObject*>(answer.type));
  answer = {type, ask(type)};
  return answer.api;
}

}  // namespace relayout::python
