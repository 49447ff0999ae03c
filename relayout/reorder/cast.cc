// The compute type of a pair of element types, and the conversion of single values.
#include "relayout/reorder/cast.h"

namespace relayout {
namespace {

bool is_64_bit_integer(DType dtype) { return dtype == DType::s64 || dtype == DType::u64; }
bool is_32_bit_integer(DType dtype) { return dtype == DType::s32 || dtype == DType::u32; }

}  // namespace

ComputeType compute_type(DType src, DType dst, bool arithmetic) {
  const bool wide_integer = is_64_bit_integer(src) || is_64_bit_integer(dst);
  if (wide_integer && !arithmetic && !is_floating(src)) return ComputeType::i128;
  if (wide_integer || src == DType::f64 || dst == DType::f64) return ComputeType::f64;
  if (is_32_bit_integer(src) && is_32_bit_integer(dst)) return ComputeType::f64;
  return ComputeType::f32;
}

uint64_t encode(DType dtype, double value) {
  uint64_t bits = 0;
  with_dtype(dtype, [&](auto type) {
    constexpr DType kType = decltype(type)::value;
    write_element<kType>(&bits, 0, store<kType, double>(value));
  });
  return bits;
}

}  // namespace relayout
