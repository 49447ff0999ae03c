// 128-bit numbers, for sums and differences of offsets of two layouts, which 64 bits do not hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace relayout {

__extension__ using Wide = __int128;

constexpr Wide abs_wide(Wide a) { return a < 0 ? -a : a; }

/// a / b rounded up, for any a and b > 0.
constexpr Wide ceil_div_wide(Wide a, Wide b) { return a / b + (a % b > 0); }

/// The values x >= low with factor * x = sum modulo `modulus`, as the first one and the step to the next; nothing where
/// there are none. Factor and modulus are from 1 up to 2^64.
struct Congruent {
  Wide first, step;
};
constexpr std::optional<Congruent> congruent(Wide factor, Wide sum, Wide modulus, Wide low) {
  // Euclid's algorithm: factor * x = divisor modulo `modulus`, and factor * next_x = next.
  Wide divisor = factor, x = 1, next = modulus, next_x = 0;
  while (next != 0) {
    const Wide quotient = divisor / next;
    divisor = std::exchange(next, divisor - quotient * next);
    x = std::exchange(next_x, x - quotient * next_x);
  }
  if (sum % divisor != 0) return std::nullopt;
  __extension__ using Unsigned = unsigned __int128;
  const Wide step = modulus / divisor;
  const auto modulo = [&](Wide value) { return (value % step + step) % step; };
  const auto at = static_cast<Wide>(static_cast<Unsigned>(modulo(sum / divisor)) * static_cast<Unsigned>(modulo(x)) %
                                    static_cast<Unsigned>(step));
  return Congruent{low + modulo(at - modulo(low)), step};
}

/// The smallest and the largest sum of digits' offsets over the indices 0 to extent - 1, which need not use all values
/// of the outermost digit. The digits (each an extent and a stride) are innermost first.
template <typename Digits>
constexpr std::pair<Wide, Wide> dim_range(const Digits& digits, int64_t extent) {
  // Compare an index with the last one, digit by digit from the outermost on. At the first difference its digit is
  // smaller, and all digits inside are free.
  Wide place = 1, low = 0, high = 0;  // over all values of the digits so far
  Wide cut_low = 0, cut_high = 0;     // over the values of these digits up to those of the last index
  for (const auto& digit : digits) {
    const Wide stride = digit.stride, top = (extent - 1) / place % digit.extent;
    const Wide below = (top - 1) * stride, at = top * stride;
    Wide next_low = cut_low + at, next_high = cut_high + at;
    if (top > 0) {  // if this digit is smaller, the digits inside are free
      next_low = std::min({next_low, low, low + below});
      next_high = std::max({next_high, high, high + below});
    }
    cut_low = next_low, cut_high = next_high;
    const Wide full = (digit.extent - 1) * stride;
    low += std::min<Wide>(full, 0), high += std::max<Wide>(full, 0);
    place *= digit.extent;
  }
  return {cut_low, cut_high};
}

}  // namespace relayout
