// The numbers and types of abi.h against the Khronos headers, where these are installed.
#include "relayout/opencl/abi.h"

#include <gtest/gtest.h>

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

namespace relayout::opencl::abi {
namespace {

TEST(Abi, NumbersAreKhronos) {
  EXPECT_EQ(kSuccess, CL_SUCCESS);
  EXPECT_EQ(kAllocationFailure, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(kOutOfResources, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(kOutOfHostMemory, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(kImageFormatNotSupported, CL_IMAGE_FORMAT_NOT_SUPPORTED);
  EXPECT_EQ(kInvalidImageSize, CL_INVALID_IMAGE_SIZE);
  EXPECT_EQ(kInvalidBufferSize, CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(kPlatformVersion, CL_PLATFORM_VERSION);
  EXPECT_EQ(kPlatformName, CL_PLATFORM_NAME);
  EXPECT_EQ(kDeviceType, CL_DEVICE_TYPE);
  EXPECT_EQ(kDeviceMaxAllocBytes, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  EXPECT_EQ(kDeviceImage2dMaxWidth, CL_DEVICE_IMAGE2D_MAX_WIDTH);
  EXPECT_EQ(kDeviceImage2dMaxHeight, CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  EXPECT_EQ(kDeviceImageSupport, CL_DEVICE_IMAGE_SUPPORT);
  EXPECT_EQ(kDeviceMemoryBytes, CL_DEVICE_GLOBAL_MEM_SIZE);
  EXPECT_EQ(kDeviceAvailable, CL_DEVICE_AVAILABLE);
  EXPECT_EQ(kDeviceName, CL_DEVICE_NAME);
  EXPECT_EQ(kDeviceVendor, CL_DEVICE_VENDOR);
  EXPECT_EQ(kDriverVersion, CL_DRIVER_VERSION);
  EXPECT_EQ(kDeviceVersion, CL_DEVICE_VERSION);
  EXPECT_EQ(kDeviceHostUnifiedMemory, CL_DEVICE_HOST_UNIFIED_MEMORY);
  EXPECT_EQ(kDeviceImagePitchAlignment, CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
  EXPECT_EQ(kQueueContext, CL_QUEUE_CONTEXT);
  EXPECT_EQ(kQueueDevice, CL_QUEUE_DEVICE);
  EXPECT_EQ(kQueueProperties, CL_QUEUE_PROPERTIES);
  EXPECT_EQ(kMemType, CL_MEM_TYPE);
  EXPECT_EQ(kMemSize, CL_MEM_SIZE);
  EXPECT_EQ(kMemContext, CL_MEM_CONTEXT);
  EXPECT_EQ(kMemReadOnly, CL_MEM_READ_ONLY);
  EXPECT_EQ(kKernelNumArgs, CL_KERNEL_NUM_ARGS);
  EXPECT_EQ(kImageFormat, CL_IMAGE_FORMAT);
  EXPECT_EQ(kImageWidth, CL_IMAGE_WIDTH);
  EXPECT_EQ(kImageHeight, CL_IMAGE_HEIGHT);
  EXPECT_EQ(kProgramBuildLog, CL_PROGRAM_BUILD_LOG);
  EXPECT_EQ(kKernelWorkGroupSize, CL_KERNEL_WORK_GROUP_SIZE);
  EXPECT_EQ(kDeviceTypeCpu, CL_DEVICE_TYPE_CPU);
  EXPECT_EQ(kDeviceTypeGpu, CL_DEVICE_TYPE_GPU);
  EXPECT_EQ(kDeviceTypeAccelerator, CL_DEVICE_TYPE_ACCELERATOR);
  EXPECT_EQ(kDeviceTypeAll, CL_DEVICE_TYPE_ALL);
  EXPECT_EQ(kMemReadWrite, CL_MEM_READ_WRITE);
  EXPECT_EQ(kMemUseHostPtr, CL_MEM_USE_HOST_PTR);
  EXPECT_EQ(kMemObjectBuffer, CL_MEM_OBJECT_BUFFER);
  EXPECT_EQ(kMemObjectImage2d, CL_MEM_OBJECT_IMAGE2D);
  EXPECT_EQ(kOrderRgba, CL_RGBA);
  EXPECT_EQ(kSnormInt8, CL_SNORM_INT8);
  EXPECT_EQ(kUnormInt8, CL_UNORM_INT8);
  EXPECT_EQ(kSignedInt32, CL_SIGNED_INT32);
  EXPECT_EQ(kUnsignedInt32, CL_UNSIGNED_INT32);
  EXPECT_EQ(kHalfFloat, CL_HALF_FLOAT);
  EXPECT_EQ(kFloat, CL_FLOAT);
  EXPECT_EQ(kQueueOutOfOrder, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EXPECT_EQ(kMapRead, CL_MAP_READ);
  EXPECT_EQ(kMapWrite, CL_MAP_WRITE);
  EXPECT_EQ(kMapWriteInvalidate, CL_MAP_WRITE_INVALIDATE_REGION);
  EXPECT_EQ(kTrue, CL_TRUE);
}

TEST(Abi, StructuresAreKhronos) {
  static_assert(std::is_same_v<Mem, cl_mem> && std::is_same_v<Context, cl_context> &&
                std::is_same_v<Queue, cl_command_queue>);
  static_assert(sizeof(ImageFormat) == sizeof(cl_image_format) && sizeof(ImageDesc) == sizeof(cl_image_desc));
  static_assert(offsetof(ImageDesc, width) == offsetof(cl_image_desc, image_width));
  static_assert(offsetof(ImageDesc, row_pitch) == offsetof(cl_image_desc, image_row_pitch));
  static_assert(offsetof(ImageDesc, samples) == offsetof(cl_image_desc, num_samples));
}

/// A function here and Khronos' declaration have arguments of equal sizes in equal order.
template <typename R, typename... A, typename S, typename... B>
constexpr bool same_shape(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else if constexpr (sizeof(R) != sizeof(S)) {
    return false;
  } else {
    return ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>)&&...);
  }
}

TEST(Abi, FunctionsAreKhronos) {
#define RELAYOUT_COMPARE(function, result, arguments) \
  static_assert(same_shape(decltype(Functions::function){}, decltype(&cl##function){}));
  RELAYOUT_OPENCL_FUNCTIONS(RELAYOUT_COMPARE)
#undef RELAYOUT_COMPARE
}

}  // namespace
}  // namespace relayout::opencl::abi

#else

TEST(Abi, NumbersAreKhronos) { GTEST_SKIP() << "no OpenCL headers (Debian: opencl-c-headers)"; }

#endif
