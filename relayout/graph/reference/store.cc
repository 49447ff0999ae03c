// How the reference stores values in tensors: doubles are rounded to a type, and read back.
//
// Values are rounded to nearest even, once. Integer types saturate first, and NaN becomes 0. bool says whether a value
// is not 0. Integers beyond 2^53 are rounded when they become doubles.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "relayout/core/error.h"
#include "relayout/core/float.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph {
namespace {

/// The largest double that is no larger than the type's largest value.
template <typename T>
double upper_bound() {
  const auto high = static_cast<double>(std::numeric_limits<T>::max());
  return std::numeric_limits<T>::digits > 53 ? std::nextafter(high, 0.0) : high;
}

double saturated(double value, double low, double high) {
  return std::isnan(value) ? 0 : std::nearbyint(std::clamp(value, low, high));
}

template <typename T>
T to_integer(double value) {
  return static_cast<T>(saturated(value, static_cast<double>(std::numeric_limits<T>::min()), upper_bound<T>()));
}

template <typename T, typename F>
std::vector<std::byte> store_as(std::span<const double> values, F&& convert) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = convert(values[i]);
    std::memcpy(out.data() + i * sizeof element, &element, sizeof element);
  }
  return out;
}

template <typename T>
std::vector<std::byte> store_integers(std::span<const double> values) {
  return store_as<T>(values, to_integer<T>);
}

/// Stores elements of fewer than 8 bits, the first in the lowest bits, `as_bits` saying which.
template <typename F>
std::vector<std::byte> store_packed(std::span<const double> values, int bits, F&& as_bits) {
  std::vector<std::byte> out((values.size() * static_cast<std::size_t>(bits) + 7) / 8, std::byte{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<unsigned>(as_bits(values[i]));
    for (int b = 0; b < bits; ++b) {
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      out[at / 8] |= static_cast<std::byte>((element >> b & 1u) << at % 8);
    }
  }
  return out;
}

std::vector<std::byte> store_few_bits(std::span<const double> values, DType dtype) {
  const int ones = (1 << bits(dtype)) - 1, sign = kind(dtype) == DTypeKind::signed_integer ? 1 << (bits(dtype) - 1) : 0;
  return store_packed(values, bits(dtype),
                      [&](double v) { return static_cast<int>(saturated(v, -sign, ones - sign)) & ones; });
}

template <typename T, typename F>
Values load_as(std::span<const std::byte> bytes, std::size_t count, F&& convert) {
  Values out(count);
  for (std::size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
    out[i] = static_cast<double>(convert(element));
  }
  return out;
}

template <typename T>
Values load_plain(std::span<const std::byte> bytes, std::size_t count) {
  return load_as<T>(bytes, count, [](T element) { return element; });
}

template <typename F>
Values load_packed(std::span<const std::byte> bytes, std::size_t count, int bits, F&& value) {
  Values out(count);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned element = 0;
    for (int b = 0; b < bits; ++b) {
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      element |= (std::to_integer<unsigned>(bytes[at / 8]) >> at % 8 & 1u) << b;
    }
    out[i] = value(static_cast<uint8_t>(element));
  }
  return out;
}

Values load_few_bits(std::span<const std::byte> bytes, std::size_t count, DType dtype) {
  const int sign = kind(dtype) == DTypeKind::signed_integer ? 1 << (bits(dtype) - 1) : 0;
  return load_packed(bytes, count, bits(dtype), [&](uint8_t v) { return (v ^ sign) - sign; });
}

}  // namespace

std::vector<std::byte> store(std::span<const double> values, DType dtype) {
  switch (dtype) {
    case DType::f64: return store_as<double>(values, [](double v) { return v; });
    case DType::f32: return store_as<float>(values, [](double v) { return static_cast<float>(v); });
    case DType::f16: return store_as<uint16_t>(values, [](double v) { return f32_to_f16(f64_to_f32_odd(v)); });
    case DType::bf16: return store_as<uint16_t>(values, [](double v) { return f32_to_bf16(f64_to_f32_odd(v)); });
    case DType::f8_e5m2: return store_as<uint8_t>(values, [](double v) { return f32_to_f8_e5m2(f64_to_f32_odd(v)); });
    case DType::f8_e4m3: return store_as<uint8_t>(values, [](double v) { return f32_to_f8_e4m3(f64_to_f32_odd(v)); });
    case DType::s64: return store_integers<int64_t>(values);
    case DType::s32: return store_integers<int32_t>(values);
    case DType::s16: return store_integers<int16_t>(values);
    case DType::s8: return store_integers<int8_t>(values);
    case DType::u64: return store_integers<uint64_t>(values);
    case DType::u32: return store_integers<uint32_t>(values);
    case DType::u16: return store_integers<uint16_t>(values);
    case DType::u8: return store_integers<uint8_t>(values);
    case DType::boolean: return store_as<uint8_t>(values, [](double v) { return v != 0; });
    case DType::f8_e8m0: return store_as<uint8_t>(values, [](double v) { return f32_to_f8_e8m0(f64_to_f32_odd(v)); });
    case DType::f6_e3m2: return store_packed(values, 6, [](double v) { return f32_to_f6_e3m2(f64_to_f32_odd(v)); });
    case DType::f6_e2m3: return store_packed(values, 6, [](double v) { return f32_to_f6_e2m3(f64_to_f32_odd(v)); });
    case DType::f4_e2m1: return store_packed(values, 4, [](double v) { return f32_to_f4_e2m1(f64_to_f32_odd(v)); });
    case DType::s4:
    case DType::u4:
    case DType::s2:
    case DType::u2:
    case DType::u1: return store_few_bits(values, dtype);
  }
  throw Error(ErrorCode::internal, "reference: unknown element type", "dtype");
}

Values load(const ConstElements& elements, DType dtype, int64_t count) {
  const auto bytes = checked_bytes(elements, dtype, 0, "reference", "source");
  const std::optional<int64_t> need = bytes_for(dtype, count);
  if (count < 0 || !need || *need > static_cast<int64_t>(bytes.size())) {
    throw Error(ErrorCode::invalid_argument,
                "reference: " + std::to_string(count) + " elements of " + std::string(name(dtype)) + " do not fit in " +
                    std::to_string(bytes.size()) + " bytes",
                "count", std::to_string(count), std::to_string(bytes.size()) + " bytes");
  }
  const auto n = static_cast<std::size_t>(count);
  switch (dtype) {
    case DType::f64: return load_plain<double>(bytes, n);
    case DType::f32: return load_plain<float>(bytes, n);
    case DType::f16: return load_as<uint16_t>(bytes, n, [](uint16_t v) { return f16_to_f32(v); });
    case DType::bf16: return load_as<uint16_t>(bytes, n, [](uint16_t v) { return bf16_to_f32(v); });
    case DType::f8_e5m2: return load_as<uint8_t>(bytes, n, [](uint8_t v) { return f8_e5m2_to_f32(v); });
    case DType::f8_e4m3: return load_as<uint8_t>(bytes, n, [](uint8_t v) { return f8_e4m3_to_f32(v); });
    case DType::s64: return load_plain<int64_t>(bytes, n);
    case DType::s32: return load_plain<int32_t>(bytes, n);
    case DType::s16: return load_plain<int16_t>(bytes, n);
    case DType::s8: return load_plain<int8_t>(bytes, n);
    case DType::u64: return load_plain<uint64_t>(bytes, n);
    case DType::u32: return load_plain<uint32_t>(bytes, n);
    case DType::u16: return load_plain<uint16_t>(bytes, n);
    case DType::u8: return load_plain<uint8_t>(bytes, n);
    case DType::boolean: return load_as<uint8_t>(bytes, n, [](uint8_t v) { return v != 0 ? 1 : 0; });
    case DType::f8_e8m0: return load_as<uint8_t>(bytes, n, [](uint8_t v) { return f8_e8m0_to_f32(v); });
    case DType::f6_e3m2: return load_packed(bytes, n, 6, [](uint8_t v) { return f6_e3m2_to_f32(v); });
    case DType::f6_e2m3: return load_packed(bytes, n, 6, [](uint8_t v) { return f6_e2m3_to_f32(v); });
    case DType::f4_e2m1: return load_packed(bytes, n, 4, [](uint8_t v) { return f4_e2m1_to_f32(v); });
    case DType::s4:
    case DType::u4:
    case DType::s2:
    case DType::u2:
    case DType::u1: return load_few_bits(bytes, n, dtype);
  }
  throw Error(ErrorCode::internal, "reference: unknown element type", "dtype");
}

Values values_of(const Tensor& constant) {
  if (!constant.constant()) {
    throw Error(ErrorCode::invalid_argument, "reference: tensor " + escaped(constant.name) + " is no constant",
                "tensor", escaped(constant.name), "a constant");
  }
  return load(*constant.data, constant.dtype, reference::count(constant.dims));
}

}  // namespace relayout::graph
