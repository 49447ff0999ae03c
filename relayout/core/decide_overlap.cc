// Whether two layouts over one buffer share an offset: a linear equation in the digits of both, whose values are
// bounded. The search goes through the digits from the largest stride down; what the smaller ones can still add limits
// the values to try, and so does the greatest common divisor of their strides.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "relayout/core/decide.h"

namespace relayout {
namespace {

/// Sums of two layouts' offsets do not fit 64 bits.
__extension__ using Wide = __int128;

/// A digit of either layout. In the equation its value counts from the end at which it adds nothing.
struct Unknown {
  int64_t extent, size;  // size: the magnitude of its stride
  int64_t place;
  int dim;
  bool in_b, reversed;
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
      reach_[k] = reach_[k + 1] + Wide{unknowns_[k].extent - 1} * unknowns_[k].size;
      divisor_[k] = std::gcd(divisor_[k + 1], unknowns_[k].size);
    }
  }

  Overlap run() {
    Overlap out;
    const bool found = search(0, rest_);
    out.steps = std::min(steps_, max_steps_);
    out.answer = found ? Answer::yes : steps_ > max_steps_ ? Answer::undecided : Answer::no;
    if (found) {
      out.index_a = index_[0];
      out.index_b = index_[1];
      out.offset = layouts_[0]->offset(index_[0]);
    }
    return out;
  }

 private:
  /// The equation is: offset of a - offset of b = 0. A digit with a negative coefficient counts backwards.
  void add_digits(const Layout& layout, bool in_b) {
    for (int d = 0; d < layout.ndims(); ++d) {
      int64_t place = 1, count = 1;
      for (const Digit& digit : layout.digits(d)) {
        const int64_t extent = std::min(digit.extent, ceil_div(layout.dim(d), place));
        if (extent > 1) {
          const bool reversed = (digit.stride < 0) != in_b && digit.stride != 0;
          unknowns_.push_back({extent, std::abs(digit.stride), place, d, in_b, reversed});
          if (reversed) rest_ += Wide{extent - 1} * std::abs(digit.stride);
          count *= extent;
        }
        place *= digit.extent;
      }
      ragged_ = ragged_ || count != layout.dim(d);
    }
  }

  bool search(std::size_t k, Wide rest) {
    if (++steps_ > max_steps_) return false;
    if (k == unknowns_.size()) return rest == 0;
    if (rest < 0 || rest > reach_[k] || (divisor_[k] != 0 && rest % divisor_[k] != 0)) return false;
    // Where all values of the digits are indices, what is left does not depend on how it came to be.
    const auto key = static_cast<uint64_t>(rest) * 128 + k;
    const bool kept = !ragged_ && rest < (Wide{1} << 56);
    if (kept && failed_.contains(key)) return false;
    const Unknown& u = unknowns_[k];
    int64_t first = 0, last = 0;
    if (u.size != 0) {
      const Wide low = rest - reach_[k + 1];
      first = low <= 0 ? 0 : static_cast<int64_t>((low + u.size - 1) / u.size);
      last = static_cast<int64_t>(std::min<Wide>(u.extent - 1, rest / u.size));
    }
    int64_t& index = index_[u.in_b ? 1 : 0][u.dim];
    for (int64_t v = first; v <= last; ++v) {
      const int64_t added = (u.reversed ? u.extent - 1 - v : v) * u.place;
      if (index + added >= layouts_[u.in_b ? 1 : 0]->dim(u.dim)) continue;
      index += added;
      if (search(k + 1, rest - Wide{v} * u.size)) return true;
      index -= added;
    }
    if (kept && failed_.size() < kMostKept) failed_.insert(key);
    return false;
  }

  static constexpr std::size_t kMostKept = 1 << 20;

  const Layout* layouts_[2];
  std::vector<Unknown> unknowns_;
  std::vector<Wide> reach_;
  std::vector<int64_t> divisor_;
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
  return OverlapSearch(a, b, max_steps).run();
}

}  // namespace relayout
