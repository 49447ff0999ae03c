// The values of a tensor as the reference keeps them: a vector of doubles in row-major order. Integer types hold whole
// numbers.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

using Values = std::vector<double>;

/// The values of a constant.
Values values_of(const Tensor& constant);
/// Values rounded to a type and stored row-major, and back, from elements or bytes (core/elements.h). Errors of load():
/// invalid_argument (elements of another type; fewer than `count`).
std::vector<std::byte> store(std::span<const double> values, DType dtype);
Values load(const ConstElements& elements, DType dtype, int64_t count);

}  // namespace relayout::graph
