// Rows of small pieces that are alike and follow each other in the destination: whole lines of it are made by byte
// permutations of a few lines of the source (internal to reorder).
//
//     u8 RGB -> BGR: rows of 3 bytes, read at 2, 1 and 0; the next one 3 bytes later
#pragma once

#include <limits>
#include <variant>
#include <vector>

#include "relayout/reorder/methods/copied_pieces.h"
#include "relayout/reorder/methods/gather.h"
#include "relayout/reorder/methods/transposition.h"

namespace relayout {

/// What one piece of a row of the destination holds: bytes of the source, padding, or a gap of the layout, which is
/// left as it is.
struct RowSource {
  static constexpr int64_t kPadding = std::numeric_limits<int64_t>::min(), kGap = kPadding + 1;
  int64_t from;  // where the piece is read, in bytes from where the run's source starts; or kPadding or kGap
  int64_t bytes;

  bool operator==(const RowSource&) const = default;
};

/// Rows that are alike: the pieces of the first one, one after the other. Each next row is read `step` bytes later.
struct RowPattern {
  /// Limits: the pieces of a row, and the period of the rows in lines, after which a row starts at the same byte of a
  /// line again.
  static constexpr int64_t kMaxPieces = 64, kMaxLines = 68;

  std::vector<RowSource> pieces;  // none where lines cannot be made of them, or that gains nothing
  int64_t step = 0;

  bool operator==(const RowPattern&) const = default;
};

struct PermutedRows {
  RowPattern rows;
  /// The rows are those of the region, which are one axis, and there is one panel. Otherwise, a row is all that lies
  /// within one step of the last axis of the columns.
  bool of_region = false;
  /// Whether runs of many whole lines are written past the cache.
  bool past_cache = false;
  /// How the box is done where the instruction set has no kernel for byte permutations.
  std::variant<CopiedPieces, Transposition, Gather> otherwise;

  bool operator==(const PermutedRows&) const = default;
};

/// Looks whether the lines of a box that is planned another way can be made by byte permutations instead: all that a
/// line holds must come from a few lines of the source.
template <typename Method>
std::optional<PermutedRows> permuted_rows(const Planned<Method>& plan, bool streams);

/// Whether the rows leave gaps in the lines that they write.
bool has_gaps(const RowPattern& rows);

/// Nanoseconds of a box, or of the runs of tiles, whose lines are made by byte permutations; `waits`: in the caches.
double permuted_price(const Traffic& traffic, const Bytes& bytes, bool streams);

}  // namespace relayout
