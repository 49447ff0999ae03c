// DirectML: its description of a buffer tensor as a layout, and back; the size of the buffer.
//
// A description has a size for each dim and a stride for each dim, in elements, or no strides, which means row-major.
// All are 32-bit numbers; there are 1 to 8 dims. A stride of 0 repeats (broadcast), a larger one leaves gaps
// ("padding" in DirectML's words). Source: "Using strides to express padding and memory layout" and DirectML.h.
//
//     const TensorDesc nhwc(Format::parse("nhwc").bind({1, 2, 3, 5}), DType::f32);
//     directml::BufferTensor tensor = directml::to_directml(nhwc);    // Sizes {1,2,3,5}, Strides {30,1,10,2}
//     directml::BufferTensorDesc desc = tensor.desc();                // TotalTensorSizeInBytes 120
//     const TensorDesc back = directml::from_directml(desc);          // nhwc again
//
// No header of Windows is needed. BufferTensorDesc has the fields of DML_BUFFER_TENSOR_DESC, under their names and in
// their order; fill() writes them to the real one.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::directml {

/// DML_TENSOR_DATA_TYPE, by its values. UINT4 and INT4 exist since feature level 6.3.
enum class DataType : uint32_t {
  unknown = 0,
  float32 = 1,
  float16 = 2,
  uint32 = 3,
  uint16 = 4,
  uint8 = 5,
  int32 = 6,
  int16 = 7,
  int8 = 8,
  float64 = 9,
  uint64 = 10,
  int64 = 11,
  uint4 = 12,
  int4 = 13,
};

/// Limits of a description.
inline constexpr int kMaxDimensions = 8;
inline constexpr int64_t kMaxSize = 0xffffffff;

/// A type of DirectML beside the library's.
struct TypeName {
  DataType type;
  DType dtype;
  std::string_view name;  // "DML_TENSOR_DATA_TYPE_FLOAT32"
};
/// All types of DirectML, by their values.
std::span<const TypeName> types();
/// Errors: unsupported, which names the type, for every type that types() lacks.
DataType data_type(DType dtype);
/// Error{invalid_argument} for `unknown` and for numbers that are no type.
DType dtype_of(DataType type);

/// DML_BUFFER_TENSOR_DESC: the same fields in the same order, of the same widths. `Strides` may be null.
struct BufferTensorDesc {
  directml::DataType DataType = directml::DataType::unknown;
  uint32_t Flags = 0;  // DML_TENSOR_FLAGS; 1 is DML_TENSOR_FLAG_OWNED_BY_DML
  uint32_t DimensionCount = 0;
  const uint32_t* Sizes = nullptr;
  const uint32_t* Strides = nullptr;
  uint64_t TotalTensorSizeInBytes = 0;
  uint32_t GuaranteedBaseOffsetAlignment = 0;
};

/// A description that owns its sizes and strides.
struct BufferTensor {
  DataType type = DataType::unknown;
  uint32_t flags = 0;
  uint32_t dimension_count = 0;
  std::array<uint32_t, kMaxDimensions> sizes{};
  std::optional<std::array<uint32_t, kMaxDimensions>> strides{};  // nothing: row-major
  uint64_t total_bytes = 0;
  uint32_t base_offset_alignment = 0;
  /// Where element (0, 0, ...) lies in the buffer. A description has no field for it: it is the Offset of the
  /// DML_BUFFER_BINDING, which must be a multiple of base_offset_alignment.
  uint64_t byte_offset = 0;

  /// Points into this object.
  BufferTensorDesc desc() const;
  /// Writes the fields to a DML_BUFFER_TENSOR_DESC, whose pointers then point into this object.
  template <typename Desc>
  void fill(Desc& out) const {
    out.DataType = static_cast<decltype(out.DataType)>(type);
    out.Flags = static_cast<decltype(out.Flags)>(flags);
    out.DimensionCount = dimension_count;
    out.Sizes = sizes.data();
    out.Strides = strides ? strides->data() : nullptr;
    out.TotalTensorSizeInBytes = total_bytes;
    out.GuaranteedBaseOffsetAlignment = base_offset_alignment;
  }
};

struct Options {
  /// Leading dims of size 1 are added up to this rank; operators take 4 (N,C,H,W) or 5 (N,C,D,H,W). 0 adds none.
  int rank = 0;
  uint32_t flags = 0;
  /// 0, or a power of two that is at least the element's size, and of which the byte offset is a multiple.
  uint32_t base_offset_alignment = 0;
};

/// The description of a tensor. Strides are left out where the layout is row-major. Errors: unsupported (a type,
/// blocks, padding, a negative stride, or a rank that DirectML does not have: each is named), invalid_argument (a dim
/// of 0 elements, an alignment), overflow (a size or stride over 32 bits, naming the dim).
BufferTensor to_directml(const TensorDesc& desc, const Options& options = {});

/// The tensor that a description describes; offset0 is 0. Errors: invalid_argument (rank, a size of 0, a null Sizes, an
/// alignment, a total that is too small or no multiple of 4), overflow.
TensorDesc from_directml(const BufferTensorDesc& desc);

/// The description as C++: sizes, strides where they are not row-major, and a DML_BUFFER_TENSOR_DESC of them with its
/// TotalTensorSizeInBytes; the Offset of the binding in a comment where it is not 0. Errors as to_directml().
std::string code(const TensorDesc& desc);

/// Bytes of a buffer.
struct BufferSize {
  /// (Last reached index + 1) times the element's size, rounded up to a multiple of 4, in 64 bits.
  uint64_t bytes = 0;
  /// What the published helper DMLCalcBufferTensorSize returns: it adds up the index of the last element in 32 bits,
  /// and knows no 4-bit types, for which it returns 0.
  uint64_t helper_bytes = 0;
  /// The helper's index does not fit 32 bits, so the helper returns a size that is too small.
  bool helper_wraps = false;
};
/// `strides` empty: row-major. Errors: invalid_argument (no dims, more than 8, a size of 0, counts that differ),
/// overflow (over 64 bits).
BufferSize buffer_size(DataType type, std::span<const uint32_t> sizes, std::span<const uint32_t> strides = {});

/// "the published helper DMLCalcBufferTensorSize returns 65536, because its index wraps in 32 bits"; nothing where it
/// returns the right size.
std::optional<std::string> helper_warning(const BufferSize& size);

}  // namespace relayout::directml
