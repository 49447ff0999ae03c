// Random swizzled layouts: tiles as GPUs have them, and any digits, offsets and swizzles.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::test {

class SwizzledLayouts {
 public:
  explicit SwizzledLayouts(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  /// Extents of which some are powers of two.
  Dims dims(int64_t most) {
    Dims out;
    for (int d = static_cast<int>(pick(1, 3)); d > 0; --d)
      out.push_back(std::min(most, pick(0, 2) ? int64_t{1} << pick(0, 6) : pick(1, 70)));
    return out;
  }

  Swizzle swizzle() {
    const int64_t bits = pick(1, 3);
    return Swizzle::make(bits, pick(0, 4), pick(bits, bits + 2) * (pick(0, 3) ? 1 : -1));
  }

  /// Without collisions: digits that nest in a random order, with gaps, blocks, padding, flips and an offset at times.
  Layout layout(const Dims& dims) {
    struct Place {
      int dim;
      int64_t extent;
    };
    std::vector<Place> all;
    for (int d = 0; d < dims.size(); ++d) {
      const int64_t block = pick(0, 2) ? 1 : pick(0, 2) ? int64_t{1} << pick(1, 3) : pick(2, 5);
      if (block > 1) all.push_back({d, block});
      all.push_back({d, ceil_div(dims[d], block) + (pick(0, 7) ? 0 : 1)});
    }
    std::vector<std::size_t> order(all.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::shuffle(order, random_);
    std::vector<int64_t> strides(all.size());
    int64_t next = 1, before = 0;
    for (const std::size_t k : order) {
      strides[k] = pick(0, 9) ? next : next + pick(1, 8);
      next = strides[k] * all[k].extent;
      if (pick(0, 9) > 0) continue;
      before += (all[k].extent - 1) * strides[k];
      strides[k] = -strides[k];
    }
    std::vector<Digits> digits(static_cast<std::size_t>(dims.size()));
    for (std::size_t k = 0; k < all.size(); ++k)
      digits[static_cast<std::size_t>(all[k].dim)].push_back({all[k].extent, strides[k]});
    return Layout::from_digits(dims, digits, before + (pick(0, 3) ? 0 : pick(0, 1) ? 8 * pick(1, 9) : pick(1, 70)));
  }

 private:
  std::mt19937 random_;
};

}  // namespace relayout::test
