// Loading OpenCL: see library.h.
#include "relayout/opencl/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "relayout/core/error.h"

namespace relayout::opencl {
namespace {

struct Library {
  abi::Functions functions;
  std::string absence;
};

/// What the loader says, after a colon.
std::string reason() {
  const char* text = dlerror();
  return text ? ": " + escaped(text, 256) : "";
}

Library load() {
  Library out;
  const char* named = std::getenv("RELAYOUT_OPENCL_LIBRARY");
  const std::string file = named ? named : "libOpenCL.so.1";
  if (file.empty()) {
    out.absence = "RELAYOUT_OPENCL_LIBRARY is empty, so OpenCL is not used";
    return out;
  }
  // It is never unloaded: drivers have threads and functions that run when the program ends.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    out.absence = (named ? escaped(file) + ", which RELAYOUT_OPENCL_LIBRARY names, cannot be loaded"
                         : "no OpenCL is installed (on Debian: apt install ocl-icd-libopencl1 pocl-opencl-icd)") +
                  reason();
    return out;
  }
#define RELAYOUT_OPENCL_LOAD(function, result, arguments)                                                      \
  out.functions.function = reinterpret_cast<decltype(out.functions.function)>(dlsym(library, "cl" #function)); \
  if (!out.functions.function) out.absence = escaped(file) + " lacks cl" #function + ", which OpenCL 1.2 has";
  using namespace abi;
  RELAYOUT_OPENCL_FUNCTIONS(RELAYOUT_OPENCL_LOAD)
#undef RELAYOUT_OPENCL_LOAD
  return out;
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

struct Status {
  abi::Int value;
  std::string_view name;
};

constexpr Status kStatuses[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-9, "CL_IMAGE_FORMAT_MISMATCH"},
    {-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-30, "CL_INVALID_VALUE"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
    {-40, "CL_INVALID_IMAGE_SIZE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-65, "CL_INVALID_IMAGE_DESCRIPTOR"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

const abi::Functions* functions() { return library().absence.empty() ? &library().functions : nullptr; }
const std::string& absence() { return library().absence; }

const abi::Functions& require_functions() {
  if (const abi::Functions* found = functions()) return *found;
  throw Error(ErrorCode::unsupported, "opencl: " + absence(), "opencl");
}

std::string status_name(abi::Int status) {
  for (const Status& one : kStatuses) {
    if (one.value == status) return std::string(one.name) + " (" + std::to_string(status) + ")";
  }
  return "error " + std::to_string(status);
}

void check_status(abi::Int status, const std::string& what) {
  if (status == abi::kSuccess) return;
  ErrorCode code = ErrorCode::io;
  if (status == abi::kAllocationFailure || status == abi::kOutOfResources || status == abi::kOutOfHostMemory ||
      status == abi::kInvalidBufferSize || status == abi::kInvalidImageSize)
    code = ErrorCode::limit;
  if (status == abi::kImageFormatNotSupported) code = ErrorCode::unsupported;
  throw Error(code, "opencl: " + what + ": " + status_name(status), "opencl", std::to_string(status));
}

}  // namespace relayout::opencl
