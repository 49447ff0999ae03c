// Scales, zero points, means and index tables that are given as a tensor: in any layout and type, as files have them.
//
//     // f16 scales of 32 weights each, of a matrix of 4096x11008; `blocks` begins with the first block's scale
//     TensorDesc scales(Layout::strided({4096, 344}, {344 * 9, 9}), DType::f16);
//     Attributes a;
//     a.src_scale = cpu::per_mask_of_tensor(scales, blocks, {4096, 11008});
#pragma once

#include <string>
#include <vector>

#include "relayout/core/elements.h"
#include "relayout/reorder/attributes.h"

namespace relayout::cpu {

/// The attribute whose values are those of a tensor. Its dims say which indices of a tensor of dims `dims` each value
/// is for, as per_mask_of_shape() has it. Cost: that of a reorder to f64. Errors: invalid_argument (a shape that does
/// not fit, elements of another type), buffer_too_small; `field` is the attribute's name in them.
PerMask per_mask_of_tensor(const TensorDesc& values, const ConstElements& data, const Dims& dims,
                           const Dims& groups = {}, const std::string& field = "values");

/// The elements of a tensor of an integer type, row-major, as the entries of an index table (core/index_table.h).
/// Errors: invalid_argument (another type), buffer_too_small; `field` is the table's name in them.
std::vector<int64_t> indices_of_tensor(const TensorDesc& values, const ConstElements& data,
                                       const std::string& field = "index");

}  // namespace relayout::cpu
