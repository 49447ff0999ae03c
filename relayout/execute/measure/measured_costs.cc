// Times by key: found in the cache, else measured; and the step that each comes with.
#include "relayout/execute/measure/measured_costs.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/in_situ.h"
#include "relayout/execute/measure/step.h"

namespace relayout::execute {

using graph::CostKey;
using graph::Implementation;

namespace {

using Clock = std::chrono::steady_clock;
/// What a process that is stopped may lose.
constexpr std::chrono::seconds kSaveEvery{5};
constexpr int kAttempts = 3;
constexpr std::chrono::seconds kPatience{5};

}  // namespace

struct MeasuredCosts::Impl {
  Impl(const graph::Backend& used, const MeasuredOptions& options)
      : file(options.file),
        check(options.check),
        backend(used),
        environment(environment_key(backend)),
        in_situ(backend, {.runs = options.runs, .budget = std::chrono::microseconds(options.budget_us)}) {
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
    const bool sure = known.has_value();
    if (!sure) {
      if (const auto found = doubtful.find(key); found != doubtful.end()) known = found->second;
    }
    if (known && !repeats) {
      remembered += sure;
      return *known;
    }
    Timed out = sure_time(measure);
    if (!known) {
      ++measured;
      if (out.us < graph::kImpossible) fresh.insert(key);
    }
    out = {std::min(out.us, known.value_or(graph::kImpossible)), out.sure || sure};
    if (out.sure) {
      is_new |= cache.insert(key, out.us);
      doubtful.erase(key);
    } else {
      doubtful[key] = out.us;
      forget_if_anew(key);
    }
    if (Clock::now() - saved > kSaveEvery) try_save();
    return out.us;
  }

  /// Where all is measured anew on purpose the file's time is none.
  void forget_if_anew(const CostKey& key) {
    if (!remeasure) return;
    cache.forget(key);
    is_new = true;
  }

  /// A few attempts, and the least of them. The time for more than one is limited for all that is measured: on a
  /// machine that is busy for long they would be no better.
  template <typename Measure>
  Timed sure_time(Measure measure) {
    Timed out{graph::kImpossible, false};
    for (int attempt = 0; attempt < kAttempts && !out.sure && (attempt == 0 || patience > Clock::duration(0));
         ++attempt) {
      if (check) check();
      const Clock::time_point begin = Clock::now();
      const Timed one = measure();
      out = {std::min(out.us, one.us), one.sure};
      if (attempt > 0) patience -= Clock::now() - begin;
    }
    return out;
  }

  /// Of this machine, not of a primitive: not counted among the times.
  double step() {
    if (step_us) return *step_us;
    const CostKey key = step_key(environment);
    step_us = cache.find(key);
    if (!step_us || *step_us <= 0 || !std::isfinite(*step_us)) {
      if (check) check();
      const std::optional<double> found = measured_step_us(backend);
      if (found)
        is_new |= cache.insert(key, *found);
      else
        forget_if_anew(key);
      step_us = found.value_or(0);
    }
    return *step_us;
  }

  void save() {
    saved = Clock::now();
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
      // The times are there, and file_error() says why the file is not.
    }
  }

  std::filesystem::path file;
  std::function<void()> check;
  const graph::Backend& backend;
  CostKey environment;
  std::optional<double> step_us;
  InSitu in_situ;
  CostCache cache;
  std::optional<Error> file_error;
  bool is_new = false, writable = true, remeasure = false;
  /// Not sure, by key.
  std::unordered_map<CostKey, double, graph::CostKeyHash> doubtful;
  /// Measured once, and what of that is measured again when it is asked for.
  std::unordered_set<CostKey, graph::CostKeyHash> fresh, to_repeat;
  Clock::duration patience = kPatience;
  Clock::time_point saved = Clock::now();
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
int64_t MeasuredCosts::doubtful() const { return std::ssize(impl_->doubtful); }
bool MeasuredCosts::step_doubtful() const { return impl_->step_us && *impl_->step_us <= 0; }
int64_t MeasuredCosts::remembered() const { return impl_->remembered; }
int64_t MeasuredCosts::measured() const { return impl_->measured; }

std::unique_ptr<MeasuredCosts> measured_costs(const graph::Backend& backend, const MeasuredOptions& options) {
  return std::make_unique<MeasuredCosts>(backend, options);
}

}  // namespace relayout::execute
