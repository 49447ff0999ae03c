// Refinement of one dim of two layouts: its common mixed radix, and cutting a range of indices by it. Internal to
// reorder; refine.h explains the idea.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/reorder/refine/limits.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout {

inline constexpr int64_t kTop = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kMaxTableEntries = kMaxTableBytes / static_cast<int64_t>(sizeof(Offsets));

/// One digit of the common mixed radix of a dim. The `next` of each level is the `place` of the level above.
struct Level {
  int64_t place;       // how much one step of this digit adds to the index
  int64_t next;        // kTop for the highest level
  bool affine;         // step j of the digit adds j times the offset at `place`
  int32_t table = -1;  // if not affine: the table of a full digit, once it is made
};

using Levels = SmallVector<Level, 8>;

/// The indices of one dim that one box has. All ranges share one list of axes; each has some consecutive axes of it.
struct DimRange {
  Offsets offset;
  std::size_t first_axis, axes;
};

using DimRanges = SmallVector<DimRange, 12>;

int64_t entries_of(const Tables& tables);

/// Cuts indices begin..end-1 of dim d.
class DimRefiner {
 public:
  DimRefiner(const Layout& src, const Layout& dst, int d, AttributeStep attribute, int64_t begin, int64_t end);

  const Levels& levels() const { return levels_; }
  /// What index i adds to the offsets.
  Offsets at(int64_t i) const { return {src_->dim_offset(d_, i), dst_->dim_offset(d_, i), attribute_offset(i)}; }

  int64_t ranges() const { return ranges_; }
  /// How many entries the table of coarsen() would have.
  int64_t coarse_entries() const { return (end_ - begin_) / levels_[coarse_level()].place; }
  /// Makes all indices one range. One table replaces all levels from the first one of which the range is not whole
  /// steps.
  void coarsen();

  void make_ranges(Tables& tables, Axes& axes, DimRanges& out);

  /// Calls f(first index, top level, steps of that level) for each range of indices that begin..end-1 is cut into: at
  /// each index the coarsest level that starts there and fits is taken, as often as it fits.
  template <typename F>
  void cut(int64_t begin, int64_t end, const F& f) const {
    for (int64_t first = begin; first < end;) {
      const auto [top, count] = longest(first, end, levels_.size());
      f(first, top, count);
      first += count * levels_[top].place;
    }
  }

  /// Cuts begin..end-1 also at the places that do not divide each other, so that no range needs a table. Calls
  /// f(offsets of the first index, axes) for each range.
  template <typename F>
  void cut_affine(int64_t begin, int64_t end, const F& f) const {
    std::size_t nested = 0;
    while (nested < levels_.size() && levels_[nested].affine) ++nested;
    for (int64_t first = begin; first < end;) {
      auto [top, count] = longest(first, end, nested + 1);
      const Level& l = levels_[top];
      for (const int64_t place : places_) {
        if (!l.affine && place > l.place) count = std::min(count, (place - first % place) / l.place);
      }
      Axes axes;
      for (std::size_t k = 0; k < top; ++k) axes.push_back({levels_[k].next / levels_[k].place, at(levels_[k].place)});
      if (count > 1) {
        Offsets step = at(first + l.place);
        for (std::size_t k = 0; k < kOperands; ++k) step[k] -= at(first)[k];
        axes.push_back({count, step});
      }
      f(at(first), std::move(axes));
      first += count * l.place;
    }
  }

 private:
  struct Longest {
    std::size_t top;
    int64_t count;
  };
  /// The coarsest of the first `levels` levels that starts at index `first` and fits before `end`, and how often it
  /// fits.
  Longest longest(int64_t first, int64_t end, std::size_t levels) const {
    const std::size_t most = std::min(levels, levels_.size());
    std::size_t top = 0;
    while (top + 1 < most && first % levels_[top + 1].place == 0 && levels_[top + 1].place <= end - first) ++top;
    const Level& l = levels_[top];
    int64_t count = (end - first) / l.place;
    if (l.next != kTop) count = std::min(count, (l.next - first % l.next) / l.place);
    return {top, count};
  }
  int64_t attribute_offset(int64_t i) const {
    return attribute_.group == 1 ? i * attribute_.stride : i / attribute_.group * attribute_.stride;
  }
  void find_places();
  void find_levels();
  std::size_t coarse_level() const;
  int32_t make_table(int64_t first, int64_t step, int64_t count, Tables& tables) const;
  Axis axis(std::size_t level, int64_t first, int64_t count, Tables& tables);

  const Layout *src_, *dst_;
  int d_;
  AttributeStep attribute_;
  int64_t begin_, end_;
  SmallVector<int64_t, 8> places_;
  Levels levels_;
  int64_t ranges_ = 0;
};

}  // namespace relayout
