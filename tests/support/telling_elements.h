// Elements at which conversions go wrong first: limits, ties, neighbours of these, NaNs and denormals.
//
//     for (std::byte b : telling_elements(DType::f32)) ...     // all special values of f32, one after the other
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "relayout/core/dtype.h"
#include "relayout/reorder/cast.h"
#include "tests/support/regions.h"

namespace relayout::test {

/// Bytes of an element that lies in bytes of its own.
inline int64_t dense_bytes(DType dtype) { return std::max(1, bits(dtype) / 8); }

/// The sub-byte element that the low bits of a byte are, in a byte of its own: signed ones are extended.
inline std::byte alone(DType dtype, std::byte low_bits) {
  std::byte out{};
  with_dtype(dtype, [&]<DType kType>(std::integral_constant<DType, kType>) {
    out = static_cast<std::byte>(read_element<kType>(&low_bits, 0));
  });
  return out;
}

/// Random elements of a type, half of them near small integers; those of sub-byte types in bytes of their own.
inline void random_elements(DType dtype, std::span<std::byte> bytes, std::mt19937& rng) {
  randomize(bytes, rng);
  if (bits(dtype) < 8) {
    for (std::byte& byte : bytes) byte = alone(dtype, byte);
    return;
  }
  if (kind(dtype) != DTypeKind::floating || bits(dtype) < 32) return;
  const auto size = static_cast<std::size_t>(bits(dtype) / 8);
  for (std::size_t at = 0; at + size <= bytes.size(); at += 2 * size) {
    const uint64_t encoded = encode(dtype, (static_cast<double>(rng() % 1200) - 600) / 4);
    std::memcpy(&bytes[at], &encoded, size);
  }
}

/// f32 as bits: every exponent with the mantissas at which something happens (ties and their neighbours of f16 and
/// bf16, quiet and signalling NaNs with payloads), integers and halves to beyond the range of 16 bits, and random ones.
inline std::vector<uint32_t> special_floats() {
  std::vector<uint32_t> out;
  for (const uint32_t sign : {0u, 0x80000000u}) {
    for (uint32_t exponent = 0; exponent < 256; ++exponent) {
      for (const uint32_t mantissa :
           {0u,        1u,        0x0fffu,   0x1000u,   0x1001u,   0x2fffu,   0x3000u,   0x3001u,   0x7fffu,
            0x8000u,   0x8001u,   0x17fffu,  0x18000u,  0x18001u,  0x3fffffu, 0x400000u, 0x400001u, 0x555555u,
            0x7fdfffu, 0x7fe000u, 0x7fefffu, 0x7ff000u, 0x7f7fffu, 0x7f8000u, 0x7fffffu})
        out.push_back(sign | exponent << 23 | mantissa);
    }
  }
  for (int quarter = -2400; quarter <= 2400; ++quarter) {
    const float value = static_cast<float>(quarter) / 4;
    for (const float near : {value, std::nextafter(value, -1e9f), std::nextafter(value, 1e9f)})
      out.push_back(std::bit_cast<uint32_t>(near));
  }
  for (const double limit : {65504.0, 65519.0, 65520.0, 65521.0, 32767.5, 2147483520.0, 2147483648.0})
    for (const double signed_limit : {limit, -limit})
      out.push_back(std::bit_cast<uint32_t>(static_cast<float>(signed_limit)));
  std::mt19937 rng(20);
  for (int i = 0; i < 20000; ++i) out.push_back(rng());
  return out;
}

/// f64 as bits: the values above, their neighbours, exponents that f32 has not, ties of f32 and of narrower types and
/// what lies just beside them, the limits of integers and their neighbours, and random bits.
inline std::vector<uint64_t> special_doubles() {
  std::vector<uint64_t> out;
  for (const uint32_t value : special_floats()) {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(value)));
    out.insert(out.end(), {bits - 1, bits, bits + 1, bits + 0x0fffffff, bits + 0x10000000, bits + 0x10000001});
  }
  for (uint64_t exponent = 0; exponent < 2048; ++exponent) {
    for (const uint64_t mantissa : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 51, (uint64_t{1} << 52) - 1})
      out.insert(out.end(), {exponent << 52 | mantissa, uint64_t{1} << 63 | exponent << 52 | mantissa});
  }
  for (int exponent = 7; exponent <= 65; ++exponent) {
    for (const double sign : {1.0, -1.0}) {
      const auto bits = std::bit_cast<uint64_t>(std::ldexp(sign, exponent));
      for (const double near : {-1.5, -1.0, -0.5, 0.5, 1.0})
        out.push_back(std::bit_cast<uint64_t>(std::ldexp(sign, exponent) + near));
      out.insert(out.end(), {bits - 2, bits - 1, bits + 1});
    }
  }
  std::mt19937_64 rng(27);
  for (int i = 0; i < 20000; ++i) out.push_back(rng());
  return out;
}

/// Integers of up to 64 bits: every power of two, the ties between it and what types of 2 to 53 bits of mantissa hold
/// next, the neighbours of all of these, all of them negative, and random numbers of every magnitude.
inline std::vector<uint64_t> special_integers() {
  std::vector<uint64_t> out;
  for (int power = 0; power < 64; ++power) {
    for (int place = 0; place <= power; ++place) {
      for (const uint64_t times : {1, 2, 3}) {
        const uint64_t value = (uint64_t{1} << power) + times * (uint64_t{1} << place);
        for (const uint64_t near : {value - 1, value, value + 1}) out.insert(out.end(), {near, -near});
      }
    }
  }
  std::mt19937_64 rng(28);
  for (int i = 0; i < 20000; ++i) out.push_back(rng() >> rng() % 64);
  return out;
}

/// All elements of a small type, the special ones of a large one.
inline const std::vector<std::byte>& telling_elements(DType dtype) {
  static std::array<std::vector<std::byte>, kDTypeCount> all;
  std::vector<std::byte>& out = all[static_cast<std::size_t>(dtype)];
  if (!out.empty()) return out;
  const auto size = static_cast<std::size_t>(dense_bytes(dtype));
  const auto append = [&](auto element) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&element);
    out.insert(out.end(), bytes, bytes + size);
  };
  if (bits(dtype) < 8) {
    for (int element = 0; element < 1 << bits(dtype); ++element) out.push_back(alone(dtype, std::byte(element)));
  } else if (size <= 2) {
    for (uint32_t element = 0; element < 1u << (8 * size); ++element) append(element);
  } else if (dtype == DType::f32) {
    for (const uint32_t element : special_floats()) append(element);
  } else {
    for (const uint64_t element : dtype == DType::f64 ? special_doubles() : special_integers()) append(element);
    out.resize(out.size() + 4096 * size);
    std::mt19937 rng(21);
    random_elements(dtype, std::span(out).last(4096 * size), rng);
  }
  return out;
}

}  // namespace relayout::test
