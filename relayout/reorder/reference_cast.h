// Numbers as the reference reorder sees them: exact, and rounded by search.
//
// Internal to the reference and its tests. To check cast.h independently, this shares only ComputeType with it. A
// number is decoded from its fields by ldexp, and encoded by searching for the nearest value of the type.
#pragma once

#include <cstdint>

#include "relayout/core/dtype.h"
#include "relayout/reorder/cast.h"

namespace relayout::reference {

/// What an element holds. long double has 64 bits of mantissa or more, so that every s64 and u64 is exact.
struct Number {
  long double value = 0;  // signed zeros and infinities included; unused for NaN
  bool nan = false;
  bool negative_nan = false;
  uint64_t payload = 0;  // a NaN's fraction bits, the first in bit 51 as in f64
};

/// The element with these bits (sub-byte types in the low bits, whatever is above).
Number decode(DType dtype, uint64_t bits);

/// The number rounded to the compute type.
Number rounded_to(ComputeType compute, Number number);

/// The bits of the number, rounded to that type. Floating types: to the nearest value, ties to even bits. Integers:
/// saturated to the type's range, whose upper end is the largest value that `compute` holds exactly, then rounded to
/// nearest even. A NaN's payload loses its low bits.
uint64_t encode(DType dtype, const Number& number, ComputeType compute);

/// The compute type by the rule of docs/conversions.md, computed independently of cast.h from how many bits the values
/// of both types need.
ComputeType compute_type_of(DType src, DType dst, bool arithmetic);

/// One element converted without arithmetic; equal types move their bits.
uint64_t convert(DType src, uint64_t bits, DType dst);

}  // namespace relayout::reference
