// Numbers as the reference reorder sees them: exact, and rounded by search.
//
// Internal to reference.cc and its tests. Nothing here is shared with cast.h but the name of a compute type: a number
// is decoded from its fields by ldexp, and encoded by looking for the nearest value of the type.
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

/// The element with these bits (4-bit types in the low nibble, whatever is above).
Number decode(DType dtype, uint64_t bits);

/// The number rounded to the compute type.
Number rounded_to(ComputeType compute, Number number);

/// The bits of the number as that type has it: floating types to the nearest, ties to even bits; integers
/// saturated to the range that `compute` can tell, then to nearest even. A NaN's payload is cut.
uint64_t encode(DType dtype, const Number& number, ComputeType compute);

/// The rule of docs/conversions.md, said in its own words: by how many bits the values of both types need.
ComputeType compute_type_of(DType src, DType dst, bool arithmetic);

/// One element converted without arithmetic; equal types move their bits.
uint64_t convert(DType src, uint64_t bits, DType dst);

}  // namespace relayout::reference
