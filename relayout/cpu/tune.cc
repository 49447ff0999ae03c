// Times candidates in turns and remembers the best: see tune.h.
#include "relayout/cpu/tune.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "relayout/cpu/buffers.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/stopwatch.h"
#include "relayout/cpu/tune_cache.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout::cpu {
namespace {

/// A short reorder is run many times in one turn, so that the turn takes about this many nanoseconds.
constexpr double kTurnNs = 100e3;
constexpr int64_t kMostRunsATurn = 4096;
/// A decision needs at least this many rounds.
constexpr int kFewestRounds = 3;

bool same_blocks(const PlanData& a, const PlanData& b) {
  return a.streams() == b.streams() && std::ranges::equal(a.boxes(), b.boxes(), [](const BoxPlan& x, const BoxPlan& y) {
           return x.along_src.block == y.along_src.block && x.along_dst.block == y.along_dst.block &&
                  x.ahead == y.ahead && x.blocks == y.blocks && x.method.index() == y.method.index();
         });
}

struct Candidate {
  Tuning tuning;
  Plan plan;
  std::vector<double> times = {};  // for each round, nanoseconds of one run

  double best() const { return *std::ranges::min_element(times); }
  double median() const {
    std::vector<double> sorted = times;
    std::ranges::sort(sorted);
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
};

std::vector<Candidate> make_candidates(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                       const Machine& machine) {
  std::vector<Candidate> out;
  out.push_back({{}, Plan::make(src, dst, attributes, machine)});
  const Plan plan_by_rules = out[0].plan;
  const PlanData& first = plan_by_rules.data();
  if (first.boxes().empty()) return out;
  const auto add = [&](const Tuning& tuning) {
    Plan plan = Plan::make(src, dst, attributes, machine, tuning);
    if (std::ranges::none_of(out, [&](const Candidate& c) { return same_blocks(c.plan.data(), plan.data()); })) {
      out.push_back({tuning, std::move(plan)});
    }
  };
  const int64_t bytes = src.span_bytes() + dst.span_bytes(), caches = machine.l3_share();
  if (bytes >= caches / 16 && bytes / 4 <= caches) {
    add({.stream = first.streams() ? Tuning::Stream::never : Tuning::Stream::always});
  }
  const BoxPlan& box = *std::ranges::max_element(first.boxes(), {}, &BoxPlan::elements);
  // Panels stay multiples of a tile.
  const auto panel = [&](int64_t wanted) { return std::min(ceil_div(wanted, 16) * 16, kMaxBlockSide); };
  const auto strip = [&](int64_t wanted) { return std::clamp<int64_t>(wanted, 1, kMaxTunedStrip); };
  const auto ahead = [&](int64_t wanted) { return std::clamp<int64_t>(wanted, 64, kMaxTunedAhead); };
  for (const auto& [times, over] : {std::pair{2, 1}, {1, 2}, {4, 1}}) {
    add({.strip = strip(box.along_src.block * times / over)});
    add({.panel = panel(box.along_dst.block * times / over)});
    if (box.ahead > 0) add({.ahead = ahead(box.ahead * times / over)});
  }
  return out;
}

/// The candidates run in turns, so that what slows the machine down for a while slows down all of them.
struct Race {
  const void* src;
  void* dst;
  const TuneOptions& options;
  Stopwatch& stopwatch;
  double deadline_us;
  bool warm = false;  // whether each turn begins with a run that is not timed
  int64_t runs = 1;   // in one turn

  bool is_over() const { return stopwatch.now_us() >= deadline_us; }
  void run_once(const Plan& plan) const { run(plan, src, dst, {.threads = options.threads}); }

  /// Runs a plan `count` times and returns the nanoseconds of one run.
  double time(const Plan& plan, int64_t count) const {
    const RunTime taken = stopwatch.time([&] {
      for (int64_t i = 0; i < count; ++i) run_once(plan);
    });
    return taken.us * 1e3 / static_cast<double>(count);
  }

  /// Times all candidates, or as many as there is time for. False where there was too little time for a decision.
  bool go(std::vector<Candidate>& candidates) {
    const int fewest = std::min(kFewestRounds, options.rounds);
    if (is_over()) return false;
    run_once(candidates[0].plan);  // so that the pages exist before anything is timed
    if (is_over()) return false;
    const double once = std::max(1.0, time(candidates[0].plan, 1));
    runs = std::clamp<int64_t>(std::llround(kTurnNs / once), 1, kMostRunsATurn);
    const double left = (deadline_us - stopwatch.now_us()) * 1e3;
    const double affordable = left / (once * static_cast<double>((runs + warm) * fewest));
    if (affordable < 2) return false;
    if (affordable < static_cast<double>(candidates.size())) {
      candidates.resize(static_cast<std::size_t>(affordable), candidates[0]);
    }
    for (int round = 0; round < options.rounds; ++round) {
      if (!one_round(candidates, static_cast<std::size_t>(round))) break;
    }
    return static_cast<int>(candidates.back().times.size()) >= fewest;
  }

  /// One round: a turn for each candidate, each round beginning with another candidate. Where the time is up before its
  /// end, nothing is recorded and the result is false.
  bool one_round(std::vector<Candidate>& candidates, std::size_t round) const {
    std::vector<double> times(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (is_over()) return false;
      const std::size_t at = (i + round) % candidates.size();
      if (warm) run_once(candidates[at].plan);
      times[at] = time(candidates[at].plan, runs);
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].times.push_back(times[i]);
    return true;
  }
};

/// The fastest, or the default where no other is clearly faster.
const Candidate& winner(const std::vector<Candidate>& candidates, double margin) {
  const Candidate& first = candidates[0];
  const Candidate& best = *std::ranges::min_element(candidates, {}, &Candidate::median);
  const bool clear = best.median() < (1 - margin) * first.median() && best.best() < (1 - margin) * first.best();
  return clear ? best : first;
}

/// Runs f. An Error is stored and not thrown.
template <typename F>
void keep_error(std::optional<Error>& error, F&& f) {
  try {
    f();
  } catch (const Error& caught) {
    error = caught;
  }
}

/// The cache's entry for the key. If there is none, reads the file and looks again.
std::optional<Tuning> find(TuneCache& cache, const std::string& key, const std::filesystem::path& file,
                           std::optional<Error>& file_error) {
  std::optional<Tuning> known = cache.find(key);
  if (known || file.empty()) return known;
  keep_error(file_error, [&] { cache.load(file); });
  return cache.find(key);
}

}  // namespace

std::vector<Tuning> tuning_candidates(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                      const Machine& machine) {
  std::vector<Tuning> out;
  for (const Candidate& candidate : make_candidates(src, dst, attributes, machine)) out.push_back(candidate.tuning);
  return out;
}

Tuned tune(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const void* src_data,
           void* dst_data, const TuneOptions& options) {
  Stopwatch& stopwatch = stopwatch_or_systems(options.stopwatch);
  const double start_us = stopwatch.now_us();
  if (options.rounds < 1) {
    throw Error(ErrorCode::invalid_argument, "tune: " + std::to_string(options.rounds) + " rounds; 1 is the least",
                "rounds", std::to_string(options.rounds), "1");
  }
  const Machine caches = options.machine.value_or(machine());
  Tuned out;
  out.plan = Plan::make(src, dst, attributes, caches);
  if (attributes.beta != 0 || attributes.indexed() || dst.layout.empty()) return out;

  TuneCache& cache = options.cache ? *options.cache : TuneCache::shared();
  const std::string key = tune_key(src, dst, attributes, src_data, dst_data, options.threads, caches);
  if (const std::optional<Tuning> known = find(cache, key, options.file, out.file_error)) {
    out.plan = Plan::make(src, dst, attributes, caches, *known);
    out.tuning = *known;
    out.remembered = true;
    return out;
  }

  std::vector<Candidate> candidates = make_candidates(src, dst, attributes, caches);
  if (candidates.size() < 2) return out;
  const double budget_us = std::chrono::duration<double, std::micro>(options.budget).count();
  Race race{src_data, dst_data, options, stopwatch, start_us + budget_us};
  race.warm = src.span_bytes() + dst.span_bytes() <= 2 * caches.l3_share();
  out.out_of_time = !race.go(candidates);
  if (out.out_of_time) return out;
  const Candidate& best = winner(candidates, options.margin);
  out.plan = best.plan;
  out.tuning = best.tuning;
  for (const Candidate& timed : candidates) out.candidates.push_back({timed.tuning, timed.median(), timed.best()});
  out.default_ns = candidates[0].median();
  out.tuned_ns = best.median();
  cache.insert(key, out.tuning);
  // A file that could not be read, for example as it is no tuning file, is not overwritten.
  if (!options.file.empty() && !out.file_error) keep_error(out.file_error, [&] { cache.save(options.file); });
  return out;
}

Tuned tune(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const ConstElements& src_data,
           const Elements& dst_data, const TuneOptions& options) {
  const BothBytes both = checked_buffers(src, src_data, dst, dst_data, "tune");
  return tune(src, dst, attributes, both.src, both.dst, options);
}

Plan measured_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const void* src_data,
                   void* dst_data, const TuneOptions& options) {
  return tune(src, dst, attributes, src_data, dst_data, options).plan;
}

Plan measured_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                   const ConstElements& src_data, const Elements& dst_data, const TuneOptions& options) {
  return tune(src, dst, attributes, src_data, dst_data, options).plan;
}

std::string to_text(const Tuning& tuning) {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  if (tuning.stream == Tuning::Stream::always) add("stream=always");
  if (tuning.stream == Tuning::Stream::never) add("stream=never");
  if (tuning.panel > 0) add("panel=" + std::to_string(tuning.panel));
  if (tuning.strip > 0) add("strip=" + std::to_string(tuning.strip));
  if (tuning.ahead > 0) add("ahead=" + std::to_string(tuning.ahead));
  return out.empty() ? "default" : out;
}

}  // namespace relayout::cpu
