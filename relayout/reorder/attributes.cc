// The checks that attributes must pass before a reorder is planned.
#include "relayout/reorder/attributes.h"

#include <cmath>
#include <string>

#include "relayout/core/error.h"

namespace relayout {
namespace {

[[noreturn]] void refuse_attribute(const std::string& field, const std::string& what, const std::string& value,
                                   const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, "reorder: " + field + " " + what, field, value, limit);
}

/// How many values a mask asks for: the product of its dims' extents.
int64_t count_for(uint32_t mask, const Dims& dims, const std::string& field) {
  Dims masked;
  for (int d = 0; d < dims.size(); ++d) {
    if (mask >> d & 1) masked.push_back(dims[d]);
  }
  if (auto count = checked_product(masked)) return *count;
  refuse_attribute(field, "covers dims whose product overflows 64 bits", join(masked, "x"), "9223372036854775807");
}

template <typename T>
void check_mask(const PerMask<T>& attribute, const Dims& dims, const std::string& field) {
  if (attribute.mask >> dims.size() != 0) {
    refuse_attribute(field + ".mask",
                     "is " + std::to_string(attribute.mask) + ": it has a bit for a dim that a tensor of rank " +
                         std::to_string(dims.size()) + " does not have",
                     std::to_string(attribute.mask), std::to_string((uint32_t{1} << dims.size()) - 1));
  }
  if (attribute.values.empty() && attribute.mask == 0) return;
  const int64_t count = count_for(attribute.mask, dims, field);
  const auto have = static_cast<int64_t>(attribute.values.size());
  if (have != count) {
    refuse_attribute(field,
                     "has " + std::to_string(have) + " values; mask " + std::to_string(attribute.mask) + " over dims " +
                         join(dims, "x") + " asks for " + std::to_string(count),
                     std::to_string(have), std::to_string(count));
  }
}

void check_scale(const PerMask<float>& scale, const Dims& dims, const std::string& field, bool divides) {
  check_mask(scale, dims, field);
  for (std::size_t i = 0; i < scale.values.size(); ++i) {
    const float value = scale.values[i];
    const std::string name = field + "[" + std::to_string(i) + "]";
    if (!std::isfinite(value))
      refuse_attribute(name, "is " + std::to_string(value) + "; scales are finite", std::to_string(value), "finite");
    if (divides && value == 0) refuse_attribute(name, "is 0; values are divided by it", "0", "not 0");
  }
}

void check_zero_point(const PerMask<int32_t>& zero_point, const TensorDesc& desc, const std::string& field) {
  check_mask(zero_point, desc.layout.dims(), field);
  if (!zero_point.values.empty() && !is_integer(desc.dtype)) {
    const std::string type(name(desc.dtype));
    refuse_attribute(field, "is given for type " + type + "; only integer types have zero points", type,
                     "an integer type");
  }
}

}  // namespace

void check_attributes(const Attributes& attributes, const TensorDesc& src, const TensorDesc& dst) {
  check_scale(attributes.src_scale, src.layout.dims(), "src_scale", false);
  check_scale(attributes.dst_scale, dst.layout.dims(), "dst_scale", true);
  check_zero_point(attributes.src_zero_point, src, "src_zero_point");
  check_zero_point(attributes.dst_zero_point, dst, "dst_zero_point");
  if (!std::isfinite(attributes.beta)) {
    const std::string value = std::to_string(attributes.beta);
    refuse_attribute("beta", "is " + value + "; it must be finite", value, "finite");
  }
}

}  // namespace relayout
