// Reads attribute values out of a tensor.
#include "relayout/cpu/attribute_values.h"

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
  const TensorDesc plain{Layout::contiguous(values.layout.dims()), DType::s64};
  std::vector<int64_t> list(static_cast<std::size_t>(plain.layout.elements()));
  run(make_plan(values, plain), data, Elements(list));
  return list;
}

}  // namespace relayout::cpu
