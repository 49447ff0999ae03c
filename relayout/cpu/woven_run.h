// Runs of tiles whose rows are alike, line by line out of the source (internal to cpu).
//
// Where a line's bytes come from repeats after a few rows. Each of these lines is described once; a kernel makes them
// by byte permutations, with no image in between.
//
//     s8 nChw16c -> nhwc, C = 17: rows of 17 bytes; after 17 lines (64 rows) a row starts at a line again. Each line
//     has up to 61 bytes of a stretch of the first block of channels, and 3 or 4 of one of the second
#pragma once

#include "relayout/cpu/run.h"

namespace relayout::cpu {

/// The lines of all runs of a box.
struct WovenLineList {
  WovenLine lines[kMaxRowLines];
  int64_t used = 0;
};

class WovenRun {
 public:
  /// The lines of a run of so many tiles, of which the first is at `dst`, in `list`. False where there are no such
  /// lines, too few of them to be worth it, or too many, or of too many stretches, or where there is no kernel; then
  /// make() must not be called.
  bool plan(const RunContext& context, const BoxPlan& run, int64_t tiles, const std::byte* dst, WovenLineList& list);

  /// One tile's run. False, and nothing is done, where rows lie in lines as they did at no line of the list.
  bool make(const RunContext& context, const std::byte* src, std::byte* dst);

 private:
  int64_t source_of(int64_t at) const;
  bool plan_line(WovenLine& line, int64_t at, int* stretches) const;
  void make_bytes(const std::byte* src, std::byte* dst, int64_t begin, int64_t end) const;

  const BoxPlan* run_;
  int64_t row_bytes_;
  WovenLines lines_;
  int64_t start_;  // of the first line of the list in the run
  int64_t head_;   // of the last tile that was made: where its first line starts, and the source's step to it
  int64_t skipped_;
};

}  // namespace relayout::cpu
