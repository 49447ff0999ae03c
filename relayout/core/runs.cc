// The walk over a layout's digits that finds its runs: the digits by the size of their strides, largest first, each
// counted so that offsets ascend. A part of the walk whose indices are all elements, or all padding, and which fills a
// range of offsets, is one run; all others are taken apart further.
#include "relayout/core/runs.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace relayout {
namespace {

using runs_detail::Visit;

enum class Wanted : uint8_t { elements, padding };

/// A digit that moves, with its dim and the value of one step in the dim's index.
struct MovingDigit {
  int64_t extent, stride, place;
  int dim;
};

/// Joins runs that touch, and hands them on.
class Joiner {
 public:
  Joiner(Visit visit, void* f) : visit_(visit), f_(f) {}

  /// False where the loop is to end.
  bool add(int64_t offset, int64_t length, const Dims& index) {
    if (length_ > 0 && offset == offset_ + length_) {
      length_ += length;
      return true;
    }
    const bool more = flush();
    offset_ = offset;
    length_ = length;
    index_ = index;
    return more;
  }
  bool flush() {
    const int64_t length = std::exchange(length_, 0);
    return length == 0 || visit_(f_, offset_, length, index_);
  }

 private:
  Visit visit_;
  void* f_;
  int64_t offset_ = 0, length_ = 0;
  Dims index_;
};

class Walk {
 public:
  Walk(const Layout& layout, Wanted wanted) : layout_(layout), wanted_(wanted), fixed_(layout.ndims(), 0) {
    const Layout canonical = layout.canonical();
    for (int d = 0; d < canonical.ndims(); ++d) {
      int64_t place = 1;
      for (const Digit& digit : canonical.digits(d)) {
        // A digit of stride 0 stays 0: an element that it reaches is also reached without it.
        if (digit.extent > 1 && digit.stride != 0) places_.push_back({digit.extent, digit.stride, place, d});
        place *= digit.extent;
      }
    }
    std::ranges::stable_sort(places_, std::ranges::greater{}, [](const MovingDigit& p) { return std::abs(p.stride); });
    const std::size_t count = places_.size();
    rest_.assign(count + 1, Dims(layout.ndims(), 0));
    lowest_ = rest_;
    dense_.assign(count + 1, 1);
    int64_t reach = 0;
    for (std::size_t k = count; k-- > 0;) {
      const MovingDigit& p = places_[k];
      const int64_t size = std::abs(p.stride);
      rest_[k] = rest_[k + 1];
      rest_[k][p.dim] += (p.extent - 1) * p.place;
      lowest_[k] = lowest_[k + 1];
      if (p.stride < 0) lowest_[k][p.dim] += (p.extent - 1) * p.place;
      dense_[k] = dense_[k + 1] == size ? size * p.extent : 0;
      nested_ = nested_ && size > reach;
      reach += (p.extent - 1) * size;
    }
  }

  /// Whether each stride steps over all that the smaller ones reach: then no two indices share an offset, other than by
  /// strides of 0.
  bool nested() const { return nested_; }

  template <typename Emit>
  void run(Emit emit) {
    if (layout_.empty()) return;
    uint32_t open = 0;
    for (int d = 0; d < layout_.ndims(); ++d) {
      if (rest_[0][d] >= layout_.dim(d)) open |= 1u << d;
    }
    step(0, layout_.offset_range().first, open, false, emit);
  }

 private:
  /// Walks the digits from k on; those before are fixed. `low` is the smallest offset that the rest can reach, `open`
  /// has the dims whose rest reaches elements and padding, and `beyond` says that an index is padding already.
  template <typename Emit>
  bool step(std::size_t k, int64_t low, uint32_t open, bool beyond, Emit& emit) {
    if (wanted_ == Wanted::elements ? beyond : !beyond && open == 0) return true;
    if ((beyond || open == 0) && dense_[k] > 0) {
      Dims index = fixed_;
      for (int d = 0; d < index.size(); ++d) index[d] += lowest_[k][d];
      return emit(low, dense_[k], index);
    }
    const MovingDigit& p = places_[k];
    const uint32_t bit = 1u << p.dim;
    int64_t& fixed = fixed_[p.dim];
    const int64_t before = fixed, extent = layout_.dim(p.dim);
    for (int64_t v = 0; v < p.extent; ++v) {
      const int64_t digit = p.stride < 0 ? p.extent - 1 - v : v;
      fixed = before + digit * p.place;
      uint32_t still_open = open;
      bool past = beyond;
      if (open & bit) {
        past = past || fixed >= extent;
        if (fixed >= extent || fixed + rest_[k + 1][p.dim] < extent) still_open &= ~bit;
      }
      if (!step(k + 1, low + v * std::abs(p.stride), still_open, past, emit)) return false;
    }
    fixed = before;
    return true;
  }

  const Layout& layout_;
  Wanted wanted_;
  std::vector<MovingDigit> places_;
  /// By the first digit that is not fixed: the most that the rest adds to each dim's index, and what it adds at the
  /// smallest offset.
  std::vector<Dims> rest_, lowest_;
  /// How many offsets the digits from k on fill without a gap, each once; 0 where they do not.
  std::vector<int64_t> dense_;
  bool nested_ = true;
  Dims fixed_;
};

/// The layout without its digits of stride 0. It has an offset of the layout once for each way to reach it by other
/// strides: if two of its indices share an offset, so do two of the layout.
Layout without_repeats(const Layout& layout) {
  Dims dims;
  std::vector<Digits> kept(static_cast<std::size_t>(layout.ndims()));
  for (int d = 0; d < layout.ndims(); ++d) {
    Digits& digits = kept[static_cast<std::size_t>(d)];
    // The last index, digit by digit. Where a digit that goes is not 0 in it, all indices of the smaller digits occur.
    int64_t rest = layout.dim(d) - 1, place = 1, last = 0;
    for (const Digit& digit : layout.digits(d)) {
      const int64_t value = rest % digit.extent;
      rest /= digit.extent;
      if (digit.stride != 0) {
        digits.push_back(digit);
        last += value * place;
        place *= digit.extent;
      } else if (value > 0) {
        last = place - 1;
      }
    }
    if (digits.empty()) digits.push_back({1, 0});
    dims.push_back(last + 1);
  }
  return Layout::from_digits(dims, kept, layout.offset0());
}

void check_injective(const Layout& layout) {
  const Layout once = without_repeats(layout);
  const auto collision = once.collision();
  if (!collision) return;
  const std::string offset = std::to_string(once.offset(collision->first));
  const auto named = layout.broadcast() ? std::nullopt : layout.collision();
  const std::string who =
      named ? "indices " + join(named->first) + " and " + join(named->second) : std::string("two indices");
  throw Error(ErrorCode::not_injective,
              "runs: " + who + " share the element at offset " + offset +
                  "; only a stride of 0 may repeat an element, because each is visited once",
              "layout", offset, "no two indices at one offset");
}

/// The runs of a swizzled layout: those under the swizzle, cut into pieces that stay together.
void visit_swizzled(const Layout& layout, void (*visit_plain)(const Layout&, Visit, void*), Visit visit, void* f) {
  struct Cutter {
    const Layout plain;
    const Swizzle swizzle;
    Joiner runs;
    bool more = true;
  } cutter{layout.plain(), layout.swizzle(), Joiner(visit, f)};
  const auto cut = [](void* self, int64_t offset, int64_t length, const Dims& first) {
    auto& [plain, swizzle, runs, more] = *static_cast<Cutter*>(self);
    const int64_t end = offset + length, run = swizzle.run();
    for (int64_t at = offset, next = at; at < end && more; at = next) {
      next = std::min(end, (at / run + 1) * run);
      Dims index = first;
      if (at != offset) plain.inverse(at, &index);
      more = runs.add(swizzle.apply(at), next - at, index);
    }
    return more;
  };
  visit_plain(cutter.plain, cut, &cutter);
  if (cutter.more) cutter.runs.flush();
}

}  // namespace

namespace runs_detail {

void visit_runs(const Layout& layout, Visit visit, void* f) {
  if (layout.empty()) return;
  if (layout.swizzled()) return visit_swizzled(layout, visit_runs, visit, f);
  Walk walk(layout, Wanted::elements);
  if (!walk.nested()) check_injective(layout);
  Joiner runs(visit, f);
  bool more = true;
  walk.run([&](int64_t offset, int64_t length, const Dims& index) { return more = runs.add(offset, length, index); });
  if (more) runs.flush();
}

void visit_padding_runs(const Layout& layout, Visit visit, void* f) {
  if (layout.empty() || !layout.padded()) return;
  if (layout.swizzled()) return visit_swizzled(layout, visit_padding_runs, visit, f);
  if (layout.ndims() == 0) {
    struct Caller {
      Visit visit;
      void* f;
    } caller{visit, f};
    const auto without_index = [](void* self, int64_t offset, int64_t length, const Dims&) {
      const Caller& to = *static_cast<Caller*>(self);
      return to.visit(to.f, offset, length, Dims());
    };
    return visit_padding_runs(layout.as_vector(), without_index, &caller);
  }
  Walk walk(layout, Wanted::padding);
  // An offset that an element shares is no padding. That can only be where indices share offsets at all.
  const bool shared = !walk.nested() && !without_repeats(layout).injective_with_padding();
  Joiner runs(visit, f);
  bool more = true;
  walk.run([&](int64_t offset, int64_t length, const Dims& index) {
    if (!shared) return more = runs.add(offset, length, index);
    for (int64_t i = offset; i < offset + length && more; ++i) {
      Dims at;
      if (layout.inverse(i, &at) == Slot::padding) more = runs.add(i, 1, at);
    }
    return more;
  });
  if (more) runs.flush();
}

}  // namespace runs_detail

std::optional<int64_t> gap_count(const Layout& layout) {
  static constexpr int64_t kMostSteps = int64_t{1} << 28, kMostOffsets = int64_t{1} << 24;
  if (layout.empty()) return 0;
  if (layout.ndims() == 0) return gap_count(layout.as_vector());
  if (layout.swizzled()) {  // as many offsets are reached as under the swizzle
    const auto gaps = gap_count(layout.plain());
    const auto [first, last] = layout.plain().offset_range();
    const auto range = layout.offset_range();
    return gaps ? std::optional(*gaps + (range.second - range.first) - (last - first)) : std::nullopt;
  }
  const auto [low, high] = layout.offset_range();
  const int64_t offsets = high - low + 1;
  const Layout once = without_repeats(layout);
  if (once.injective_with_padding()) return offsets - once.padded_elements();
  // Digit by digit: what the digits before reach, moved by each multiple of the stride.
  int64_t steps = 0;
  if (offsets > kMostOffsets) return std::nullopt;
  std::vector<uint8_t> reached(static_cast<std::size_t>(offsets), 0);
  reached[0] = 1;
  for (int d = 0; d < once.ndims(); ++d) {
    for (const Digit& digit : once.digits(d)) {
      if (digit.extent == 1) continue;
      steps += offsets;
      if (steps > kMostSteps) return std::nullopt;
      const auto stride = static_cast<std::size_t>(std::abs(digit.stride));
      const auto extent = static_cast<int32_t>(std::min(digit.extent, offsets));
      // By offset: how many steps of this digit away the nearest place is that was reached before it, or none.
      std::vector<int32_t> away(reached.size(), extent);
      for (std::size_t i = 0; i < reached.size(); ++i) {
        if (reached[i] != 0)
          away[i] = 0;
        else if (i >= stride)
          away[i] = std::min(extent, away[i - stride] + 1);
        reached[i] = away[i] < extent ? 1 : 0;
      }
    }
  }
  return std::ranges::count(reached, 0);
}

}  // namespace relayout
