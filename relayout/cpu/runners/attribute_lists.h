// Lists of attribute values, an entry for each element, for kernels that convert: of elements whose values repeat in a
// run, and of short runs that are converted together (internal to cpu).
#pragma once

#include <algorithm>
#include <cstring>

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// The elements that are converted at a time with a list.
inline constexpr int64_t kListedValues = 512;
/// Values that list_values() writes at a time, up to so many behind the end.
inline constexpr int64_t kListed = 4;

/// Lists the attribute values of runs of n elements side by side: those of run r start at index at[r], `step` apart.
inline void list_values(const float* values, Starts at, int64_t runs, int64_t n, int64_t step, float* to) {
  struct Some {
    float of[kListed];
  };
  const auto put = [](float* where, const Some& some) { std::memcpy(where, &some, sizeof some); };
  if (step == 0) {
    for (int64_t r = 0; r < runs; ++r, to += n) {
      const float value = values[at[r]];
      for (int64_t i = 0; i < n; i += kListed) put(to + i, {value, value, value, value});
    }
  } else if (step == 1 && n >= kListed) {
    for (int64_t r = 0; r < runs; ++r, to += n) {
      const float* const from = values + at[r];
      Some some;
      for (int64_t i = 0; i + kListed <= n; i += kListed) {
        std::memcpy(&some, from + i, sizeof some);
        put(to + i, some);
      }
      std::memcpy(&some, from + n - kListed, sizeof some);
      put(to + n - kListed, some);
    }
  } else {
    for (int64_t r = 0; r < runs; ++r)
      for (int64_t i = 0; i < n; ++i) *to++ = values[at[r] + i * step];
  }
}

/// How attribute values go along a run: it has pieces of n elements. The values of piece p start at index at[p], those
/// of its elements are `step` apart, and after the last piece the first one's come again.
struct AttributePattern {
  int64_t n, step;
  int64_t pieces = 1;
  Starts at = kFirst;

  int64_t period() const { return n * pieces; }
};

/// The attribute values of the elements of a run, in which they repeat: those of the table itself, or copies of them
/// where they do not lie side by side there, or a list goes on beyond the end of a period.
template <typename C>
class AttributeRun {
 public:
  using Step = typename AttributeLists<C>::Step;

  AttributeRun(const AttributeTable<C>& table, int64_t first, const AttributePattern& pattern)
      : table_(table), first_(first), pattern_(pattern), period_(pattern.period()) {}

  /// For the elements from i on, at most kListedValues.
  AttributeLists<C> of(int64_t i, int64_t count) {
    const bool list = pattern_.pieces == 1;
    if (list && pattern_.step == 0) return table_.from(first_, Step::none);
    const int64_t place = i % period_;
    if (list && pattern_.step == 1 && place + count <= period_) return table_.from(first_ + place, Step::element);
    // Copies of a short period serve from any place in it.
    const int64_t begin = period_ <= kListedValues ? 0 : place, skipped = place - begin;
    if (begin != place_ || filled_ < skipped + count) fill(begin, skipped == 0 ? count : period_ + kListedValues);
    return {copies_[0] + skipped, copies_[1] + skipped, copies_[2] + skipped,
            copies_[3] + skipped, Step::element,        table_.divides};
  }

 private:
  void fill(int64_t place, int64_t count) {
    int64_t once = 0;
    const auto add = [&](int64_t index) {
      const AttributeValues<C> values = table_.at(index);
      copies_[0][once] = values.src_scale;
      copies_[1][once] = values.dst_scale;
      copies_[2][once] = values.subtracted;
      copies_[3][once] = values.added;
      ++once;
    };
    if (pattern_.pieces == 1) {
      const int64_t step = pattern_.step, most = std::min(count, period_);
      while (once < most) add(first_ + (place + once) % period_ * step);
    } else {
      for (int64_t p = 0; p < pattern_.pieces; ++p)
        for (int64_t i = 0; i < pattern_.n; ++i) add(first_ + pattern_.at[p] + i * pattern_.step);
    }
    // Twice as many with each turn.
    for (auto& copy : copies_) {
      for (int64_t done = once; done < count; done *= 2) std::copy_n(copy, std::min(done, count - done), copy + done);
    }
    place_ = place;
    filled_ = std::max(once, count);
  }

  const AttributeTable<C>& table_;
  const int64_t first_;
  const AttributePattern pattern_;
  const int64_t period_;
  int64_t place_ = -1, filled_ = 0;
  alignas(64) C copies_[4][2 * kListedValues];
};

}  // namespace relayout::cpu
