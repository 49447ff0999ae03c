// DLPack's structures, as the ABI of version 1.3 has them: what one library hands to another to share a tensor.
//
// Names, numbers and the order of fields are those of DLPack's own header, which is not needed. A pointer of one may be
// cast to a pointer of the other; the assertions below hold the sizes and places to that header's. Structures here are
// in a namespace and no macros are defined, so that both headers may be included.
//
// Source: dmlc/dlpack, include/dlpack/dlpack.h, versions 1.1 and 1.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "relayout/cxx20.h"

namespace relayout::dlpack {

/// DLPACK_MAJOR_VERSION and DLPACK_MINOR_VERSION. Structures of another major version are laid out otherwise.
inline constexpr uint32_t kMajorVersion = 1, kMinorVersion = 3;

/// DLPACK_FLAG_BITMASK_...
inline constexpr uint64_t kFlagReadOnly = 1, kFlagIsCopied = 2, kFlagSubbytePadded = 4;

/// The names of Python's capsules before and after a consumer took the tensor; and that of the table of functions.
inline constexpr char kCapsule[] = "dltensor", kUsedCapsule[] = "used_dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";
inline constexpr char kUsedVersionedCapsule[] = "used_dltensor_versioned";
inline constexpr char kExchangeApiCapsule[] = "dlpack_exchange_api";

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

enum DLDeviceType : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,  // pinned memory of the CPU
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,  // pinned memory of the CPU
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18,
};

struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};

enum DLDataTypeCode : uint32_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e3m4 = 7,  // this one and the next since 1.1
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17,
};

/// Elements of fewer than 8 bits follow each other without gaps, the first in the lowest bits, unless the flag
/// kFlagSubbytePadded is set.
struct DLDataType {
  uint8_t code;  // DLDataTypeCode
  uint8_t bits;
  uint16_t lanes;  // elements of one vector; 1 for a plain type
};

struct DLTensor {
  void* data;  // null where there are no elements; a handle on some devices
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;        // may be null where ndim is 0
  int64_t* strides;      // in elements; null for row-major ones, which is not allowed since 1.2 but where ndim is 0
  uint64_t byte_offset;  // of element (0, 0, ...) from data
};

/// A tensor with an owner, as before version 1.0.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);  // may be null
};

/// A tensor with an owner. `version`, `manager_ctx`, `deleter` and `flags` stay where they are in all versions.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);  // may be null
  uint64_t flags;
  DLTensor dl_tensor;
};

/// The table of functions that a type of Python may have as __dlpack_c_exchange_api__, since 1.3. Functions return 0,
/// or -1 with Python's error set (the first one, instead, after a call of `set_error`), and none waits for a stream.
using DLPackManagedTensorAllocator = int (*)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                                             void (*set_error)(void* error_ctx, const char* kind, const char* message));
using DLPackManagedTensorFromPyObjectNoSync = int (*)(void* py_object, DLManagedTensorVersioned** out);
using DLPackManagedTensorToPyObjectNoSync = int (*)(DLManagedTensorVersioned* tensor, void** out_py_object);
using DLPackDLTensorFromPyObjectNoSync = int (*)(void* py_object, DLTensor* out);
using DLPackCurrentWorkStream = int (*)(DLDeviceType device_type, int32_t device_id, void** out_current_stream);

struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  DLPackExchangeAPIHeader* prev_api;  // the table of an older version, or null
};

struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;  // may be null
  DLPackCurrentWorkStream current_work_stream;
};

static_assert(sizeof(DLPackVersion) == 8 && sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4);
static_assert(std::is_standard_layout_v<DLManagedTensorVersioned> && std::is_standard_layout_v<DLPackExchangeAPI>);
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
               offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 &&
               offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40));
static_assert(sizeof(void*) != 8 || (sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48 &&
                                     offsetof(DLManagedTensor, deleter) == 56));
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
               offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, flags) == 24 &&
               offsetof(DLManagedTensorVersioned, dl_tensor) == 32));
static_assert(sizeof(void*) != 8 || (sizeof(DLPackExchangeAPIHeader) == 16 && sizeof(DLPackExchangeAPI) == 56 &&
                                     offsetof(DLPackExchangeAPI, managed_tensor_allocator) == 16 &&
                                     offsetof(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24 &&
                                     offsetof(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32 &&
                                     offsetof(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40 &&
                                     offsetof(DLPackExchangeAPI, current_work_stream) == 48));

}  // namespace relayout::dlpack
