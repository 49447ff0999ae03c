// What the systems with one stride a dim share (PyTorch, NumPy, DLPack): the strides of a layout, or why it has none.
//
//     one_stride_a_dim(nhwc, "PyTorch")      // 60, 1, 12, 3
//     one_stride_a_dim(nChw8c, "PyTorch")    // Error: PyTorch has one stride a dim: dim 1 is blocked, as digits ...
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout {

/// A stride for each dim, in elements. Of dims of extent 1 it is the one that the layout was given. Error{unsupported}
/// names the dim that is blocked or padded.
Dims one_stride_a_dim(const Layout& layout, std::string_view system);

/// Throws Error{unsupported}: "PyTorch has no negative strides: dim 2 has stride -4".
[[noreturn]] void refuse_stride(std::string_view what, int d, int64_t stride, std::string_view allowed);

/// "(2, 3)", "(5,)", "()", as Python writes a tuple.
std::string python_tuple(std::span<const int64_t> values);

/// Strides of row-major order in bytes. Without elements they mean nothing, and those that do not fit 63 bits become 0;
/// with elements all fit where the tensor's own bytes do.
Dims row_major_in_bytes(Dims strides, int64_t item_bytes);

}  // namespace relayout
