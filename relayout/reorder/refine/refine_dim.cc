// Refinement of one dim of two layouts.
#include "relayout/reorder/refine/refine_dim.h"

#include <numeric>
#include <string>

namespace relayout {

int64_t entries_of(const Tables& tables) {
  int64_t entries = 0;
  for (const Table& table : tables) entries += table.size();
  return entries;
}

DimRefiner::DimRefiner(const Layout& src, const Layout& dst, int d, AttributeStep attribute, int64_t begin, int64_t end)
    : src_(&src), dst_(&dst), d_(d), attribute_(attribute), begin_(begin), end_(end) {
  find_places();
  find_levels();
  cut(begin, end, [&](int64_t, std::size_t, int64_t) { ++ranges_; });
}

void DimRefiner::coarsen() {
  levels_.resize(coarse_level() + 1);
  levels_.back() = {levels_.back().place, kTop, false};
  ranges_ = 1;
}

void DimRefiner::make_ranges(Tables& tables, Axes& axes, DimRanges& out) {
  cut(begin_, end_, [&](int64_t first, std::size_t top, int64_t count) {
    const std::size_t first_axis = axes.size();
    const auto add = [&](const Axis& axis) {
      if (axis.extent > 1) axes.push_back(axis);
    };
    for (std::size_t k = 0; k < top; ++k) add(axis(k, 0, levels_[k].next / levels_[k].place, tables));
    add(axis(top, first, count, tables));
    out.push_back({at(first), first_axis, axes.size() - first_axis});
  });
}

void DimRefiner::find_places() {
  places_ = {1};
  for (const Layout* side : {src_, dst_}) {
    int64_t place = 1;
    for (const Digit& digit : side->digits(d_)) {
      if (place < end_ && place > 1) places_.push_back(place);
      if (place > end_ / std::max<int64_t>(digit.extent, 1)) break;
      place *= digit.extent;
    }
  }
  if (attribute_.group > 1 && attribute_.group < end_) places_.push_back(attribute_.group);
  std::ranges::sort(places_);
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
}

void DimRefiner::find_levels() {
  const auto divides_rest = [&](int64_t value, std::size_t from) {
    return std::all_of(places_.begin() + static_cast<std::ptrdiff_t>(from), places_.end(),
                       [&](int64_t p) { return p % value == 0; });
  };
  levels_.reserve(places_.size());
  // Invariant: `place` divides all places from k on. Consecutive places that do not divide each other become a table
  // from their gcd to their lcm, or to the top where the lcm is out of the range.
  int64_t place = 1;
  for (std::size_t k = 1; k < places_.size();) {
    if (divides_rest(places_[k], k)) {
      levels_.push_back({place, places_[k], true});
      place = places_[k++];
      continue;
    }
    int64_t gcd = places_[k], lcm = places_[k];
    do {
      gcd = std::gcd(gcd, places_[k]);
      const auto next = checked_mul(lcm / std::gcd(lcm, places_[k]), places_[k]);
      lcm = next && *next < end_ ? *next : kTop;
      ++k;
    } while (k < places_.size() && (lcm == kTop || !divides_rest(lcm, k)));
    if (gcd > place) levels_.push_back({place, gcd, true});
    levels_.push_back({gcd, lcm, false});
    place = lcm;
  }
  if (place != kTop) levels_.push_back({place, kTop, true});
}

std::size_t DimRefiner::coarse_level() const {
  std::size_t level = 0;
  while (level + 1 < levels_.size() && begin_ % levels_[level].next == 0 && end_ % levels_[level].next == 0) ++level;
  return level;
}

int32_t DimRefiner::make_table(int64_t first, int64_t step, int64_t count, Tables& tables) const {
  if (count > kMaxTableEntries - entries_of(tables)) {
    const std::string bytes = std::to_string(static_cast<double>(count) * sizeof(Offsets));
    const std::string need = bytes.substr(0, bytes.find('.')), dim = "dims[" + std::to_string(d_) + "]";
    const std::string limit = std::to_string(kMaxTableBytes);
    throw Error(ErrorCode::limit,
                "reorder: the blocks of dim " + std::to_string(d_) + " need a table of " + need +
                    " bytes; all tables together may take " + limit,
                dim, need, limit);
  }
  std::vector<Offsets> table(static_cast<std::size_t>(count));
  const Offsets base = at(first);
  for (int64_t j = 0; j < count; ++j) {
    const Offsets here = at(first + j * step);
    for (std::size_t k = 0; k < kOperands; ++k) table[static_cast<std::size_t>(j)][k] = here[k] - base[k];
  }
  tables.emplace_back(table);
  return static_cast<int32_t>(tables.size()) - 1;
}

/// The axis of `count` steps of a level, from index `first` on. All axes of a full level share one table.
Axis DimRefiner::axis(std::size_t level, int64_t first, int64_t count, Tables& tables) {
  Level& l = levels_[level];
  if (count == 1) return {};
  if (l.affine) return {count, at(l.place), -1};
  if (first % l.next != 0 || l.next == kTop) return {count, {}, make_table(first, l.place, count, tables)};
  if (l.table < 0) l.table = make_table(0, l.place, l.next / l.place, tables);
  return {count, {}, l.table};
}

}  // namespace relayout
