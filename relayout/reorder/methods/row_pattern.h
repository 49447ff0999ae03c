// Rows of small pieces that are alike and follow each other in a run of tiles (TileRuns): whole lines of the
// destination are made by byte permutations of a few lines of the source (internal to reorder).
//
//     s8 nChw16c -> nhwc, C = 17: rows of 17 bytes, 16 of them of one block of channels and one of the next
#pragma once

#include <limits>
#include <vector>

#include "relayout/reorder/price.h"

namespace relayout {

/// What one piece of a row of the destination holds: bytes of the source, or padding.
struct RowSource {
  static constexpr int64_t kPadding = std::numeric_limits<int64_t>::min();
  int64_t from;  // where the piece is read, in bytes from where the run's source starts; or kPadding
  int64_t bytes;
};

/// Rows that are alike: the pieces of the first one, one after the other. Each next row is read `step` bytes later.
struct RowPattern {
  /// Limits: the pieces of a row, and the period of the rows in lines, after which a row starts at the same byte of a
  /// line again.
  static constexpr int64_t kMaxPieces = 64, kMaxLines = 68;

  std::vector<RowSource> pieces;  // none where lines cannot be made of them, or that gains nothing
  int64_t step = 0;
};

/// Nanoseconds of the runs of tiles whose lines are made by byte permutations.
inline double permuted_price(const Traffic& traffic, const Bytes& bytes) {
  /// Nanoseconds to find out, once, which bytes each of the lines has.
  constexpr double kDescribedNs = 1000;
  return kDescribedNs + traffic.prices.permuted * traffic.memory(bytes);
}

}  // namespace relayout
