// DirectML: the table of types, the rules of a description, and sizes in 64 bits.
#include "relayout/interop/directml.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace relayout::directml {
namespace {

constexpr TypeName kTypes[] = {
    {DataType::float32, DType::f32, "DML_TENSOR_DATA_TYPE_FLOAT32"},
    {DataType::float16, DType::f16, "DML_TENSOR_DATA_TYPE_FLOAT16"},
    {DataType::uint32, DType::u32, "DML_TENSOR_DATA_TYPE_UINT32"},
    {DataType::uint16, DType::u16, "DML_TENSOR_DATA_TYPE_UINT16"},
    {DataType::uint8, DType::u8, "DML_TENSOR_DATA_TYPE_UINT8"},
    {DataType::int32, DType::s32, "DML_TENSOR_DATA_TYPE_INT32"},
    {DataType::int16, DType::s16, "DML_TENSOR_DATA_TYPE_INT16"},
    {DataType::int8, DType::s8, "DML_TENSOR_DATA_TYPE_INT8"},
    {DataType::float64, DType::f64, "DML_TENSOR_DATA_TYPE_FLOAT64"},
    {DataType::uint64, DType::u64, "DML_TENSOR_DATA_TYPE_UINT64"},
    {DataType::int64, DType::s64, "DML_TENSOR_DATA_TYPE_INT64"},
    {DataType::uint4, DType::u4, "DML_TENSOR_DATA_TYPE_UINT4"},
    {DataType::int4, DType::s4, "DML_TENSOR_DATA_TYPE_INT4"},
};

std::string type_names() {
  std::string out;
  for (const TypeName& type : kTypes) out += (out.empty() ? "" : ", ") + std::string(relayout::name(type.dtype));
  return out;
}

[[noreturn]] void refuse(ErrorCode code, const std::string& why, const std::string& field, const std::string& value,
                         const std::string& limit) {
  throw Error(code, "directml: " + why, field, value, limit);
}

[[noreturn]] void refuse_dim(ErrorCode code, int d, const std::string& why, int64_t value, const std::string& limit) {
  const std::string field = "dims[" + std::to_string(d) + "]";
  refuse(code, "dim " + std::to_string(d) + " " + why, field, std::to_string(value), limit);
}

void check_count(int64_t count) {
  if (count < 1 || count > kMaxDimensions)
    refuse(ErrorCode::invalid_argument, std::to_string(count) + " dims; a description has 1 to 8", "DimensionCount",
           std::to_string(count), "8");
}

void check_alignment(uint32_t alignment, DType dtype) {
  const auto element_bytes = static_cast<uint32_t>(std::max(bits(dtype) / 8, 1));
  if (alignment == 0 || (std::has_single_bit(alignment) && alignment >= element_bytes)) return;
  refuse(ErrorCode::invalid_argument,
         "a guaranteed alignment of " + std::to_string(alignment) + " bytes; it is 0, or a power of two of at least " +
             std::to_string(element_bytes) + ", the size of an element",
         "GuaranteedBaseOffsetAlignment", std::to_string(alignment), std::to_string(element_bytes));
}

/// The layout's dim as a size and a stride.
std::pair<uint32_t, uint32_t> size_and_stride(const Layout& layout, int d) {
  const Layout simple = layout.canonical();
  if (layout.dim(d) < 1) refuse_dim(ErrorCode::invalid_argument, d, "has no elements; a size is 1 or more", 0, "1");
  if (layout.dim(d) > kMaxSize)
    refuse_dim(ErrorCode::overflow, d, "has " + std::to_string(layout.dim(d)) + " elements; a size has 32 bits",
               layout.dim(d), std::to_string(kMaxSize));
  if (simple.digits(d).size() > 1)
    refuse_dim(ErrorCode::unsupported, d, "is blocked; a description has one stride a dim", layout.block(d), "1");
  if (layout.capacity(d) != layout.dim(d))
    refuse_dim(ErrorCode::unsupported, d,
               "is padded to " + std::to_string(layout.capacity(d)) + "; a description has no padded extents",
               layout.capacity(d), std::to_string(layout.dim(d)));
  // Any stride is right for a size of 1, and the one that was given is the one that people expect to see.
  const bool unit = layout.dim(d) == 1;
  const int64_t given = layout.outer_stride(d);
  const int64_t stride = !unit ? simple.outer_stride(d) : given >= 0 && given <= kMaxSize ? given : 0;
  if (stride < 0)
    refuse_dim(ErrorCode::unsupported, d, "has the stride " + std::to_string(stride) + "; strides are 0 or more",
               stride, "0");
  if (stride > kMaxSize)
    refuse_dim(ErrorCode::overflow, d, "has the stride " + std::to_string(stride) + "; a stride has 32 bits", stride,
               std::to_string(kMaxSize));
  return {static_cast<uint32_t>(layout.dim(d)), static_cast<uint32_t>(stride)};
}

/// Where element (0, 0, ...) lies: the Offset of a binding, which counts whole bytes.
uint64_t byte_offset_of(const TensorDesc& desc, uint32_t alignment) {
  const int64_t offset = desc.layout.offset0(), in_a_byte = std::max(8 / bits(desc.dtype), 1);
  const auto bytes = checked_mul(offset / in_a_byte, std::max(bits(desc.dtype) / 8, 1));
  const std::string where = "element 0 lies at offset " + std::to_string(offset);
  if (!bytes)
    refuse(ErrorCode::overflow, where + ", whose bytes overflow 63 bits", "offset0", std::to_string(offset), "63 bits");
  if (offset % in_a_byte != 0)
    refuse(ErrorCode::invalid_argument, where + ", inside a byte, and a binding's Offset counts bytes", "offset0",
           std::to_string(offset), "a multiple of " + std::to_string(in_a_byte));
  if (alignment > 1 && *bytes % alignment != 0)
    refuse(ErrorCode::invalid_argument, where + ", which is no multiple of " + std::to_string(alignment) + " bytes",
           "offset0", std::to_string(offset), std::to_string(alignment));
  return static_cast<uint64_t>(*bytes);
}

__extension__ using Wide = unsigned __int128;

/// The index behind the last element, which has any size up to 2^67 or so.
Wide end_index(std::span<const uint32_t> sizes, std::span<const uint32_t> strides) {
  Wide out = 1;
  if (strides.empty()) {
    for (uint32_t size : sizes) {
      // Eight sizes of 32 bits may exceed 128 bits; what exceeds 64 is refused anyway.
      out = out > std::numeric_limits<uint64_t>::max() ? out : out * size;
    }
    return out;
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) out += static_cast<Wide>(sizes[d] - 1) * strides[d];
  return out;
}

/// Error{overflow}: names the largest size, or the size whose stride reaches farthest.
[[noreturn]] void refuse_size(std::span<const uint32_t> sizes, std::span<const uint32_t> strides) {
  const auto reach = [&](std::size_t d) {
    return strides.empty() ? uint64_t{sizes[d]} : uint64_t{sizes[d] - 1} * strides[d];
  };
  std::size_t worst = 0;
  for (std::size_t d = 1; d < sizes.size(); ++d) worst = reach(d) > reach(worst) ? d : worst;
  const std::string dim = "dim " + std::to_string(worst) + " (" + std::to_string(sizes[worst]) + ") ";
  refuse(ErrorCode::overflow,
         "the buffer's size does not fit 64 bits; " + dim +
             (strides.empty() ? "is the largest"
                              : "reaches farthest, by " + std::to_string(sizes[worst] - 1) + " x " +
                                    std::to_string(strides[worst])),
         "Sizes[" + std::to_string(worst) + "]", std::to_string(sizes[worst]),
         std::to_string(std::numeric_limits<uint64_t>::max()));
}

constexpr uint64_t kMultiple = 4;

/// The formula of DMLCalcBufferTensorSize in the integers that it uses.
uint64_t helper_size(uint64_t element_bytes, std::span<const uint32_t> sizes, std::span<const uint32_t> strides) {
  uint64_t bytes = element_bytes;
  if (strides.empty()) {
    for (uint32_t size : sizes) bytes *= size;
  } else {
    uint32_t last = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    bytes *= static_cast<uint64_t>(last) + 1;
  }
  return (bytes + kMultiple - 1) / kMultiple * kMultiple;
}

}  // namespace

std::span<const TypeName> types() { return kTypes; }

DataType data_type(DType dtype) {
  for (const TypeName& type : kTypes) {
    if (type.dtype == dtype) return type.type;
  }
  refuse(ErrorCode::unsupported,
         std::string(relayout::name(dtype)) + " is no type of DirectML, which has " + type_names(), "dtype",
         std::string(relayout::name(dtype)), type_names());
}

DType dtype_of(DataType type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return known.dtype;
  }
  refuse(ErrorCode::invalid_argument,
         "DataType " + std::to_string(static_cast<uint32_t>(type)) + " is none of DirectML's types", "DataType",
         std::to_string(static_cast<uint32_t>(type)), "1 to 13");
}

BufferTensorDesc BufferTensor::desc() const {
  BufferTensorDesc out;
  fill(out);
  return out;
}

BufferSize buffer_size(DataType type, std::span<const uint32_t> sizes, std::span<const uint32_t> strides) {
  check_count(static_cast<int64_t>(sizes.size()));
  if (!strides.empty() && strides.size() != sizes.size())
    refuse(ErrorCode::invalid_argument,
           std::to_string(strides.size()) + " strides of " + std::to_string(sizes.size()) + " sizes", "Strides",
           std::to_string(strides.size()), std::to_string(sizes.size()));
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0)
      refuse_dim(ErrorCode::invalid_argument, static_cast<int>(d), "has the size 0; a size is 1 or more", 0, "1");
  }
  const auto element_bits = static_cast<uint64_t>(bits(dtype_of(type)));
  const Wide end = end_index(sizes, strides);
  const Wide bytes = (end * element_bits + 7) / 8;
  const Wide rounded = (bytes + kMultiple - 1) / kMultiple * kMultiple;
  if (rounded > std::numeric_limits<uint64_t>::max()) refuse_size(sizes, strides);
  BufferSize out;
  out.bytes = static_cast<uint64_t>(rounded);
  out.helper_bytes = element_bits < 8 ? 0 : helper_size(element_bits / 8, sizes, strides);
  out.helper_wraps = element_bits >= 8 && out.helper_bytes != out.bytes;
  return out;
}

std::optional<std::string> helper_warning(const BufferSize& size) {
  if (size.helper_bytes == size.bytes) return std::nullopt;
  return "the published helper DMLCalcBufferTensorSize returns " + std::to_string(size.helper_bytes) + ", because " +
         (size.helper_wraps ? "its index of the last element wraps in 32 bits" : "it does not know types of 4 bits");
}

BufferTensor to_directml(const TensorDesc& desc, const Options& options) {
  const Layout& layout = desc.layout;
  require_plain(layout, "DirectML's strides");
  BufferTensor out;
  out.type = data_type(desc.dtype);
  out.flags = options.flags;
  check_alignment(options.base_offset_alignment, desc.dtype);
  out.base_offset_alignment = options.base_offset_alignment;
  const int rank = std::max(layout.ndims(), options.rank);
  check_count(rank);
  const int added = rank - layout.ndims();
  out.dimension_count = static_cast<uint32_t>(rank);
  std::array<uint32_t, kMaxDimensions> strides{};
  for (int d = 0; d < rank; ++d) {
    const auto k = static_cast<std::size_t>(d);
    std::tie(out.sizes[k], strides[k]) =
        d < added ? std::pair<uint32_t, uint32_t>{1, 0} : size_and_stride(layout, d - added);
  }
  const bool row_major = layout.contiguous_in(MemoryFormat::contiguous);
  if (!row_major) out.strides = strides;
  const auto count = static_cast<std::size_t>(rank);
  out.total_bytes = buffer_size(out.type, std::span(out.sizes).first(count),
                                row_major ? std::span<const uint32_t>() : std::span(strides).first(count))
                        .bytes;
  out.byte_offset = byte_offset_of(desc, options.base_offset_alignment);
  return out;
}

std::string code(const TensorDesc& desc) {
  const BufferTensor tensor = to_directml(desc);
  const auto list = [&](const std::array<uint32_t, kMaxDimensions>& numbers) {
    std::string out;
    for (std::size_t d = 0; d < tensor.dimension_count; ++d) out += (d > 0 ? ", " : "") + std::to_string(numbers[d]);
    return "{" + out + "};\n";
  };
  std::string out = "const UINT sizes[] = " + list(tensor.sizes);
  if (tensor.strides) out += "const UINT strides[] = " + list(*tensor.strides);
  const auto type = std::ranges::find(kTypes, tensor.type, &TypeName::type);
  out += "const DML_BUFFER_TENSOR_DESC desc = {" + std::string(type->name) + ", DML_TENSOR_FLAG_NONE, " +
         std::to_string(tensor.dimension_count) + ", sizes, " + (tensor.strides ? "strides" : "nullptr") + ", " +
         std::to_string(tensor.total_bytes) + ", 0};";
  if (tensor.byte_offset != 0) out += "  // in a binding with the Offset " + std::to_string(tensor.byte_offset);
  return out;
}

TensorDesc from_directml(const BufferTensorDesc& desc) {
  const DType dtype = dtype_of(desc.DataType);
  check_count(desc.DimensionCount);
  if (desc.Sizes == nullptr)
    refuse(ErrorCode::invalid_argument, "Sizes is null", "Sizes", "null", "DimensionCount sizes");
  check_alignment(desc.GuaranteedBaseOffsetAlignment, dtype);
  const std::span sizes(desc.Sizes, desc.DimensionCount);
  const std::span strides(desc.Strides, desc.Strides == nullptr ? 0 : desc.DimensionCount);
  const uint64_t need = buffer_size(desc.DataType, sizes, strides).bytes;
  if (desc.TotalTensorSizeInBytes < need || desc.TotalTensorSizeInBytes % kMultiple != 0)
    refuse(ErrorCode::invalid_argument,
           "TotalTensorSizeInBytes is " + std::to_string(desc.TotalTensorSizeInBytes) + "; it is a multiple of 4 of " +
               std::to_string(need) + " or more",
           "TotalTensorSizeInBytes", std::to_string(desc.TotalTensorSizeInBytes), std::to_string(need));
  Dims dims, steps;
  for (uint32_t size : sizes) dims.push_back(size);
  for (uint32_t stride : strides) steps.push_back(stride);
  return TensorDesc(strides.empty() ? Layout::contiguous(dims) : Layout::strided(dims, steps), dtype);
}

}  // namespace relayout::directml
