// The part of OpenCL's binary interface that is used here (internal to this folder).
//
// OpenCL is loaded when a program first asks for it, and a machine without it has no header of it either. So the types,
// the numbers and the functions are declared here as the specification fixes them: what is not here is not used. Where
// the Khronos headers are installed, abi_test.cc compares every number with theirs.
//
// Source: the OpenCL specification, version 1.2, and its headers' values. All of it is part of every later version.
#pragma once

#include <cstddef>
#include <cstdint>

struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_program;
struct _cl_kernel;
struct _cl_event;

namespace relayout::opencl::abi {

using Int = int32_t;
using Uint = uint32_t;
using Ulong = uint64_t;
using Platform = _cl_platform_id*;
using DeviceId = _cl_device_id*;
using Context = _cl_context*;
using Queue = _cl_command_queue*;
using Mem = _cl_mem*;
using Program = _cl_program*;
using Kernel = _cl_kernel*;
using Event = _cl_event*;

struct ImageFormat {
  Uint channel_order, channel_type;
};
struct ImageDesc {
  Uint type;
  std::size_t width, height, depth, array_size, row_pitch, slice_pitch;
  Uint mip_levels, samples;
  Mem buffer;
};

// Results.
inline constexpr Int kSuccess = 0, kAllocationFailure = -4, kOutOfResources = -5, kOutOfHostMemory = -6,
                     kImageFormatNotSupported = -10, kInvalidImageSize = -40, kInvalidBufferSize = -61;

// Questions.
inline constexpr Uint kPlatformVersion = 0x0901, kPlatformName = 0x0902;
inline constexpr Uint kDeviceType = 0x1000, kDeviceMaxAllocBytes = 0x1010, kDeviceImage2dMaxWidth = 0x1011,
                      kDeviceImage2dMaxHeight = 0x1012, kDeviceImageSupport = 0x1016, kDeviceMemoryBytes = 0x101F,
                      kDeviceAvailable = 0x1027, kDeviceName = 0x102B, kDeviceVendor = 0x102C, kDriverVersion = 0x102D,
                      kDeviceVersion = 0x102F, kDeviceHostUnifiedMemory = 0x1035, kDeviceImagePitchAlignment = 0x104A;
inline constexpr Uint kQueueContext = 0x1090, kQueueDevice = 0x1091, kQueueProperties = 0x1093;
inline constexpr Uint kMemType = 0x1100, kMemSize = 0x1102, kMemContext = 0x1106;
inline constexpr Uint kImageFormat = 0x1110, kImageWidth = 0x1114, kImageHeight = 0x1115;
inline constexpr Uint kProgramBuildLog = 0x1183;
inline constexpr Uint kKernelNumArgs = 0x1191, kKernelWorkGroupSize = 0x11B0;

// Values.
inline constexpr Ulong kDeviceTypeCpu = 2, kDeviceTypeGpu = 4, kDeviceTypeAccelerator = 8, kDeviceTypeAll = 0xFFFFFFFF;
inline constexpr Ulong kMemReadWrite = 1, kMemReadOnly = 4, kMemUseHostPtr = 8;
inline constexpr Uint kMemObjectBuffer = 0x10F0, kMemObjectImage2d = 0x10F1;
inline constexpr Uint kOrderRgba = 0x10B5;
inline constexpr Uint kSnormInt8 = 0x10D0, kUnormInt8 = 0x10D2, kSignedInt32 = 0x10D9, kUnsignedInt32 = 0x10DC,
                      kHalfFloat = 0x10DD, kFloat = 0x10DE;
inline constexpr Ulong kQueueOutOfOrder = 1;
inline constexpr Ulong kMapRead = 1, kMapWrite = 2, kMapWriteInvalidate = 4;
inline constexpr Uint kTrue = 1;

/// The functions, in alphabetical order: their names without "cl", results and arguments.
#define RELAYOUT_OPENCL_FUNCTIONS(F)                                                                                  \
  F(BuildProgram, Int, (Program, Uint, const DeviceId*, const char*, void (*)(Program, void*), void*))                \
  F(CreateBuffer, Mem, (Context, Ulong, std::size_t, void*, Int*))                                                    \
  F(CreateCommandQueue, Queue, (Context, DeviceId, Ulong, Int*))                                                      \
  F(CreateContext, Context,                                                                                           \
    (const intptr_t*, Uint, const DeviceId*, void (*)(const char*, const void*, std::size_t, void*), void*, Int*))    \
  F(CreateImage, Mem, (Context, Ulong, const ImageFormat*, const ImageDesc*, void*, Int*))                            \
  F(CreateKernel, Kernel, (Program, const char*, Int*))                                                               \
  F(CreateProgramWithSource, Program, (Context, Uint, const char**, const std::size_t*, Int*))                        \
  F(EnqueueCopyBuffer, Int, (Queue, Mem, Mem, std::size_t, std::size_t, std::size_t, Uint, const Event*, Event*))     \
  F(EnqueueCopyBufferToImage, Int,                                                                                    \
    (Queue, Mem, Mem, std::size_t, const std::size_t*, const std::size_t*, Uint, const Event*, Event*))               \
  F(EnqueueCopyImageToBuffer, Int,                                                                                    \
    (Queue, Mem, Mem, const std::size_t*, const std::size_t*, std::size_t, Uint, const Event*, Event*))               \
  F(EnqueueCopyImage, Int,                                                                                            \
    (Queue, Mem, Mem, const std::size_t*, const std::size_t*, const std::size_t*, Uint, const Event*, Event*))        \
  F(EnqueueMapBuffer, void*, (Queue, Mem, Uint, Ulong, std::size_t, std::size_t, Uint, const Event*, Event*, Int*))   \
  F(EnqueueMapImage, void*,                                                                                           \
    (Queue, Mem, Uint, Ulong, const std::size_t*, const std::size_t*, std::size_t*, std::size_t*, Uint, const Event*, \
     Event*, Int*))                                                                                                   \
  F(EnqueueNDRangeKernel, Int,                                                                                        \
    (Queue, Kernel, Uint, const std::size_t*, const std::size_t*, const std::size_t*, Uint, const Event*, Event*))    \
  F(EnqueueReadBuffer, Int, (Queue, Mem, Uint, std::size_t, std::size_t, void*, Uint, const Event*, Event*))          \
  F(EnqueueUnmapMemObject, Int, (Queue, Mem, void*, Uint, const Event*, Event*))                                      \
  F(EnqueueWriteBuffer, Int, (Queue, Mem, Uint, std::size_t, std::size_t, const void*, Uint, const Event*, Event*))   \
  F(Finish, Int, (Queue))                                                                                             \
  F(GetCommandQueueInfo, Int, (Queue, Uint, std::size_t, void*, std::size_t*))                                        \
  F(GetDeviceIDs, Int, (Platform, Ulong, Uint, DeviceId*, Uint*))                                                     \
  F(GetDeviceInfo, Int, (DeviceId, Uint, std::size_t, void*, std::size_t*))                                           \
  F(GetImageInfo, Int, (Mem, Uint, std::size_t, void*, std::size_t*))                                                 \
  F(GetKernelInfo, Int, (Kernel, Uint, std::size_t, void*, std::size_t*))                                             \
  F(GetKernelWorkGroupInfo, Int, (Kernel, DeviceId, Uint, std::size_t, void*, std::size_t*))                          \
  F(GetMemObjectInfo, Int, (Mem, Uint, std::size_t, void*, std::size_t*))                                             \
  F(GetPlatformIDs, Int, (Uint, Platform*, Uint*))                                                                    \
  F(GetPlatformInfo, Int, (Platform, Uint, std::size_t, void*, std::size_t*))                                         \
  F(GetProgramBuildInfo, Int, (Program, DeviceId, Uint, std::size_t, void*, std::size_t*))                            \
  F(GetSupportedImageFormats, Int, (Context, Ulong, Uint, Uint, ImageFormat*, Uint*))                                 \
  F(ReleaseCommandQueue, Int, (Queue))                                                                                \
  F(ReleaseContext, Int, (Context))                                                                                   \
  F(ReleaseKernel, Int, (Kernel))                                                                                     \
  F(ReleaseMemObject, Int, (Mem))                                                                                     \
  F(ReleaseProgram, Int, (Program))                                                                                   \
  F(RetainCommandQueue, Int, (Queue))                                                                                 \
  F(RetainContext, Int, (Context))                                                                                    \
  F(RetainMemObject, Int, (Mem))                                                                                      \
  F(SetKernelArg, Int, (Kernel, Uint, std::size_t, const void*))

/// The functions of the library that was loaded.
struct Functions {
#define RELAYOUT_OPENCL_POINTER(function, result, arguments) result(*function) arguments = nullptr;
  RELAYOUT_OPENCL_FUNCTIONS(RELAYOUT_OPENCL_POINTER)
#undef RELAYOUT_OPENCL_POINTER
};

}  // namespace relayout::opencl::abi
