// An exclusive or as boxes of forward and backward steps, or as a table.
#include "relayout/reorder/refine/swizzled_boxes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "relayout/core/error.h"

namespace relayout {
namespace {

bool power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

/// `count` steps of an axis from step `first` on, as a box.
Box steps_of_axis(const Box& box, std::size_t at, int64_t first, int64_t count) {
  Box out = box;
  for (std::size_t k = 0; k < kOperands; ++k) out.offset[k] += first * box.axes[at].stride[k];
  out.axes[at].extent = count;
  return out;
}

/// Cuts the axis into steps of `inner` indices, and an axis of their own over these.
void cut_axis(Box& box, std::size_t at, int64_t inner) {
  const Axis axis = box.axes[at];
  if (inner >= axis.extent) return;
  Axis outer{axis.extent / inner, axis.stride, -1};
  for (int64_t& stride : outer.stride) stride *= inner;
  box.axes[at].extent = inner;
  box.axes.push_back(outer);
}

class Swizzler {
 public:
  Swizzler(Operand operand, const Swizzle& swizzle, const SwizzledLimits& limits, Tables& tables)
      : operand_(operand), swizzle_(swizzle), limits_(limits), tables_(tables) {}

  std::vector<Box> run(Box box) {
    for (Axis& axis : box.axes) {  // forwards
      if (axis.table >= 0 || axis.stride[operand_] >= 0) continue;
      for (std::size_t k = 0; k < kOperands; ++k) {
        box.offset[k] += axis.reach(k);
        axis.stride[k] = -axis.stride[k];
      }
    }
    out_.clear();
    if (!by_bits(box)) {
      out_.clear();
      by_table(std::move(box));
    }
    return std::move(out_);
  }

 private:
  int64_t stride(const Axis& axis) const { return axis.stride[operand_]; }
  /// Whether no step of an axis changes a bit that the swizzle reads or writes.
  bool beyond(const Axis& axis) const { return steps_by(axis, swizzle_.period()); }
  /// Whether all steps are multiples of a power of two.
  bool steps_by(const Axis& axis, int64_t power) const {
    if (axis.table < 0) return (stride(axis) & (power - 1)) == 0;
    return tables_[static_cast<std::size_t>(axis.table)].steps_by(operand_, power);
  }

  /// Whether the steps shorter than a run stay inside one, all together. The swizzle does not see them then.
  bool stays_in_runs(const Box& box) const {
    int64_t reach = box.offset[operand_] & (swizzle_.run() - 1);
    for (const Axis& axis : box.axes) {
      const bool shorter = axis.table < 0 && stride(axis) < swizzle_.run();
      if (!shorter && !steps_by(axis, swizzle_.run())) return false;
      if (shorter) reach += axis.reach(operand_);
    }
    return reach < swizzle_.run();
  }
  bool seen(const Axis& axis, bool in_runs) const {
    return !beyond(axis) && !(in_runs && axis.table < 0 && stride(axis) < swizzle_.run());
  }

  /// False, and out_ is not to be used, where bits do not move one by one or there are too many boxes.
  bool by_bits(const Box& box) {
    const bool in_runs = stays_in_runs(box);
    for (std::size_t at = 0; at < box.axes.size(); ++at) {
      const Axis axis = box.axes[at];
      if (!seen(axis, in_runs)) continue;
      if (axis.table >= 0 || !power_of_two(stride(axis))) return false;
      // From the first step on as many as are a power of two and begin at a multiple of it, so that the axis moves bits
      // of the offset which are 0 before. Steps of a whole period are an axis of their own.
      const int64_t steps = swizzle_.period() / stride(axis), begin = box.offset[operand_] / stride(axis) % steps;
      int64_t piece = begin == 0 ? steps : begin & -begin;
      while (piece > axis.extent) piece /= 2;
      if (piece == steps) piece = axis.extent / steps * steps;
      if (piece < axis.extent)
        return by_bits(steps_of_axis(box, at, 0, piece)) && by_bits(steps_of_axis(box, at, piece, axis.extent - piece));
      if (piece <= steps) continue;
      Box cut = box;
      cut_axis(cut, at, steps);
      return by_bits(cut);
    }
    return add_by_bits(box, in_runs);
  }

  bool add_by_bits(const Box& box, bool in_runs) {
    int64_t moving = 0;
    for (const Axis& axis : box.axes) {
      if (!seen(axis, in_runs)) continue;
      const int64_t bits = axis.reach(operand_);
      if ((moving & bits) != 0) return false;
      moving |= bits;
    }
    return (moving & box.offset[operand_]) == 0 && add_bit(box, moving, 0);
  }

  /// Carries out the exclusive or of the swizzle's bits from `bit` on.
  bool add_bit(Box box, int64_t moving, int bit) {
    if (bit == swizzle_.bits()) {
      if (out_.size() == limits_.boxes) return false;
      out_.push_back(std::move(box));
      return true;
    }
    const int64_t from = int64_t{1} << (swizzle_.source() + bit), to = int64_t{1} << (swizzle_.target() + bit);
    if ((moving & from) == 0) {
      if ((box.offset[operand_] & from) != 0) turn(box, moving, to);
      return add_bit(std::move(box), moving, bit + 1);
    }
    const std::size_t at = axis_of(box, from);
    if ((moving & to) == 0) {  // the bit from moves alone: its step goes along bit `to` as well
      box.axes[at].stride[operand_] += (box.offset[operand_] & to) != 0 ? -to : to;
      return add_bit(std::move(box), moving, bit + 1);
    }
    Box set = steps_of_axis(box, at, 1, 1), unset = steps_of_axis(box, at, 0, 1);
    turn(set, moving, to);
    return add_bit(std::move(unset), moving, bit + 1) && add_bit(std::move(set), moving, bit + 1);
  }

  /// The axis of two steps that moves a bit; it is cut out of a longer one.
  std::size_t axis_of(Box& box, int64_t bit) const {
    for (std::size_t at = 0; at < box.axes.size(); ++at) {
      const Axis axis = box.axes[at];
      if (beyond(axis) || !power_of_two(stride(axis)) || (axis.reach(operand_) & bit) == 0) continue;
      std::size_t own = at;
      if (stride(axis) < bit) {
        cut_axis(box, at, bit / stride(axis));
        own = box.axes.size() - 1;
      }
      cut_axis(box, own, 2);
      return own;
    }
    throw Error(ErrorCode::internal, "reorder: no step moves a bit of the swizzle");
  }

  void turn(Box& box, int64_t moving, int64_t bit) const {
    box.offset[operand_] ^= bit;
    if ((moving & bit) == 0) return;
    int64_t& step = box.axes[axis_of(box, bit)].stride[operand_];
    step = -step;
  }

  void by_table(Box box) {
    for (std::size_t at = 0; at < box.axes.size(); ++at) {
      const Axis axis = box.axes[at];
      if (axis.table >= 0 || beyond(axis)) continue;
      const int64_t step = stride(axis), run = swizzle_.run();
      for (const int64_t steps : {swizzle_.period() / (step & -step), run % step == 0 ? run / step : 1}) {
        const int64_t extent = box.axes[at].extent, whole = extent / steps * steps;
        if (extent <= steps || steps == 1) continue;
        if (whole < extent) by_table(steps_of_axis(box, at, whole, extent - whole));
        box.axes[at].extent = whole;
        cut_axis(box, at, steps);
      }
    }
    add_table(std::move(box));
  }

  /// Replaces the axes whose steps the swizzle sees by one with a table.
  void add_table(Box box) {
    const bool in_runs = stays_in_runs(box);
    Axes seen;
    for (const Axis& axis : box.axes) {
      if (this->seen(axis, in_runs)) seen.push_back(axis);
    }
    erase_if(box.axes, [&](const Axis& axis) { return std::ranges::find(seen, axis) != seen.end(); });
    const int64_t count = count_elements(seen);
    int64_t entries = count;
    for (const Table& table : tables_) entries += table.size();
    if (entries > limits_.entries) {
      const std::string need = std::to_string(count), limit = std::to_string(limits_.entries);
      throw Error(ErrorCode::limit,
                  "reorder: " + swizzle_.text() + " of these strides needs a table of " + need +
                      " entries; all tables together may have " + limit,
                  "swizzle", need, limit);
    }
    const int64_t start = box.offset[operand_];
    std::vector<Offsets> table(static_cast<std::size_t>(count));
    for (int64_t j = 0; j < count; ++j) {
      Offsets& entry = table[static_cast<std::size_t>(j)];
      entry = {};
      int64_t rest = j;
      for (const Axis& axis : seen) {
        const int64_t i = rest % axis.extent;
        rest /= axis.extent;
        for (std::size_t k = 0; k < kOperands; ++k)
          entry[k] += axis.table < 0 ? i * axis.stride[k] : tables_[static_cast<std::size_t>(axis.table)][i][k];
      }
      entry[operand_] = swizzle_.apply(start + entry[operand_]) - swizzle_.apply(start);
    }
    box.offset[operand_] = swizzle_.apply(start);
    if (count > 1) {
      tables_.emplace_back(table);
      box.axes.push_back({count, {}, static_cast<int32_t>(tables_.size()) - 1});
    }
    out_.push_back(std::move(box));
  }

  Operand operand_;
  Swizzle swizzle_;
  SwizzledLimits limits_;
  Tables& tables_;
  std::vector<Box> out_;
};

}  // namespace

std::vector<Box> in_whole_periods(const std::vector<Box>& boxes, const std::array<Swizzle, 2>& swizzles) {
  std::vector<Box> out;
  for (Box box : boxes) {
    simplify(box);
    for (std::size_t at = 0; at < box.axes.size(); ++at) {
      int64_t steps = 1;
      const Axis axis = box.axes[at];
      for (const Operand side : {kSrc, kDst}) {
        if (axis.table >= 0 || swizzles[side].identity() || axis.stride[side] == 0) continue;
        steps = std::max(steps, swizzles[side].period() / std::gcd(swizzles[side].period(), axis.stride[side]));
      }
      const int64_t whole = axis.extent / steps * steps;
      if (whole > 0 && whole < axis.extent) out.push_back(cut_off(box, at, whole));
    }
    out.push_back(std::move(box));
  }
  return out;
}

std::vector<Box> swizzled(std::vector<Box> boxes, Operand operand, const Swizzle& swizzle, const SwizzledLimits& limits,
                          Tables& tables) {
  if (swizzle.identity()) return boxes;
  std::vector<Box> out;
  Swizzler swizzler(operand, swizzle, limits, tables);
  for (Box& box : boxes) {
    for (Box& one : swizzler.run(std::move(box))) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace relayout
