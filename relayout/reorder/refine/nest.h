// The loop nest of a reorder: what is left of two layouts once they are refined against each other.
//
// An *axis* steps through source and destination at once. Index j adds j * stride to each operand's offset. Where the
// digits of the two sides do not divide each other, it adds the j-th entry of a table instead. A *box* is a set of axes
// and a starting point; it has no tails. loops.h says which words a box is planned in, and box_plan.h what a plan is.
//
//     nchw -> nhwc of 2x3x4x5, f32:  n (2 | 240,240 bytes)  c (3 | 80,4)  hw (20 | 4,12)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "relayout/core/extents.h"
#include "relayout/core/small_vector.h"

namespace relayout {

/// The operands whose offsets an axis steps: source, destination, attribute values.
enum Operand : int { kSrc = 0, kDst = 1, kAttribute = 2 };
inline constexpr int kOperands = 3;
using Offsets = std::array<int64_t, kOperands>;

/// Offsets by index, for axes that are not affine. Of an operand whose steps are even, the step alone is kept.
class Table {
 public:
  /// Of one operand: a list, or even steps where it is empty.
  struct Column {
    std::vector<int64_t> list;
    int64_t step = 0;

    bool operator==(const Column&) const = default;
    int64_t operator[](int64_t j) const { return list.empty() ? j * step : list[static_cast<std::size_t>(j)]; }
  };

  Table(int64_t size, std::array<Column, kOperands> columns) : size_(size), columns_(std::move(columns)) {}
  explicit Table(const std::vector<Offsets>& entries) : size_(static_cast<int64_t>(entries.size())) {
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (std::ranges::all_of(entries, [k](const Offsets& entry) { return entry[k] == 0; })) continue;
      for (const Offsets& entry : entries) columns_[k].list.push_back(entry[k]);
    }
  }

  bool operator==(const Table&) const = default;
  int64_t size() const { return size_; }
  Offsets operator[](int64_t j) const { return {columns_[0][j], columns_[1][j], columns_[2][j]}; }
  const Column& column(Operand k) const { return columns_[k]; }
  /// Calls f(offset) for the offsets of an operand, which become what it returns.
  template <typename F>
  void change(Operand k, const F& f) {
    columns_[k].step = f(columns_[k].step);
    for (int64_t& offset : columns_[k].list) offset = f(offset);
  }
  /// Whether all offsets of an operand are multiples of a number.
  bool steps_by(Operand k, int64_t by) const {
    return columns_[k].step % by == 0 &&
           std::ranges::all_of(columns_[k].list, [by](int64_t offset) { return offset % by == 0; });
  }
  int64_t bytes() const {
    std::size_t entries = 0;
    for (const Column& column : columns_) entries += column.list.size();
    return static_cast<int64_t>(entries * sizeof(int64_t));
  }

 private:
  int64_t size_;
  std::array<Column, kOperands> columns_{};
};
using Tables = std::vector<Table>;

struct Axis {
  int64_t extent = 1;
  Offsets stride{};    // of each operand; unused where there is a table, unless it is listed
  int32_t table = -1;  // index into Tables; its first entry is all zeros
  /// Of an axis with an index table: rows may step along it, by the table's own lists. `stride` is then the step on
  /// each operand on which all steps are equal, as they are in the attribute values, and else 0.
  bool listed = false;

  /// How far the last index lies from the first on an operand, in units.
  int64_t reach(std::size_t operand) const { return (extent - 1) * stride[operand]; }

  bool operator==(const Axis&) const = default;
};

/// The axes of a box. Most boxes have a few: these need no memory of their own.
using Axes = SmallVector<Axis, 5>;
/// The most axes a box can have: a digit of either side can start one.
inline constexpr int kMaxAxes = 96;

struct Box {
  Offsets offset{};
  Axes axes;
};

/// Bytes of a line of the cache. The plans and the kernels are made for lines of this size, as those of all x86-64
/// processors and most others are; on a processor with longer lines they are right, but slower.
inline constexpr int64_t kCacheLine = 64;
/// Bytes of a page. A store that crosses from one page to the next takes many times as long as others, and each page
/// that is in use needs an entry of the TLB.
inline constexpr int64_t kPage = 4096;
/// The most rows of a block of copied pieces of at most a line, where the copy goes from row to row every few lines. It
/// keeps the place of the first whole line of each row.
inline constexpr int64_t kMaxBesideRows = 64;

/// The attribute values of one element in a compute type. What is subtracted from the source is its zero point and the
/// mean in its units. The defaults change nothing: x * 1, x / 1, x - 0 and x + -0 are x for every x, also for -0.
template <typename Compute>
struct AttributeValues {
  Compute src_scale = 1, dst_scale = 1;
  Compute subtracted = 0, added = Compute(-0.0);
};

/// Attribute values of runs of elements, as lists with an entry for each element (the same for all runs), for each run,
/// or one for all. `divides`: whether some dst_scale is not 1.
template <typename Compute>
struct AttributeLists {
  enum class Step : uint8_t { none, element, run };

  const Compute *src_scale, *dst_scale, *subtracted, *added;
  Step step;
  bool divides;

  /// Those of the elements from `element` on of the runs from `run` on.
  AttributeLists from(int64_t element, int64_t run) const {
    const int64_t i = entry(element, run);
    return {src_scale + i, dst_scale + i, subtracted + i, added + i, step, divides};
  }
  /// The entry of an element of a run.
  int64_t entry(int64_t element, int64_t run) const {
    return step == Step::element ? element : step == Step::run ? run : 0;
  }
};

/// The same attribute values for all elements.
template <typename Compute>
AttributeLists<Compute> lists_of(const AttributeValues<Compute>& values) {
  return {
      &values.src_scale,    &values.dst_scale, &values.subtracted, &values.added, AttributeLists<Compute>::Step::none,
      values.dst_scale != 1};
}

}  // namespace relayout
