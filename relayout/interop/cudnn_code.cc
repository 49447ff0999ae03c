// The calls that set cuDNN's descriptors, as C++: see cudnn.h.
#include <algorithm>
#include <limits>
#include <span>

#include "relayout/interop/cudnn.h"

namespace relayout::cudnn {
namespace {

constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();
/// The last type of the legacy API is CUDNN_DATA_INT64.
constexpr int kLastLegacyType = 10;

std::span<const int64_t> dims_of(const TensorDescriptor& fields) {
  return {fields.dims.data(), static_cast<std::size_t>(fields.ndims)};
}
std::span<const int64_t> strides_of(const TensorDescriptor& fields) {
  return {fields.strides.data(), static_cast<std::size_t>(fields.ndims)};
}

[[noreturn]] void refuse(const std::string& why, const std::string& field, int64_t value, const std::string& limit) {
  throw Error(ErrorCode::unsupported, "cudnn: " + why, field, std::to_string(value), limit);
}

/// What the legacy API demands beyond the graph API.
void check_legacy(const TensorDesc& desc, const TensorDescriptor& fields) {
  if (fields.data_type > kLastLegacyType)
    refuse(std::string(data_type_name(desc.dtype)) + " is a type of the graph API alone", "dtype", fields.data_type,
           "a type of the legacy API");
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::string dim = "dim " + std::to_string(d), field = "[" + std::to_string(d) + "]";
    if (fields.dims[at] > kMostInt)
      refuse(
          dim + " has " + std::to_string(fields.dims[at]) + " elements, and an int ends at " + std::to_string(kMostInt),
          "dims" + field, fields.dims[at], std::to_string(kMostInt));
    if (fields.strides[at] > kMostInt)
      refuse(dim + " has the stride " + std::to_string(fields.strides[at]) + ", and an int ends at " +
                 std::to_string(kMostInt),
             "strides" + field, fields.strides[at], std::to_string(kMostInt));
  }
  if (desc.layout.span() > kMostInt + 1)
    refuse("the tensor spans " + std::to_string(desc.layout.span()) +
               " elements, and the legacy API ends at 2 Giga-elements",
           "span", desc.layout.span(), std::to_string(kMostInt + 1));
}

/// The type as the legacy API names it, with the vector.
std::string legacy_type(const TensorDesc& desc, const TensorDescriptor& fields) {
  std::string out(data_type_name(desc.dtype));
  if (fields.vector_count > 1) out += "x" + std::to_string(fields.vector_count);
  return out;
}

/// The dims in elements.
Dims elements_of(const TensorDescriptor& fields) {
  Dims out(dims_of(fields));
  if (fields.vector_count > 1) out[fields.vectorized_dimension] *= fields.vector_count;
  return out;
}

}  // namespace

std::string legacy_code(const TensorDesc& desc) {
  const TensorDescriptor fields = to_cudnn(desc);
  check_legacy(desc, fields);
  const std::optional<TensorFormat> format = tensor_format(desc);
  if (!format && fields.vector_count > 1)
    refuse("vectors of " + std::to_string(fields.vector_count) +
               " channels with strides of their own exist in the graph API alone",
           "vector_count", fields.vector_count, "1");
  const std::string type = legacy_type(desc, fields), dims = join(elements_of(fields), ", ");
  const std::string head = format ? std::string(name(*format)) + ", " + type : type;
  if (fields.ndims == 4) {
    if (format) return "cudnnSetTensor4dDescriptor(tensor, " + head + ", " + dims + ");";
    return "cudnnSetTensor4dDescriptorEx(tensor, " + head + ", " + dims + ", " + join(strides_of(fields), ", ") + ");";
  }
  const std::string count = std::to_string(fields.ndims);
  if (format)
    return "const int dims[] = {" + dims + "};\ncudnnSetTensorNdDescriptorEx(tensor, " + head + ", " + count +
           ", dims);";
  return "const int dims[] = {" + dims + "}, strides[] = {" + join(strides_of(fields), ", ") +
         "};\ncudnnSetTensorNdDescriptor(tensor, " + head + ", " + count + ", dims, strides);";
}

std::string filter_code(const TensorDesc& desc) {
  const TensorDescriptor fields = to_cudnn(desc);
  check_legacy(desc, fields);
  const std::optional<TensorFormat> format = tensor_format(desc);
  if (!format)
    refuse("a filter has a format and no strides, and strides " + join(strides_of(fields), ", ") + " of dims " +
               join(dims_of(fields), ", ") + " are none of its formats",
           "strides", fields.strides[0], "KCRS, KRSC or vectors of channels");
  const std::string head = legacy_type(desc, fields) + ", " + std::string(name(*format));
  const std::string dims = join(elements_of(fields), ", ");
  if (fields.ndims == 4) return "cudnnSetFilter4dDescriptor(filter, " + head + ", " + dims + ");";
  return "const int dims[] = {" + dims + "};\ncudnnSetFilterNdDescriptor(filter, " + head + ", " +
         std::to_string(fields.ndims) + ", dims);";
}

std::string backend_code(const TensorDesc& desc) {
  const TensorDescriptor fields = to_cudnn(desc);
  const std::string count = std::to_string(fields.ndims);
  const auto set = [](const std::string& attribute, const std::string& type, const std::string& number,
                      const std::string& pointer) {
    return "cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_" + attribute + ", CUDNN_TYPE_" + type + ", " + number +
           ", " + pointer + ");\n";
  };
  std::string out = "const int64_t dim[] = {" + join(dims_of(fields), ", ") + "}, stride[] = {" +
                    join(strides_of(fields), ", ") +
                    "};\nconst cudnnDataType_t type = " + std::string(data_type_name(desc.dtype)) + ";\n";
  if (fields.vector_count > 1)
    out += "const int64_t vector = " + std::to_string(fields.vector_count) +
           ", vectorized = " + std::to_string(fields.vectorized_dimension) + ";\n";
  out += set("DATA_TYPE", "DATA_TYPE", "1", "&type") + set("DIMENSIONS", "INT64", count, "dim") +
         set("STRIDES", "INT64", count, "stride");
  if (fields.vector_count > 1)
    out += set("VECTOR_COUNT", "INT64", "1", "&vector") + set("VECTORIZED_DIMENSION", "INT64", "1", "&vectorized");
  out.pop_back();  // the last line's end
  return out;
}

std::string code(const TensorDesc& desc, bool filter) {
  const std::string backend = backend_code(desc);
  try {
    return (filter ? filter_code(desc) : legacy_code(desc)) + "\n// or, in the graph API:\n" + backend;
  } catch (const Error& error) {
    return "// in the graph API; not in the legacy API, as " + error.message().substr(std::string("cudnn: ").size()) +
           ":\n" + backend;
  }
}

}  // namespace relayout::cudnn
