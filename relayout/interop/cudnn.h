// cuDNN: tensor descriptors as numbers, both ways, and the calls that set them.
//
//     const TensorDesc nhwc(Format::parse("nhwc").bind({2, 3, 5, 4}), DType::f32);
//     cudnn::TensorDescriptor fields = cudnn::to_cudnn(nhwc);      // dims 2,3,5,4, strides 60,1,12,3
//     cudnn::from_cudnn(fields) == nhwc;                           // true
//     cudnn::tensor_format(nhwc);                                  // TensorFormat::nhwc
//
// A descriptor has a stride for each dim, in any order. Blocks exist as vectors of channels alone:
// CUDNN_TENSOR_NCHW_VECT_C with 4 (INT8, UINT8) or 32 (INT8) channels side by side, of which there must be a whole
// number, as cuDNN has no padding. Dims stand in cuDNN's order n, c, [d], h, w; of filters k, c, [t], r, s.
//
// No header of cuDNN is needed. Source: the cuDNN 9 documentation (core concepts; cudnnSetTensor4dDescriptorEx,
// cudnnSetTensorNdDescriptor; CUDNN_BACKEND_TENSOR_DESCRIPTOR) and cudnn_graph.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::cudnn {

/// A tensor has at most CUDNN_DIM_MAX dims; fewer than 4 are filled up with dims of 1 behind.
inline constexpr int kMaxDimensions = 8;

/// cudnnTensorFormat_t, by its values.
enum class TensorFormat : uint8_t { nchw = 0, nhwc = 1, nchw_vect_c = 2 };
/// "CUDNN_TENSOR_NHWC".
std::string_view name(TensorFormat format);

/// The number of cudnnDataType_t of a type, without vectors, and its name, "CUDNN_DATA_FLOAT". Error{unsupported} for
/// types that cuDNN lacks (s16, u16, u64) and for bool, of which cuDNN packs eight into a byte.
int data_type_number(DType dtype);
std::string_view data_type_name(DType dtype);
/// Error{unsupported}: a number without a type here, such as those with vectors (INT8x4).
DType data_type_of_number(int number);

/// The attributes of CUDNN_BACKEND_TENSOR_DESCRIPTOR that say where elements lie, under their names.
struct TensorDescriptor {
  /// CUDNN_ATTR_TENSOR_DATA_TYPE, a number of cudnnDataType_t. Of vectors it is the type of one element.
  int data_type = 0;
  int ndims = 0;
  /// CUDNN_ATTR_TENSOR_DIMENSIONS and _STRIDES. With vectors, the vectorized dim and all strides count vectors.
  std::array<int64_t, kMaxDimensions> dims{}, strides{};
  /// CUDNN_ATTR_TENSOR_VECTOR_COUNT and _VECTORIZED_DIMENSION: 1 and -1 without vectors.
  int64_t vector_count = 1;
  int vectorized_dimension = -1;

  friend bool operator==(const TensorDescriptor&, const TensorDescriptor&) = default;
};

/// The descriptor of a tensor. Errors: unsupported, naming the dim and the number: an offset0 (add it to the pointer),
/// a stride of 0 or below, padding, blocks that are no vectors of channels, a type, more than 8 dims; invalid_argument
/// (a dim without elements). Dims may overlap, which cuDNN allows for inputs of forward routines alone. Law:
/// from_cudnn(to_cudnn(desc)) == desc for 4 to 8 dims.
TensorDescriptor to_cudnn(const TensorDesc& desc);

/// The tensor of a descriptor. Errors: invalid_argument (a number of dims, a dim or a stride below 1, vectors that are
/// not of 4 or 32 elements of a dim), unsupported (a type; vectors of another dim than 1, or that to_cudnn() does not
/// make of that type), overflow.
TensorDesc from_cudnn(const TensorDescriptor& fields);

/// The format that a layout is without gaps; nothing where it is none. NCDHW counts as nchw and NDHWC as nhwc, as in
/// cudnnSetTensorNdDescriptorEx; nchw comes first where several are right.
std::optional<TensorFormat> tensor_format(const TensorDesc& desc);

/// The call of the legacy API: cudnnSetTensor4dDescriptor where the layout is a format, cudnnSetTensor4dDescriptorEx
/// where it has other strides, cudnnSetTensorNdDescriptor(Ex) for 5 dims and more. Errors as to_cudnn(); also
/// unsupported (a dim or a stride of over 31 bits, a tensor of over 2^31 elements, types of the graph API alone;
/// vectors with gaps).
std::string legacy_code(const TensorDesc& desc);
/// cudnnSetFilter4dDescriptor or cudnnSetFilterNdDescriptor: filters have a format and no strides.
std::string filter_code(const TensorDesc& desc);
/// The attributes as calls of cudnnBackendSetAttribute, in C++. Errors as to_cudnn().
std::string backend_code(const TensorDesc& desc);
/// The legacy call where there is one, and the attributes: of a filter filter_code(), of another tensor legacy_code().
/// Errors as to_cudnn().
std::string code(const TensorDesc& desc, bool filter = false);

}  // namespace relayout::cudnn
