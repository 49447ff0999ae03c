// Whether two layouts over one buffer share an offset: a linear equation in the digits of both, whose values are
// bounded. The search goes through the strides from the largest down; what the smaller ones can still add limits the
// values to try, and so does the greatest common divisor of their strides.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <vector>

#include "relayout/core/decide.h"
#include "relayout/core/wide.h"

namespace relayout {
namespace {

/// A digit of either layout. In the equation its value counts from the end at which it adds nothing.
struct EquationDigit {
  int64_t extent, place;
  int dim;
  bool in_b, reversed;
};

/// How often the equation has a stride: the sum of the values of all digits with this stride. Digits of a dim whose
/// extent leaves out some of their values are not added up, since their values depend on each other.
struct Unknown {
  int64_t size;  // the magnitude of the stride
  Wide most;     // the largest value; the smallest is 0
  bool ragged;
  std::vector<EquationDigit> digits;
};

/// Values to try: first, first + step and so on up to last.
struct Candidates {
  Wide first, last, step;

  Wide count() const { return last < first ? 0 : (last - first) / step + 1; }
};

class OverlapSearch {
 public:
  OverlapSearch(const Layout& a, const Layout& b, int64_t max_steps)
      : layouts_{&a, &b},
        index_{Dims(a.ndims(), 0), Dims(b.ndims(), 0)},
        rest_(Wide{b.offset0()} - a.offset0()),
        max_steps_(max_steps) {
    add_digits(a, false);
    add_digits(b, true);
    std::ranges::stable_sort(unknowns_, std::ranges::greater{}, &Unknown::size);
    reach_.resize(unknowns_.size() + 1);
    divisor_.resize(unknowns_.size() + 1);
    for (std::size_t k = unknowns_.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1] + unknowns_[k].most * unknowns_[k].size;
      divisor_[k] = std::gcd(divisor_[k + 1], unknowns_[k].size);
    }
  }

  Overlap run() {
    Overlap out;
    const bool found = search(0, rest_);
    out.steps = steps_;
    out.answer = found ? Answer::yes : gave_up() ? Answer::undecided : Answer::no;
    if (found) {
      out.index_a = index_[0];
      out.index_b = index_[1];
      out.offset = layouts_[0]->offset(index_[0]);
    }
    return out;
  }

 private:
  /// The equation is: offset of a - offset of b = 0. A digit with a negative coefficient counts backwards. A digit of
  /// stride 0 may stay 0.
  void add_digits(const Layout& layout, bool in_b) {
    for (int d = 0; d < layout.ndims(); ++d) {
      std::vector<Unknown> own;
      int64_t place = 1;
      Wide count = 1;
      for (const Digit& digit : layout.digits(d)) {
        const int64_t extent = std::min(digit.extent, ceil_div(layout.dim(d), place));
        if (extent > 1 && digit.stride != 0) {
          const bool reversed = (digit.stride < 0) != in_b;
          own.push_back({std::abs(digit.stride), extent - 1, false, {{extent, place, d, in_b, reversed}}});
          if (reversed) rest_ += Wide{extent - 1} * std::abs(digit.stride);
        }
        count *= extent;
        place *= digit.extent;
      }
      const bool ragged = count != layout.dim(d);
      ragged_ = ragged_ || ragged;
      for (Unknown& unknown : own) {
        unknown.ragged = ragged;
        add(unknown);
      }
    }
  }

  void add(const Unknown& unknown) {
    const auto same = std::ranges::find_if(
        unknowns_, [&](const Unknown& u) { return u.size == unknown.size && !u.ragged && !unknown.ragged; });
    if (same == unknowns_.end()) {
      unknowns_.push_back(unknown);
    } else {
      same->most += unknown.most;
      same->digits.push_back(unknown.digits[0]);
    }
  }

  bool gave_up() const { return steps_ > max_steps_; }

  bool search(std::size_t k, Wide rest) {
    if (++steps_ > max_steps_) return false;
    if (k == unknowns_.size()) return rest == 0;
    if (rest < 0 || rest > reach_[k] || rest % divisor_[k] != 0) return false;  // so congruent() has a value below
    // Where all values of the digits are indices, what is left does not depend on how it came to be.
    const auto key = static_cast<uint64_t>(rest) * 128 + k;
    const bool kept = !ragged_ && rest < (Wide{1} << 56);
    if (kept && failed_.contains(key)) return false;
    const Candidates values = values_of(k, rest);
    const std::optional<Candidates> rests = rests_after_two(k, rest);
    const bool by_rests = rests && rests->count() < values.count();
    if (by_rests ? search_rests(k, rest, *rests) : search_values(k, rest, values)) return true;
    if (kept && !gave_up() && failed_.size() < kMostKept) failed_.insert(key);
    return false;
  }

  /// The values of unknown k after which the smaller strides may reach the rest.
  Candidates values_of(std::size_t k, Wide rest) const {
    const Unknown& u = unknowns_[k];
    Wide low = std::max<Wide>(0, ceil_div_wide(rest - reach_[k + 1], u.size));
    Wide high = std::min(u.most, rest / u.size);
    if (u.ragged) {
      const EquationDigit& digit = u.digits[0];
      const int side = digit.in_b ? 1 : 0;
      const int64_t most = (layouts_[side]->dim(digit.dim) - 1 - index_[side][digit.dim]) / digit.place;
      if (digit.reversed) {
        low = std::max(low, u.most - most);
      } else {
        high = std::min<Wide>(high, most);
      }
    }
    if (divisor_[k + 1] == 0) return {low, high, 1};
    const Congruent values = *congruent(u.size, rest, divisor_[k + 1], low);
    return {values.first, high, values.step};
  }

  bool search_values(std::size_t k, Wide rest, const Candidates& values) {
    for (Wide v = values.first; v <= values.last && !gave_up(); v += values.step) {
      move(k, v, 1);
      if (search(k + 1, rest - v * unknowns_[k].size)) return true;
      move(k, v, -1);
    }
    return false;
  }

  /// What unknowns k and k + 1 together may leave for the smaller strides, in units of the divisor of these. Two slices
  /// of one array with steps 2 and 3 have many pairs of values that leave the same, and one of these pairs is enough.
  /// Nothing for ragged unknowns, whose pairs are not alike, and for the last two unknowns: there the first value that
  /// values_of() finds for the larger one solves the equation.
  std::optional<Candidates> rests_after_two(std::size_t k, Wide rest) const {
    if (k + 2 >= unknowns_.size() || unknowns_[k].ragged || unknowns_[k + 1].ragged) return std::nullopt;
    const Wide unit = divisor_[k + 2];
    const Wide low = std::max<Wide>(0, rest - (reach_[k] - reach_[k + 2])), high = std::min(rest, reach_[k + 2]);
    const Congruent rests =
        *congruent(unit, rest, std::gcd(unknowns_[k].size, unknowns_[k + 1].size), ceil_div_wide(low, unit));
    return Candidates{rests.first, high / unit, rests.step};
  }

  bool search_rests(std::size_t k, Wide rest, const Candidates& rests) {
    const Unknown &u = unknowns_[k], &w = unknowns_[k + 1];
    for (Wide units = rests.first; units <= rests.last && !gave_up(); units += rests.step) {
      const Wide left = units * divisor_[k + 2], sum = rest - left;
      const Wide low = std::max<Wide>(0, ceil_div_wide(sum - w.most * w.size, u.size));
      const Wide value = congruent(u.size, sum, w.size, low)->first;
      if (value > std::min(u.most, sum / u.size)) {
        ++steps_;
        continue;
      }
      const Wide other = (sum - value * u.size) / w.size;
      move(k, value, 1);
      move(k + 1, other, 1);
      if (search(k + 2, left)) return true;
      move(k, value, -1);
      move(k + 1, other, -1);
    }
    return false;
  }

  /// Adds the digits of an unknown's value to the indices, or takes them away.
  void move(std::size_t k, Wide value, int sign) {
    for (const EquationDigit& digit : unknowns_[k].digits) {
      const auto own = static_cast<int64_t>(std::min<Wide>(value, digit.extent - 1));
      value -= own;
      index_[digit.in_b ? 1 : 0][digit.dim] += sign * (digit.reversed ? digit.extent - 1 - own : own) * digit.place;
    }
  }

  static constexpr std::size_t kMostKept = 1 << 20;

  const Layout* layouts_[2];
  std::vector<Unknown> unknowns_;  // by size, largest first
  std::vector<Wide> reach_;        // reach_[k]: the most that the unknowns from k on add up to
  std::vector<int64_t> divisor_;   // divisor_[k]: the greatest common divisor of their sizes, 0 for none
  Dims index_[2];
  Wide rest_;
  int64_t max_steps_;
  bool ragged_ = false;
  std::unordered_set<uint64_t> failed_;
  int64_t steps_ = 0;
};

}  // namespace

Overlap overlap(const Layout& a, const Layout& b, int64_t max_steps) {
  if (a.empty() || b.empty()) return {};
  if (a.swizzled() || b.swizzled()) return decide_detail::overlap_swizzled(a, b, max_steps);
  return OverlapSearch(a, b, max_steps).run();
}

}  // namespace relayout
