// The table of functions by which a library of Python gives its tensors to C without a capsule (DLPack 1.3).
#include "python/src/exchange.h"

#include <array>
#include <mutex>

namespace relayout::python {
namespace {

struct Answer {
  PyTypeObject* type = nullptr;
  const dlpack::DLPackExchangeAPI* api = nullptr;
};

const dlpack::DLPackExchangeAPI* ask(PyTypeObject* type) {
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  const dlpack::DLPackExchangeAPI* api = nullptr;
  if (capsule != nullptr && PyCapsule_IsValid(capsule, dlpack::kExchangeApiCapsule)) {
    api = dlpack::known_version(static_cast<const dlpack::DLPackExchangeAPIHeader*>(
        PyCapsule_GetPointer(capsule, dlpack::kExchangeApiCapsule)));
  }
  Py_XDECREF(capsule);
  PyErr_Clear();
  return api;
}

}  // namespace

const dlpack::DLPackExchangeAPI* exchange_api(PyTypeObject* type) {
  // The types are kept alive, so that no other type can take the place of one of them in memory. The table itself lives
  // as long as the process, as DLPack demands.
  static std::array<Answer, 4> answers;
  static std::size_t next = 0;
  static std::mutex mutex;  // nothing of Python is called while it is held
  {
    const std::lock_guard lock(mutex);
    for (const Answer& answer : answers)
      if (answer.type == type) return answer.api;
  }
  const dlpack::DLPackExchangeAPI* api = ask(type);
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  PyTypeObject* old = nullptr;
  {
    const std::lock_guard lock(mutex);
    Answer& answer = answers[next++ % answers.size()];
    old = answer.type;
    answer = {type, api};
  }
  Py_XDECREF(reinterpret_cast<PyObject*>(old));
  return api;
}

}  // namespace relayout::python
