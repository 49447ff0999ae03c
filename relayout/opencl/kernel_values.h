// How a kernel reads, converts and writes values (internal to this folder): the part of kernel_source.h that knows
// types.
//
// Where both sides hold equal types, bits are moved. Else, and in images, values pass through float, int or uint. f32
// becomes f16 by integer arithmetic of our own, because drivers may round to zero when they write to an image of half
// floats; so the bits are those of the CPU's conversion, where an image keeps them: NaNs and denormal numbers it need
// not.
#pragma once

#include <string>

#include "relayout/opencl/operand.h"

namespace relayout::opencl {

struct ValuePlan {
  /// The type of a value in the kernel, and of elements of buffers.
  std::string type, src_type, dst_type;
  /// Whether a buffer's elements are values as they are, so that four can be loaded or stored at once.
  bool plain_src = false, plain_dst = false;
  /// Functions that the kernel calls, in front of it.
  std::string prelude;
  /// Around a buffer's element: what is written before and after it, on loading and on storing.
  std::string load_before, load_after, store_before, store_after;
  /// The letter of read_image and write_image: f, i or ui; and around a texel that is written.
  std::string suffix, texel_before, texel_after;

  std::string load(const std::string& element) const { return load_before + element + load_after; }
  std::string store(const std::string& value) const { return store_before + value + store_after; }
  std::string read_texel(const std::string& image, const std::string& place) const {
    return "read_image" + suffix + "(" + image + ", kTexels, " + place + ")";
  }
  std::string write_texel(const std::string& image, const std::string& place, const std::string& texel) const {
    return "write_image" + suffix + "(" + image + ", " + place + ", " + texel_before + texel + texel_after + ")";
  }
};

/// Error{unsupported} where a device has no such conversion: types that device_converts() refuses, and a normalized
/// image (unorm8, snorm8) on one side with anything but its own bytes, or such an image, on the other.
void check_values(const Operand& src, const Operand& dst);

/// Errors: those of check_values().
ValuePlan value_plan(const Operand& src, const Operand& dst);

}  // namespace relayout::opencl
