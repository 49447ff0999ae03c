// Lines of a pattern: how each 64 bytes of a patch are put together from windows of the source, and what that takes
// (internal to cpu).
//
// A window of whose bytes a line takes one run is *shifted*: it is loaded from where its run comes to lie in its place,
// under a mask. Of others the bytes are permuted. A window that several lines need is loaded once, if a register is
// left for it.
#pragma once

#include <cstdint>
#include <vector>

#include "relayout/cpu/generated/patterns.h"

namespace relayout::cpu {

struct PatchLines {
  /// Some bytes that follow each other on both sides: from the instance's source, and from where the line starts.
  struct Piece {
    int64_t src, dst, bytes;
  };
  struct Window {
    int64_t from;    // where its 64 bytes start, from the instance's source
    uint64_t taken;  // bit i: byte i of the line is of this window
    bool shifted;
    std::size_t first_piece, pieces;
  };
  struct Line {
    int64_t dst;  // from where the instance starts
    uint64_t written = 0, zeros = 0;
    std::size_t first_window = 0, windows = 0;
    bool fours = true;  // all bytes move by fours
  };
  std::vector<Line> lines;
  std::vector<Window> windows;
  std::vector<Piece> pieces;
};

/// Which windows an instance may read: those that start from `least` to `most` bytes after its source.
struct Readable {
  int64_t least, most;
  bool has(int64_t from) const { return from >= least && from <= most; }
};
Readable readable_by(const Pattern& pattern, int64_t src_bytes);

/// The lines of `bytes` bytes of the destination from `dst` on, whose origins count from `src`. Stops at a line with
/// more than `most_windows`, and then returns nothing.
std::optional<PatchLines> lines_of(const Origins& origins, const Instance& first, int64_t bytes,
                                   const Readable& readable, std::size_t most_windows);

/// Nanoseconds that an instance takes in the first-level cache.
double instance_ns(const PatchLines& lines);

}  // namespace relayout::cpu
