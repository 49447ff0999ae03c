// Units of line programs: what a list of windows is made for once and then serves again and again (internal to
// reorder).
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "relayout/reorder/machine.h"
#include "relayout/reorder/refine/axes.h"

namespace relayout {

/// Past the cache, lines of a unit begin where lines of memory do. Memory from malloc() begins at a multiple of so many
/// bytes.
inline constexpr int64_t kFromMalloc = 16;

/// What a program sets to 0: nothing, the padding between the elements of a stretch, or also what lies between
/// stretches and between units, all of which is padding.
enum class ProgramFills : uint8_t { nothing, within, between };

/// What a line program is planned for.
struct LineRules {
  const Machine& machine;
  /// Nanoseconds: only a program that takes less in the first-level cache is worth having.
  double most_ns = std::numeric_limits<double>::max();
  /// Whether units are whole lines of the destination, written past the cache.
  bool past_cache = false;
};

/// Some bytes that follow each other on both sides, from where their unit starts.
struct Piece {
  int64_t dst, src, bytes;
  int64_t end() const { return dst + bytes; }
};
using Pieces = std::vector<Piece>;

/// Adds the pieces from `first` on once more for each further step of an axis.
void spread(Pieces& pieces, std::size_t first, const Axis& axis, int64_t steps);

/// A stretch of the destination. It is written as a whole, or but for gaps between pieces.
struct Stretch {
  int64_t begin, end;
};

/// A unit: the elements that boxes have of their own, at all steps of some of the axes and at `steps` of one more.
struct Unit {
  Pieces pieces;                   // in the destination's order
  std::vector<Stretch> stretches;  // likewise, the first from 0 on
  int64_t run = 0;                 // the bytes of a stretch, if all have the same
  Axis row;                        // of extent 1 if no axis is cut
  int64_t steps = 1;
  /// The axis that was taken first, and the bytes of a piece before.
  Axis first;
  int64_t piece = 0;
  /// The axes whose steps list() still has to add to the pieces.
  Axes listed_later;

  /// Whether all stretches have `run` bytes.
  bool even() const {
    return std::ranges::all_of(stretches, [&](const Stretch& one) { return one.end - one.begin == run; });
  }
  /// Whether it is one stretch of whole lines, cut from an axis of several units.
  bool in_lines() const {
    return stretches.size() == 1 && row.extent >= 2 * steps && steps * row.stride[kDst] % kCacheLine == 0 &&
           run == steps * row.stride[kDst];
  }
  /// Past the cache: from how many bytes of lines on they may have to begin, in steps of kFromMalloc. Where rows lie
  /// apart by lines, or halves of them, no row starts at a line if the first one does not.
  int64_t phases() const {
    return std::gcd(kCacheLine, row.stride[kDst]) <= kFromMalloc ? 1 : kCacheLine / kFromMalloc;
  }
  int64_t reach() const { return stretches.back().end; }
  int64_t written() const {
    int64_t out = 0;
    for (const Stretch& stretch : stretches) out += stretch.end - stretch.begin;
    return out;
  }

  /// Lets stretches go on to `longer` bytes, which are padding, unless they would run into each other. The step of the
  /// next axis is such a length: in a destination without gaps, nothing but padding lies before the next step.
  void lengthen(int64_t longer);

  /// The most pieces that list() can find: those that follow each other are joined.
  int64_t count_pieces() const { return static_cast<int64_t>(pieces.size()) * count_elements(listed_later); }

  /// Lists all pieces.
  void list();

  /// Adds the elements of the first `count` steps of an axis.
  void add(const Axis& axis, int64_t count);

  /// Joins pieces and stretches that follow each other.
  void join();
};

/// How many pieces a unit may have. To list one takes some 20 nanoseconds, and so a plan at most some 10 runs.
int64_t most_pieces(double most_ns);

/// Takes the axes of a unit out of `axes`. It goes over gaps in the destination; with ProgramFills::between these are
/// padding. False where axes interleave the unit's stretches.
bool choose_axes(Unit& unit, Axes& axes, ProgramFills fills, const LineRules& rules);

}  // namespace relayout
