// Runs of rows that are alike: each line of the destination is made straight from the source by byte permutations
// (internal to cpu).
//
// After a few rows, lines hold the same bytes of their rows again: the lines have a *period*. Where the bytes of a line
// are read is found out once for each line of one period, relative to its rows. A kernel then makes line after line of
// stretches of the source, without an image in the cache.
//
//     s8 nChw16c -> nhwc, C = 17: rows of 17 bytes; after 17 lines (64 rows) a row starts at a line again. Each line
//     has up to 61 bytes of a stretch of the first block of channels, and 3 or 4 of one of the second
//     u8 RGB -> BGR: rows of 3 bytes, each backwards; after 3 lines (64 rows) one starts at a line again
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// Room for the descriptions of the lines of all runs of a box.
struct PermutedLineList {
  PermutedLine lines[RowPattern::kMaxLines];
  int64_t used = 0;
};

/// Runs of rows that are alike: all runs of a box, or those at the same place of all tiles.
class PermutedRun {
 public:
  /// Describes in `list` the lines of rows like `rows`. All runs together have `total` bytes. `rows` and `list` must
  /// outlive the calls of make(). `past_cache`: the destination is written past the cache. Returns false, and then
  /// make() must not be called, if there is no kernel, if a line needs too many stretches, or if the period is too
  /// long, absolutely or for `total` bytes.
  bool plan(const RunContext& context, const RowPattern& rows, int64_t total, bool past_cache, PermutedLineList& list);

  /// Whether the run before, or the run after, continues the rows of a run, in the source as in the destination. The
  /// line that two such runs share is then made as a whole, with the later run.
  struct Joined {
    bool before, after;
  };

  /// Whether a run of `bytes` bytes and a run that starts `step` later may be joined.
  bool joins(const Offsets& step, int64_t bytes) const;

  /// Makes one run of `bytes` bytes, which are whole rows. Its whole lines are written past the cache if `past_cache`
  /// is set and rows have no gaps. Other bytes are written by ordinary stores. No byte outside the run is written,
  /// except in a line that it shares with a run that it is joined to.
  void make(const Kernels& kernels, const std::byte* src, std::byte* dst, int64_t bytes, bool past_cache,
            Joined joined = {});

 private:
  int64_t source_of(int64_t at) const;
  bool plan_line(PermutedLine& line, int64_t at);
  void add_stretch(PermutedLine& line, int k, int64_t first, int64_t bytes, int64_t in_line) const;
  bool plan_lines(int64_t start);
  int64_t head_of(const std::byte* at) const;
  bool seek(int64_t head);
  void make_bytes(const std::byte* src, std::byte* dst, int64_t begin, int64_t end) const;

  static constexpr int64_t kNone = -1;

  const RowPattern* rows_;
  int64_t width_;  // Kernels::permuted_bytes, which is what a line is here
  int64_t row_bytes_;
  int64_t reach_;  // where a row ends in the source, from where it starts
  bool gaps_;
  PermutedLine* list_;
  PermutedLines lines_;
  int64_t start_;    // where the first line of the list starts in a run
  int64_t head_;     // where the first whole line of the last run that was made starts in it
  int64_t skipped_;  // how far on in the source that line is read
  /// The incomplete lines at the start and at the end of a run, and where in the run's last rows the latter starts.
  struct EdgeLine {
    PermutedLine line;
    uint64_t written;  // the bytes to write if all of them are in the run
  };
  EdgeLine first_, last_;
  int64_t last_at_;
};

}  // namespace relayout::cpu
