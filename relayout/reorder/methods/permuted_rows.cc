// Rows of small pieces: what a row has, and whether a few lines of the source make one of the destination.
#include "relayout/reorder/methods/permuted_rows.h"

#include <cstdlib>
#include <numeric>

namespace relayout {
namespace {

/// The bytes of a line must lie within kReach bytes of the source, because a kernel reads four stretches of a line
/// each.
constexpr int64_t kReach = 4 * kCacheLine;
/// In rows with gaps, at least one byte in kSparse must be written.
constexpr int64_t kSparse = 4;
/// A run of fewer than kLeastBytes bytes may contain no whole line.
constexpr int64_t kLeastBytes = 2 * kCacheLine;

/// The pieces of a row with the axes `row`, in the order of the destination. `next` is the axis that steps to the next
/// row. Empty where lines cannot be made of these pieces.
std::vector<RowSource> sources(const Axes& row, int64_t piece, const Axis& next) {
  struct RowPiece {
    int64_t dst, src;
  };
  SmallVector<RowPiece, 16> pieces;
  pieces.push_back({0, 0});
  const int64_t row_bytes = next.stride[kDst];
  for (const Axis& axis : row) {
    const std::size_t have = pieces.size(), all = have * static_cast<std::size_t>(axis.extent);
    if (all > RowPattern::kMaxPieces / 2) return {};
    for (std::size_t i = have; i < all; ++i) {
      const RowPiece before = pieces[i - have];
      pieces.push_back({before.dst + axis.stride[kDst], before.src + axis.stride[kSrc]});
    }
  }
  if (row_bytes < static_cast<int64_t>(pieces.size()) * piece) return {};
  if (static_cast<int64_t>(pieces.size()) * piece * kSparse < row_bytes) return {};
  if (row_bytes / std::gcd(kCacheLine, row_bytes) > RowPattern::kMaxLines) return {};
  sort_few(pieces, [](const RowPiece& p) { return p.dst; });
  const auto [low, high] = std::ranges::minmax(pieces, {}, &RowPiece::src);
  const int64_t rows_of_line = (kCacheLine + row_bytes - 2) / row_bytes;
  if (high.src - low.src + piece + rows_of_line * std::abs(next.stride[kSrc]) > kReach) return {};
  std::vector<RowSource> out;
  int64_t at = 0;
  for (const RowPiece& p : pieces) {
    if (p.dst < at) return {};
    if (p.dst > at) out.push_back({RowSource::kGap, p.dst - at});
    out.push_back({p.src, piece});
    at = p.dst + piece;
  }
  if (at > row_bytes) return {};
  if (at < row_bytes) out.push_back({RowSource::kGap, row_bytes - at});
  return out;
}

/// Whether the pieces of a box are so few or small that permutations may be faster than how it is planned.
bool suits(const Loops& loops, const Gather&) { return loops.piece[kSrc] < kCacheLine; }
bool suits(const Loops& loops, const CopiedPieces&) { return loops.piece[kSrc] < kRegister; }
/// A transposition of few rows does not fill a tile of registers. But if its columns follow each other in the source,
/// it is deinterleaved, which is faster still.
bool suits(const Loops& loops, const Transposition&) {
  return loops.along_src.count <= kFew && loops.along_dst.axes.size() == 1 &&
         loops.along_dst.axes[0].stride[kSrc] != loops.along_src.count * loops.piece[kSrc];
}

}  // namespace

template <typename Method>
std::optional<PermutedRows> permuted_rows(const Planned<Method>& plan, bool streams) {
  const Loops& loops = plan.loops;
  const auto by_table = [](const Axis& axis) { return axis.table >= 0; };
  if (!suits(loops, plan.method) || std::ranges::any_of(loops.along_src.axes, by_table) ||
      std::ranges::any_of(loops.along_dst.axes, by_table))
    return {};
  PermutedRows out{{}, false, streams, plan.method};
  const auto note = [&](const Axes& row, const Axis& next, int64_t steps, bool of_region) {
    if (steps * next.stride[kDst] < kLeastBytes) return false;
    out.rows = {sources(row, loops.piece[kSrc], next), next.stride[kSrc]};
    out.of_region = of_region;
    return !out.rows.pieces.empty();
  };
  Axes inner = loops.along_dst.axes;
  const Axis last = inner.back();
  inner.pop_back();
  const int64_t of_row = loops.along_dst.count / last.extent;
  if ((loops.along_dst.block % of_row == 0 && note(inner, last, loops.along_dst.block / of_row, false)) ||
      (loops.along_dst.blocks == 1 && loops.along_src.axes.size() == 1 &&
       note(loops.along_dst.axes, loops.along_src.axes[0], loops.along_src.block, true)))
    return out;
  return {};
}

template std::optional<PermutedRows> permuted_rows(const Planned<CopiedPieces>&, bool);
template std::optional<PermutedRows> permuted_rows(const Planned<Transposition>&, bool);
template std::optional<PermutedRows> permuted_rows(const Planned<Gather>&, bool);

bool has_gaps(const RowPattern& rows) {
  return std::ranges::any_of(rows.pieces, [](const RowSource& piece) { return piece.from == RowSource::kGap; });
}

double permuted_price(const Traffic& traffic, const Bytes& bytes, bool streams) {
  /// Bytes a nanosecond, read and written together, in the cache; and the nanoseconds to find out, once a box, which
  /// bytes each of its lines has.
  constexpr double kRate = 36, kDescribedNs = 1000;
  return kDescribedNs +
         (streams ? traffic.prices.permuted * traffic.memory(bytes) : bytes.both() * (1 / kRate + traffic.waited));
}

}  // namespace relayout
