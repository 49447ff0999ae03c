// Where two layouts differ, and which order the elements of two layouts have. decide_overlap.cc has the search for a
// shared offset, reshape.cc what is viewable.
#include "relayout/core/decide.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "relayout/core/runs.h"
#include "relayout/core/wide.h"

namespace relayout {
namespace {

void check_same_dims(const char* what, const Layout& a, const Layout& b) {
  if (a.dims() == b.dims()) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(what) + ": dims " + join(a.dims()) + " and " + join(b.dims()) + " are not the same", "dims",
              join(b.dims()), join(a.dims()));
}

/// The place values of a dim's digits in either layout, ascending, those below the extent.
std::vector<int64_t> places_of(const Layout& a, const Layout& b, int d) {
  std::vector<int64_t> out;
  for (const Layout* layout : {&a, &b}) {
    int64_t place = 1;
    for (const Digit& digit : layout->digits(d)) {
      if (place < a.dim(d)) out.push_back(place);
      place *= std::max<int64_t>(digit.extent, 1);
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// A digit that both layouts have.
struct CommonDigit {
  int dim;
  int64_t place, extent;
  int64_t stride_a, stride_b;
};

/// Adds the digits that two layouts have in common in a dim, of extents over 1; false where place values do not divide
/// each other.
bool add_common_digits(const Layout& a, const Layout& b, int d, std::vector<CommonDigit>& out) {
  const std::vector<int64_t> places = places_of(a, b, d);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const bool last = k + 1 == places.size();
    if (!last && places[k + 1] % places[k] != 0) return false;
    const int64_t extent = last ? ceil_div(a.dim(d), places[k]) : places[k + 1] / places[k];
    if (extent > 1) out.push_back({d, places[k], extent, a.dim_offset(d, places[k]), b.dim_offset(d, places[k])});
  }
  return true;
}

/// Counts the indices that have the same offset in both layouts. Each digit that both have adds its value times a
/// constant to the difference of the offsets. The two digits with the most values are counted by a formula. Of all
/// else a table says how often each difference occurs.
class EqualOffsets {
 public:
  EqualOffsets(const Layout& a, const Layout& b) : a_(a), b_(b), start_(b.offset0() - a.offset0()) {}

  /// Nothing where the table would take too many steps or entries.
  std::optional<int64_t> count() {
    table_ = {{start_, 1}};
    for (int d = 0; d < a_.ndims(); ++d) {
      if (!take_dim(d)) return std::nullopt;
    }
    std::ranges::sort(terms_, std::ranges::greater{}, &Term::extent);
    terms_.resize(std::max<std::size_t>(terms_.size(), 2), {1, 1});
    for (std::size_t k = 2; k < terms_.size(); ++k) {
      const Term& term = terms_[k];
      if (!multiply(term.extent, [&](int64_t i) { return term.step * i; })) return std::nullopt;
    }
    int64_t equal = 0;
    for (const auto& [sum, times] : table_) equal += times * solutions(terms_[0], terms_[1], -Wide{sum});
    return equal * factor_;
  }

 private:
  static constexpr std::size_t kMostEntries = 1 << 20;

  /// A digit that takes all of its values, and what each step of it adds to the difference.
  struct Term {
    int64_t extent;
    Wide step;
  };

  bool take_dim(int d) {
    std::vector<CommonDigit> digits;
    const bool divide = add_common_digits(a_, b_, d, digits);
    Wide values = 1;
    bool equal = divide;
    for (const CommonDigit& digit : digits) {
      values *= digit.extent;
      equal = equal && digit.stride_a == digit.stride_b;
    }
    if (equal) {
      factor_ *= a_.dim(d);
    } else if (divide && values == a_.dim(d)) {
      for (const CommonDigit& digit : digits) {
        const Wide step = Wide{digit.stride_b} - digit.stride_a;
        if (step == 0) factor_ *= digit.extent;
        if (step != 0) terms_.push_back({digit.extent, step});
      }
    } else {  // the extent leaves out some values of the digits
      return multiply(a_.dim(d), [&](int64_t i) { return Wide{b_.dim_offset(d, i)} - a_.dim_offset(d, i); });
    }
    return true;
  }

  /// Adds the differences of `extent` values to those of the table. They fit 64 bits, since each is the difference of
  /// the two offsets of an index.
  template <typename F>
  bool multiply(int64_t extent, const F& difference_of) {
    Table one, sums;
    if ((steps_ -= extent) < 0) return false;
    for (int64_t i = 0; i < extent; ++i) {
      ++one[static_cast<int64_t>(start_ + difference_of(i))];
      if (one.size() > kMostEntries) return false;
    }
    if (const auto first = table_.begin(); table_.size() == 1 && first->first == start_ && first->second == 1) {
      table_ = std::move(one);
      return true;
    }
    if ((steps_ -= static_cast<int64_t>(one.size() * table_.size())) < 0) return false;
    for (const auto& [x, times] : table_) {
      for (const auto& [y, more] : one) {
        sums[static_cast<int64_t>(Wide{x} + y - start_)] += times * more;
        if (sums.size() > kMostEntries) return false;
      }
    }
    table_ = std::move(sums);
    return true;
  }

  /// How many values two digits can have that add up to `sum`.
  static int64_t solutions(Term x, Term y, Wide sum) {
    for (Term* term : {&x, &y}) {
      if (term->step > 0) continue;
      term->step = -term->step;  // count its values from the other end
      sum += term->step * (term->extent - 1);
    }
    if (sum < 0) return 0;
    const Wide low = std::max<Wide>(0, ceil_div_wide(sum - y.step * (y.extent - 1), x.step));
    const Wide high = std::min<Wide>(x.extent - 1, sum / x.step);
    const auto values = congruent(x.step, sum, y.step, low);
    return !values || values->first > high ? 0 : static_cast<int64_t>((high - values->first) / values->step + 1);
  }

  /// How often each difference occurs.
  using Table = std::unordered_map<int64_t, int64_t>;

  const Layout &a_, &b_;
  const int64_t start_;  // what the offsets of the first element differ by
  int64_t factor_ = 1;   // how many indices have each difference, since they differ only in what both have alike
  std::vector<Term> terms_;
  Table table_;
  int64_t steps_ = kDecisionSteps;
};

}  // namespace

std::optional<Difference> difference(const Layout& a, const Layout& b) {
  check_same_dims("difference", a, b);
  if (a.empty()) return std::nullopt;
  if (a.swizzled() || b.swizzled()) return decide_detail::difference_swizzled(a, b);
  Dims index(a.ndims(), 0);
  bool differ = a.offset0() != b.offset0();
  // Where two dims' functions agree at each place value of either, they agree at every index. In row-major order the
  // first index that differs therefore has one entry that is not 0, in the innermost dim that differs.
  for (int d = a.ndims() - 1; d >= 0 && !differ; --d) {
    for (const int64_t place : places_of(a, b, d)) {
      if (a.dim_offset(d, place) == b.dim_offset(d, place)) continue;
      index[d] = place;
      differ = true;
      break;
    }
  }
  if (!differ) return std::nullopt;
  Difference out{index, a.offset(index), b.offset(index), EqualOffsets(a, b).count()};
  if (out.count) out.count = a.elements() - *out.count;
  return out;
}

namespace {

/// The digits that two layouts have in common in all dims; nothing where place values do not divide each other.
std::optional<std::vector<CommonDigit>> common_digits(const Layout& a, const Layout& b) {
  std::vector<CommonDigit> out;
  for (int d = 0; d < a.ndims(); ++d) {
    if (!add_common_digits(a, b, d, out)) return std::nullopt;
  }
  return out;
}

/// By how much the offsets of a dim's indices can differ at most where only these digits of it move, in ascending order
/// of their places. `extent` is the dim's where they are all that it has; otherwise each takes all of its values.
Wide spread(const std::vector<CommonDigit>& digits, int64_t CommonDigit::*stride, std::optional<int64_t> extent) {
  std::vector<Digit> list;
  Wide free = 0;
  for (const CommonDigit& digit : digits) {
    list.push_back({digit.extent, digit.*stride});
    free += (digit.extent - 1) * abs_wide(digit.*stride);
  }
  if (!extent) return free;
  const auto [low, high] = dim_range(list, *extent);
  return high - low;
}

/// Sorts by a layout's strides, largest first, and says whether each exceeds what the smaller ones reach.
bool sort_nested(std::vector<CommonDigit>& digits, int64_t CommonDigit::*stride, const Dims& dims) {
  std::ranges::stable_sort(
      digits, [&](const CommonDigit& x, const CommonDigit& y) { return abs_wide(x.*stride) > abs_wide(y.*stride); });
  for (std::size_t k = 0; k < digits.size(); ++k) {
    Wide reach = 0;
    for (int d = 0; d < dims.size(); ++d) {
      std::vector<CommonDigit> smaller;
      std::copy_if(digits.begin() + static_cast<std::ptrdiff_t>(k) + 1, digits.end(), std::back_inserter(smaller),
                   [&](const CommonDigit& digit) { return digit.dim == d; });
      std::ranges::sort(smaller, std::ranges::less{}, &CommonDigit::place);
      const auto all = std::ranges::count(digits, d, &CommonDigit::dim);
      const bool whole = static_cast<std::ptrdiff_t>(smaller.size()) == all;
      reach += spread(smaller, stride, whole ? std::optional(dims[d]) : std::nullopt);
    }
    if (abs_wide(digits[k].*stride) <= reach) return false;
  }
  return true;
}

Dims unit_index(const Layout& layout, const CommonDigit& digit) {
  Dims out(layout.ndims(), 0);
  out[digit.dim] = digit.place;
  return out;
}

/// The order of two layouts whose digits are nested in both. Of two indices, the largest stride among the digits in
/// which they differ decides which comes first. The layouts therefore have another order where two digits count for
/// more in one and for less in the other, and two indices differ in both so that it matters. `by_a` is sorted by the
/// strides of a, largest first.
MemoryOrder order_of_digits(const Layout& a, const std::vector<CommonDigit>& by_a) {
  const Dims zero(a.ndims(), 0);
  for (const CommonDigit& x : by_a) {
    if ((x.stride_a < 0) != (x.stride_b < 0)) return {Answer::no, zero, unit_index(a, x)};
  }
  for (auto x = by_a.begin(); x != by_a.end(); ++x) {
    for (auto y = x + 1; y != by_a.end(); ++y) {
      if (abs_wide(x->stride_b) > abs_wide(y->stride_b)) continue;
      const Dims ix = unit_index(a, *x), iy = unit_index(a, *y);
      if ((x->stride_a < 0) == (y->stride_a < 0)) return {Answer::no, ix, iy};
      // The strides point in opposite directions, so it matters only where both digits grow. The extent may leave out
      // all such indices.
      Dims both = ix;
      both[y->dim] += y->place;
      if (both[y->dim] < a.dim(y->dim)) return {Answer::no, zero, both};
    }
  }
  return {};
}

/// Compares the order of all elements, one after the other.
MemoryOrder order_by_sorting(const Layout& a, const Layout& b) {
  struct Place {
    int64_t a, b, number;
  };
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(a.elements()));
  Dims index(a.ndims(), 0);
  for (int64_t number = 0; number < a.elements(); ++number) {
    places.push_back({a.offset(index), b.offset(index), number});
    for (int d = a.ndims() - 1; d >= 0 && ++index[d] == a.dim(d); --d) index[d] = 0;
  }
  std::ranges::sort(places, [](const Place& x, const Place& y) { return x.a != y.a ? x.a < y.a : x.b < y.b; });
  const auto index_of = [&](int64_t number) {
    Dims out(a.ndims(), 0);
    for (int d = a.ndims() - 1; d >= 0; number /= a.dim(d), --d) out[d] = number % a.dim(d);
    return out;
  };
  for (std::size_t k = 1; k < places.size(); ++k) {
    const Place &x = places[k - 1], &y = places[k];
    if ((x.a == y.a) != (x.b == y.b) || x.b > y.b) return {Answer::no, index_of(x.number), index_of(y.number)};
  }
  return {};
}

}  // namespace

MemoryOrder same_memory_order(const Layout& a, const Layout& b) {
  static constexpr int64_t kMostSorted = int64_t{1} << 22;
  check_same_dims("memory order", a, b);
  if (a.empty()) return {};
  const bool swizzled = a.swizzled() || b.swizzled();
  if (swizzled && a == b) return {};
  if (swizzled && a.elements() > kMostSorted) return {Answer::undecided, {}, {}};
  if (swizzled) return order_by_sorting(a, b);
  if (auto digits = common_digits(a, b); digits && sort_nested(*digits, &CommonDigit::stride_b, a.dims()) &&
                                         sort_nested(*digits, &CommonDigit::stride_a, a.dims())) {
    return order_of_digits(a, *digits);
  }
  if (a.elements() > kMostSorted) return {Answer::undecided, {}, {}};
  return order_by_sorting(a, b);
}

std::optional<NotDense> not_dense(const Layout& layout) {
  if (layout.dense()) return std::nullopt;
  NotDense out;
  out.collision = layout.collision();
  if (out.collision) return out;
  auto digits = layout.swizzled() ? std::nullopt : common_digits(layout, layout);
  const bool ascending = digits && sort_nested(*digits, &CommonDigit::stride_a, layout.dims());
  std::vector<std::pair<int64_t, int64_t>> runs;  // from and up to; one alone where they ascend
  for_each_run(layout, [&](int64_t offset, int64_t length) {
    if (!ascending || runs.empty()) {
      if (static_cast<int64_t>(runs.size()) == kDecisionSteps) {
        throw Error(ErrorCode::limit, "dense: undecided after " + std::to_string(kDecisionSteps) + " runs", "strides",
                    "", std::to_string(kDecisionSteps));
      }
      runs.emplace_back(offset, offset + length);
      return true;
    }
    if (offset > runs[0].second) out.hole = runs[0].second;
    runs[0].second = offset + length;
    return !out.hole;
  });
  std::ranges::sort(runs);
  for (std::size_t k = 1; k < runs.size() && !out.hole; ++k) {
    if (runs[k].first > runs[k - 1].second) out.hole = runs[k - 1].second;
  }
  return out;
}

}  // namespace relayout
