// Where two layouts part, and which order the elements of two layouts have. decide_overlap.cc has the search for a
// shared offset, reshape.cc what is viewable.
#include "relayout/core/decide.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "relayout/core/runs.h"

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

/// How often each difference of offsets occurs among the indices of some dims.
using Counts = std::unordered_map<int64_t, int64_t>;

/// Counts the differences of the dims from `first` up to `last`; false where that takes more than `steps`.
bool count_differences(const Layout& a, const Layout& b, int first, int last, int64_t& steps, Counts& out) {
  out = {{0, 1}};
  for (int d = first; d < last; ++d) {
    Counts one;
    if ((steps -= a.dim(d)) < 0) return false;
    for (int64_t i = 0; i < a.dim(d); ++i) ++one[b.dim_offset(d, i) - a.dim_offset(d, i)];
    Counts sums;
    const auto pairs = checked_mul(static_cast<int64_t>(one.size()), static_cast<int64_t>(out.size()));
    if (!pairs || (steps -= *pairs) < 0) return false;
    for (const auto& [x, times] : out) {
      for (const auto& [y, more] : one) sums[x + y] += times * more;
    }
    out = std::move(sums);
  }
  return true;
}

/// How many indices have the same offset in both layouts: those whose differences sum to what the offsets of the first
/// element differ by. The dims are counted in two halves, which then need not be multiplied out.
std::optional<int64_t> count_equal(const Layout& a, const Layout& b) {
  int64_t steps = kDecisionSteps;
  Counts outer, inner;
  const int half = a.ndims() / 2;
  if (!count_differences(a, b, 0, half, steps, outer) || !count_differences(a, b, half, a.ndims(), steps, inner))
    return std::nullopt;
  int64_t equal = 0;
  for (const auto& [x, times] : outer) {
    const auto other = inner.find(a.offset0() - b.offset0() - x);
    if (other != inner.end()) equal += times * other->second;
  }
  return equal;
}

}  // namespace

std::optional<Difference> difference(const Layout& a, const Layout& b) {
  check_same_dims("difference", a, b);
  if (a.empty()) return std::nullopt;
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
  Difference out{index, a.offset(index), b.offset(index), count_equal(a, b)};
  if (out.count) out.count = a.elements() - *out.count;
  return out;
}

namespace {

/// A digit that both layouts have.
struct CommonDigit {
  int dim;
  int64_t place, extent;
  int64_t stride_a, stride_b;
};

/// The digits that two layouts have in common, of extents over 1; nothing where place values do not divide each other.
std::optional<std::vector<CommonDigit>> common_digits(const Layout& a, const Layout& b) {
  std::vector<CommonDigit> out;
  for (int d = 0; d < a.ndims(); ++d) {
    const std::vector<int64_t> places = places_of(a, b, d);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const bool last = k + 1 == places.size();
      if (!last && places[k + 1] % places[k] != 0) return std::nullopt;
      const int64_t extent = last ? ceil_div(a.dim(d), places[k]) : places[k + 1] / places[k];
      if (extent > 1)
        out.push_back({d, places[k], extent, a.dim_offset(d, places[k]), b.dim_offset(d, places[k])});
    }
  }
  return out;
}

/// By how much the offsets of a dim's indices can differ at most where only these digits of it move, in ascending order
/// of their places. `extent` is the dim's where they are all that it has; otherwise each takes all of its values.
int64_t spread(std::vector<CommonDigit> digits, int64_t CommonDigit::*stride, std::optional<int64_t> extent) {
  std::ranges::sort(digits, std::ranges::less{}, &CommonDigit::place);
  int64_t low = 0, high = 0;  // of the digits so far, each of which takes all of its values
  int64_t below_low = 0, below_high = 0;  // of the indices up to the last one's part in these digits
  int64_t last = extent.value_or(1) - 1;
  for (const CommonDigit& digit : digits) {
    const int64_t value = last / digit.place % digit.extent, step = digit.*stride;
    // An index below the last one has this digit like the last one's, or a smaller digit and any digits inside it.
    const int64_t at = value * step;
    int64_t new_low = at + below_low, new_high = at + below_high;
    if (value > 0) {
      new_low = std::min(new_low, std::min<int64_t>(0, (value - 1) * step) + low);
      new_high = std::max(new_high, std::max<int64_t>(0, (value - 1) * step) + high);
    }
    below_low = new_low;
    below_high = new_high;
    (step < 0 ? low : high) += (digit.extent - 1) * step;
  }
  return extent ? below_high - below_low : high - low;
}

/// Sorts by a layout's strides, largest first, and says whether each exceeds what the smaller ones reach.
bool sort_nested(std::vector<CommonDigit>& digits, int64_t CommonDigit::*stride, const Dims& dims) {
  std::ranges::stable_sort(
      digits, [&](const CommonDigit& x, const CommonDigit& y) { return std::abs(x.*stride) > std::abs(y.*stride); });
  for (std::size_t k = 0; k < digits.size(); ++k) {
    int64_t reach = 0;
    for (int d = 0; d < dims.size(); ++d) {
      std::vector<CommonDigit> smaller;
      std::copy_if(digits.begin() + static_cast<std::ptrdiff_t>(k) + 1, digits.end(), std::back_inserter(smaller),
                   [&](const CommonDigit& digit) { return digit.dim == d; });
      const auto all = std::ranges::count(digits, d, &CommonDigit::dim);
      const bool whole = static_cast<std::ptrdiff_t>(smaller.size()) == all;
      reach += spread(std::move(smaller), stride, whole ? std::optional(dims[d]) : std::nullopt);
    }
    if (std::abs(digits[k].*stride) <= reach) return false;
  }
  return true;
}

Dims unit_index(const Layout& layout, const CommonDigit& digit) {
  Dims out(layout.ndims(), 0);
  out[digit.dim] = digit.place;
  return out;
}

/// The order of two layouts whose digits are nested in both: that of the digits. Nothing where the extent of a dim
/// leaves out the index that would tell.
std::optional<MemoryOrder> order_of_digits(const Layout& a, const std::vector<CommonDigit>& by_a,
                                           const std::vector<CommonDigit>& by_b) {
  const Dims zero(a.ndims(), 0);
  for (std::size_t k = 0; k < by_a.size(); ++k) {
    const CommonDigit &x = by_a[k], &y = by_b[k];
    if ((x.stride_a < 0) != (x.stride_b < 0)) return MemoryOrder{Answer::no, zero, unit_index(a, x)};
    if (x.dim == y.dim && x.place == y.place) continue;
    // Digit x counts for more than y in a, and for less in b.
    if ((y.stride_a < 0) != (y.stride_b < 0)) return MemoryOrder{Answer::no, zero, unit_index(a, y)};
    const Dims ix = unit_index(a, x), iy = unit_index(a, y);
    if ((x.stride_a < 0) == (y.stride_a < 0)) return MemoryOrder{Answer::no, ix, iy};
    // The strides point in opposite directions: both steps together are compared with none.
    Dims both = ix;
    both[y.dim] += y.place;
    if (both[y.dim] >= a.dim(y.dim)) return std::nullopt;
    return MemoryOrder{Answer::no, zero, both};
  }
  return MemoryOrder{};
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
  if (auto by_a = common_digits(a, b)) {
    std::vector<CommonDigit> by_b = *by_a;
    if (sort_nested(*by_a, &CommonDigit::stride_a, a.dims()) && sort_nested(by_b, &CommonDigit::stride_b, a.dims())) {
      if (const auto order = order_of_digits(a, *by_a, by_b)) return *order;
    }
  }
  if (a.elements() > kMostSorted) return {Answer::undecided, {}, {}};
  return order_by_sorting(a, b);
}

std::optional<NotDense> not_dense(const Layout& layout) {
  if (layout.dense()) return std::nullopt;
  NotDense out;
  out.collision = layout.collision();
  if (out.collision) return out;
  auto digits = common_digits(layout, layout);
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
