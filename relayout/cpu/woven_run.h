// Runs of rows that are alike, line by line out of the source (internal to cpu).
//
// Where a line's bytes come from repeats after a few rows. Each of these lines is described once; a kernel makes them
// by byte permutations, with no image in between.
//
//     s8 nChw16c -> nhwc, C = 17: rows of 17 bytes; after 17 lines (64 rows) a row starts at a line again. Each line
//     has up to 61 bytes of a stretch of the first block of channels, and 3 or 4 of one of the second
//     u8 RGB -> BGR: rows of 3 bytes, each backwards; after 3 lines (64 rows) one starts at a line again
#pragma once

#include "relayout/cpu/run.h"

namespace relayout::cpu {

/// The lines of all rows of a box.
struct PermutedLineList {
  PermutedLine lines[kMaxRowLines];
  int64_t used = 0;
};

/// Runs of rows that are alike: all of a box, or of one place in all tiles.
class PermutedRun {
 public:
  /// The lines of rows of `run.row_sources`, in `list`; of the runs together, `total` bytes. Both are used by make().
  /// False where there are no such lines, too few of them to be worth it, or too many, or of too many stretches, or
  /// where there is no kernel; then make() must not be called.
  bool plan(const RunContext& context, const BoxPlan& run, int64_t total, PermutedLineList& list);

  /// Which of a run's neighbours go on from it, on both sides as rows do within it: the line that they share is made
  /// as a whole, by the later one.
  struct Joined {
    bool before, after;
  };

  /// Whether a run of so many bytes and one that starts `step` later may be joined.
  bool joins(const Offsets& step, int64_t bytes) const;

  /// One run of so many bytes, which are whole rows; its whole lines are written past the cache, if that is asked for
  /// and nothing between its pieces is left as it is. Other bytes are written by ordinary stores, and just those of
  /// the run, but of a line shared with one that it is joined to.
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

  const BoxPlan* run_;
  int64_t width_;  // Kernels::permuted_bytes, which is what a line is here
  int64_t row_bytes_;
  int64_t reach_;  // the end of a row in the source
  bool gaps_;
  PermutedLine* list_;
  PermutedLines lines_;
  int64_t start_;  // of the first line of the list in the run
  int64_t head_;   // of the last run that was made: where its first line starts, and the source's step to it
  int64_t skipped_;
  /// The first line's bytes of a run and the last ones, and where in a row the latter start.
  struct Edge {
    PermutedLine line;
    uint64_t written;  // of its bytes, where the run has all
  };
  Edge first_, last_;
  int64_t last_at_;
};

/// Does blocks [begin, end) of a box that has row_sources. False, and nothing is done, where its lines cannot be made.
bool run_permuted(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

}  // namespace relayout::cpu
