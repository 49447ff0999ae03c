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

}  // namespace relayout::cpu
