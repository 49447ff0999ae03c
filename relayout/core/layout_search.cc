// The two questions about a layout that need a search: which index lies at an offset, and whether two indices share
// one. Both searches go through the digits from the largest stride down. At each digit, what smaller strides can still
// add limits the values to try, so that a nested layout has one candidate for each digit.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/core/reach.h"
#include "relayout/core/small_vector.h"

namespace relayout {
namespace {

/// A search gives up after this many steps with Error{limit}. They take seconds, and only contrived strides need as
/// many.
constexpr int64_t kMaxSteps = 30'000'000;

/// A digit, its dim, and how far one step of it moves the index of the dim.
struct SearchedDigit {
  int64_t extent, stride, place;
  int dim;
};

struct SearchedDigits {
  SmallVector<SearchedDigit, 12> list;  // by |stride|, largest first
  SmallVector<int64_t, 13> reach;       // reach[k]: what places k.. can add at most to the magnitude of an offset
  SmallVector<int64_t, 13> divisor;     // divisor[k]: gcd of the strides of places k..
};

SearchedDigits searched_digits(const Layout& layout, const Dims& extents) {
  SearchedDigits out;
  const auto larger = [](const SearchedDigit& a, const SearchedDigit& b) {
    return std::abs(a.stride) > std::abs(b.stride);
  };
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t place = 1;
    for (const Digit& digit : layout.digits(d)) {
      // If the extent does not fill a digit, the digit takes fewer values.
      const int64_t extent = std::min(digit.extent, ceil_div(extents[d], place));
      if (extent > 1) {
        out.list.push_back({extent, digit.stride, place, d});
        const auto at = std::upper_bound(out.list.begin(), out.list.end() - 1, out.list.back(), larger);
        std::rotate(at, out.list.end() - 1, out.list.end());
      }
      place *= digit.extent;
    }
  }
  out.reach.resize(out.list.size() + 1);
  out.divisor.resize(out.list.size() + 1);
  for (std::size_t k = out.list.size(); k-- > 0;) {
    out.reach[k] = out.reach[k + 1] + std::abs(reach(out.list[k]));
    out.divisor[k] = std::gcd(out.divisor[k + 1], out.list[k].stride);
  }
  return out;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

void count_step(int64_t& steps, const char* what) {
  if (++steps > kMaxSteps) {
    throw Error(ErrorCode::limit, std::string(what) + ": undecided after " + std::to_string(kMaxSteps) + " steps",
                "strides", "", std::to_string(kMaxSteps));
  }
}

/// Finds two indices with equal offsets, as their difference: values of the digits, not all 0, whose offsets sum to 0.
struct CollisionSearch {
  const Layout& layout;
  const Dims& extents;
  SearchedDigits places;
  std::vector<int64_t> delta;
  Dims plus, minus;  // the two indices that the positive and the negative differences make
  int64_t steps = 0;

  bool search(std::size_t k, int64_t sum, bool nonzero) {
    count_step(steps, "injective");
    if (k == places.list.size()) return sum == 0 && nonzero;
    if (places.divisor[k] != 0 && sum % places.divisor[k] != 0) return false;
    const SearchedDigit& p = places.list[k];
    const int64_t size = std::abs(p.stride), reach = places.reach[k + 1];
    int64_t first = 1 - p.extent, last = p.extent - 1;
    if (size == 0) {
      if (sum != 0) return false;
    } else {
      // |sum + v * size| <= reach, where v = delta * sign(stride)
      first = std::max(first, -floor_div(sum + reach, size));
      last = std::min(last, floor_div(reach - sum, size));
    }
    if (!nonzero) first = std::max<int64_t>(first, 0);  // a difference and its negative are the same pair
    for (int64_t v = last; v >= first; --v) {
      const int64_t step = p.stride < 0 ? -v : v;
      Dims& side = step >= 0 ? plus : minus;
      const int64_t amount = std::abs(step) * p.place;
      if (side[p.dim] + amount >= extents[p.dim]) continue;
      side[p.dim] += amount;
      if (search(k + 1, sum + v * size, nonzero || v != 0)) return true;
      side[p.dim] -= amount;
    }
    return false;
  }
};

bool nested(const SearchedDigits& places) {
  for (std::size_t k = 0; k < places.list.size(); ++k) {
    if (std::abs(places.list[k].stride) <= places.reach[k + 1]) return false;
  }
  return true;
}

std::optional<std::pair<Dims, Dims>> find_collision(const Layout& layout, const Dims& extents) {
  if (std::ranges::find(extents, 0) != extents.end()) return std::nullopt;
  SearchedDigits places = searched_digits(layout, extents);
  if (nested(places)) return std::nullopt;
  CollisionSearch search{layout, extents, std::move(places), {}, Dims(layout.ndims(), 0), Dims(layout.ndims(), 0)};
  if (!search.search(0, 0, false)) return std::nullopt;
  return std::pair(search.minus, search.plus);
}

/// Finds the index at an offset; an element if there is one, else padding.
struct InverseSearch {
  const Layout& layout;
  SearchedDigits places;
  Dims index, best;
  bool found = false;
  int64_t steps = 0;

  /// True once an element is found.
  bool search(std::size_t k, int64_t rest) {
    count_step(steps, "inverse");
    if (k == places.list.size()) {
      if (rest != 0) return false;
      const bool element = std::equal(index.begin(), index.end(), layout.dims().begin(), std::less<>());
      if (element || !found) best = index;
      found = true;
      return element;
    }
    if (places.divisor[k] == 0 ? rest != 0 : rest % places.divisor[k] != 0) return false;
    const SearchedDigit& p = places.list[k];
    const int64_t size = std::abs(p.stride);
    int64_t first = 0, last = 0;
    if (size != 0) {
      first = std::max<int64_t>(0, -floor_div(places.reach[k + 1] - rest, size));
      last = std::min(p.extent - 1, floor_div(rest, size));
    }
    for (int64_t v = first; v <= last; ++v) {
      const int64_t digit = p.stride < 0 ? p.extent - 1 - v : v;
      index[p.dim] += digit * p.place;
      if (search(k + 1, rest - v * size)) return true;
      index[p.dim] -= digit * p.place;
    }
    return false;
  }
};

}  // namespace

// An exclusive or maps offsets one to one, so that two indices share an offset where they share one under it.
std::optional<std::pair<Dims, Dims>> Layout::collision() const {
  return swizzled() ? plain().collision() : find_collision(*this, dims_);
}

bool Layout::injective_with_padding() const {
  if (swizzled()) return plain().injective_with_padding();
  if (ndims() == 0) return !padded() || as_vector().injective_with_padding();
  return empty() || !find_collision(*this, padded_dims());
}

Slot Layout::inverse(int64_t offset, Dims* index) const {
  const auto [low, high] = offset_range();
  if (offset < low || offset > high) return Slot::gap;
  if (swizzled()) return plain().inverse(swizzle_.apply(offset), index);
  if (ndims() == 0) {
    const Slot slot = as_vector().inverse(offset, nullptr);
    if (index && slot != Slot::gap) *index = {};
    return slot;
  }
  InverseSearch search{*this, searched_digits(*this, padded_dims()), Dims(ndims(), 0), {}};
  const bool element = search.search(0, offset - low);
  if (index && search.found) *index = search.best;
  return element ? Slot::element : search.found ? Slot::padding : Slot::gap;
}

}  // namespace relayout
