// Swizzle: the exclusive or at the end of a layout, which spreads the rows of a tile over the banks of a memory.
//
// CuTe's Swizzle<B, M, S>: B bits of an offset, from bit M + S on, are XORed into the B bits from bit M on. With S < 0
// it is the other way round: the bits from M on go into those from M - S on. Offsets count elements.
//
//     Swizzle s = Swizzle::make(3, 3, 3);     // offset ^= (offset >> 3) & 0b111000
//     s.apply(64) == 72                       // bit 6 goes into bit 3
//     s.apply(72) == 64                       // its own inverse
//
// A layout is a sum of digits times strides. An exclusive or is none, so it stands outside: a swizzled Layout has the
// offset swizzle(offset0 + sum), CuTe's ComposedLayout "Sw<B,M,S> o offset0 o layout" (Layout::with_swizzle()).
//
// Laws: apply(apply(x)) == x; apply maps every range of atom() offsets that begins at a multiple of atom() onto itself;
// offsets below run() from a multiple of run() on stay together in their order.
//
// Source: NVIDIA CUTLASS, include/cute/swizzle.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "relayout/cxx20.h"

namespace relayout {

class Swizzle {
 public:
  /// Changes nothing.
  constexpr Swizzle() = default;

  /// Error{invalid_argument} unless bits >= 0, base >= 0, |shift| >= bits (else the two fields would overlap) and both
  /// fields lie below bit kMaxBit. 0 bits are the default, whatever base and shift are.
  static Swizzle make(int64_t bits, int64_t base, int64_t shift);
  /// "3,3,3". Errors: those of make(), parse.
  static Swizzle parse(std::string_view numbers);
  static constexpr int kMaxBit = 40;

  constexpr int bits() const { return bits_; }
  constexpr int base() const { return base_; }
  constexpr int shift() const { return shift_; }
  constexpr bool identity() const { return bits_ == 0; }

  /// The lowest of the bits that are read, and the lowest of those that they are XORed into.
  constexpr int source() const { return base_ + (shift_ > 0 ? shift_ : 0); }
  constexpr int target() const { return base_ - (shift_ < 0 ? shift_ : 0); }
  /// The offsets that stay together, and those that are permuted among themselves; both powers of two.
  constexpr int64_t run() const { return int64_t{1} << base_; }
  constexpr int64_t atom() const { return int64_t{1} << (target() + bits_); }
  /// From which power of two on a number has no bit that is read or written.
  constexpr int64_t period() const { return int64_t{1} << ((shift_ < 0 ? target() : source()) + bits_); }

  /// The offset that an offset >= 0 becomes; its own inverse.
  constexpr int64_t apply(int64_t offset) const {
    return offset ^ (((offset >> source()) & ((int64_t{1} << bits_) - 1)) << target());
  }

  /// The swizzle without the highest bits that are 0 in all offsets up to `most`.
  Swizzle within(int64_t most) const;

  /// "Sw<3,3,3>", as CuTe prints it.
  std::string text() const;

  friend constexpr bool operator==(const Swizzle&, const Swizzle&) = default;

 private:
  constexpr Swizzle(int bits, int base, int shift)
      : bits_(static_cast<int8_t>(bits)), base_(static_cast<int8_t>(base)), shift_(static_cast<int8_t>(shift)) {}

  int8_t bits_ = 0, base_ = 0, shift_ = 0;
};

}  // namespace relayout
