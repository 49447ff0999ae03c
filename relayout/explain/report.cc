// Groups the reorders of a trace and judges them: see report.h.
#include "relayout/explain/report.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>
#include <unordered_map>

#include "relayout/explain/judge.h"

namespace relayout::explaining {
namespace {

/// What a plan of this project has to be faster by before a reorder is called slow, and what has to be gained at least.
constexpr double kSlowFactor = 1.5, kSlowMilliseconds = 0.005;

int64_t bytes_of(const Tensor& src, const Tensor& dst) {
  if (!src.desc || !dst.desc) return 0;
  return src.desc->size_bytes() + dst.desc->size_bytes();
}

std::string same_kind(const Event& event) {
  return event.kind + "|" + event.implementation + "|" + event.detail + "|" + event.reads.front().key + "|" +
         event.writes.front().key + "|" + (event.name.empty() ? "" : event.name);
}

/// In how many runs each kind of reorder stands.
std::unordered_map<std::string, int64_t> runs_of_kinds(const Trace& trace, const Runs& runs) {
  std::unordered_map<std::string, std::set<int64_t>> seen;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].reorder) seen[same_kind(trace.events[i])].insert(runs.run_of[i]);
  }
  std::unordered_map<std::string, int64_t> out;
  for (const auto& [kind, in] : seen) out[kind] = trace.in_order ? static_cast<int64_t>(in.size()) : trace.runs;
  return out;
}

std::string readers_of(const Surroundings& all, std::size_t event) {
  const std::vector<std::size_t>& readers = all.links.readers[event];
  if (readers.empty()) return "the program";
  std::string out = named(all.trace, readers.front());
  if (readers.size() > 1) out += " and " + std::to_string(readers.size() - 1) + " more";
  return out;
}

Reorder start(const Surroundings& all, std::size_t i) {
  const Event& event = all.trace.events[i];
  Reorder out{.src = event.reads.front(),
              .dst = event.writes.front(),
              .perm = event.perm,
              .name = event.name,
              .kind = event.kind};
  out.implementation = event.implementation;
  out.detail = event.detail;
  out.maker = all.links.maker[i] ? named(all.trace, *all.links.maker[i]) : "the program";
  out.reader = readers_of(all, i);
  out.bytes = bytes_of(out.src, out.dst);
  return out;
}

void ask_machine(Reorder& reorder, const MachineTimes& machine) {
  if (reorder.bytes > 0 && machine.copy_ms) reorder.copy_ms = machine.copy_ms(reorder.bytes);
  if (!reorder.src.desc || !reorder.dst.desc || !machine.planned_ms) return;
  if (reorder.src.desc->layout.dims() == reorder.dst.desc->layout.dims())
    reorder.planned_ms = machine.planned_ms(*reorder.src.desc, *reorder.dst.desc);
}

/// Milliseconds with three digits that count.
std::string short_ms(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 0.1 ? "%.4f" : ms < 10 ? "%.3f" : "%.1f", ms);
  return text;
}

/// The middle one; of an even number the lower of both, as a slow first run should not count.
double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

void finish(Reorder& reorder, const Report& report) {
  const auto each = reorder.typical_ms;
  const double a_run = reorder.run_ms(report.runs).value_or(0);
  if (report.ms > 0) reorder.share = reorder.ms.value_or(0) / report.ms;
  if (reorder.verdict == Verdict::needed && each && reorder.planned_ms && *each > kSlowFactor * *reorder.planned_ms &&
      *each - *reorder.planned_ms > kSlowMilliseconds) {
    reorder.verdict = Verdict::slow;
    reorder.why += " It takes " + short_ms(*each) + " ms, and a plan of relayout is predicted to take " +
                   short_ms(*reorder.planned_ms) + " ms on one thread.";
    reorder.advice += std::string(reorder.advice.empty() ? "" : " ") + "Measure the plan by the command below.";
  }
  switch (reorder.verdict) {
    case Verdict::needed: break;
    case Verdict::slow: reorder.saves_ms = a_run * (1 - *reorder.planned_ms / *each); break;
    case Verdict::repeated:
    case Verdict::avoidable:
    case Verdict::padding_only: reorder.saves_ms = a_run; break;
  }
}

/// The reorders of a trace, one after the other, as groups of equal ones.
class Groups {
 public:
  Groups(const Surroundings& all, Report& report)
      : all_(all), report_(report), in_runs_(runs_of_kinds(all.trace, all.runs)) {}

  void add(std::size_t i) {
    const Event& event = all_.trace.events[i];
    const int64_t repeats = all_.trace.in_order ? 1 : all_.trace.runs;
    const std::size_t number = group_of(i);
    Reorder& reorder = report_.reorders[number];
    reorder.places.push_back(event.place);
    reorder.times += repeats;
    if (!event.ms) return;
    reorder.ms = reorder.ms.value_or(0) + *event.ms * static_cast<double>(repeats);
    each_[number].push_back(*event.ms);
  }

  void set_typical_times() {
    for (std::size_t k = 0; k < each_.size(); ++k) {
      if (!each_[k].empty()) report_.reorders[k].typical_ms = median(each_[k]);
    }
  }

 private:
  std::size_t group_of(std::size_t i) {
    const std::string kind = same_kind(all_.trace.events[i]);
    const Judgement judgement = judge(all_, i, in_runs_.at(kind));
    const auto kind_of = [&](const std::optional<std::size_t>& other) {
      return other ? all_.trace.events[*other].kind + all_.trace.events[*other].name : "";
    };
    const auto& readers = all_.links.readers[i];
    const std::string key = kind + "\n" + kind_of(all_.links.maker[i]) + "\n" +
                            (readers.empty() ? "" : kind_of(readers.front())) + "\n" +
                            std::string(name(judgement.verdict));
    const auto [found, added] = groups_.try_emplace(key, report_.reorders.size());
    if (added) {
      each_.emplace_back();
      Reorder& made = report_.reorders.emplace_back(start(all_, i));
      made.verdict = judgement.verdict;
      made.why = judgement.why;
      made.advice = judgement.advice;
      made.runs = in_runs_.at(kind);
    }
    return found->second;
  }

  const Surroundings& all_;
  Report& report_;
  std::unordered_map<std::string, int64_t> in_runs_;
  std::unordered_map<std::string, std::size_t> groups_;
  std::vector<std::vector<double>> each_;  // milliseconds of each time
};

/// Times of all runs and of a typical one.
void add_times(const Trace& trace, const Runs& runs, Report& report) {
  std::vector<double> of_run(static_cast<std::size_t>(runs.count), 0), moved(of_run);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!event.ms) continue;
    report.timed = true;
    const auto run = static_cast<std::size_t>(runs.run_of[i]);
    of_run[run] += *event.ms;
    if (event.reorder) moved[run] += *event.ms;
  }
  const auto repeats = static_cast<double>(trace.in_order ? 1 : trace.runs);
  for (const double ms : of_run) report.ms += ms * repeats;
  for (const double ms : moved) report.reorder_ms += ms * repeats;
  report.run_ms = median(std::move(of_run));
  report.run_reorder_ms = median(std::move(moved));
}

bool trains(const Trace& trace) {
  return std::ranges::any_of(trace.events, [](const Event& event) {
    return std::ranges::any_of(event.writes, [](const Tensor& tensor) { return tensor.name.starts_with("diff_wei"); });
  });
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::needed: return "needed";
    case Verdict::avoidable: return "avoidable";
    case Verdict::repeated: return "repeated";
    case Verdict::slow: return "slow";
    case Verdict::padding_only: return "padding only";
  }
  return "";
}

std::optional<double> Reorder::gbps() const {
  if (!typical_ms || *typical_ms <= 0 || bytes == 0) return std::nullopt;
  return static_cast<double>(bytes) / *typical_ms / 1e6;
}

std::optional<double> Reorder::run_ms(int64_t all_runs) const {
  if (!typical_ms) return std::nullopt;
  return *typical_ms * static_cast<double>(times) / static_cast<double>(all_runs);
}

std::map<Verdict, Report::Total> Report::totals() const {
  std::map<Verdict, Total> out;
  for (const Reorder& reorder : reorders) {
    Total& total = out[reorder.verdict];
    total.reorders += reorder.times;
    total.ms += reorder.ms.value_or(0);
    total.run_ms += reorder.run_ms(runs).value_or(0);
    total.saves_ms += reorder.saves_ms;
  }
  return out;
}

Report explain(const Trace& trace, const ExplainOptions& options) {
  if (const auto events = std::ssize(trace.events); trace.in_order && options.runs > events)
    throw Error(ErrorCode::invalid_argument,
                "explain: " + std::to_string(options.runs) + " runs of " + std::to_string(events) +
                    " operations: a run has at least one",
                "runs", std::to_string(options.runs), std::to_string(events) + " at most");
  const Runs runs = find_runs(trace, options.runs);
  const Links links = find_links(trace, runs);
  const Surroundings all{trace, runs, links, trains(trace)};
  Report out{.system = trace.system, .version = trace.version, .source = trace.source, .threads = trace.threads};
  out.runs = trace.in_order ? runs.count : trace.runs;
  out.events = static_cast<int64_t>(trace.events.size()) * (trace.in_order ? 1 : trace.runs);
  out.predicted = trace.predicted;
  out.notes = trace.notes;
  out.machine = options.machine.name;
  add_times(trace, runs, out);
  Groups groups(all, out);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].reorder) groups.add(i);
  }
  groups.set_typical_times();
  for (Reorder& reorder : out.reorders) {
    ask_machine(reorder, options.machine);
    finish(reorder, out);
  }
  const auto order = [&](const Reorder& reorder) {
    return std::tuple(reorder.saves_ms, reorder.run_ms(out.runs).value_or(0), reorder.verdict != Verdict::needed,
                      reorder.bytes);
  };
  std::ranges::stable_sort(out.reorders, [&](const Reorder& a, const Reorder& b) { return order(a) > order(b); });
  return out;
}

}  // namespace relayout::explaining
