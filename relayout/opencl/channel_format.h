// A channel type as OpenCL's image format (internal to this folder).
#pragma once

#include "relayout/opencl/abi.h"
#include "relayout/opencl/image.h"

namespace relayout::opencl {

/// RGBA with channels of this type.
inline abi::ImageFormat channel_format(ChannelType type) {
  constexpr abi::Uint kTypes[] = {abi::kFloat,         abi::kHalfFloat, abi::kSignedInt32,
                                  abi::kUnsignedInt32, abi::kUnormInt8, abi::kSnormInt8};
  return {abi::kOrderRgba, kTypes[static_cast<std::size_t>(type)]};
}

}  // namespace relayout::opencl
