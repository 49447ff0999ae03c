// Finding what boxes have in common, and where their own elements lie.
#include "relayout/reorder/boxes/methods/together.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace relayout {
namespace {

/// The most steps of a table, and the most intervals, that are looked at.
constexpr int64_t kMostSteps = 512;
constexpr std::size_t kMostIntervals = 512;

/// Calls run(offset) for each step of the axes.
template <typename Run>
void each_step(const Axes& axes, std::size_t from, const Offsets& offset, const Run& run) {
  if (from == axes.size()) return run(offset);
  Offsets at = offset;
  for (int64_t i = 0; i < axes[from].extent; ++i) {
    each_step(axes, from + 1, at, run);
    for (std::size_t k = 0; k < kOperands; ++k) at[k] += axes[from].stride[k];
  }
}

/// A box with the axis at `axis`, which has a table, replaced by a box for each run of its steps. Nothing where the
/// steps differ in attribute values.
std::optional<std::vector<Box>> expanded(const Box& box, const Axis& axis, const std::array<int64_t, 2>& size,
                                         const Tables& tables) {
  const Table& table = tables[static_cast<std::size_t>(axis.table)];
  std::vector<Box> out;
  Offsets last{};
  int64_t run = 0;
  for (int64_t i = 0; i < axis.extent; ++i) {
    const Offsets entry = table[i];
    if (entry[kAttribute] != 0) return std::nullopt;
    const Offsets at{entry[kSrc] * size[kSrc], entry[kDst] * size[kDst], 0};
    if (i > 0 && at[kSrc] == last[kSrc] + run * size[kSrc] && at[kDst] == last[kDst] + run * size[kDst]) {
      out.back().axes.back().extent = ++run;
      continue;
    }
    Box& next = out.emplace_back(box);
    erase_if(next.axes, [&](const Axis& a) { return a == axis; });
    for (const Operand k : {kSrc, kDst}) next.offset[k] += at[k];
    next.axes.push_back({run = 1, {size[kSrc], size[kDst], 0}, -1});
    last = at;
  }
  return out;
}

/// Where the own elements lie on one side: stretches of equal lengths that have all of them, and with `gaps` perhaps
/// others, from `begin` to `end`. Nothing where there are none.
/// With `alone`, no others lie between them but padding.
std::optional<Together::Footprint> footprint(const std::vector<Box>& boxes, Operand side, int64_t unit, bool gaps,
                                             bool alone, int64_t begin, int64_t end) {
  if (alone && gaps) {
    int64_t elements = 0;
    Interval all{std::numeric_limits<int64_t>::max(), 0};
    for (const Box& box : boxes) {
      elements += count_elements(box);
      const Interval own = reach(box.offset, box.axes, side, unit);
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
    }
    if (side == kDst) return Together::Footprint{(end - begin) / unit, {begin}};
    if (all.end - all.begin <= kMostSpread * elements * unit)
      return Together::Footprint{(all.end - all.begin) / unit, {all.begin}};
  }
  std::vector<Interval> all;
  for (const Box& box : boxes) {
    Axes outer = box.axes;
    erase_if(outer, [](const Axis& axis) { return axis.extent == 1; });
    int64_t run = 1;
    for (auto next = stepping(outer, side, unit); next != outer.end(); next = stepping(outer, side, unit * run))
      run *= take(outer, next).extent;
    if (all.size() + static_cast<std::size_t>(count_elements(outer)) > kMostIntervals) return std::nullopt;
    each_step(outer, 0, box.offset, [&](const Offsets& at) { all.push_back({at[side], at[side] + run * unit}); });
  }
  std::ranges::sort(all, {}, &Interval::begin);
  std::vector<Interval> merged;
  int64_t longest = 0;
  for (const Interval& interval : all) {
    if (!merged.empty() && interval.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, interval.end);
    else
      merged.push_back(interval);
    longest = std::max(longest, merged.back().end - merged.back().begin);
  }
  Together::Footprint out{longest / unit, {}};
  int64_t covered = std::numeric_limits<int64_t>::min();
  for (const Interval& interval : merged) {
    if (interval.end <= covered) continue;
    if (interval.begin < covered || (!gaps && interval.end - interval.begin != longest)) return std::nullopt;
    covered = interval.begin + longest;
    out.starts.push_back(interval.begin);
  }
  if (covered > end) return std::nullopt;
  return out;
}

/// Whether stretches of the own elements, at all steps of the axes, have no place in common: whether each axis steps
/// over all that is nearer, in between the starts or beyond them.
bool apart(const Together::Footprint& own, Axes axes, int64_t unit) {
  int64_t room = std::numeric_limits<int64_t>::max(), inner = own.length * unit;
  for (std::size_t i = 1; i < own.starts.size(); ++i) room = std::min(room, own.starts[i] - own.starts[i - 1]);
  int64_t outer = own.starts.back();
  for (auto next = nearest(axes, kDst); next != axes.end(); next = nearest(axes, kDst)) {
    const Axis axis = take(axes, next);
    const int64_t step = axis.stride[kDst], reach = axis.reach(kDst);
    if (step >= inner && reach + inner <= room) {
      inner += reach;
    } else if (step >= outer + inner) {
      outer += reach;
      room = 0;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Together> join(std::span<const Box> boxes, const std::array<int64_t, 2>& size, const Gaps& gaps,
                             const Tables& tables, bool whole) {
  Together out{boxes[0].axes, boxes[0].offset, {{}}, {}, 1};
  const auto has_table = [](const Axis& axis) { return axis.table >= 0 && axis.extent <= kMostSteps; };
  const auto is_table = [](const Axis& axis) { return axis.table >= 0; };
  if (!whole && boxes.size() == 1 && std::ranges::none_of(out.axes, has_table) && gaps.dst &&
      std::ranges::any_of(out.axes, is_table))
    return std::nullopt;
  if (!whole && boxes.size() == 1 && std::ranges::none_of(out.axes, has_table))
    return gaps.dst && !apart(out.footprints[kDst], out.axes, size[kDst]) ? std::nullopt : std::optional(out);
  if (whole) {
    out.axes.clear();
  } else if (boxes.size() == 1) {
    out.axes.erase(std::ranges::find_if(out.axes, has_table));
  } else {
    erase_if(out.axes, [&](const Axis& axis) {
      return std::ranges::any_of(boxes, [&](const Box& b) { return std::ranges::find(b.axes, axis) == b.axes.end(); });
    });
  }
  out.own.clear();
  for (const Box& box : boxes) {
    Box own = box;
    erase_if(own.axes, [&](const Axis& axis) { return std::ranges::find(out.axes, axis) != out.axes.end(); });
    own.offset[kAttribute] -= boxes[0].offset[kAttribute];
    if (own.offset[kAttribute] != 0) return std::nullopt;
    const auto table = std::ranges::find_if(own.axes, has_table);
    auto expansion = table == own.axes.end() ? std::vector{own} : expanded(own, *table, size, tables);
    if (!expansion) return std::nullopt;
    if (out.own.size() + expansion->size() > kMostIntervals) return std::nullopt;
    for (Box& one : *expansion) {
      if (std::ranges::any_of(one.axes, [](const Axis& a) { return a.table >= 0 || a.stride[kAttribute] != 0; }))
        return std::nullopt;
      out.own.push_back(std::move(one));
    }
  }
  // Where the steps of a table lie is not looked at, so that nothing else may be read or written then.
  const bool tables_left = std::ranges::any_of(out.axes, is_table);
  if (tables_left && gaps.dst) return std::nullopt;
  for (const Operand k : {kSrc, kDst}) {
    int64_t reach = 0;  // from the first own element to the last that chunks have
    for (const Axis& axis : out.axes) reach += axis.table < 0 ? std::max<int64_t>(0, axis.reach(k)) : 0;
    auto found = footprint(out.own, k, size[k], (k == kSrc && !tables_left) || gaps.dst, whole,
                           gaps.end[kDst] - gaps.elements * size[kDst], gaps.end[k] - reach);
    if (!found) return std::nullopt;
    const int64_t least = found->starts[0];
    for (int64_t& start : found->starts) start -= least;
    for (Box& own : out.own) own.offset[k] -= least;
    out.offset[k] = least;
    out.most = std::max(out.most, found->elements());
    out.footprints[k] = *std::move(found);
  }
  if (gaps.dst && !apart(out.footprints[kDst], out.axes, size[kDst])) return std::nullopt;
  return out;
}

bool put_in_buffer(Box& box, Operand side, int64_t unit, const Together::Footprint& footprint, int64_t base_pitch) {
  const auto place = [&](int64_t offset) {
    const auto next = std::ranges::upper_bound(footprint.starts, offset);
    const auto base = next - footprint.starts.begin() - 1;
    return base * base_pitch + (offset - footprint.starts[static_cast<std::size_t>(base)]) / unit;
  };
  // From the first to the last place of a box of these axes, counted from its start.
  const auto reach_of = [&](const Axes& axes) { return reach({}, axes, side, 0); };
  const auto is_one_piece = [&](int64_t start, const Interval& all) {
    return all.end - all.begin < footprint.length * unit &&
           place(start + all.begin) == place(start) + all.begin / unit &&
           place(start + all.end) == place(start) + all.end / unit;
  };
  // The nearest axes stay within a stretch; those beyond step from stretch to stretch.
  Axes inner, outer = box.axes;
  const int64_t origin = place(box.offset[side]);
  for (auto next = nearest(outer, side); next != outer.end(); next = nearest(outer, side)) {
    inner.push_back(take(outer, next));
    if (is_one_piece(box.offset[side], reach_of(inner))) continue;
    outer.push_back(inner.back());
    inner.pop_back();
    break;
  }
  const Interval piece = reach_of(inner);
  for (Axis& axis : inner) axis.stride[kAttribute] = axis.stride[side] / unit;
  for (Axis& axis : outer) axis.stride[kAttribute] = place(box.offset[side] + axis.stride[side]) - origin;
  bool even = true;
  Offsets start = box.offset;
  start[kAttribute] = origin;
  each_step(outer, 0, start, [&](const Offsets& at) {
    even = even && place(at[side]) == at[kAttribute] && is_one_piece(at[side], piece);
  });
  for (Axis& axis : outer) inner.push_back(axis);
  for (Axis& axis : inner) axis.stride[side] = std::exchange(axis.stride[kAttribute], 0);
  box.axes = std::move(inner);
  box.offset[side] = origin;
  return even;
}

}  // namespace relayout
