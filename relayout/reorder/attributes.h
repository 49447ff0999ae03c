// What a reorder does to values and to padding besides moving and converting them.
//
//     dst = saturate_round((scale_src * (src - zp_src) + beta * dst_old) / scale_dst + zp_dst)
//
// (oneDNN's reorder with its attributes.) An attribute at its default is not applied at all, so a reorder to the same
// type without attributes only moves bits. Example, f32 -> u8 with a scale a channel:
//
//     Attributes a;
//     a.dst_scale = {{0.5f, 0.25f, 0.125f}, 1u << 1};     // mask: dim 1 has its own scales
//     a.dst_zero_point = {{128}, 0};
#pragma once

#include <cstdint>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// One value for all elements (mask 0), or one for every index of the dims whose bit is set in
/// `mask`, row-major over those dims' logical extents. Empty `values`, with mask 0, is the default.
template <typename T>
struct PerMask {
  std::vector<T> values;
  uint32_t mask = 0;
};

/// What the destination's padding holds after a reorder. The source's padding has no influence on it.
struct Padding {
  enum class Kind : uint8_t { value, keep };
  Kind kind = Kind::value;
  /// In units of the destination's type, saturated and rounded to it. 0 unless set.
  double value = 0;

  static Padding zero() { return {}; }
  static Padding keep() { return {Kind::keep, 0}; }
  static Padding of(double value) { return {Kind::value, value}; }
};

struct Attributes {
  PerMask<float> src_scale, dst_scale;              // finite; dst_scale not 0
  PerMask<int32_t> src_zero_point, dst_zero_point;  // integer types only
  float beta = 0;                                   // where this is not 0, the old destination is read and added
  Padding padding;

  /// Whether the formula above is applied, which is more than a change of type.
  bool arithmetic() const {
    return !src_scale.values.empty() || !dst_scale.values.empty() || !src_zero_point.values.empty() ||
           !dst_zero_point.values.empty() || beta != 0;
  }
};

/// Error{invalid_argument} that names the attribute: it does not have as many values as its mask asks for, its mask has
/// the bit of a dim that the tensors lack, a scale is not finite, a dst scale is 0, or a zero point belongs to a type
/// that is no integer.
void check_attributes(const Attributes& attributes, const TensorDesc& src, const TensorDesc& dst);

}  // namespace relayout
