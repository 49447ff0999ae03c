// The table of functions by which a library of Python gives its tensors to C without a capsule (DLPack 1.3).
#pragma once

#include <nanobind/nanobind.h>

#include "relayout/interop/dlpack.h"

namespace relayout::python {

/// The table of a type that has one of a version known here, else null. A type is asked once; the answers for the last
/// few types are kept.
const dlpack::DLPackExchangeAPI* exchange_api(PyTypeObject* type);

}  // namespace relayout::python
