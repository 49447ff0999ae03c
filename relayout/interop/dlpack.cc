// DLPack's descriptions as layouts and back. Tensors with owners are dlpack_managed.cc.
#include "relayout/interop/dlpack.h"

#include <algorithm>

#include "relayout/interop/strided.h"

namespace relayout::dlpack {
namespace {

struct DeviceName {
  DLDeviceType type;
  std::string_view name;
};
constexpr DeviceName kDeviceNames[] = {{kDLCPU, "kDLCPU"},
                                       {kDLCUDA, "kDLCUDA"},
                                       {kDLCUDAHost, "kDLCUDAHost"},
                                       {kDLOpenCL, "kDLOpenCL"},
                                       {kDLVulkan, "kDLVulkan"},
                                       {kDLMetal, "kDLMetal"},
                                       {kDLVPI, "kDLVPI"},
                                       {kDLROCM, "kDLROCM"},
                                       {kDLROCMHost, "kDLROCMHost"},
                                       {kDLExtDev, "kDLExtDev"},
                                       {kDLCUDAManaged, "kDLCUDAManaged"},
                                       {kDLOneAPI, "kDLOneAPI"},
                                       {kDLWebGPU, "kDLWebGPU"},
                                       {kDLHexagon, "kDLHexagon"},
                                       {kDLMAIA, "kDLMAIA"},
                                       {kDLTrn, "kDLTrn"}};

/// In the order of DLDataTypeCode.
constexpr std::string_view kCodeNames[] = {"kDLInt",
                                           "kDLUInt",
                                           "kDLFloat",
                                           "kDLOpaqueHandle",
                                           "kDLBfloat",
                                           "kDLComplex",
                                           "kDLBool",
                                           "kDLFloat8_e3m4",
                                           "kDLFloat8_e4m3",
                                           "kDLFloat8_e4m3b11fnuz",
                                           "kDLFloat8_e4m3fn",
                                           "kDLFloat8_e4m3fnuz",
                                           "kDLFloat8_e5m2",
                                           "kDLFloat8_e5m2fnuz",
                                           "kDLFloat8_e8m0fnu",
                                           "kDLFloat6_e2m3fn",
                                           "kDLFloat6_e3m2fn",
                                           "kDLFloat4_e2m1fn"};

std::string code_name(uint8_t code) {
  return code < std::size(kCodeNames) ? std::string(kCodeNames[code]) : "type code " + std::to_string(code);
}

DLDataTypeCode type_code(DType dtype) {
  switch (dtype) {
    case DType::bf16: return kDLBfloat;
    case DType::f8_e5m2: return kDLFloat8_e5m2;
    case DType::f8_e4m3: return kDLFloat8_e4m3fn;
    case DType::f8_e8m0: return kDLFloat8_e8m0fnu;
    case DType::f6_e3m2: return kDLFloat6_e3m2fn;
    case DType::f6_e2m3: return kDLFloat6_e2m3fn;
    case DType::f4_e2m1: return kDLFloat4_e2m1fn;
    default: break;
  }
  switch (kind(dtype)) {
    case DTypeKind::floating: return kDLFloat;
    case DTypeKind::signed_integer: return kDLInt;
    case DTypeKind::unsigned_integer: return kDLUInt;
    case DTypeKind::boolean: return kDLBool;
  }
  return kDLOpaqueHandle;
}

[[noreturn]] void refuse_field(ErrorCode code, const std::string& why, const std::string& field,
                               const std::string& value, const std::string& allowed) {
  throw Error(code, "dlpack: " + why, field, value, allowed);
}

[[noreturn]] void overflows(const std::string& what, const std::string& field, const std::string& value) {
  refuse_field(ErrorCode::overflow, what + " overflows 64 bits", field, value,
               std::to_string(std::numeric_limits<int64_t>::max()));
}

/// How many elements here one element of the tensor spans: its lanes, or those that a padded byte has room for.
int64_t checked_lanes(const DLDataType& type, const ImportOptions& options) {
  const bool padded = (options.flags & kFlagSubbytePadded) != 0 && type.bits < 8;
  if (type.lanes == 0) refuse_field(ErrorCode::invalid_argument, "a type of 0 lanes", "dtype.lanes", "0", "1 or more");
  if (padded && type.lanes != 1)
    refuse_field(
        ErrorCode::unsupported,
        "vectors of " + std::to_string(type.lanes) + " padded elements, of which no version says where they lie",
        "dtype.lanes", std::to_string(type.lanes), "1");
  if (type.lanes > 1 && !options.lanes_as_dim && !(type.lanes == 2 && type.bits == 4))
    refuse_field(ErrorCode::unsupported,
                 "elements are vectors of " + std::to_string(type.lanes) + " lanes (" + name(type) +
                     "), which are taken for a last dim only where lanes_as_dim is set",
                 "dtype.lanes", std::to_string(type.lanes), "1");
  if (padded && 8 % type.bits != 0)
    refuse_field(ErrorCode::unsupported,
                 "padded elements of " + std::to_string(type.bits) + " bits, which do not fill a byte here",
                 "dtype.bits", std::to_string(type.bits), "1, 2, 4 or 8 bits");
  return padded ? 8 / type.bits : type.lanes;
}

void check_fields(const DLTensor& tensor, const ImportOptions& options) {
  const std::string ndim = std::to_string(tensor.ndim);
  if (tensor.ndim < 0) refuse_field(ErrorCode::invalid_argument, "ndim is " + ndim, "ndim", ndim, "0 or more");
  if (tensor.ndim > kMaxDims) refuse_field(ErrorCode::limit, ndim + " dims", "ndim", ndim, std::to_string(kMaxDims));
  if (tensor.ndim == 0) return;
  if (tensor.shape == nullptr)
    refuse_field(ErrorCode::invalid_argument, "shape is null, and ndim is " + ndim, "shape", "null", ndim + " sizes");
  if (tensor.strides == nullptr && options.require_strides)
    refuse_field(ErrorCode::invalid_argument,
                 "strides is null, and ndim is " + ndim + "; DLPack allows that since 1.2 only where ndim is 0",
                 "strides", "null", ndim + " strides");
}

/// Dims and strides in elements of one lane. Strides that nothing steps along mean nothing; those that would not fit
/// become 0.
std::pair<Dims, Dims> dims_and_strides(const DLTensor& tensor, int64_t lanes) {
  const std::span sizes(tensor.shape, tensor.ndim == 0 ? 0 : static_cast<std::size_t>(tensor.ndim));
  Dims dims, strides;
  const bool empty = std::ranges::find(sizes, 0) != sizes.end();
  for (int64_t size : sizes) dims.push_back(size);
  const Dims row_major = tensor.strides == nullptr ? Layout::contiguous(dims).outer_strides() : Dims();
  for (int d = 0; d < tensor.ndim; ++d) {
    const int64_t given = tensor.strides == nullptr ? row_major[d] : tensor.strides[d];
    const auto stride = checked_mul(given, lanes);
    const bool fits = stride && *stride != std::numeric_limits<int64_t>::min();
    if (!fits && !empty && dims[d] > 1)
      overflows("the stride of dim " + std::to_string(d) + ", " + std::to_string(given) + " elements of " +
                    std::to_string(lanes) + " lanes,",
                "strides[" + std::to_string(d) + "]", std::to_string(given));
    strides.push_back(fits ? *stride : 0);
  }
  return {dims, strides};
}

int64_t in_bytes(int64_t elements, DType dtype) {
  const auto out = bytes_before(elements, dtype);
  if (!out) overflows("the offset of " + std::to_string(elements) + " elements", "offset0", std::to_string(elements));
  return *out;
}

}  // namespace

std::string name(DLDeviceType device) {
  const auto* found = std::ranges::find(kDeviceNames, device, &DeviceName::type);
  return found != std::end(kDeviceNames) ? std::string(found->name) : "device type " + std::to_string(device);
}

std::string name(DLDataType type) {
  return code_name(type.code) + ", " + std::to_string(type.bits) + (type.bits == 1 ? " bit, " : " bits, ") +
         std::to_string(type.lanes) + (type.lanes == 1 ? " lane" : " lanes");
}

DLDataType data_type(DType dtype) {
  return {static_cast<uint8_t>(type_code(dtype)), static_cast<uint8_t>(bits(dtype)), 1};
}

DType dtype_of(DLDataType type) {
  for (DType dtype : all_dtypes()) {
    if (type_code(dtype) == type.code && bits(dtype) == type.bits) return dtype;
  }
  refuse_field(ErrorCode::unsupported, name(type) + ": no type here has such elements", "dtype", name(type),
               "a type that exists here");
}

View from_dlpack(const DLTensor& tensor, const ImportOptions& options) {
  check_fields(tensor, options);
  View out;
  const DType dtype = dtype_of(tensor.dtype);
  const int64_t lanes = checked_lanes(tensor.dtype, options);
  auto [dims, strides] = dims_and_strides(tensor, lanes);
  if (tensor.dtype.lanes > 1) {
    dims.push_back(tensor.dtype.lanes);
    strides.push_back(1);
  }
  int64_t before = elements_before(dims, strides, "dlpack");
  before = ceil_div(before, byte_period(dtype)) * byte_period(dtype);  // offset 0 is the begin of a byte
  out.desc = TensorDesc(Layout::strided(dims, strides, before), dtype);
  out.data = tensor.data;
  if (tensor.byte_offset > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    overflows("byte_offset", "byte_offset", std::to_string(tensor.byte_offset));
  out.byte_offset = static_cast<int64_t>(tensor.byte_offset) - in_bytes(before, dtype);
  out.device = tensor.device;
  out.read_only = (options.flags & kFlagReadOnly) != 0 || lanes != tensor.dtype.lanes;
  return out;
}

std::byte* cpu_pointer(const View& view) {
  const DLDeviceType type = view.device.device_type;
  if (type != kDLCPU && type != kDLCUDAHost && type != kDLROCMHost)
    refuse_field(ErrorCode::unsupported,
                 "the tensor lies on " + name(type) + " (device " + std::to_string(view.device.device_id) +
                     "), whose memory the CPU does not read",
                 "device", name(type), "kDLCPU, kDLCUDAHost or kDLROCMHost");
  if (view.data == nullptr) {
    if (view.desc.layout.empty()) return nullptr;
    refuse_field(ErrorCode::invalid_argument, "data is null, but the tensor has elements", "data", "null", "a pointer");
  }
  // As numbers, because a wrong byte_offset leads anywhere.
  const auto data = reinterpret_cast<uintptr_t>(view.data);
  uintptr_t begin, end;
  if (__builtin_add_overflow(data, view.byte_offset, &begin) ||
      __builtin_add_overflow(begin, view.desc.span_bytes(), &end))
    overflows("the address behind " + std::to_string(view.byte_offset) + " and " +
                  std::to_string(view.desc.span_bytes()) + " bytes more than data",
              "byte_offset", std::to_string(view.byte_offset));
  return reinterpret_cast<std::byte*>(begin);
}

DLTensor Tensor::dl_tensor() { return {data, device, ndim, dtype, shape.data(), strides.data(), byte_offset}; }

Tensor to_dlpack(const TensorDesc& desc, void* data, DLDevice device) {
  const Layout& layout = desc.layout;
  const Dims strides = one_stride_a_dim(layout, "DLPack");
  Tensor out;
  std::ranges::copy(layout.dims(), out.shape.begin());
  std::ranges::copy(strides, out.strides.begin());
  out.ndim = layout.ndims();
  out.dtype = data_type(desc.dtype);
  out.device = device;
  if (layout.empty()) return out;
  if (const int period = byte_period(desc.dtype); layout.offset0() % period != 0)
    refuse_field(ErrorCode::unsupported,
                 "element 0 lies at offset " + std::to_string(layout.offset0()) +
                     ", inside a byte, and byte_offset counts bytes",
                 "offset0", std::to_string(layout.offset0()), "a multiple of " + std::to_string(period));
  out.data = data;
  out.byte_offset = static_cast<uint64_t>(in_bytes(layout.offset0(), desc.dtype));
  return out;
}

const DLPackExchangeAPI* known_version(const DLPackExchangeAPIHeader* newest) {
  const DLPackExchangeAPIHeader* header = newest;
  while (header != nullptr && header->version.major != kMajorVersion) header = header->prev_api;
  return reinterpret_cast<const DLPackExchangeAPI*>(header);  // of which the header is the first field
}

std::string code(const TensorDesc& desc) {
  const Tensor tensor = to_dlpack(desc, nullptr);
  const auto list = [&](const std::array<int64_t, kMaxDims>& numbers) {
    const auto count = static_cast<std::size_t>(tensor.ndim);
    return count == 0 ? "NULL" : "(int64_t[]){" + join(std::span(numbers).first(count), ", ") + "}";
  };
  return "DLTensor tensor = {.data = " + std::string(desc.layout.empty() ? "NULL" : "data") +
         ", .device = {kDLCPU, 0}, .ndim = " + std::to_string(tensor.ndim) + ", .dtype = {" +
         code_name(tensor.dtype.code) + ", " + std::to_string(tensor.dtype.bits) +
         ", 1}, .shape = " + list(tensor.shape) + ", .strides = " + list(tensor.strides) +
         ", .byte_offset = " + std::to_string(tensor.byte_offset) + "};";
}

}  // namespace relayout::dlpack
