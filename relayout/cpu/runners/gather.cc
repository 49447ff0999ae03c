// Runs gathers: by lists of where elements are, or by a constant step.
#include "relayout/cpu/runners/gather.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "relayout/cpu/runners/gather_run.h"
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {
namespace {

/// Gathers kRows rows at a time, so that the list of the columns is read once for all of them.
template <typename T, int kRows>
void gather_rows(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                 Starts dst_cols, int64_t cols) {
  const std::byte* from[kRows];
  std::byte* to[kRows];
  for (int r = 0; r < kRows; ++r) {
    from[r] = src + src_rows[r];
    to[r] = dst + dst_rows[r];
  }
  for (int64_t c = 0; c < cols; ++c) {
    const int64_t at = src_cols[c], put = dst_cols[c];
    T values[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) std::memcpy(&values[r], from[r] + at, sizeof(T));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) std::memcpy(to[r] + put, &values[r], sizeof(T));
  }
}

/// Gathers a block whose elements lie anywhere. `along_rows`: elements that are near each other are those of a column.
template <typename T>
void gather_region(Block block, bool along_rows) {
  constexpr int64_t kTogether = 4;
  // Rows and columns can change places, as both have lists.
  if ((along_rows || block.cols < kTogether) && block.cols < block.rows) {
    std::swap(block.rows, block.cols);
    std::swap(block.src_rows, block.src_cols);
    std::swap(block.dst_rows, block.dst_cols);
  }
  const auto rows = [&]<int kRows>(std::integral_constant<int, kRows>, int64_t r) {
    gather_rows<T, kRows>(block.src, block.src_rows + r, block.src_cols, block.dst, block.dst_rows + r, block.dst_cols,
                          block.cols);
  };
  int64_t r = 0;
  for (; r + kTogether <= block.rows; r += kTogether) rows(std::integral_constant<int, kTogether>(), r);
  if (block.rows - r == 3) return rows(std::integral_constant<int, 3>(), r);
  if (block.rows - r == 2) return rows(std::integral_constant<int, 2>(), r);
  if (block.rows - r == 1) rows(std::integral_constant<int, 1>(), r);
}

/// Gathers rows that are one axis (or columns, where these are longer) by a constant step instead of a list. Does
/// nothing and returns false where they are several axes. Past the cache, where runs go backwards, the next run is
/// prefetched, because the processor cannot predict where it starts.
template <typename T>
bool gather_runs(const RunContext& context, const Loops& loops, const Block& block) {
  constexpr int64_t kFewSteps = 4, kRunBytes = 512;
  const bool down = block.rows > block.cols;
  const Axes& axes = down ? loops.along_src.axes : loops.along_dst.axes;
  const int64_t runs = down ? block.cols : block.rows, n = down ? block.rows : block.cols;
  if (axes.size() != 1 || axes[0].table >= 0 || n < kFewSteps) return false;
  const Starts src_runs = down ? block.src_cols : block.src_rows, src = down ? block.src_rows : block.src_cols;
  const Starts dst_runs = down ? block.dst_cols : block.dst_rows, dst = down ? block.dst_rows : block.dst_cols;
  const int64_t src_step = src[1] - src[0], dst_step = dst[1] - dst[0];
  // The rows of an image start at the same byte of a line as the destination's, so that their steps may differ.
  for (int64_t i = 2; down && i < n; ++i) {
    if (dst[i] - dst[i - 1] != dst_step) return false;
  }
  const bool fetches = context.plan.streams() && src_step < 0 && -src_step < kRunBytes;
  const int64_t at_once = fetches ? kRunBytes / -src_step : n;
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* const from = block.src + src_runs[r] + src[0];
    std::byte* const to = block.dst + dst_runs[r] + dst[0];
    const int64_t next = r + 1 < runs ? src_runs[r + 1] - src_runs[r] : 0;
    for (int64_t i = 0; i < n; i += at_once) {
      const int64_t count = std::min(at_once, n - i);
      for (int64_t b = 0; fetches && b < -count * src_step; b += 64)
        __builtin_prefetch(from + i * src_step + next - b, 0, 2);
      gather_run<T>(from + i * src_step, src_step, to + i * dst_step, dst_step, count);
    }
  }
  return true;
}

}  // namespace

void gather_elements(const RunContext& context, const Loops& loops, const Block& block) {
  with_element(loops.piece[kSrc], [&]<typename T>(T) {
    if (!gather_runs<T>(context, loops, block)) gather_region<T>(block, loops.along_src.axes[0].table >= 0);
  });
}

void make(const RunContext& context, const Loops& loops, const Gather&, const Block& block) {
  prefetch(loops, block);
  gather_elements(context, loops, block);
}

}  // namespace relayout::cpu
