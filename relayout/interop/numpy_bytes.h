// Elements of fewer than 8 bits as ml_dtypes has them: one a byte, in its low bits.
//
// A .npy of such an array has the descr "<V1": ml_dtypes' types are voids with an order of bytes, while NumPy writes
// its own voids, and relayout its packed elements, as "|V1". So the descr and the type that the caller names together
// say how the elements lie.
//
//     if (numpy::has_one_a_byte(stored.type_name, DType::s4)) copy = numpy::packed(bytes, DType::s4);
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "relayout/core/dtype.h"

namespace relayout::numpy {

/// Whether an array of this descr holds elements of the type one a byte.
bool has_one_a_byte(std::string_view descr, DType dtype);

/// The elements of such an array one behind another, the first in the lowest bits; the bits behind the last one are 0.
std::vector<std::byte> packed(std::span<const std::byte> elements, DType dtype);

}  // namespace relayout::numpy
