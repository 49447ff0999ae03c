// Random layouts of small extents, for tests that compare an answer with a loop over all indices.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::test {

/// Layouts of any digits: nested and not, repeated, reversed, padded.
class RandomLayouts {
 public:
  explicit RandomLayouts(uint32_t seed) : random_(seed) {}

  int64_t up_to(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random_); }

  Dims dims() {
    Dims out;
    for (auto rank = up_to(3); rank >= 0; --rank) out.push_back(up_to(12) == 0 ? 0 : 1 + up_to(5));
    return out;
  }

  Layout layout(const Dims& dims) {
    std::vector<Digits> digits;
    const bool tame = up_to(1) == 0;  // strides as of a dense array, in some order
    int64_t next = 1, low = 0;
    for (const int64_t dim : dims) {
      Digits list;
      int64_t capacity = 1;
      do {
        const int64_t extent = up_to(2) == 0 ? 1 + up_to(3) : std::max<int64_t>(1, dim);
        int64_t stride = tame ? next : up_to(9);
        if (up_to(7) == 0) stride = -stride;
        list.push_back({extent, stride});
        if (stride < 0) low += (extent - 1) * stride;
        capacity *= extent;
        next *= extent;
      } while (capacity < dim);
      digits.push_back(list);
    }
    return Layout::from_digits(dims, digits, -low + up_to(3));
  }

 private:
  std::mt19937 random_;
};

}  // namespace relayout::test
