// The OpenCL C of one copy between two operands, buffers or images, for any pair of layouts (internal to this folder).
//
// There is no kernel for a format. Both layouts are digits, so a kernel walks the digits of one side, sums them up to
// the index of each dim, and sums the other side's digits of these indices up to where the element lies there:
//
//     nchw 1x9x4x5 -> nh|Cw4c:   texel (x, y): c = x / 5 * 4 + lane, w = x % 5, h = y;   src[20 * c + 5 * h + w]
//
// All extents, strides and divisions are constants of the source. A work-item does one texel, or of two buffers one
// element or four that follow each other. An image's texels are walked where one side is an image, and the
// destination's where both or none are. Padding of the destination is written with 0, as everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "relayout/opencl/operand.h"

namespace relayout::opencl {

struct KernelSource {
  /// A program with one kernel, relayout_copy(source, destination).
  std::string text;
  /// Work-items along x, y and z, multiples of `local`, which is the size of a group.
  std::array<std::size_t, 3> global{1, 1, 1}, local{1, 1, 1};
};

/// The kernel that copies `src` to `dst`, which have equal dims and at least one element. Errors: unsupported (types
/// that device_converts() refuses, or that do not fit the channels of an image), limit (more than 2^31 work-items along
/// an axis that cannot be split).
/// Numbers have 32 bits where all offsets and indices fit, or 64 where `wide` asks for it.
KernelSource kernel_source(const Operand& src, const Operand& dst, bool wide = false);

}  // namespace relayout::opencl
