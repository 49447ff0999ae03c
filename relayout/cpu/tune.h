// Plans by measuring: a few choices tried on the real buffers, and the best remembered.
//
// Plan::make() estimates: it chooses by prices and rules, from sizes alone. For a reorder that runs often it can pay to
// try what these might have chosen otherwise (Tuning): streaming or not, other panels, strips and prefetch distances.
//
//     std::vector<float> x(...), y(...);
//     Plan plan = cpu::measured_plan(src, dst, {}, x, y, {.threads = 2, .file = "tune.txt"});
//     cpu::run(plan, x, y, {.threads = 2});
//
// The result of a reorder is the same bit for bit, whatever the plan.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "relayout/core/elements.h"
#include "relayout/core/error.h"
#include "relayout/cpu/arrays.h"
#include "relayout/reorder/plan.h"

namespace relayout::cpu {

class Stopwatch;
class TuneCache;

struct TuneOptions {
  /// How many threads the plan will run with, as in RunOptions.
  int threads = 0;
  /// How many turns each candidate has; at least 1.
  int rounds = 7;
  /// About how long measuring may take. No turn starts after this time, and with a budget of 0 not even the first run
  /// is made. If the time does not suffice for three rounds (or `rounds`) of two candidates, nothing is decided.
  std::chrono::milliseconds budget{1000};
  /// The share by which both a candidate's median and its best time must be less than the default's. A smaller gain may
  /// be noise.
  double margin = 0.03;
  /// Where results are looked up and kept (tune_cache.h, which is not installed); null for the cache of the process.
  TuneCache* cache = nullptr;
  /// A file that keeps results on disk as well; empty for none. It is read where the cache has no result, and written
  /// after measuring.
  std::filesystem::path file{};
  /// The caches; those of the machine that this runs on unless given, as in make_plan().
  std::optional<Machine> machine{};
  /// Where run times come from (stopwatch.h, which is not installed); null: the clocks of the machine.
  Stopwatch* stopwatch = nullptr;
};

/// A candidate that was measured: nanoseconds of one run.
struct TimedTuning {
  Tuning tuning;
  double median_ns = 0, best_ns = 0;
};

struct Tuned {
  Plan plan;
  Tuning tuning;                        // what `plan` was made with; Tuning{} is the default
  bool remembered = false;              // it was known before
  bool out_of_time = false;             // there was something to choose, but the budget was too short to decide
  std::vector<TimedTuning> candidates;  // those that were measured, the default first; empty where none was
  double default_ns = 0, tuned_ns = 0;  // medians; 0 where nothing was measured
  /// What went wrong with TuneOptions::file. The plan can be used nevertheless.
  std::optional<Error> file_error;
};

/// Chooses a plan by measuring, or by a remembered result for the same layouts, types, attributes, alignments, threads,
/// instruction set, caches and revision of the library. The buffers are as for run(). Where something is measured, dst
/// afterwards holds the reorder's result; else it is untouched. A sum (beta != 0) is not measured, as each run adds to
/// dst: it gets the default plan. So does a reorder whose candidates all come down to the same blocks, small ones in
/// particular. Errors: those of Plan::make; invalid_argument (rounds below 1). Cost: the budget, and one run.
Tuned tune(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const void* src_data,
           void* dst_data, const TuneOptions& options = {});

/// The checked form: takes vectors, arrays and spans, of elements or of bytes (core/elements.h). Errors: those above;
/// invalid_argument where elements are of another type than the description's, with both types; buffer_too_small;
/// overlap where the buffers share memory.
Tuned tune(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const ConstElements& src_data,
           const Elements& dst_data, const TuneOptions& options = {});
template <typename Src, typename Dst>
requires ArrayAmongRanges<Src, Dst> Tuned tune(const TensorDesc& src, const TensorDesc& dst,
                                               const Attributes& attributes, Src& src_data, Dst& dst_data,
                                               const TuneOptions& options = {}) {
  return tune(src, dst, attributes, ConstElements(src_data), Elements(dst_data), options);
}

/// The plan that tune() chooses, in the same forms.
Plan measured_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const void* src_data,
                   void* dst_data, const TuneOptions& options = {});
Plan measured_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                   const ConstElements& src_data, const Elements& dst_data, const TuneOptions& options = {});
template <typename Src, typename Dst>
requires ArrayAmongRanges<Src, Dst> Plan measured_plan(const TensorDesc& src, const TensorDesc& dst,
                                                       const Attributes& attributes, Src& src_data, Dst& dst_data,
                                                       const TuneOptions& options = {}) {
  return measured_plan(src, dst, attributes, ConstElements(src_data), Elements(dst_data), options);
}

/// What tune() tries for such a reorder: the default first, then those that would differ from it and from each other
/// in the blocks of a plan. Streaming is tried the other way round where both sides together take between a sixteenth
/// and four times the last level of the cache (Machine::l3_share()); panels and strips at a half, 2 and 4 times, and
/// the prefetch distance too.
std::vector<Tuning> tuning_candidates(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                      const Machine& machine);

/// "default", "stream=always strip=128".
std::string to_text(const Tuning& tuning);

}  // namespace relayout::cpu
