// The loops around the kernels: from block to block of a box.
#include "relayout/cpu/run.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace relayout::cpu {
namespace {

/// A position in the loops of a box. Steps add; nothing is recomputed.
struct Odometer {
  const BoxPlan& box;
  const Tables& tables;
  std::array<int64_t, kMaxAxes> index;
  Offsets offsets;

  // Leaves the array as it is: most of it is never used.
  Odometer(const BoxPlan& b, const Tables& t) : box(b), tables(t) {}

  void step(const Axis& axis, int64_t from, int64_t to) {
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (axis.table < 0) {
        offsets[k] += (to - from) * axis.stride[k];
      } else {
        const auto& table = tables[static_cast<std::size_t>(axis.table)];
        offsets[k] += table[static_cast<std::size_t>(to)][k] - table[static_cast<std::size_t>(from)][k];
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

  void next() {
    for (std::size_t l = box.loops.size(); l-- > 0;) {
      const Axis& axis = box.loops[l];
      if (++index[l] < axis.extent) return step(axis, index[l] - 1, index[l]);
      step(axis, index[l] - 1, 0);
      index[l] = 0;
    }
  }
};

/// Where a few consecutive indices of fused axes start, on source and destination, from the first one's on.
class Starts2 {
 public:
  explicit Starts2(const Axes& axes) : axes_(axes) {}

  /// The list for indices begin, begin + 1, ...; one axis needs its list only once.
  void seek(int64_t begin, int64_t count) {
    if (axes_.size() == 1) {
      const Axis& axis = axes_[0];
      for (std::size_t k : {kSrc, kDst}) {
        first_[k] = begin * axis.stride[k];
        const int64_t stride = axis.stride[k];
        int64_t* const list = list_[k];
        for (int64_t i = known_, at = known_ * stride; i < count; ++i, at += stride) list[i] = at;
      }
      known_ = std::max(known_, count);
    } else if (begin != begin_ || count > known_) {
      fill(begin, count);
      known_ = count;
    }
    first_[kAttribute] = begin * axes_[0].stride[kAttribute];
    begin_ = begin;
  }

  const Offsets& first() const { return first_; }
  Starts of(Operand k) const { return list_[k]; }

 private:
  void fill(int64_t begin, int64_t count) {
    std::array<int64_t, kMaxAxes> index;
    std::array<int64_t, 2> at{};
    for (std::size_t a = 0, rest = static_cast<std::size_t>(begin); a < axes_.size(); ++a) {
      const auto extent = static_cast<std::size_t>(axes_[a].extent);
      index[a] = static_cast<int64_t>(rest % extent);
      rest /= extent;
      for (std::size_t k : {kSrc, kDst}) at[k] += index[a] * axes_[a].stride[k];
    }
    for (std::size_t k : {kSrc, kDst}) first_[k] = at[k];
    at = {};
    const Axis& inner = axes_[0];
    for (int64_t done = 0; done < count;) {
      const int64_t run = std::min(count - done, inner.extent - index[0]);
      for (std::size_t k : {kSrc, kDst}) {
        for (int64_t i = 0; i < run; ++i) list_[k][done + i] = at[k] + i * inner.stride[k];
      }
      done += run;
      for (std::size_t k : {kSrc, kDst}) at[k] -= index[0] * inner.stride[k];
      index[0] = 0;
      for (std::size_t a = 1; a < axes_.size(); ++a) {
        const bool carries = ++index[a] == axes_[a].extent;
        for (std::size_t k : {kSrc, kDst}) at[k] += (carries ? 1 - index[a] : 1) * axes_[a].stride[k];
        if (!carries) break;
        index[a] = 0;
      }
    }
  }

  const Axes& axes_;
  int64_t begin_ = -1, known_ = 0;
  Offsets first_{};
  int64_t list_[2][kMaxListed];
};

template <typename T>
void fill(const BoxPlan& box, const Block& block, uint64_t bits) {
  const T value = static_cast<T>(bits);
  // Zeros in runs, as nearly always.
  if (value == 0 && box.cols[0].stride[kDst] == static_cast<int64_t>(sizeof(T))) {
    const std::size_t bytes = static_cast<std::size_t>(block.cols) * sizeof(T);
    for (int64_t r = 0; r < block.rows; ++r) std::memset(block.dst + block.dst_rows[r], 0, bytes);
    return;
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    std::byte* to = block.dst + block.dst_rows[r];
    for (int64_t c = 0; c < block.cols; ++c) std::memcpy(to + block.dst_cols[c], &value, sizeof value);
  }
}

void fill_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  const uint64_t bits = context.plan.fill_bits();
  switch (box.piece[kDst]) {
    case 0:
      for (int64_t r = 0; r < block.rows; ++r) {
        for (int64_t c = 0; c < block.cols; ++c) {
          write_element<DType::u4>(context.dst, block.offset[kDst] + block.dst_rows[r] + block.dst_cols[c],
                                   static_cast<uint8_t>(bits & 15));
        }
      }
      return;
    case 1: return fill<uint8_t>(box, block, bits);
    case 2: return fill<uint16_t>(box, block, bits);
    case 4: return fill<uint32_t>(box, block, bits);
    default: return fill<uint64_t>(box, block, bits);
  }
}

void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const Part& rows, const Part& cols) {
  if (box.shape == KernelShape::fill) return fill_block(context, box, block);
  if (streams(context, box)) return stream_block(context, box, block, rows, cols);
  if (context.plan.converts()) return cast_block(context, box, block);
  move_block(context, box, block);
}

/// Blocks [begin, end) of a box, each as run(offsets of the loops, its rows, its columns).
template <typename Run>
inline __attribute__((always_inline)) void each_block(const BoxPlan& box, const Tables& tables, int64_t begin,
                                                      int64_t end, const Run& run) {
  Odometer at(box, tables);
  const int64_t strips = box.strips, panels = box.panels;
  int64_t strip = 0, panel = 0;
  if (begin == 0) {
    at.start();
  } else {
    at.seek(begin / (strips * panels));
    panel = begin % (strips * panels) / strips;
    strip = begin % strips;
  }
  for (int64_t b = begin; b < end; ++b) {
    run(at.offsets, Part{strip * box.block_rows, box.block_rows, box.row_count},
        Part{panel * box.block_cols, box.block_cols, box.col_count});
    if (++strip < strips) continue;
    strip = 0;
    if (++panel < panels) continue;
    panel = 0;
    if (b + 1 < end) at.next();
  }
}

/// Whether a box is a transposition in the cache whose rows and columns need no lists. (Two to four of them have
/// kernels of their own.)
bool strided(const RunContext& context, const BoxPlan& box) {
  return box.shape == KernelShape::transpose && box.rows.size() == 1 && box.cols.size() == 1 && box.row_count > 4 &&
         box.col_count > 4 && !box.pack && !context.plan.converts() && !context.plan.streams();
}

void run_strided(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  const Axis &row = box.rows[0], &col = box.cols[0];
  const auto kernel = context.kernels.transpose_strided[log2_size(box.piece[kSrc])];
  each_block(box, tables, begin, end, [&](const Offsets& at, const Part& rows, const Part& cols) {
    kernel(context.src + at[kSrc] + rows.begin * row.stride[kSrc] + cols.begin * col.stride[kSrc], col.stride[kSrc],
           context.dst + at[kDst] + rows.begin * row.stride[kDst] + cols.begin * col.stride[kDst], row.stride[kDst],
           rows.count(), cols.count());
  });
}

void run_listed(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  Starts2 rows(box.rows), cols(box.cols);
  const bool bytes[] = {box.unit_bits[kSrc] == 8, box.unit_bits[kDst] == 8};
  const bool one_column = box.long_runs && bytes[kSrc] && bytes[kDst];
  each_block(box, tables, begin, end, [&](const Offsets& at, const Part& row, const Part& col) {
    rows.seek(row.begin, row.listed());
    cols.seek(col.begin, one_column ? 1 : col.listed());
    Offsets offset;
    for (std::size_t k = 0; k < kOperands; ++k) offset[k] = at[k] + rows.first()[k] + cols.first()[k];
    run_block(context, box,
              {context.src + (bytes[kSrc] ? offset[kSrc] : 0), context.dst + (bytes[kDst] ? offset[kDst] : 0), offset,
               rows.of(kSrc), cols.of(kSrc), rows.of(kDst), cols.of(kDst), row.count(), col.count()},
              row, col);
  });
  if (context.plan.streams() && context.kernels.flush) context.kernels.flush();
}

}  // namespace

Block part_of(const BoxPlan& box, const Block& block, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  Block part = block;
  part.rows = rows;
  part.cols = cols;
  part.offset[kAttribute] += row * box.rows[0].stride[kAttribute] + col * box.cols[0].stride[kAttribute];
  // The source's rows are one axis, or follow each other: their list holds from any row on.
  part.src += block.src_rows[row];
  part.offset[kSrc] += block.src_rows[row];
  part.dst_rows += row;
  if (col == 0) return part;
  if (box.long_runs)
    part.src += col * box.piece[kSrc];
  else
    part.src_cols += col;
  const int64_t dst = box.dense_cols ? col * box.piece[kDst] : block.dst_cols[col];
  part.dst += dst;
  part.offset[kDst] += dst;
  return part;
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  if (strided(context, box))
    run_strided(context, box, tables, begin, end);
  else
    run_listed(context, box, tables, begin, end);
}

}  // namespace relayout::cpu
