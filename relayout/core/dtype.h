// Element types: what a stored number is, apart from where it lies.
//
// Names are oneDNN's, and those of bool and of integers that only files have. Values of the small floating types are
// kept as their bits (`float16_bits` ...); core/float.h converts them.
//
//     DType t = parse_dtype("bf16");   bits(t) == 16, kind(t) == DTypeKind::floating
//
// A new type gets a line in each of the two lists here; CONTRIBUTING.md has the other steps in their order.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "relayout/cxx20.h"

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
  // The types from here on are read and written by way of those before (cpu/kernels/conversion.h).
  s4,
  u4,
  f8_e8m0,  // a power of two from 2^-127 to 2^127, or NaN: no zero and no sign
  f6_e3m2,  // these and f4_e2m1 have no infinity and no NaN
  f6_e2m3,
  f4_e2m1,
  s2,
  u2,
  u1,
};

enum class DTypeKind : uint8_t { floating, signed_integer, unsigned_integer, boolean };

/// What the functions below say of a type, for code that needs it as a constant. One row a type, in the order of DType.
struct DTypeRow {
  DType dtype;
  std::string_view name;
  int bits;
  DTypeKind kind;
};
inline constexpr DTypeRow kDTypeRows[] = {
    DTypeRow{DType::f64, "f64", 64, DTypeKind::floating},
    DTypeRow{DType::f32, "f32", 32, DTypeKind::floating},
    DTypeRow{DType::f16, "f16", 16, DTypeKind::floating},
    DTypeRow{DType::bf16, "bf16", 16, DTypeKind::floating},
    DTypeRow{DType::f8_e5m2, "f8_e5m2", 8, DTypeKind::floating},
    DTypeRow{DType::f8_e4m3, "f8_e4m3", 8, DTypeKind::floating},
    DTypeRow{DType::s64, "s64", 64, DTypeKind::signed_integer},
    DTypeRow{DType::s32, "s32", 32, DTypeKind::signed_integer},
    DTypeRow{DType::s16, "s16", 16, DTypeKind::signed_integer},
    DTypeRow{DType::s8, "s8", 8, DTypeKind::signed_integer},
    DTypeRow{DType::u64, "u64", 64, DTypeKind::unsigned_integer},
    DTypeRow{DType::u32, "u32", 32, DTypeKind::unsigned_integer},
    DTypeRow{DType::u16, "u16", 16, DTypeKind::unsigned_integer},
    DTypeRow{DType::u8, "u8", 8, DTypeKind::unsigned_integer},
    DTypeRow{DType::boolean, "bool", 8, DTypeKind::boolean},
    DTypeRow{DType::s4, "s4", 4, DTypeKind::signed_integer},
    DTypeRow{DType::u4, "u4", 4, DTypeKind::unsigned_integer},
    DTypeRow{DType::f8_e8m0, "f8_e8m0", 8, DTypeKind::floating},
    DTypeRow{DType::f6_e3m2, "f6_e3m2", 6, DTypeKind::floating},
    DTypeRow{DType::f6_e2m3, "f6_e2m3", 6, DTypeKind::floating},
    DTypeRow{DType::f4_e2m1, "f4_e2m1", 4, DTypeKind::floating},
    DTypeRow{DType::s2, "s2", 2, DTypeKind::signed_integer},
    DTypeRow{DType::u2, "u2", 2, DTypeKind::unsigned_integer},
    DTypeRow{DType::u1, "u1", 1, DTypeKind::unsigned_integer},
};
inline constexpr int kDTypeCount = static_cast<int>(std::size(kDTypeRows));

/// "f32", ..., "bool" for DType::boolean.
std::string_view name(DType dtype);
/// Bits of one element: 1, 2, 4, 6, 8, 16, 32 or 64. Elements of fewer than 8 bits (*sub-byte* elements) follow each
/// other without gaps, the first in the lowest bits of the first byte: element i has the bits from i * bits on of the
/// bytes read as one little-endian number. So two of 4 bits share a byte, and four of 6 bits share three.
int bits(DType dtype);
/// After how many elements one starts a byte again: 8 of 1 bit, 4 of 2 or 6 bits, 2 of 4 bits, otherwise 1.
constexpr int byte_period(int bits) { return bits % 8 == 0 ? 1 : bits % 4 == 0 ? 2 : bits % 2 == 0 ? 4 : 8; }
inline int byte_period(DType dtype) { return byte_period(bits(dtype)); }
DTypeKind kind(DType dtype);
inline bool is_floating(DType dtype) { return kind(dtype) == DTypeKind::floating; }
inline bool is_integer(DType dtype) {
  return kind(dtype) == DTypeKind::signed_integer || kind(dtype) == DTypeKind::unsigned_integer;
}

/// Bytes that hold `elements` elements (rounded up to whole bytes), or nothing on overflow.
std::optional<int64_t> bytes_for(DType dtype, int64_t elements);

/// The type that a text means, of the names that people type. In this order it is read as
///
///     a name above              f32, bf16, f8_e4m3, s8, bool, u4, u1
///     a code of NumPy           <f4, |i1, =u2, |b1, ? behind a mark; its number counts bytes. >f4 is refused, as types
///                               here are the machine's own
///     a word                    half, single, double, short, ushort, long (64 bits), ulong, ubyte, bool_, boolean, bit
///     a kind and its bits       float32, fp16, f64; bfloat16; int4, sint8, i32; uint1; float8_e4m3fn, e5m2, e8m0fnu
///
/// the last two in small or capital letters, and behind a module: torch.float16, np.uint8, numpy., ml_dtypes., jnp.,
/// jax.numpy. What means two types is refused with both: float, int and byte without their module (torch.float is f32,
/// torch.int s32, torch.byte u8, np.byte s8), and i2, i4, i8, f4 and f8, which count bits to some and bytes to NumPy.
/// int4 and s4 are elements of 4 bits, and u1, u2, u4 and u8 names above. Error{parse} lists the names, and suggests
/// one that is near.
DType parse_dtype(std::string_view text);
/// The type of a name above, exactly as name() has it, or nothing.
std::optional<DType> find_dtype(std::string_view text);
/// All types, in declaration order.
std::span<const DType> all_dtypes();

}  // namespace relayout
