// Division by a constant as a multiplication, for kernels whose extents are constants (internal to this folder).
//
//     const Magic m = magic_division(7);          // n / 7 == mul_hi(n, m.multiplier) >> m.shift for 0 <= n < 2^31
//
// GPUs have no instruction that divides integers: a division takes some tens of them. Drivers' compilers replace a
// division by a constant themselves, but not all do; written out it costs the same everywhere.
//
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994, theorem 4.2.
#pragma once

#include <bit>
#include <cstdint>

namespace relayout::opencl {

struct Magic {
  uint32_t multiplier = 0;  // of a divisor that is no power of two
  int shift = 0;
  bool power_of_two = false;  // n / d == n >> shift
};

/// For a divisor from 1 to 2^31 - 1 and numbers below 2^31.
inline Magic magic_division(uint32_t divisor) {
  const int log = std::bit_width(divisor - 1);  // the least with 2^log >= divisor
  if (std::has_single_bit(divisor)) return {0, log, true};
  // multiplier = ceil(2^(31 + log) / divisor) < 2^32. It is too large by e / divisor with e < divisor <= 2^log, so the
  // quotient of n is too large by n * e / (divisor * 2^(31 + log)) < 1 / divisor for n < 2^31: rounded down it is
  // exact.
  const uint64_t multiplier = ((uint64_t{1} << (31 + log)) + divisor - 1) / divisor;
  return {static_cast<uint32_t>(multiplier), log - 1, false};
}

/// What a kernel computes; for tests.
inline uint32_t magic_quotient(uint32_t n, const Magic& magic) {
  if (magic.power_of_two) return n >> magic.shift;
  return static_cast<uint32_t>((uint64_t{n} * magic.multiplier) >> 32) >> magic.shift;
}

}  // namespace relayout::opencl
