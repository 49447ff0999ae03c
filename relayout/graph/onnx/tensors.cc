// ONNX tensors: TensorProto to constants of the graph, and constants to numbers.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "relayout/core/float.h"
#include "relayout/graph/onnx/importer.h"
#include "relayout/reorder/cast.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::TensorProto;

std::string shown(const std::string& name) { return "\"" + escaped(name) + "\""; }

template <typename T>
ConstantData bytes_of(std::span<const T> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

/// The numbers of a field as elements of type T. Error{corrupt} where one does not fit.
template <typename T, typename Field>
ConstantData narrowed(const Field& field, const std::string& what) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(field.size()));
  for (const auto value : field) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) {
        throw Error(ErrorCode::corrupt, what + ": " + std::to_string(value) + " does not fit its type");
      }
    }
    values.push_back(static_cast<T>(value));
  }
  return bytes_of<T>(values);
}

/// Elements of `dtype` from the field that TensorProto has for it.
ConstantData from_fields(const TensorProto& tensor, DType dtype, const std::string& what, int64_t* count) {
  const auto from = [&]<typename T>(const auto& field) {
    *count = field.size();
    return narrowed<T>(field, what);
  };
  switch (dtype) {
    case DType::f32: return from.operator()<float>(tensor.float_data());
    case DType::f64: return from.operator()<double>(tensor.double_data());
    case DType::s64: return from.operator()<int64_t>(tensor.int64_data());
    case DType::u64: return from.operator()<uint64_t>(tensor.uint64_data());
    case DType::u32: return from.operator()<uint32_t>(tensor.uint64_data());
    case DType::s32: return from.operator()<int32_t>(tensor.int32_data());
    case DType::s16: return from.operator()<int16_t>(tensor.int32_data());
    case DType::u16:
    case DType::f16:
    case DType::bf16: return from.operator()<uint16_t>(tensor.int32_data());
    case DType::s8: return from.operator()<int8_t>(tensor.int32_data());
    default: return from.operator()<uint8_t>(tensor.int32_data());
  }
}

bool is_external(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL || tensor.external_data_size() > 0;
}

template <typename To, typename From>
std::vector<To> elements(const Value& constant) {
  std::vector<To> out(constant.data->size() / sizeof(From));
  for (std::size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, constant.data->data() + i * sizeof(From), sizeof value);
    out[i] = static_cast<To>(value);
  }
  return out;
}

/// Elements of fewer than 8 bits, the first of which is in the lowest bits of the first byte.
template <typename To>
std::vector<To> packed_elements(const Value& constant) {
  std::vector<To> out;
  const int64_t count = elements_of(constant.dims);
  with_dtype(constant.dtype, [&]<DType kType>(std::integral_constant<DType, kType>) {
    for (int64_t i = 0; i < count; ++i)
      out.push_back(static_cast<To>(load<double, kType>(read_element<kType>(constant.data->data(), i))));
  });
  return out;
}

template <typename To>
std::vector<To> integer_elements(const Value& constant) {
  switch (constant.dtype) {
    case DType::s64: return elements<To, int64_t>(constant);
    case DType::u64: return elements<To, uint64_t>(constant);
    case DType::s32: return elements<To, int32_t>(constant);
    case DType::u32: return elements<To, uint32_t>(constant);
    case DType::s16: return elements<To, int16_t>(constant);
    case DType::u16: return elements<To, uint16_t>(constant);
    case DType::s8: return elements<To, int8_t>(constant);
    case DType::u8:
    case DType::boolean: return elements<To, uint8_t>(constant);
    case DType::s4:
    case DType::u4:
    case DType::s2:
    case DType::u2: return packed_elements<To>(constant);
    default: throw NotExpressible{"a constant of type " + std::string(name(constant.dtype)) + " as integers"};
  }
}

template <typename T, typename From>
Value made(const Dims& dims, std::span<const From> values, DType dtype) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const From value : values) out.push_back(static_cast<T>(value));
  return {.dims = dims, .dtype = dtype, .data = bytes_of<T>(out)};
}

}  // namespace

DType dtype_of(int data_type, const std::string& what) {
  // The types stand as numbers, so that this file compiles against headers that do not have the newest names.
  switch (data_type) {
    case 1: return DType::f32;
    case 2: return DType::u8;
    case 3: return DType::s8;
    case 4: return DType::u16;
    case 5: return DType::s16;
    case 6: return DType::s32;
    case 7: return DType::s64;
    case 9: return DType::boolean;
    case 10: return DType::f16;
    case 11: return DType::f64;
    case 12: return DType::u32;
    case 13: return DType::u64;
    case 16: return DType::bf16;
    case 17: return DType::f8_e4m3;
    case 19: return DType::f8_e5m2;
    case 21: return DType::u4;
    case 22: return DType::s4;
    case 23: return DType::f4_e2m1;
    case 24: return DType::f8_e8m0;
    case 25: return DType::u2;
    case 26: return DType::s2;
    default:
      throw Error(ErrorCode::unsupported,
                  what + " has the element type " + std::to_string(data_type) +
                      " (strings, complex numbers and others are not read)",
                  "data_type", std::to_string(data_type));
  }
}

Value constant_of(Import& model, const TensorProto& tensor, const std::string& name) {
  const std::string what = "onnx: tensor " + shown(name);
  if (tensor.has_segment()) throw Error(ErrorCode::unsupported, what + " is a segment of a tensor");
  Value out{.dtype = dtype_of(tensor.data_type(), what), .name = name};
  if (tensor.dims_size() > kMaxDims) {
    throw Error(ErrorCode::limit, what + " has " + std::to_string(tensor.dims_size()) + " dims", "dims",
                std::to_string(tensor.dims_size()), std::to_string(kMaxDims));
  }
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0) throw Error(ErrorCode::corrupt, what + " has the dim " + std::to_string(dim));
    out.dims.push_back(dim);
  }
  const auto count = checked_product(out.dims);
  const auto need = count ? bytes_for(out.dtype, *count) : std::nullopt;
  if (!need) throw_too_many_bytes(what, out.dims, out.dtype);

  if (is_external(tensor)) {
    out.data = external_data(model, tensor, *need, what);
    return out;
  }
  if (tensor.has_raw_data()) {
    if (static_cast<int64_t>(tensor.raw_data().size()) != *need) {
      throw Error(ErrorCode::corrupt,
                  what + " has " + std::to_string(tensor.raw_data().size()) + " bytes of data, " +
                      std::to_string(*need) + " are needed",
                  "raw_data", std::to_string(tensor.raw_data().size()), std::to_string(*need));
    }
    out.data = bytes_of<char>(std::span(tensor.raw_data()));
    return out;
  }
  int64_t have = 0;
  out.data = from_fields(tensor, out.dtype, what, &have);
  // The elements that share a byte are one number.
  const int64_t wanted = bits(out.dtype) < 8 ? *need : *count;
  if (have != wanted) {
    throw Error(ErrorCode::corrupt,
                what + " has " + std::to_string(have) + " values, " + std::to_string(wanted) + " are needed", "data",
                std::to_string(have), std::to_string(wanted));
  }
  return out;
}

Value integer_constant(const Dims& dims, std::span<const int64_t> values, DType dtype) {
  switch (dtype) {
    case DType::s64: return made<int64_t>(dims, values, dtype);
    case DType::u64: return made<uint64_t>(dims, values, dtype);
    case DType::s32: return made<int32_t>(dims, values, dtype);
    case DType::u32: return made<uint32_t>(dims, values, dtype);
    case DType::s16: return made<int16_t>(dims, values, dtype);
    case DType::u16: return made<uint16_t>(dims, values, dtype);
    case DType::s8: return made<int8_t>(dims, values, dtype);
    case DType::u8:
    case DType::boolean: return made<uint8_t>(dims, values, dtype);
    default: break;
  }
  if (!is_floating(dtype)) throw NotExpressible{"a constant of type " + std::string(relayout::name(dtype))};
  return number_constant(dims, std::vector<double>(values.begin(), values.end()), dtype);
}

namespace {

/// A floating type of 16 or 8 bits, as bits of type T.
template <typename T>
Value narrow(const Dims& dims, std::span<const double> values, DType dtype) {
  std::vector<T> out;
  for (const double value : values) {
    const float wide = f64_to_f32_odd(value);
    switch (dtype) {
      case DType::f16: out.push_back(static_cast<T>(f32_to_f16(wide))); break;
      case DType::bf16: out.push_back(static_cast<T>(f32_to_bf16(wide))); break;
      case DType::f8_e4m3: out.push_back(static_cast<T>(f32_to_f8_e4m3(wide))); break;
      case DType::f8_e8m0: out.push_back(static_cast<T>(f32_to_f8_e8m0(wide))); break;
      default: out.push_back(static_cast<T>(f32_to_f8_e5m2(wide))); break;
    }
  }
  return {.dims = dims, .dtype = dtype, .data = bytes_of<T>(out)};
}

double widened(uint16_t bits, DType dtype) {
  switch (dtype) {
    case DType::f16: return f16_to_f32(bits);
    case DType::bf16: return bf16_to_f32(bits);
    case DType::f8_e4m3: return f8_e4m3_to_f32(static_cast<uint8_t>(bits));
    case DType::f8_e8m0: return f8_e8m0_to_f32(static_cast<uint8_t>(bits));
    default: return f8_e5m2_to_f32(static_cast<uint8_t>(bits));
  }
}

}  // namespace

Value number_constant(const Dims& dims, std::span<const double> values, DType dtype) {
  if (dtype == DType::f32) return made<float>(dims, values, dtype);
  if (dtype == DType::f64) return made<double>(dims, values, dtype);
  if (is_floating(dtype) && bits(dtype) < 8)
    throw NotExpressible{"a constant of type " + std::string(relayout::name(dtype))};
  if (is_floating(dtype))
    return bits(dtype) == 16 ? narrow<uint16_t>(dims, values, dtype) : narrow<uint8_t>(dims, values, dtype);
  std::vector<int64_t> integers;
  for (const double value : values) {
    // ONNX's Cast truncates. Values that no integer holds are refused, because converting them is undefined in C++.
    if (!(std::abs(value) < 9.2e18)) throw NotExpressible{"a cast of " + std::to_string(value) + " to an integer"};
    integers.push_back(dtype == DType::boolean ? value != 0 : static_cast<int64_t>(value));
  }
  return integer_constant(dims, integers, dtype);
}

std::vector<int64_t> integers_of(const Value& constant) {
  if (!is_floating(constant.dtype)) return integer_elements<int64_t>(constant);
  std::vector<int64_t> out;
  for (const double value : numbers_of(constant)) {
    if (!(std::abs(value) < 9.2e18)) throw NotExpressible{"the number " + std::to_string(value) + " as an integer"};
    out.push_back(static_cast<int64_t>(value));
  }
  return out;
}

std::vector<double> numbers_of(const Value& constant) {
  switch (constant.dtype) {
    case DType::f32: return elements<double, float>(constant);
    case DType::f64: return elements<double, double>(constant);
    default: break;
  }
  if (!is_floating(constant.dtype)) return integer_elements<double>(constant);
  if (bits(constant.dtype) < 8) return packed_elements<double>(constant);
  std::vector<double> out;
  const bool byte = bits(constant.dtype) == 8;
  for (const uint16_t each : byte ? elements<uint16_t, uint8_t>(constant) : elements<uint16_t, uint16_t>(constant)) {
    out.push_back(widened(each, constant.dtype));
  }
  return out;
}

std::optional<double> scalar_of(const Value& value) {
  if (!value.constant() || !is_floating(value.dtype) || elements_of(value.dims) != 1) return std::nullopt;
  return numbers_of(value).front();
}

}  // namespace relayout::graph::importing
