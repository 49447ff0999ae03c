// Answers about swizzled layouts: under the same swizzle they are those about what stands under it; otherwise indices
// are looked at one by one.
#include "relayout/core/decide.h"

namespace relayout::decide_detail {

std::optional<Difference> difference_swizzled(const Layout& a, const Layout& b) {
  if (a.swizzle() == b.swizzle()) {
    auto out = difference(a.plain(), b.plain());
    if (!out) return std::nullopt;
    out->offset_a = a.offset(out->index);
    out->offset_b = b.offset(out->index);
    return out;
  }
  std::optional<Difference> out;
  int64_t count = 0;
  Dims index(a.ndims(), 0);
  for (int64_t steps = 0;; ++steps) {
    if (steps == kDecisionSteps && out) return out;
    if (steps == kDecisionSteps) {
      throw Error(ErrorCode::limit,
                  "difference: none among the first " + std::to_string(steps) + " elements, and the layouts have more",
                  "layout", std::to_string(a.elements()), std::to_string(kDecisionSteps));
    }
    const int64_t offset_a = a.offset(index), offset_b = b.offset(index);
    if (offset_a != offset_b) {
      if (!out) out = Difference{index, offset_a, offset_b, std::nullopt};
      ++count;
    }
    int d = a.ndims() - 1;
    while (d >= 0 && ++index[d] == a.dim(d)) index[d--] = 0;
    if (d < 0) break;
  }
  if (out) out->count = count;
  return out;
}

Overlap overlap_swizzled(const Layout& a, const Layout& b, int64_t max_steps) {
  if (a.swizzle() == b.swizzle()) {
    Overlap out = overlap(a.plain(), b.plain(), max_steps);
    if (out.answer == Answer::yes) out.offset = a.offset(out.index_a);
    return out;
  }
  const auto [low_a, high_a] = a.offset_range();
  const auto [low_b, high_b] = b.offset_range();
  if (high_a < low_b || high_b < low_a) return {};
  if (b.elements() < a.elements()) {
    Overlap out = overlap_swizzled(b, a, max_steps);
    std::swap(out.index_a, out.index_b);
    return out;
  }
  Overlap out;
  Dims index(a.ndims(), 0);
  while (true) {
    if (++out.steps > max_steps) {
      out.answer = Answer::undecided;
      return out;
    }
    Dims other;
    const int64_t offset = a.offset(index);
    if (b.inverse(offset, &other) == Slot::element) return {Answer::yes, index, other, offset, out.steps};
    int d = a.ndims() - 1;
    while (d >= 0 && ++index[d] == a.dim(d)) index[d--] = 0;
    if (d < 0) return out;
  }
}

}  // namespace relayout::decide_detail
