// What an exclusive or at the end adds to a layout: the range of its offsets, equality, and the refusals.
#include <algorithm>
#include <limits>
#include <string>

#include "relayout/core/layout.h"

namespace relayout {
namespace {

/// The most indices that are compared, and the most offsets that are looked for: a second or two.
constexpr int64_t kMostSwizzledSteps = 30'000'000, kMostSoughtOffsets = 1'000'000;

void check_steps(const char* what, int64_t steps, int64_t most) {
  if (steps <= most) return;
  throw Error(ErrorCode::limit,
              std::string(what) + ": undecided after " + std::to_string(most) + " steps, as the layout is swizzled",
              "swizzle", std::to_string(steps), std::to_string(most));
}

/// Calls f(index) for every index below `extents`, the last dim fastest, while it returns true.
template <typename F>
void while_each_index(const Dims& extents, const F& f) {
  Dims index(extents.size(), 0);
  while (f(index)) {
    int d = extents.size() - 1;
    while (d >= 0 && ++index[d] == extents[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

}  // namespace

Layout Layout::with_swizzle(const Swizzle& swizzle) const {
  if (empty()) return *this;
  const Swizzle seen = swizzle.within(plain().offset_range().second);
  if (seen.identity()) return *this;
  if (swizzled()) {
    // Two different ones are no single one.
    if (!(seen == swizzle_)) {
      throw Error(ErrorCode::invalid_argument,
                  "layout: it is swizzled by " + swizzle_.text() + " already, and can be swizzled once only", "swizzle",
                  swizzle.text(), swizzle_.text());
    }
    return plain();
  }
  Layout out = *this;
  out.swizzle_ = seen;
  out.find_swizzled_range();
  return out;
}

Layout Layout::plain() const {
  Layout out = *this;
  out.swizzle_ = {};
  out.low_ = out.high_ = 0;
  return out;
}

void Layout::refuse_swizzle(std::string_view what) const {
  throw Error(ErrorCode::unsupported,
              "layout: " + std::string(what) + ": the layout ends in " + swizzle_.text() +
                  ", an exclusive or of bits of the offset, which no digits and strides say; reorder it into a layout "
                  "without a swizzle first",
              "swizzle", swizzle_.text(), "a layout without a swizzle");
}

void require_plain(const Layout& layout, std::string_view what) {
  if (layout.swizzled()) layout.refuse_swizzle(what);
}

/// All bits from atom() on stay. So the largest offset comes from the last atom that is reached, and the smallest from
/// the first. The ends of an atom are tried first: in a layout without gaps these are the answers.
void Layout::find_swizzled_range() {
  if (empty()) return;
  const Layout under = plain();
  const auto [low, high] = under.offset_range();
  const int64_t atom = swizzle_.atom();
  if (ndims() > 0 && padded_elements() <= std::min(atom, kMostSwizzledSteps)) {
    low_ = std::numeric_limits<int64_t>::max();
    high_ = 0;
    while_each_index(padded_dims(), [&](const Dims& index) {
      const int64_t offset = swizzle_.apply(under.offset(index));
      low_ = std::min(low_, offset);
      high_ = std::max(high_, offset);
      return true;
    });
  } else {
    int64_t steps = 0;
    const auto reached = [&, low = low, high = high](int64_t offset) {  // clang 14 captures no bindings
      check_steps("layout", ++steps, kMostSoughtOffsets);
      const int64_t before = swizzle_.apply(offset);
      return before >= low && before <= high && under.inverse(before, nullptr) != Slot::gap;
    };
    for (low_ = low & ~(atom - 1); !reached(low_);) ++low_;
    for (high_ = high | (atom - 1); !reached(high_);) --high_;
  }
  if (high_ != std::numeric_limits<int64_t>::max()) return;
  throw Error(ErrorCode::overflow, "layout: the span overflows 64 bits with " + swizzle_.text(), "swizzle",
              swizzle_.text(), std::to_string(high_ - 1));
}

bool operator==(const Layout& a, const Layout& b) {
  if (!(a.dims_ == b.dims_)) return false;
  const Layout x = a.canonical(), y = b.canonical();
  // An exclusive or maps offsets one to one, so that under the same one all is decided by what stands under it.
  if (x.swizzle_ == y.swizzle_) return x.offset0_ == y.offset0_ && x.first_ == y.first_ && x.digits_ == y.digits_;
  if (!(x.padded_dims() == y.padded_dims())) return false;
  int64_t steps = 0;
  bool equal = true;
  while_each_index(x.padded_dims(), [&](const Dims& index) {
    check_steps("layout: whether two are equal", ++steps, kMostSwizzledSteps);
    return equal = x.offset(index) == y.offset(index);
  });
  return equal;
}

}  // namespace relayout
