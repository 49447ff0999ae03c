// An OpenCL library whose devices are other than the real one's, for tests of what happens then. It passes all calls on
// to the library that it is linked with. Of what the environment's NARROW_DRIVER names it says and does something else:
//
//     limits   images have at most 64 x 64 texels and none are of half floats; no more than a mebibyte can be allocated
//              at once, and buffers and images of more than half of that fail when they are made, as on a full device
//     card     host and device do not share one memory, as with a graphics card
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "relayout/opencl/abi.h"

namespace abi = relayout::opencl::abi;

namespace {

constexpr std::size_t kSide = 64, kMostBytes = 1 << 20, kFreeBytes = kMostBytes / 2;

bool narrow(const char* what) {
  const char* names = std::getenv("NARROW_DRIVER");
  return names && std::strstr(names, what);
}

/// The function of this name in the library behind this one.
template <typename Function>
Function* behind(const char* name) {
  static void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

using GetDeviceInfo = abi::Int(abi::DeviceId, abi::Uint, std::size_t, void*, std::size_t*);
using GetSupportedImageFormats = abi::Int(abi::Context, abi::Ulong, abi::Uint, abi::Uint, abi::ImageFormat*,
                                          abi::Uint*);
using CreateBuffer = abi::Mem(abi::Context, abi::Ulong, std::size_t, void*, abi::Int*);
using CreateImage = abi::Mem(abi::Context, abi::Ulong, const abi::ImageFormat*, const abi::ImageDesc*, void*,
                             abi::Int*);

}  // namespace

extern "C" {

abi::Int clGetDeviceInfo(abi::DeviceId id, abi::Uint question, std::size_t size, void* value, std::size_t* needed) {
  static auto* const real = behind<GetDeviceInfo>("clGetDeviceInfo");
  const abi::Int status = real(id, question, size, value, needed);
  const std::size_t side = kSide;
  const abi::Ulong bytes = kMostBytes;
  if (status != abi::kSuccess || !value) return status;
  const abi::Uint apart = 0;
  if (narrow("card") && question == abi::kDeviceHostUnifiedMemory) std::memcpy(value, &apart, sizeof apart);
  if (!narrow("limits")) return status;
  if (question == abi::kDeviceImage2dMaxWidth || question == abi::kDeviceImage2dMaxHeight)
    std::memcpy(value, &side, sizeof side);
  if (question == abi::kDeviceMaxAllocBytes) std::memcpy(value, &bytes, sizeof bytes);
  return status;
}

abi::Int clGetSupportedImageFormats(abi::Context context, abi::Ulong flags, abi::Uint type, abi::Uint count,
                                    abi::ImageFormat* formats, abi::Uint* found) {
  static auto* const real = behind<GetSupportedImageFormats>("clGetSupportedImageFormats");
  const abi::Int status = real(context, flags, type, count, formats, found);
  for (abi::Uint k = 0; narrow("limits") && formats && status == abi::kSuccess && k < count; ++k) {
    if (formats[k].channel_type == abi::kHalfFloat) formats[k].channel_order = 0;
  }
  return status;
}

abi::Mem clCreateBuffer(abi::Context context, abi::Ulong flags, std::size_t bytes, void* host, abi::Int* status) {
  static auto* const real = behind<CreateBuffer>("clCreateBuffer");
  if (!narrow("limits") || bytes <= kFreeBytes) return real(context, flags, bytes, host, status);
  *status = abi::kAllocationFailure;
  return nullptr;
}

abi::Mem clCreateImage(abi::Context context, abi::Ulong flags, const abi::ImageFormat* format,
                       const abi::ImageDesc* desc, void* host, abi::Int* status) {
  static auto* const real = behind<CreateImage>("clCreateImage");
  if (!narrow("limits") || desc->width * desc->height * 16 <= kFreeBytes / 16)
    return real(context, flags, format, desc, host, status);
  *status = abi::kOutOfResources;
  return nullptr;
}

}  // extern "C"
