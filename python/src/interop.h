// What the files that bind relayout.interop share: layouts and types as they go to Python and come from there.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/layout.h"

namespace relayout::python {

inline PyLayout made(Layout layout) { return {std::move(layout), {}, {}, {}}; }
inline TensorDesc desc_of(const PyLayout& layout, nanobind::handle dtype) { return {layout.layout, dtype_of(dtype)}; }
/// A layout with its type, as importers give it.
inline nanobind::tuple typed(const TensorDesc& desc) {
  return nanobind::make_tuple(nanobind::cast(made(desc.layout)), std::string(name(desc.dtype)));
}
template <typename Array>
Integers first_of(const Array& numbers, int64_t count) {
  std::vector<int64_t> out(numbers.begin(), numbers.begin() + count);
  return tuple_of(out);
}
inline nanobind::object text(std::string_view words) { return nanobind::str(words.data(), words.size()); }

/// Descriptions of arrays and tensors by their fields: NumPy's, PyTorch's, DirectML's, oneDNN's and cuDNN's.
void bind_descriptions(nanobind::module_& module);

}  // namespace relayout::python
