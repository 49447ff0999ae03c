// Numbers as the reference reorder sees them: decoded from the fields of their bits, and encoded by search.
#include "relayout/reorder/reference_cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "relayout/core/error.h"

namespace relayout {
namespace reference {
namespace {

/// What a type has besides numbers.
enum class Special : uint8_t {
  inf_and_nan,  // the largest exponent
  one_nan,      // all ones; the largest exponent also has numbers
  none,
};

/// How a floating type of at most 16 bits is laid out: sign, exponent, mantissa.
struct SmallFloat {
  int bits, mantissa, bias;
  Special special;

  bool has_inf() const { return special == Special::inf_and_nan; }
  uint64_t sign_bit() const { return uint64_t{1} << (bits - 1); }
  uint64_t exponent_mask() const { return (sign_bit() - 1) >> mantissa << mantissa; }
  /// The first magnitude that is no number: infinity, the only NaN, or the first that has no bits.
  uint64_t end() const { return has_inf() ? exponent_mask() : sign_bit() - (special == Special::none ? 0 : 1); }
};

SmallFloat small_float(DType dtype) {
  switch (dtype) {
    case DType::f16: return {16, 10, 15, Special::inf_and_nan};
    case DType::bf16: return {16, 7, 127, Special::inf_and_nan};
    case DType::f8_e5m2: return {8, 2, 15, Special::inf_and_nan};
    case DType::f8_e4m3: return {8, 3, 7, Special::one_nan};
    case DType::f6_e3m2: return {6, 2, 3, Special::none};
    case DType::f6_e2m3: return {6, 3, 1, Special::none};
    case DType::f4_e2m1: return {4, 1, 1, Special::none};
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
      if (!is_floating(of) || bits(of) > 16 || of == DType::f8_e8m0) continue;
      const SmallFloat type = small_float(of);
      for (uint64_t abs = 0; abs <= type.end(); ++abs) {
        out[static_cast<std::size_t>(of)].push_back(magnitude(type, abs));
      }
    }
    return out;
  }();
  return tables[static_cast<std::size_t>(dtype)];
}

/// f8_e8m0 is an exponent alone: 2^(bits - 127), and 255 is NaN.
Number decode_exponent(uint64_t bits) {
  if (bits == 255) return {0, true, false, 0};
  return {std::ldexp(1.0L, static_cast<int>(bits) - 127), false, false, 0};
}

/// The nearest power of two, the larger one of two that are equally near; the least one for smaller positive numbers.
uint64_t encode_exponent(const Number& number) {
  if (number.nan || !(number.value > 0) || std::isinf(number.value)) return 255;
  uint64_t bits = 0;
  while (bits < 255 && number.value >= 1.5L * std::ldexp(1.0L, static_cast<int>(bits) - 127)) ++bits;
  return bits;
}

Number decode_small_float(DType dtype, uint64_t bits) {
  if (dtype == DType::f8_e8m0) return decode_exponent(bits);
  const SmallFloat type = small_float(dtype);
  const bool negative = (bits & type.sign_bit()) != 0;
  const uint64_t abs = bits & (type.sign_bit() - 1);
  if (!type.has_inf() && abs == type.end()) return {0, true, negative, 0};
  if (type.has_inf() && abs > type.end()) return {0, true, negative, (abs - type.end()) << (52 - type.mantissa)};
  long double value = abs == type.end() ? std::numeric_limits<long double>::infinity() : magnitudes(dtype)[abs];
  return {negative ? -value : value, false, false, 0};
}

/// The bits of the magnitude nearest to `abs`, the even ones of two that are equally near, or those of end().
uint64_t nearest_magnitude(DType dtype, long double abs) {
  const std::vector<long double>& table = magnitudes(dtype);
  const auto above = std::lower_bound(table.begin(), table.end(), abs);
  if (above == table.end()) return small_float(dtype).end();
  const auto i = static_cast<uint64_t>(above - table.begin());
  if (*above == abs) return i;
  const long double middle = (table[i - 1] + table[i]) / 2;
  if (abs != middle) return abs > middle ? i : i - 1;
  return i % 2 == 0 ? i : i - 1;
}

uint64_t encode_small_float(DType dtype, const Number& number) {
  if (dtype == DType::f8_e8m0) return encode_exponent(number);
  const SmallFloat type = small_float(dtype);
  if (number.nan) {
    // A type without NaN has a zero of the other sign instead.
    if (type.special == Special::none) return number.negative_nan ? 0 : type.sign_bit();
    const uint64_t sign = number.negative_nan ? type.sign_bit() : 0;
    return sign | type.end() | (type.has_inf() ? number.payload >> (52 - type.mantissa) : 0);
  }
  const uint64_t sign = std::signbit(number.value) ? type.sign_bit() : 0;
  const uint64_t nearest = nearest_magnitude(dtype, std::fabs(number.value));
  return sign | (type.special == Special::none ? std::min(nearest, type.end() - 1) : nearest);
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

}  // namespace relayout
