// Single values and parts of tensors as f32, whatever their type is (internal to execute).
#pragma once

#include <algorithm>

#include "relayout/core/layout.h"
#include "relayout/cpu/kernels/conversion.h"

namespace relayout::execute {

inline void convert_values(DType from, DType to, const void* src, void* dst, int64_t count) {
  cpu::Conversion(cpu::kernels(), from, to)(static_cast<const std::byte*>(src), static_cast<std::byte*>(dst), count);
}

inline float read_value(DType from, const void* src) {
  if (from == DType::f32) return *static_cast<const float*>(src);
  float out = 0;
  convert_values(from, DType::f32, src, &out, 1);
  return out;
}

inline void write_value(DType to, float value, void* dst) {
  if (to == DType::f32)
    *static_cast<float*>(dst) = value;
  else
    convert_values(DType::f32, to, &value, dst, 1);
}

/// Whether f(values, count) is true for some part of the memory from the first offset of a layout to its last one.
template <typename F>
bool any_in_span(DType dtype, const void* data, const Layout& layout, F&& f) {
  constexpr int64_t kPart = 1024;
  const int64_t size = bits(dtype) / 8, end = layout.span();
  const auto* from = static_cast<const std::byte*>(data);
  float part[kPart];
  for (int64_t begin = layout.offset_range().first; begin < end; begin += kPart) {
    const int64_t count = std::min(kPart, end - begin);
    const float* values = part;
    if (dtype == DType::f32)
      values = reinterpret_cast<const float*>(from + begin * size);
    else
      convert_values(dtype, DType::f32, from + begin * size, part, count);
    if (f(values, count)) return true;
  }
  return false;
}

}  // namespace relayout::execute
