// The loops around the kernels: blocks of a box, and one block by each kernel shape that moves or fills.
#include "relayout/cpu/run.h"

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

Offsets moved(Offsets offsets, const Axis& rows, int64_t row, const Axis& cols, int64_t col) {
  for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += row * rows.stride[k] + col * cols.stride[k];
  return offsets;
}

template <typename T>
void gather(const std::byte* src, const Axis& rows, const Axis& cols, std::byte* dst, int64_t row_count,
            int64_t col_count) {
  for (int64_t r = 0; r < row_count; ++r) {
    const std::byte* from = src + r * rows.stride[kSrc];
    std::byte* to = dst + r * rows.stride[kDst];
    for (int64_t c = 0; c < col_count; ++c)
      std::memcpy(to + c * cols.stride[kDst], from + c * cols.stride[kSrc], sizeof(T));
  }
}

template <typename T>
void fill(const BoxPlan& box, std::byte* dst, uint64_t bits, int64_t rows, int64_t cols) {
  const T value = static_cast<T>(bits);
  for (int64_t r = 0; r < rows; ++r) {
    std::byte* to = dst + r * box.rows.stride[kDst];
    for (int64_t c = 0; c < cols; ++c) std::memcpy(to + c * box.cols.stride[kDst], &value, sizeof value);
  }
}

void fill_block(const RunContext& context, const BoxPlan& box, const Offsets& offsets, int64_t rows, int64_t cols) {
  const uint64_t bits = context.plan.fill_bits();
  if (box.element_bytes == 0) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        const Offsets at = moved(offsets, box.rows, r, box.cols, c);
        write_element<DType::u4>(context.dst, at[kDst], static_cast<uint8_t>(bits & 15));
      }
    }
    return;
  }
  std::byte* dst = context.dst + offsets[kDst];
  switch (box.element_bytes) {
    case 1: return fill<uint8_t>(box, dst, bits, rows, cols);
    case 2: return fill<uint16_t>(box, dst, bits, rows, cols);
    case 4: return fill<uint32_t>(box, dst, bits, rows, cols);
    default: return fill<uint64_t>(box, dst, bits, rows, cols);
  }
}

void run_block(const RunContext& context, const BoxPlan& box, const Offsets& offsets, int64_t rows, int64_t cols) {
  if (box.shape == KernelShape::fill) return fill_block(context, box, offsets, rows, cols);
  if (context.plan.converts()) return cast_block(context, box, offsets, rows, cols);
  const std::byte* src = context.src + offsets[kSrc];
  std::byte* dst = context.dst + offsets[kDst];
  switch (box.shape) {
    case KernelShape::copy:
      return context.kernels.copy(src, box.rows.stride[kSrc], dst, box.rows.stride[kDst], rows, cols);
    case KernelShape::transpose:
      return context.kernels
          .transpose[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(box.element_bytes)))](
              src, box.cols.stride[kSrc], dst, box.rows.stride[kDst], rows, cols);
    default: return gather_block(context.src, offsets, box.rows, box.cols, context.dst, box.element_bytes, rows, cols);
  }
}

}  // namespace

void gather_block(const std::byte* src, Offsets offsets, const Axis& rows, const Axis& cols, std::byte* dst,
                  int element_bytes, int64_t row_count, int64_t col_count) {
  const std::byte* from = src + offsets[kSrc];
  std::byte* to = dst + offsets[kDst];
  switch (element_bytes) {
    case 1: return gather<uint8_t>(from, rows, cols, to, row_count, col_count);
    case 2: return gather<uint16_t>(from, rows, cols, to, row_count, col_count);
    case 4: return gather<uint32_t>(from, rows, cols, to, row_count, col_count);
    case 8: return gather<uint64_t>(from, rows, cols, to, row_count, col_count);
    case 16: return gather<Bytes16>(from, rows, cols, to, row_count, col_count);
    default: break;
  }
  for (int64_t r = 0; r < row_count; ++r) {
    for (int64_t c = 0; c < col_count; ++c) {
      const Offsets at = moved(offsets, rows, r, cols, c);
      write_element<DType::u4>(dst, at[kDst], read_element<DType::u4>(src, at[kSrc]));
    }
  }
}

int64_t block_count(const BoxPlan& box) {
  int64_t count = ceil_div(box.rows.extent, box.block_rows) * ceil_div(box.cols.extent, box.block_cols);
  for (const Axis& loop : box.loops) count *= loop.extent;
  return count;
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  const int64_t col_blocks = ceil_div(box.cols.extent, box.block_cols);
  const int64_t region_blocks = ceil_div(box.rows.extent, box.block_rows) * col_blocks;
  Odometer at{box, tables, {}, {}};
  at.seek(begin / region_blocks);
  int64_t block = begin % region_blocks;
  for (int64_t b = begin; b < end; ++b) {
    const int64_t row = block / col_blocks * box.block_rows, col = block % col_blocks * box.block_cols;
    run_block(context, box, moved(at.offsets, box.rows, row, box.cols, col),
              std::min(box.block_rows, box.rows.extent - row), std::min(box.block_cols, box.cols.extent - col));
    if (++block == region_blocks) {
      block = 0;
      at.next();
    }
  }
}

}  // namespace relayout::cpu
