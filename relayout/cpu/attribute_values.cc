// Reads attribute values out of a tensor.
#include "relayout/cpu/attribute_values.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "relayout/cpu/reorder.h"

namespace relayout::cpu {

PerMask per_mask_of_tensor(const TensorDesc& values, const ConstElements& data, const Dims& dims, const Dims& groups,
                           const std::string& field) {
  const TensorDesc plain{Layout::contiguous(values.layout.dims()), DType::f64};
  std::vector<double> list(static_cast<std::size_t>(plain.layout.elements()));
  run(make_plan(values, plain), data, Elements(list));
  return per_mask_of_shape(std::move(list), values.layout.dims(), dims, groups, field);
}

std::vector<int64_t> indices_of_tensor(const TensorDesc& values, const ConstElements& data, const std::string& field) {
  if (!is_integer(values.dtype)) {
    const std::string type(name(values.dtype));
    throw Error(ErrorCode::invalid_argument, field + ": its elements are " + type + "; indices are integers", field,
                type, "an integer type");
  }
  // Numbers of u64 keep their bits, so that those that no index has are seen.
  const DType type = values.dtype == DType::u64 ? DType::u64 : DType::s64;
  const TensorDesc plain{Layout::contiguous(values.layout.dims()), type};
  std::vector<int64_t> list(static_cast<std::size_t>(plain.layout.elements()));
  run(make_plan(values, plain), data, Elements(std::as_writable_bytes(std::span(list))));
  const auto beyond = type == DType::u64 ? std::ranges::find_if(list, [](int64_t i) { return i < 0; }) : list.end();
  if (beyond != list.end()) {
    const std::string number = std::to_string(static_cast<uint64_t>(*beyond));
    throw Error(
        ErrorCode::invalid_argument,
        field + ": entry " + std::to_string(beyond - list.begin()) + " is " + number + "; indices are below 2^63",
        field, number, "0..2^63-1");
  }
  return list;
}

}  // namespace relayout::cpu
