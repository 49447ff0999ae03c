// Times by key: found in the cache, else measured; what a step takes is added to each.
#include "relayout/execute/measure/measured_costs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "relayout/cpu/stopwatch.h"
#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/in_situ.h"
#include "relayout/execute/measure/limits.h"
#include "relayout/execute/measure/step.h"

namespace relayout::execute {

using graph::CostKey;
using graph::Implementation;

namespace {

/// The file is written whenever this many microseconds have passed, so a process that is killed loses no more than
/// that.
constexpr double kSaveEveryUs = 5e6;
/// A time is measured at most this often until it is reliable. Second and third attempts may take kMeasurePatienceUs in
/// all.
constexpr int kMeasureAttempts = 3;
constexpr double kMeasurePatienceUs = 5e6;

}  // namespace

struct MeasuredCosts::Impl {
  Impl(const graph::Backend& used, const MeasuredOptions& options)
      : file(options.file),
        check(options.check),
        backend(used),
        environment(environment_key(backend)),
        stopwatch(cpu::stopwatch_or_systems(options.stopwatch)),
        in_situ(
            backend,
            {.runs = options.runs, .budget = std::chrono::microseconds(options.budget_us), .stopwatch = &stopwatch}) {
    remeasure = options.remeasure;
    try {
      if (!file.empty() && !options.remeasure) cache.load(file);
    } catch (const Error& error) {
      file_error = error;
      writable = error.code() == ErrorCode::corrupt;
    }
  }

  template <typename Measure>
  double time(const CostKey& of, Measure measure) {
    const CostKey key = graph::KeyMaker(environment).add(of.high).add(of.low).key();
    const bool repeats = to_repeat.erase(key) > 0;
    std::optional<double> known = cache.find(key);
    const bool was_reliable = known.has_value();
    if (!was_reliable) {
      if (const auto found = unreliable.find(key); found != unreliable.end()) known = found->second;
    }
    if (known && !repeats) {
      remembered += was_reliable;
      return *known;
    }
    Timed out = best_of_attempts(measure);
    if (!known) {
      ++measured;
      if (out.us < graph::kImpossible) fresh.insert(key);
    }
    out = {std::min(out.us, known.value_or(graph::kImpossible)), out.reliable || was_reliable};
    if (out.reliable) {
      is_new |= cache.insert(key, out.us);
      unreliable.erase(key);
    } else {
      unreliable[key] = out.us;
      forget_if_remeasured(key);
    }
    if (stopwatch.now_us() - saved_us > kSaveEveryUs) try_save();
    return out.us;
  }

  /// Removes a time that a new measurement should have replaced, so that it is not found in the file next time.
  void forget_if_remeasured(const CostKey& key) {
    if (!remeasure) return;
    cache.forget(key);
    is_new = true;
  }

  /// The least time of a few attempts, which end with the first reliable one. All second and third attempts together
  /// have limited time: on a machine that is busy for long they would be no better.
  template <typename Measure>
  Timed best_of_attempts(Measure measure) {
    Timed out{graph::kImpossible, false};
    for (int attempt = 0; attempt < kMeasureAttempts && !out.reliable && (attempt == 0 || patience_us > 0); ++attempt) {
      if (check) check();
      const double begin_us = stopwatch.now_us();
      const Timed one = measure();
      out = {std::min(out.us, one.us), one.reliable};
      if (attempt > 0) patience_us -= stopwatch.now_us() - begin_us;
    }
    return out;
  }

  /// What a step takes in addition. It is a property of the machine, not of a primitive, so it is not counted among the
  /// times.
  double step() {
    if (step_us) return *step_us;
    const CostKey key = step_key(environment);
    step_us = cache.find(key);
    if (!step_us || !(*step_us > 0 && *step_us <= kMostCallUs)) {
      if (check) check();
      const std::optional<double> found = measured_step_us(backend, stopwatch);
      if (found)
        is_new |= cache.insert(key, *found);
      else
        forget_if_remeasured(key);
      step_us = found.value_or(0);
    }
    return *step_us;
  }

  void save() {
    saved_us = stopwatch.now_us();
    if (!is_new || file.empty() || !writable) return;
    try {
      cache.save(file);
      is_new = false;
      if (file_error && file_error->code() != ErrorCode::corrupt) file_error.reset();
    } catch (const Error& error) {
      file_error = error;
      throw;
    }
  }
  void try_save() {
    try {
      save();
    } catch (const Error&) {
      // The times can be used, and file_error() says why they are not in the file.
    }
  }

  std::filesystem::path file;
  std::function<void()> check;
  const graph::Backend& backend;
  CostKey environment;
  std::optional<double> step_us;
  cpu::Stopwatch& stopwatch;
  InSitu in_situ;
  CostCache cache;
  std::optional<Error> file_error;
  bool is_new = false, writable = true, remeasure = false;
  /// Unreliable times by key.
  std::unordered_map<CostKey, double, graph::CostKeyHash> unreliable;
  /// Times that were measured once since the last again(), and times that are to be measured a second time.
  std::unordered_set<CostKey, graph::CostKeyHash> fresh, to_repeat;
  double patience_us = kMeasurePatienceUs, saved_us = stopwatch.now_us();
  int64_t remembered = 0, measured = 0;
};

MeasuredCosts::MeasuredCosts(const graph::Backend& backend, const MeasuredOptions& options)
    : impl_(std::make_unique<Impl>(backend, options)) {}
MeasuredCosts::~MeasuredCosts() { impl_->try_save(); }

double MeasuredCosts::primitive(const graph::CostContext& context, graph::NodeId node,
                                const Implementation& implementation, const Implementation* forward, bool in_place) {
  return impl_->step() + impl_->time(graph::primitive_key(context, node, implementation, forward, in_place), [&] {
    return impl_->in_situ.primitive(context, node, implementation, forward, in_place);
  });
}

double MeasuredCosts::reorder(const graph::ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) {
  return impl_->step() +
         impl_->time(graph::reorder_key(setting, from, to), [&] { return impl_->in_situ.reorder(setting, from, to); });
}

bool MeasuredCosts::again() {
  impl_->to_repeat = std::exchange(impl_->fresh, {});
  return !impl_->to_repeat.empty();
}

void MeasuredCosts::save() { impl_->save(); }
const std::optional<Error>& MeasuredCosts::file_error() const { return impl_->file_error; }
int64_t MeasuredCosts::unreliable() const { return std::ssize(impl_->unreliable); }
bool MeasuredCosts::step_unreliable() const { return impl_->step_us && *impl_->step_us <= 0; }
int64_t MeasuredCosts::remembered() const { return impl_->remembered; }
int64_t MeasuredCosts::measured() const { return impl_->measured; }

std::unique_ptr<MeasuredCosts> measured_costs(const graph::Backend& backend, const MeasuredOptions& options) {
  return std::make_unique<MeasuredCosts>(backend, options);
}

}  // namespace relayout::execute
