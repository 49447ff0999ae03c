// What the systems with one stride a dim share (PyTorch, NumPy, DLPack): the strides of a layout, or why it has none.
//
//     one_stride_a_dim(nhwc, "PyTorch")      // 60, 1, 12, 3
//     one_stride_a_dim(nChw8c, "PyTorch")
//         // Error: PyTorch has one stride a dim: dim 1 is blocked, with the digits (8,1)(3,160)
#pragma once

#include <optional>
#include <span>
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
std::string python_tuple(std::span<const std::string> items);
std::string python_tuple(std::span<const int64_t> values);

/// A layout's strides, one a dim, in bytes; nothing where one of them overflows 63 bits. A dim of one index, and every
/// dim of a tensor without elements, is never stepped along, so that its stride means nothing: it becomes 0 where it
/// does not fit.
std::optional<Dims> strides_in_bytes(const Layout& layout, Dims strides, int64_t item_bytes);

/// How many elements lie before element (0, 0, ...) in memory, where negative strides lead; 0 where there are no
/// elements. Error{overflow} names the dim whose stride leads back farthest, and the system.
int64_t elements_before(const Dims& dims, const Dims& strides, std::string_view system);

/// The bytes before element `offset`, where they fit 63 bits. Sub-byte elements share bytes; it is the caller who
/// asks whether an odd one begins inside a byte.
std::optional<int64_t> bytes_before(int64_t offset, DType dtype);

}  // namespace relayout
