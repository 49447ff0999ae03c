// Rows of small pieces: what a row has, and whether a few lines of the source make one of the destination.
#include "relayout/reorder/permuted_rows.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "relayout/reorder/axes.h"
#include "relayout/reorder/blocks.h"

namespace relayout {
namespace {

/// The bytes of a line must lie within kReach bytes of the source, because a kernel reads four stretches of a line
/// each.
constexpr int64_t kReach = 4 * kCacheLine;
/// In rows with gaps, at least one byte in kSparse must be written.
constexpr int64_t kSparse = 4;
/// A transposition of at most kMostPermutedRows rows does not fill a tile of registers.
constexpr int64_t kMostPermutedRows = 4;
/// A run of fewer than kLeastRun bytes may contain no whole line.
constexpr int64_t kLeastRun = 2 * kCacheLine;

/// The pieces of a row with the axes `row`, in the order of the destination. `next` is the axis that steps to the next
/// row. Empty where lines cannot be made of these pieces.
std::vector<RowSource> sources(const Axes& row, int64_t piece, const Axis& next) {
  struct Piece {
    int64_t dst, src;
  };
  SmallVector<Piece, 16> pieces;
  pieces.push_back({0, 0});
  const int64_t row_bytes = next.stride[kDst];
  for (const Axis& axis : row) {
    const std::size_t have = pieces.size(), all = have * static_cast<std::size_t>(axis.extent);
    if (all > kMaxRowSources / 2) return {};
    for (std::size_t i = have; i < all; ++i) {
      const Piece before = pieces[i - have];
      pieces.push_back({before.dst + axis.stride[kDst], before.src + axis.stride[kSrc]});
    }
  }
  if (row_bytes < static_cast<int64_t>(pieces.size()) * piece) return {};
  if (static_cast<int64_t>(pieces.size()) * piece * kSparse < row_bytes) return {};
  if (row_bytes / std::gcd(kCacheLine, row_bytes) > kMaxRowLines) return {};
  sort_few(pieces, [](const Piece& p) { return p.dst; });
  const auto [low, high] = std::ranges::minmax(pieces, {}, &Piece::src);
  const int64_t rows_of_line = (kCacheLine + row_bytes - 2) / row_bytes;
  if (high.src - low.src + piece + rows_of_line * std::abs(next.stride[kSrc]) > kReach) return {};
  std::vector<RowSource> out;
  int64_t at = 0;
  for (const Piece& p : pieces) {
    if (p.dst < at) return {};
    if (p.dst > at) out.push_back({RowSource::kGap, p.dst - at});
    out.push_back({p.src, piece});
    at = p.dst + piece;
  }
  if (at > row_bytes) return {};
  if (at < row_bytes) out.push_back({RowSource::kGap, row_bytes - at});
  return out;
}

}  // namespace

void note_permuted_rows(BoxPlan& plan) {
  // A transposition of few rows does not fill a tile of registers, so permutations may be faster. But if its columns
  // follow each other in the source, it is deinterleaved, which is faster still.
  const bool few_rows = plan.shape == KernelShape::transpose && plan.row_count <= kMostPermutedRows &&
                        plan.cols.size() == 1 && plan.cols[0].stride[kSrc] != plan.row_count * plan.piece[kSrc];
  const bool small = moves_small_pieces(plan) || few_rows;
  const int64_t piece = plan.piece[kSrc];
  if (!small || plan.shuffle > 1 || plan.row_run > 0 || piece == 0 || piece >= kCacheLine) return;
  const auto by_table = [](const Axis& axis) { return axis.table >= 0; };
  if (std::ranges::any_of(plan.rows, by_table) || std::ranges::any_of(plan.cols, by_table)) return;
  const auto note = [&](const Axes& row, const Axis& next, int64_t steps, bool of_region) {
    if (steps * next.stride[kDst] < kLeastRun) return false;
    plan.row_sources = sources(row, piece, next);
    plan.row_step = next.stride[kSrc];
    plan.rows_of_region = of_region;
    return !plan.row_sources.empty();
  };
  Axes inner = plan.cols;
  const Axis last = inner.back();
  inner.pop_back();
  const int64_t of_row = plan.col_count / last.extent;
  if (plan.block_cols % of_row == 0 && note(inner, last, plan.block_cols / of_row, false)) return;
  if (plan.panels == 1 && plan.rows.size() == 1) note(plan.cols, plan.rows[0], plan.block_rows, true);
}

}  // namespace relayout
