// The obviously right reorder: an odometer over all indices, one element at a time.
//
// Start at reference_reorder() at the end. Before it stand how numbers are decoded and encoded, how elements lie in
// memory, and what the attributes do to a number.
#include "relayout/reorder/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/reorder/reference_cast.h"

namespace relayout {
namespace reference {
namespace {

/// How a floating type of at most 16 bits is laid out: sign, exponent, mantissa.
struct SmallFloat {
  int bits, mantissa, bias;
  bool has_inf;  // if not, only all ones is NaN, and the largest exponent has numbers

  uint64_t sign_bit() const { return uint64_t{1} << (bits - 1); }
  uint64_t exponent_mask() const { return (sign_bit() - 1) >> mantissa << mantissa; }
  /// The first magnitude that is no number: infinity, or the only NaN.
  uint64_t end() const { return has_inf ? exponent_mask() : sign_bit() - 1; }
};

SmallFloat small_float(DType dtype) {
  switch (dtype) {
    case DType::f16: return {16, 10, 15, true};
    case DType::bf16: return {16, 7, 127, true};
    case DType::f8_e5m2: return {8, 2, 15, true};
    case DType::f8_e4m3: return {8, 3, 7, false};
    default: throw Error(ErrorCode::internal, "reference: small_float() has no line for " + std::string(name(dtype)));
  }
}

/// The value of a magnitude's bits. For end() it is the value that the next number would have, if the exponents went
/// on.
long double magnitude(const SmallFloat& type, uint64_t abs) {
  const auto exponent = static_cast<int>(abs >> type.mantissa);
  const auto fraction = static_cast<long double>(abs & ((uint64_t{1} << type.mantissa) - 1));
  const long double one = std::ldexp(1.0L, type.mantissa);
  return exponent == 0 ? std::ldexp(fraction, 1 - type.bias - type.mantissa)
                       : std::ldexp(one + fraction, exponent - type.bias - type.mantissa);
}

/// All magnitudes of a type in order, end() included: entry i is the value of bits i.
const std::vector<long double>& magnitudes(DType dtype) {
  static const std::vector<std::vector<long double>> tables = [] {
    std::vector<std::vector<long double>> out(kDTypeCount);
    for (DType of : all_dtypes()) {
      if (!is_floating(of) || bits(of) > 16) continue;
      const SmallFloat type = small_float(of);
      for (uint64_t abs = 0; abs <= type.end(); ++abs) {
        out[static_cast<std::size_t>(of)].push_back(magnitude(type, abs));
      }
    }
    return out;
  }();
  return tables[static_cast<std::size_t>(dtype)];
}

Number decode_small_float(DType dtype, uint64_t bits) {
  const SmallFloat type = small_float(dtype);
  const bool negative = (bits & type.sign_bit()) != 0;
  const uint64_t abs = bits & (type.sign_bit() - 1);
  if (!type.has_inf && abs == type.end()) return {0, true, negative, 0};
  if (type.has_inf && abs > type.end()) return {0, true, negative, (abs - type.end()) << (52 - type.mantissa)};
  long double value = abs == type.end() ? std::numeric_limits<long double>::infinity() : magnitudes(dtype)[abs];
  return {negative ? -value : value, false, false, 0};
}

uint64_t encode_small_float(DType dtype, const Number& number) {
  const SmallFloat type = small_float(dtype);
  if (number.nan) {
    const uint64_t sign = number.negative_nan ? type.sign_bit() : 0;
    return sign | type.end() | (type.has_inf ? number.payload >> (52 - type.mantissa) : 0);
  }
  const uint64_t sign = std::signbit(number.value) ? type.sign_bit() : 0;
  const long double abs = std::fabs(number.value);
  const std::vector<long double>& table = magnitudes(dtype);
  const auto above = std::lower_bound(table.begin(), table.end(), abs);
  if (above == table.end()) return sign | type.end();
  const auto i = static_cast<uint64_t>(above - table.begin());
  if (*above == abs) return sign | i;
  const long double middle = (table[i - 1] + table[i]) / 2;
  if (abs != middle) return sign | (abs > middle ? i : i - 1);
  return sign | (i % 2 == 0 ? i : i - 1);
}

struct ValueRange {
  long double low, high;
};

ValueRange integer_range(DType dtype, ComputeType compute) {
  const bool is_signed = kind(dtype) == DTypeKind::signed_integer;
  const int magnitude_bits = bits(dtype) - (is_signed ? 1 : 0);
  ValueRange range{is_signed ? -std::ldexp(1.0L, magnitude_bits) : 0, std::ldexp(1.0L, magnitude_bits) - 1};
  if (compute == ComputeType::f32) {
    auto high = static_cast<float>(range.high);
    if (high > range.high) high = std::nextafter(high, 0.0f);
    range.high = high;
  } else if (compute == ComputeType::f64) {
    auto high = static_cast<double>(range.high);
    if (high > range.high) high = std::nextafter(high, 0.0);
    range.high = high;
  }
  return range;
}

uint64_t encode_integer(DType dtype, const Number& number, ComputeType compute) {
  if (number.nan) return 0;
  const ValueRange range = integer_range(dtype, compute);
  const long double saturated = std::min(std::max(number.value, range.low), range.high);
  const long double integral = std::nearbyint(saturated);
  const uint64_t mask = ~uint64_t{0} >> (64 - bits(dtype));
  const auto low_bits =
      integral < 0 ? static_cast<uint64_t>(static_cast<int64_t>(integral)) : static_cast<uint64_t>(integral);
  return low_bits & mask;
}

Number decode_double(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  if (std::isnan(value)) return {0, true, std::signbit(value), bits & 0xfffffffffffff};
  return {value, false, false, 0};
}

Number decode_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return {0, true, std::signbit(value), uint64_t{bits & 0x7fffff} << 29};
  return {value, false, false, 0};
}

}  // namespace

Number decode(DType dtype, uint64_t bits_in) {
  const uint64_t bits = bits_in & (~uint64_t{0} >> (64 - relayout::bits(dtype)));
  switch (kind(dtype)) {
    case DTypeKind::boolean: return {bits != 0 ? 1.0L : 0.0L, false, false, 0};
    case DTypeKind::unsigned_integer: return {static_cast<long double>(bits), false, false, 0};
    case DTypeKind::signed_integer: {
      const uint64_t sign = uint64_t{1} << (relayout::bits(dtype) - 1);
      const auto low = static_cast<long double>(bits & (sign - 1));
      return {bits & sign ? low - static_cast<long double>(sign) : low, false, false, 0};
    }
    case DTypeKind::floating: break;
  }
  if (dtype == DType::f64) return decode_double(std::bit_cast<double>(bits));
  if (dtype == DType::f32) return decode_float(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return decode_small_float(dtype, bits);
}

Number rounded_to(ComputeType compute, Number number) {
  if (compute == ComputeType::f32) number.value = static_cast<float>(number.value);
  if (compute == ComputeType::f64) number.value = static_cast<double>(number.value);
  return number;
}

uint64_t encode(DType dtype, const Number& number, ComputeType compute) {
  if (dtype == DType::boolean) return number.nan || number.value != 0;
  if (is_integer(dtype)) return encode_integer(dtype, number, compute);
  if (bits(dtype) <= 16) return encode_small_float(dtype, number);
  const uint64_t sign = number.negative_nan ? 1 : 0;
  if (dtype == DType::f32) {
    if (number.nan) return sign << 31 | 0x7f800000 | number.payload >> 29;
    return std::bit_cast<uint32_t>(static_cast<float>(number.value));
  }
  if (number.nan) return sign << 63 | 0x7ff0000000000000 | number.payload;
  return std::bit_cast<uint64_t>(static_cast<double>(number.value));
}

ComputeType compute_type_of(DType src, DType dst, bool arithmetic) {
  // How many significant bits a type's values need. 24 stands for all floating types but f64, which all fit f32.
  const auto significant = [](DType dtype) { return dtype == DType::f64 ? 53 : is_floating(dtype) ? 24 : bits(dtype); };
  const int more = std::max(significant(src), significant(dst)), less = std::min(significant(src), significant(dst));
  if (more == 64 && !is_floating(src) && !arithmetic) return ComputeType::i128;
  return more > 32 || less == 32 ? ComputeType::f64 : ComputeType::f32;
}

uint64_t convert(DType src, uint64_t bits, DType dst) {
  if (src == dst) return bits;
  const ComputeType compute = compute_type_of(src, dst, false);
  Number number = rounded_to(compute, decode(src, bits));
  // A NaN becomes quiet, except from bf16 to f32, where bits are only moved.
  if (number.nan && !(src == DType::bf16 && dst == DType::f32)) number.payload |= uint64_t{1} << 51;
  return encode(dst, number, compute);
}

}  // namespace reference

namespace {

using reference::Number;

/// Calls f(index) for every index of a box of these extents, the last dim fastest.
template <typename F>
void for_each_index(const Dims& extents, F f) {
  for (int64_t extent : extents) {
    if (extent == 0) return;
  }
  Dims index(extents.size(), 0);
  while (true) {
    f(index);
    int d = extents.size() - 1;
    while (d >= 0 && ++index[d] == extents[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

/// The offset of an index, which may also be one of padding: takes each dim's index apart digit by digit, innermost
/// first. Then the swizzle flips each bit of a field whose bit of the other field is set.
int64_t offset_of(const Layout& layout, const Dims& index) {
  int64_t offset = layout.offset0();
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t rest = index[d];
    for (const Digit& digit : layout.digits_under_swizzle(d)) {
      offset += rest % digit.extent * digit.stride;
      rest /= digit.extent;
    }
  }
  const Swizzle& swizzle = layout.swizzle();
  int64_t flipped = offset;
  for (int bit = 0; bit < swizzle.bits(); ++bit) {
    const int low = swizzle.base() + bit, high = low + std::abs(swizzle.shift());
    const int from = swizzle.shift() > 0 ? high : low, into = swizzle.shift() > 0 ? low : high;
    if (offset / (int64_t{1} << from) % 2 == 1)
      flipped += flipped / (int64_t{1} << into) % 2 == 0 ? int64_t{1} << into : -(int64_t{1} << into);
  }
  return flipped;
}

/// The bits of element `offset`.
uint64_t read(DType dtype, const void* data, int64_t offset) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (bits(dtype) == 4) return offset % 2 == 0 ? bytes[offset / 2] & 15 : bytes[offset / 2] >> 4;
  const int size = bits(dtype) / 8;
  uint64_t out = 0;
  for (int b = 0; b < size; ++b) out |= uint64_t{bytes[offset * size + b]} << (8 * b);
  return out;
}

void write(DType dtype, void* data, int64_t offset, uint64_t value) {
  auto* bytes = static_cast<uint8_t*>(data);
  if (bits(dtype) == 4) {
    uint8_t& byte = bytes[offset / 2];
    byte = static_cast<uint8_t>(offset % 2 == 0 ? (byte & 0xf0) | value : (byte & 0x0f) | value << 4);
    return;
  }
  const int size = bits(dtype) / 8;
  for (int b = 0; b < size; ++b) bytes[offset * size + b] = static_cast<uint8_t>(value >> (8 * b));
}

/// The attribute's value for an index: row-major over the groups of the dims in its mask.
double value_at(const PerMask& attribute, const Dims& dims, const Dims& index) {
  int64_t at = 0;
  for (int d = 0; d < dims.size(); ++d) {
    if (!(attribute.mask >> d & 1)) continue;
    const int64_t group = attribute.groups.empty() ? 1 : attribute.groups[d];
    at = at * ((dims[d] + group - 1) / group) + index[d] / group;
  }
  return attribute.values[static_cast<std::size_t>(at)];
}

template <typename T>
T to_compute(const Number& number) {
  return number.nan ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(number.value);
}

/// Computes the formula of attributes.h in T, with one rounding for each step. volatile keeps the compiler from fusing
/// steps.
template <typename T>
Number arithmetic(const Number& src, const Number& dst_old, const Attributes& a, const Dims& dims, const Dims& index) {
  volatile T t = to_compute<T>(src);
  if (a.subtracts()) {
    double subtracted = a.src_zero_point.values.empty() ? 0 : value_at(a.src_zero_point, dims, index);
    const double scale = a.src_scale.values.empty() ? 1 : value_at(a.src_scale, dims, index);
    if (!a.mean.values.empty()) subtracted += value_at(a.mean, dims, index) / scale;
    t = t - static_cast<T>(subtracted);
  }
  if (!a.src_scale.values.empty()) t = t * static_cast<T>(value_at(a.src_scale, dims, index));
  if (a.beta != 0) {
    volatile T product = static_cast<T>(a.beta) * to_compute<T>(dst_old);
    t = t + product;
  }
  if (!a.dst_scale.values.empty()) t = t / static_cast<T>(value_at(a.dst_scale, dims, index));
  if (!a.dst_zero_point.values.empty()) t = t + static_cast<T>(value_at(a.dst_zero_point, dims, index));
  const T result = t;
  if (std::isnan(result)) return {0, true, false, uint64_t{1} << 51};
  return {result, false, false, 0};
}

/// The bits to write for one element; `dst_old` is what the destination holds.
uint64_t converted(DType src_type, uint64_t src, DType dst_type, uint64_t dst_old, const Attributes& attributes,
                   const Dims& dims, const Dims& index) {
  if (!attributes.arithmetic()) return reference::convert(src_type, src, dst_type);
  const ComputeType compute = reference::compute_type_of(src_type, dst_type, true);
  const Number from = reference::decode(src_type, src);
  const Number old = reference::decode(dst_type, dst_old);
  const Number result = compute == ComputeType::f32 ? arithmetic<float>(from, old, attributes, dims, index)
                                                    : arithmetic<double>(from, old, attributes, dims, index);
  return reference::encode(dst_type, result, compute);
}

/// check_attributes() has seen that the type holds the value.
uint64_t padding_bits_of(const ElementValue& value, DType dtype) {
  Number number = reference::decode(DType::f64, std::bit_cast<uint64_t>(value.real()));
  // A long double holds every whole number of 64 bits.
  if (value.whole()) number.value = std::stold(value.text());
  return reference::encode(dtype, number, ComputeType::i128);
}

std::string index_text(Dims extents, int64_t ordinal) {
  for (int d = extents.size() - 1; d >= 0; --d) {
    const int64_t extent = extents[d];
    extents[d] = ordinal % extent;
    ordinal /= extent;
  }
  return "(" + join(extents) + ")";
}

/// Error{not_injective} if two indices within `extents` share an offset: sort all offsets and look.
void check_offsets_differ(const Layout& layout, const Dims& extents) {
  std::vector<std::pair<int64_t, int64_t>> offsets;  // offset, ordinal of the index
  for_each_index(extents, [&](const Dims& index) {
    offsets.emplace_back(offset_of(layout, index), static_cast<int64_t>(offsets.size()));
  });
  std::sort(offsets.begin(), offsets.end());
  const auto same = std::adjacent_find(offsets.begin(), offsets.end(),
                                       [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same == offsets.end()) return;
  const std::string a = index_text(extents, same[0].second), b = index_text(extents, same[1].second);
  const std::string offset = std::to_string(same->first);
  throw Error(ErrorCode::not_injective,
              "reorder: destination indices " + a + " and " + b + " share the element at offset " + offset, "dst",
              a + " and " + b, "every index its own element");
}

}  // namespace

void reference_reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc, void* dst,
                       const Attributes& attributes) {
  const Layout& from = src_desc.layout;
  const Layout& to = dst_desc.layout;
  const Dims& dims = to.dims();
  if (!(from.dims() == dims)) {
    throw Error(ErrorCode::invalid_argument,
                "reorder: source dims " + join(from.dims(), "x") + " differ from destination dims " + join(dims, "x"),
                "dims", join(from.dims(), "x"), join(dims, "x"));
  }
  if (dims.empty() && to.padded()) {
    const TensorDesc dst_vector(to.as_vector(), dst_desc.dtype);
    return reference_reorder({from.as_vector(), src_desc.dtype}, src, dst_vector, dst, attributes);
  }
  check_attributes(attributes, src_desc, dst_desc);
  if (to.empty()) return;
  const bool keep = attributes.padding.kind == Padding::Kind::keep;
  check_offsets_differ(to, keep ? dims : to.padded_dims());

  for_each_index(dims, [&](const Dims& index) {
    const uint64_t element = read(src_desc.dtype, src, offset_of(from, index));
    const int64_t at = offset_of(to, index);
    const uint64_t old = attributes.beta != 0 ? read(dst_desc.dtype, dst, at) : 0;
    write(dst_desc.dtype, dst, at, converted(src_desc.dtype, element, dst_desc.dtype, old, attributes, dims, index));
  });
  if (keep) return;

  const uint64_t padding_bits = padding_bits_of(attributes.padding.value, dst_desc.dtype);
  for_each_index(to.padded_dims(), [&](const Dims& index) {
    const bool logical = std::equal(index.begin(), index.end(), dims.begin(), std::less<>());
    if (!logical) write(dst_desc.dtype, dst, offset_of(to, index), padding_bits);
  });
}

}  // namespace relayout
