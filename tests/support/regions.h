// What the tests of the kernels share: random bytes in guarded memory, and lists of even steps.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/support/guarded.h"

namespace relayout::test {

inline constexpr Guarded::Side kSides[] = {Guarded::Side::start, Guarded::Side::end};

inline void randomize(std::span<std::byte> bytes, std::mt19937& rng) {
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
}

/// 0, stride, 2 * stride ...
inline std::vector<int64_t> steps(int64_t count, int64_t stride) {
  std::vector<int64_t> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i) * stride;
  return out;
}

}  // namespace relayout::test
