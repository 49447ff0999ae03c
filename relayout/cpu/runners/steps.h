// Stepping through a box: positions in its loops, and lists of where rows and columns start (internal to cpu).
#pragma once

#include <algorithm>

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// A position in the loops of a box. A step adds to the offsets and does not compute them anew.
struct Odometer {
  const Loops& box;
  const Tables& tables;
  std::array<int64_t, kMaxAxes> index;
  Offsets offsets;

  // Does not initialize the array of indices, as most of it is never used.
  Odometer(const Loops& b, const Tables& t) : box(b), tables(t) {}

  void step(const Axis& axis, int64_t from, int64_t to) {
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (axis.table < 0) {
        offsets[k] += (to - from) * axis.stride[k];
      } else {
        const Table::Column& column = tables[static_cast<std::size_t>(axis.table)].column(static_cast<Operand>(k));
        offsets[k] += column[to] - column[from];
      }
    }
  }

  void start() {
    offsets = box.offset;
    for (std::size_t l = 0; l < box.loops.size(); ++l) index[l] = 0;
  }

  void seek(int64_t position) {
    offsets = box.offset;
    for (std::size_t l = box.loops.size(); l-- > 0;) {
      const Axis& axis = box.loops[l];
      index[l] = position % axis.extent;
      position /= axis.extent;
      step(axis, 0, index[l]);
    }
  }

  /// The source's offset after next(), if all axes are affine. After the last position comes the first one.
  int64_t next_src() const {
    int64_t offset = offsets[kSrc];
    for (std::size_t l = box.loops.size(); l-- > 0;) {
      const int64_t stride = box.loops[l].stride[kSrc];
      if (index[l] + 1 < box.loops[l].extent) return offset + stride;
      offset -= index[l] * stride;
    }
    return offset;
  }

  void next() {
    for (std::size_t l = box.loops.size(); l-- > 0;) {
      const Axis& axis = box.loops[l];
      if (++index[l] < axis.extent) return step(axis, index[l] - 1, index[l]);
      step(axis, index[l] - 1, 0);
      index[l] = 0;
    }
  }
};

/// Calls run(position in the loops, rows, columns) for each of the blocks [begin, end) of a box.
template <typename Run>
inline __attribute__((always_inline)) void each_block(const Loops& box, const Tables& tables, int64_t begin,
                                                      int64_t end, const Run& run) {
  Odometer at(box, tables);
  const int64_t strips = box.along_src.blocks, panels = box.along_dst.blocks;
  int64_t strip = 0, panel = 0;
  if (begin == 0) {
    at.start();
  } else {
    at.seek(begin / (strips * panels));
    panel = begin % (strips * panels) / strips;
    strip = begin % strips;
  }
  for (int64_t b = begin; b < end; ++b) {
    run(at, IndexRange{strip * box.along_src.block, box.along_src.block, box.along_src.count},
        IndexRange{panel * box.along_dst.block, box.along_dst.block, box.along_dst.count});
    if (++strip < strips) continue;
    strip = 0;
    if (++panel < panels) continue;
    panel = 0;
    if (b + 1 < end) at.next();
  }
}

/// Extends a list from `have` entries to `count`: entry i + have is entry i + stride.
inline void repeat(int64_t* list, int64_t have, int64_t stride, int64_t count) {
  if (have == 1) {
    for (int64_t i = 1; i < count; ++i) list[i] = list[0] + i * stride;
    return;
  }
  for (; have < count; have *= 2, stride *= 2) {
    const int64_t more = std::min(have, count - have);
    int64_t* const to = list + have;
#pragma GCC ivdep
    for (int64_t i = 0; i < more; ++i) to[i] = list[i] + stride;
  }
}

/// The list 0, step, 2 * step ..., of where the rows or columns of a dense tile start.
struct Dense {
  int64_t at[kMaxListed];
  Dense(int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; ++i) at[i] = i * step;
  }
};

/// Lists where `count` indices of fused axes start, from index `begin` on. The entries are bytes from where the first
/// index starts; that place is returned. The list of the inner axes is repeated for each step of an outer axis, so that
/// one fast loop does axes of any length.
inline std::array<int64_t, 2> list_starts(const Axes& axes, int64_t begin, int64_t count,
                                          const std::array<int64_t*, 2>& lists) {
  std::array<int64_t, 2> first{};
  for (int64_t done = 0; done < count;) {
    std::array<int64_t, 2> at{};
    int64_t rest = begin + done;
    for (const Axis& axis : axes) {
      const int64_t index = rest % axis.extent;
      for (std::size_t k : {kSrc, kDst}) at[k] += index * axis.stride[k];
      rest /= axis.extent;
    }
    if (done == 0) first = at;
    for (std::size_t k : {kSrc, kDst}) lists[k][done] = at[k] - first[k];
    rest = begin + done;
    int64_t made = 1;
    for (const Axis& axis : axes) {
      const int64_t steps = axis.extent - rest % axis.extent, end = std::min(made * steps, count - done);
      for (std::size_t k : {kSrc, kDst}) repeat(lists[k] + done, made, axis.stride[k], end);
      made = end;
      if (made == count - done || steps < axis.extent) break;
      rest /= axis.extent;
    }
    done += made;
  }
  return first;
}

/// The lists of where some consecutive rows, or columns, of a box start on the source and on the destination; they are
/// kept from block to block where they stay the same.
class Starts2 {
 public:
  /// Without tables where no axis can have one.
  explicit Starts2(const Axes& axes, const Tables* tables = nullptr) : axes_(axes), tables_(tables) {}

  /// Makes the lists for `count` indices from `begin` on. The list of a single axis is the same for every `begin`,
  /// unless a table says it.
  void seek(int64_t begin, int64_t count) {
    if (axes_.size() == 1) {
      const Axis& axis = axes_[0];
      for (const Operand k : {kSrc, kDst}) {
        if (const int64_t* const own = own_list(k)) {
          starts_[k] = own + begin;
          continue;
        }
        first_[k] = begin * axis.stride[k];
        const int64_t stride = axis.stride[k];
        int64_t* const list = list_[k];
        for (int64_t i = known_, at = known_ * stride; i < count; ++i, at += stride) list[i] = at;
      }
      known_ = std::max(known_, count);
    } else if (begin != begin_ || count > known_) {
      const auto first = list_starts(axes_, begin, count, {list_[kSrc], list_[kDst]});
      for (std::size_t k : {kSrc, kDst}) first_[k] = first[k];
      known_ = count;
    }
    first_[kAttribute] = begin * axes_[0].stride[kAttribute];
    begin_ = begin;
  }

  const Offsets& first() const { return first_; }
  Starts of(Operand k) const { return starts_[k]; }

 private:
  /// The list of an index table, or null. An axis with a table is the only one, and the list's offsets do not count
  /// from the first one that is asked for.
  const int64_t* own_list(Operand k) const {
    if (axes_[0].table < 0) return nullptr;
    const auto& list = (*tables_)[static_cast<std::size_t>(axes_[0].table)].column(k).list;
    return list.empty() ? nullptr : list.data();
  }

  const Axes& axes_;
  const Tables* tables_;
  int64_t begin_ = -1, known_ = 0;
  Offsets first_{};
  Starts starts_[2] = {list_[kSrc], list_[kDst]};
  int64_t list_[2][kMaxListed];
};

/// The lists of boxes whose region is run many times, made once.
class RegionLists {
 public:
  /// Makes the lists of all rows and columns of a box for a block; false where there is no room for them.
  bool add(const Loops& box, Block& block) {
    const int64_t rows = box.along_src.count, cols = box.long_runs ? 1 : box.along_dst.count;
    if (2 * (rows + cols) > kMaxStarts - used_) return false;
    list(box.along_src.axes, rows, block.src_rows, block.dst_rows);
    list(box.along_dst.axes, cols, block.src_cols, block.dst_cols);
    return true;
  }

 private:
  void list(const Axes& axes, int64_t count, Starts& src, Starts& dst) {
    int64_t* const at = starts_ + used_;
    list_starts(axes, 0, count, {at, at + count});
    src = at;
    dst = at + count;
    used_ += 2 * count;
  }

  static constexpr int64_t kMaxStarts = 4096;
  int64_t starts_[kMaxStarts];
  int64_t used_ = 0;
};

}  // namespace relayout::cpu
