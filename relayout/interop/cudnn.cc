// cuDNN's tensor descriptors: see cudnn.h. The texts of the calls are in cudnn_code.cc.
#include "relayout/interop/cudnn.h"

#include <algorithm>
#include <vector>

namespace relayout::cudnn {
namespace {

struct TypeName {
  DType dtype;
  int number;
  std::string_view name;
};
constexpr TypeName kTypes[] = {
    {DType::f32, 0, "CUDNN_DATA_FLOAT"},         {DType::f64, 1, "CUDNN_DATA_DOUBLE"},
    {DType::f16, 2, "CUDNN_DATA_HALF"},          {DType::s8, 3, "CUDNN_DATA_INT8"},
    {DType::s32, 4, "CUDNN_DATA_INT32"},         {DType::u8, 6, "CUDNN_DATA_UINT8"},
    {DType::bf16, 9, "CUDNN_DATA_BFLOAT16"},     {DType::s64, 10, "CUDNN_DATA_INT64"},
    {DType::f8_e4m3, 12, "CUDNN_DATA_FP8_E4M3"}, {DType::f8_e5m2, 13, "CUDNN_DATA_FP8_E5M2"},
    {DType::f8_e8m0, 15, "CUDNN_DATA_FP8_E8M0"}, {DType::f4_e2m1, 16, "CUDNN_DATA_FP4_E2M1"},
    {DType::s4, 17, "CUDNN_DATA_INT4"},          {DType::u4, 18, "CUDNN_DATA_UINT4"},
    {DType::u32, 19, "CUDNN_DATA_UINT32"},
};

std::string type_list() {
  std::string out;
  for (const TypeName& type : kTypes) out += (out.empty() ? "" : ", ") + std::string(relayout::name(type.dtype));
  return out;
}

const TypeName& row_of(DType dtype) {
  if (const auto found = std::ranges::find(kTypes, dtype, &TypeName::dtype); found != std::end(kTypes)) return *found;
  throw Error(ErrorCode::unsupported,
              "cudnn: " + std::string(relayout::name(dtype)) + " is no type of cuDNN" +
                  (dtype == DType::boolean ? ", whose booleans are packed, eight a byte" : "") + "; there are " +
                  type_list(),
              "dtype", std::string(relayout::name(dtype)), type_list());
}

[[noreturn]] void refuse_dim(ErrorCode code, int d, const std::string& why, int64_t value, const std::string& limit) {
  throw Error(code, "cudnn: dim " + std::to_string(d) + " " + why, "dims[" + std::to_string(d) + "]",
              std::to_string(value), limit);
}

[[noreturn]] void refuse_stride_below_1(int d, int64_t stride) {
  refuse_dim(ErrorCode::unsupported, d, "has the stride " + std::to_string(stride) + ", and cuDNN's are above 0",
             stride, "1 or more");
}

/// Whether cuDNN has vectors of so many elements of a type.
bool has_vectors(DType dtype, int64_t count) {
  return (count == 4 && (dtype == DType::s8 || dtype == DType::u8)) || (count == 32 && dtype == DType::s8);
}

/// The elements of a vector where dim 1 is in vectors: a digit of 4 or 32 side by side. 1 where no dim has blocks.
int64_t vector_of(const TensorDesc& desc, const Layout& simple) {
  int64_t vector = 1;
  for (int d = 0; d < simple.ndims(); ++d) {
    const auto digits = simple.digits(d);
    if (digits.size() == 1) continue;
    const Digit first = digits[0];
    if (d != 1 || digits.size() > 2 || first.stride != 1 || !has_vectors(desc.dtype, first.extent)) {
      refuse_dim(ErrorCode::unsupported, d,
                 "is in blocks of " + std::to_string(first.extent) +
                     ", and cuDNN has blocks of dim 1 alone: 4 or 32 of " + "s8, or 4 of u8, side by side",
                 first.extent, "4 or 32");
    }
    vector = first.extent;
  }
  return vector;
}

}  // namespace

std::string_view name(TensorFormat format) {
  switch (format) {
    case TensorFormat::nchw: return "CUDNN_TENSOR_NCHW";
    case TensorFormat::nhwc: return "CUDNN_TENSOR_NHWC";
    case TensorFormat::nchw_vect_c: return "CUDNN_TENSOR_NCHW_VECT_C";
  }
  return "";
}

int data_type_number(DType dtype) { return row_of(dtype).number; }
std::string_view data_type_name(DType dtype) { return row_of(dtype).name; }

DType data_type_of_number(int number) {
  if (const auto found = std::ranges::find(kTypes, number, &TypeName::number); found != std::end(kTypes))
    return found->dtype;
  std::string known;
  for (const TypeName& type : kTypes) known += (known.empty() ? "" : ", ") + std::to_string(type.number);
  throw Error(ErrorCode::unsupported,
              "cudnn: data type " + std::to_string(number) + " has no type here; the numbers " + known + " have one",
              "data_type", std::to_string(number), known);
}

TensorDescriptor to_cudnn(const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  require_plain(layout, "cuDNN's strides");
  TensorDescriptor out;
  out.data_type = data_type_number(desc.dtype);
  if (layout.ndims() > kMaxDimensions)
    throw Error(ErrorCode::unsupported,
                "cudnn: " + std::to_string(layout.ndims()) + " dims, and a tensor has at most 8", "ndims",
                std::to_string(layout.ndims()), "8");
  const Layout simple = layout.canonical();
  for (int d = 0; d < layout.ndims(); ++d) {
    for (const Digit& digit : simple.digits(d)) {
      if (digit.stride < 0 && !layout.empty()) refuse_stride_below_1(d, digit.stride);
    }
  }
  if (layout.offset0() != 0)
    throw Error(ErrorCode::unsupported,
                "cudnn: the layout begins at offset " + std::to_string(layout.offset0()) +
                    ", and a descriptor has none: add it to the pointer",
                "offset0", std::to_string(layout.offset0()), "0");
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.dim(d) == 0) refuse_dim(ErrorCode::invalid_argument, d, "has no elements", 0, "1 or more");
    if (layout.capacity(d) != layout.dim(d))
      refuse_dim(ErrorCode::unsupported, d,
                 "has " + std::to_string(layout.dim(d)) + " elements and a capacity of " +
                     std::to_string(layout.capacity(d)) + ", and cuDNN has no padding: give the capacity as the extent",
                 layout.dim(d), std::to_string(layout.capacity(d)));
  }
  out.vector_count = vector_of(desc, simple);
  if (out.vector_count > 1) out.vectorized_dimension = 1;
  out.ndims = std::max(layout.ndims(), 4);
  for (int d = 0; d < out.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (d >= layout.ndims()) {
      out.dims[at] = out.strides[at] = 1;
      continue;
    }
    const bool vectorized = out.vector_count > 1 && d == 1;
    out.dims[at] = layout.dim(d) / (vectorized ? out.vector_count : 1);
    // Any stride is right for a dim of 1, and the one that was given is the one that people expect to see.
    const int64_t stride =
        out.dims[at] == 1 ? std::max(layout.outer_stride(d), out.vector_count) : simple.outer_stride(d);
    if (stride <= 0) refuse_stride_below_1(d, stride);
    if (out.dims[at] > 1 && stride % out.vector_count != 0)
      refuse_dim(ErrorCode::unsupported, d,
                 "has the stride " + std::to_string(stride) + ", which is no whole number of the vectors of " +
                     std::to_string(out.vector_count),
                 stride, "a multiple of " + std::to_string(out.vector_count));
    out.strides[at] = std::max<int64_t>(stride / out.vector_count, 1);
  }
  return out;
}

TensorDesc from_cudnn(const TensorDescriptor& fields) {
  const auto check = [](bool good, const std::string& field, int64_t value, const std::string& allowed) {
    if (good) return;
    throw Error(ErrorCode::invalid_argument,
                "from_cudnn: " + field + " is " + std::to_string(value) + ", and it must be " + allowed, field,
                std::to_string(value), allowed);
  };
  check(fields.ndims >= 1 && fields.ndims <= kMaxDimensions, "ndims", fields.ndims, "1 to 8");
  const int64_t vector = fields.vector_count;
  check(vector == 1 || vector == 4 || vector == 32, "vector_count", vector, "1, 4 or 32");
  const int vectorized = vector > 1 ? fields.vectorized_dimension : -1;
  check(vector == 1 || (vectorized >= 0 && vectorized < fields.ndims), "vectorized_dimension",
        fields.vectorized_dimension, "a dim, where there are vectors");
  const DType dtype = data_type_of_number(fields.data_type);
  if (vector > 1 && (vectorized != 1 || !has_vectors(dtype, vector)))
    throw Error(ErrorCode::unsupported,
                "from_cudnn: dim " + std::to_string(vectorized) + " is in vectors of " + std::to_string(vector) + " " +
                    std::string(relayout::name(dtype)) +
                    ", and cuDNN has vectors of dim 1 alone: 4 or 32 of s8, or 4 of u8",
                vectorized != 1 ? "vectorized_dimension" : "vector_count",
                std::to_string(vectorized != 1 ? vectorized : vector), vectorized != 1 ? "1" : "4 or 32");
  Dims dims;
  std::vector<Digits> digits;
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const int64_t dim = fields.dims[at];
    check(dim >= 1, "dims[" + std::to_string(d) + "]", dim, "1 or more");
    check(fields.strides[at] >= 1, "strides[" + std::to_string(d) + "]", fields.strides[at], "1 or more");
    const auto stride = checked_mul(fields.strides[at], vector);
    const auto extent = checked_mul(dim, d == vectorized ? vector : 1);
    if (!stride || !extent) {
      const int64_t value = extent ? fields.strides[at] : dim;
      throw Error(ErrorCode::overflow,
                  std::string("from_cudnn: the ") + (extent ? "stride" : "extent") + " of dim " + std::to_string(d) +
                      ", " + std::to_string(value) + " vectors of " + std::to_string(vector) +
                      " elements, overflows 64 bits",
                  (extent ? "strides[" : "dims[") + std::to_string(d) + "]", std::to_string(value),
                  std::to_string(std::numeric_limits<int64_t>::max() / vector));
    }
    dims.push_back(*extent);
    digits.push_back(d == vectorized ? Digits{{vector, 1}, {dim, *stride}} : Digits{{dim, *stride}});
  }
  return {Layout::from_digits(dims, digits), dtype};
}

std::optional<TensorFormat> tensor_format(const TensorDesc& desc) {
  const TensorDescriptor fields = to_cudnn(desc);
  const auto packed = [&](bool channels_last) {
    int64_t filled = 1;
    const auto next = [&](int d) {
      const auto at = static_cast<std::size_t>(d);
      const bool good = fields.dims[at] == 1 || fields.strides[at] == filled;
      filled *= fields.dims[at];
      return good;
    };
    if (channels_last && !next(1)) return false;
    for (int d = fields.ndims; d-- > 0;) {
      if (!(channels_last && d == 1) && !next(d)) return false;
    }
    return true;
  };
  if (fields.vector_count > 1) return packed(false) ? std::optional(TensorFormat::nchw_vect_c) : std::nullopt;
  if (packed(false)) return TensorFormat::nchw;
  return packed(true) ? std::optional(TensorFormat::nhwc) : std::nullopt;
}

}  // namespace relayout::cudnn
