// Element types: what a stored number is, apart from where it lies.
//
// Names are oneDNN's, plus the integers and bool that files bring. Values of the small floating
// types are kept as their bits (`float16_bits` ...); conversions are in core/float.h.
//
//     DType t = parse_dtype("bf16");   bits(t) == 16, kind(t) == DTypeKind::floating
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace relayout {

enum class DType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8_e5m2,
  f8_e4m3,
  s64,
  s32,
  s16,
  s8,
  u64,
  u32,
  u16,
  u8,
  boolean,  // one byte, 0 or 1; any other byte reads as true
  s4,
  u4,  // two elements a byte, the even one in the low nibble
};
inline constexpr int kDTypeCount = 17;

enum class DTypeKind : uint8_t { floating, signed_integer, unsigned_integer, boolean };

/// "f32", ..., "bool" for DType::boolean.
std::string_view name(DType dtype);
/// Bits of one element: 4, 8, 16, 32 or 64.
int bits(DType dtype);
DTypeKind kind(DType dtype);
inline bool is_floating(DType dtype) { return kind(dtype) == DTypeKind::floating; }
inline bool is_integer(DType dtype) {
  return kind(dtype) == DTypeKind::signed_integer || kind(dtype) == DTypeKind::unsigned_integer;
}

/// Bytes that hold `elements` elements (rounded up to whole bytes), or nothing on overflow.
std::optional<int64_t> bytes_for(DType dtype, int64_t elements);

/// The type of that name, or Error{parse} that lists the names.
DType parse_dtype(std::string_view text);
/// The type of that name, or nothing.
std::optional<DType> find_dtype(std::string_view text);
/// All types, in declaration order.
std::span<const DType> all_dtypes();

}  // namespace relayout
