// The reorders of a trace: who made the tensor, who reads it, what it costs, whether it is needed, and what would be
// saved without it.
//
//     const Report report = explain(read_onednn(text), {.machine = this_machine()});
//     report.reorders[0].verdict;            // avoidable: what saves most comes first
//     to_text(report);                       // a table of 100 columns, and the ten that matter
#pragma once

#include <functional>
#include <map>

#include "relayout/explain/trace.h"
#include "relayout/explain/verdict.h"

namespace relayout::explaining {

/// What this machine would take. Either may be empty, and may answer with nothing; then nothing is compared.
struct MachineTimes {
  std::string name{};  // of the processor
  /// Milliseconds for copying so many bytes, read and written.
  std::function<std::optional<double>(int64_t bytes)> copy_ms{};
  /// Milliseconds on one thread that this project's plan of the reorder is predicted to take.
  std::function<std::optional<double>(const TensorDesc& src, const TensorDesc& dst)> planned_ms{};
};
/// Copies are timed when they are asked for, of powers of two up to 256 MiB, some milliseconds each; other sizes follow
/// from these. Plans are those of cpu::make_plan().
MachineTimes this_machine();

/// Equal reorders with equal makers, readers and verdicts.
struct Reorder {
  Tensor src{}, dst{};
  std::vector<int> perm{};        // of a transposition of dims, in ONNX's sense; else empty
  std::vector<int64_t> places{};  // in the source, in order
  std::string name{};             // of the first, where operations have names
  std::string kind{};             // reorder, Transpose ... in the words of the source
  std::string implementation{};
  std::string detail{};
  std::string maker{}, reader{};  // as "convolution (line 7)"; "the program" where the source does not show it
  /// How often in all runs, and in how many runs.
  int64_t times = 0, runs = 0;
  /// Milliseconds of all runs; nothing where the source has no times.
  std::optional<double> ms{};
  double share = 0;                               // of the time of all events, in all runs
  int64_t bytes = 0;                              // read and written each time; 0 where layouts are not known
  std::optional<double> copy_ms{}, planned_ms{};  // each time, on this machine

  Verdict verdict = Verdict::needed;
  std::string why{}, advice{};
  /// Milliseconds that one run would be shorter without it, or with this project's plan of it.
  double saves_ms = 0;

  /// Milliseconds of a typical time: the median where the source has each of them, which a slow first run does not
  /// move; else the mean.
  std::optional<double> typical_ms{};
  std::optional<double> gbps() const;  // 10^9 bytes a second, read and written
  /// Milliseconds in a typical run of so many.
  std::optional<double> run_ms(int64_t all_runs) const;
};

struct Report {
  std::string system{}, version{}, source{};
  int64_t events = 0, runs = 1;
  int threads = 0;
  std::string machine{};          // that the times below are compared with; empty where nothing is compared
  bool timed = false;             // whether any event has a time
  bool predicted = false;         // the times are this machine's predictions, as the source has none
  double ms = 0, reorder_ms = 0;  // of all runs
  /// Of a typical run: the medians over runs, which a slow first run does not move.
  double run_ms = 0, run_reorder_ms = 0;
  /// What saves most first, then what takes most.
  std::vector<Reorder> reorders{};
  std::vector<std::string> notes{};

  struct Total {
    int64_t reorders = 0;  // in all runs
    double ms = 0;         // of all runs
    double run_ms = 0;     // of a typical run
    double saves_ms = 0;   // of one run
  };
  std::map<Verdict, Total> totals() const;
};

struct ExplainOptions {
  MachineTimes machine{};
  int64_t runs = 0;  // how often the program ran its model; 0 where that is to be found out
};
/// Error{invalid_argument} where `runs` are more than the trace has events. Cost: in proportion to the number of
/// events, and the machine's answers.
Report explain(const Trace& trace, const ExplainOptions& options = {});

/// A table of at most 100 columns with every reorder (`all`) or the ten that matter, then who, why and what to do of
/// the ten, and totals.
std::string to_text(const Report& report, bool all = false);
/// One object: the fields of Report, and "reorders", each with "src", "dst", "dims", "runs", "ms", "verdict" ...
std::string to_json(const Report& report);
/// The same as a page that a browser opens from disk: every row opens and says who, why and what to do.
std::string to_html(const Report& report);

/// The reorder as a command that measures it here: "relayout bench --src abcd --dst aBcd16b --dims 1,32,112,112"; with
/// types where they are not f32. Empty where layouts or dims are not known.
std::string bench_line(const Reorder& reorder);
/// A text for a bug report of the system that ran it: a minimal program of that system (programs.h), or why there is
/// none; the machine and versions as far as the source says them; expected and seen times.
std::string bug_report(const Report& report, const Reorder& reorder);

}  // namespace relayout::explaining
