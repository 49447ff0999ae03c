// Measuring one reorder beside its limit: a copy of as many bytes, with as many threads, in the same run.
//
//     const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
//     const TensorDesc dst(Format::parse("nhwc").bind(dims), DType::f32);
//     measure(src, dst).ratio;     // 1.2: takes 1.2 times as long as the copy
//
// Running the plan is timed, not making it (plan_ns is the time of that). The limit is the faster of two copies
// (copy.h) of copy_bytes / 2 bytes; the non-temporal one is left out below kNonTemporalFrom, where it is far slower.
// Reorder and copies take turns in each repetition, in a rotating order, from the same pages to the same pages where
// these are large enough. The result is the median of the repetitions. What fits into the caches is measured in them:
// each turn begins with a run that is not timed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/competitor.h"
#include "relayout/cpu/tune.h"
#include "relayout/reorder/plan.h"

namespace relayout::bench {

/// Bytes, read + written, from which the non-temporal copy is timed too.
inline constexpr int64_t kNonTemporalFrom = int64_t{8} << 20;
/// Up to so many bytes, read + written, each turn begins with a run that is not timed: twice a last-level cache of 32
/// MiB.
inline constexpr int64_t kWarmUpTo = int64_t{64} << 20;
/// The most elements that MeasureOptions::verify looks at: the reference takes 100 ns for each.
inline constexpr int64_t kMostVerified = int64_t{4} << 20;

struct MeasureOptions {
  int threads = 1;  // 0: all; more than there are: all
  int repeat = 15;
  /// Source and destination start so many bytes past a page, as they do in memory from malloc (16). The copies do not.
  int64_t misalign = 0;
  /// Bytes, read + written, of the copies that count as the limit; 0: those of the plan (bytes_moved).
  int64_t copy_bytes = 0;
  /// Work that takes less than this is done many times in one repetition.
  double repetition_ns = 100e3;
  /// Compares the result with the reference's first, where the tensor has up to kMostVerified elements.
  bool verify = false;
  /// Tunes the plan first, and times both in the same turns. Its threads are those above.
  std::optional<cpu::TuneOptions> tune;
  /// Times the other plans that the planner chose from in the same turns (relayout/reorder/offers.h).
  bool offers = false;
  /// Other systems to time in the same turns. Not owned; may be null.
  const std::vector<Competitor>* competitors = nullptr;
};

/// The most of MeasureOptions::misalign: less than a page.
inline constexpr int64_t kMostMisaligned = 4095;

/// The time and the outcome of another library.
struct CompetitorResult {
  std::string name, version;
  double median_ns = 0;  // 0 where there is no time
  std::string why;       // why there is none: "wrong result", or that it cannot
};

/// The tuned plan beside the one that was made by rule.
struct TunedResult {
  double median_ns = 0;  // of one run of the tuned plan; that of the default plan where it is the same
  cpu::Tuned tuned;
};

/// A plan that the planner chose from.
struct OfferResult {
  std::string way, kernel;
  double predicted_ns = 0;  // one thread
  double median_ns = 0;
  bool chosen = false;
};

struct Measurement {
  double median_ns = 0, min_ns = 0;  // of one run
  int64_t bytes = 0;                 // read + written, by the plan's cost
  int64_t copy_bytes = 0;            // of the copies, read + written: the same, unless others were asked for
  double gbps = 0;                   // bytes / median_ns
  double copy_ns = 0;                // the limit: the smaller of the next two
  double memcpy_ns = 0;
  std::optional<double> nt_copy_ns;
  double ratio = 0;         // median_ns / copy_ns
  double min_ratio = 0;     // min_ns / the smallest time of a copy: where a busy machine spoils the medians
  double plan_ns = 0;       // median of Plan::make
  double predicted_ns = 0;  // Plan::cost, one thread
  std::string kernel;
  std::string_view isa;
  int threads = 1, repeat = 0;
  int64_t misalign = 0;              // bytes, as asked for
  std::optional<bool> verified;      // whether the result is the reference's, where that was asked and could be seen
  bool too_large_to_verify = false;  // asked for, and more than kMostVerified elements
  std::optional<TunedResult> tuned;  // where it was asked for
  std::vector<CompetitorResult> competitors;
  std::vector<OfferResult> offers;  // where they were asked for, the cheapest by prediction first

  /// Whether the result was compared with the reference and differs from it.
  bool wrong() const { return verified && !*verified; }
  /// How many times as long the plan takes as the fastest of the offers; 1 where there are none.
  double regret() const;
};

/// Errors: those of Plan::make; invalid_argument (an empty tensor, under 1 repetition, misaligned by less than 0 or by
/// a page or more, copies of less than 0 bytes); limit where the buffers are larger than the available memory; io where
/// the system refuses it. Cost: about 4 * repeat times max(run, repetition_ns).
Measurement measure(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                    const MeasureOptions& options = {});

/// The bytes that have to be moved: what the plan's cost says, but where a source is read repeatedly (broadcast), each
/// of its bytes counts once.
int64_t bytes_moved(const Plan& plan);

}  // namespace relayout::bench
