// relayout_suite: the suite, random cases and the sweep with the other systems of this build in the same turns.
//
//     relayout_suite --threads 1,2 --out suite.json          every case on one and on two threads
//     relayout_suite --quick --filter transpose
//     relayout_suite --random 1 --count 200                  conversions drawn from a seed
//     relayout_suite --sweep --out sweep.json
//
// Prints each result as it comes, then the goal table or the table by kind. `relayout bench` has the same without the
// others.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "bench/random_report.h"
#include "bench/report.h"
#include "relayout/cpu/reorder.h"

namespace relayout::bench {
namespace {

struct Options {
  SuiteOptions suite;
  bool sweep = false, alone = false;
  std::optional<uint64_t> seed;  // of random cases
  int count = 100, slowest = 10;
  std::string kind;
  int64_t largest_mib = 1024;
  std::string out;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

Json run_suite_and_print(const Options& options, bool& wrong) {
  const auto results = run_suite(options.suite, [](const CaseResult& result) { print(result_text(result)); });
  if (results.empty()) throw Error(ErrorCode::invalid_argument, "no case has \"" + options.suite.filter + "\" in it");
  wrong = std::ranges::any_of(results, &CaseResult::wrong);
  print("\n" + suite_text(results));
  return suite_json(results);
}

Json run_sweep_and_print(const Options& options, bool& wrong) {
  MeasureOptions measure = options.suite.measure;
  measure.threads = options.suite.threads.front();
  const auto sweeps = run_sweep(measure, options.suite.filter, options.largest_mib << 20, nullptr);
  for (const Sweep& sweep : sweeps) print(sweep_text(sweep) + "\n");
  wrong = std::ranges::any_of(sweeps, &Sweep::wrong);
  return sweep_json(sweeps);
}

Json run_random_and_print(const Options& options, bool& wrong) {
  MeasureOptions measure = options.suite.measure;
  measure.threads = options.suite.threads.front();
  const auto cases = random_cases(*options.seed, options.count, find_random_kind(options.kind));
  const auto results = run_random(cases, measure, [](const RandomResult& result) { print(result_text(result)); });
  wrong = std::ranges::any_of(results, &RandomResult::wrong);
  print("\n" + random_text(*options.seed, results, options.slowest));
  return random_json(*options.seed, results);
}

int run(Options& options) {
  // More threads than there are would be measured as those that are there.
  for (int& threads : options.suite.threads) {
    threads = threads <= 0 ? cpu::default_threads() : std::min(threads, cpu::default_threads());
  }
  std::ranges::sort(options.suite.threads);
  const auto repeated = std::ranges::unique(options.suite.threads);
  options.suite.threads.erase(repeated.begin(), repeated.end());
  if (!options.out.empty()) check_writable(options.out);
  if (!options.alone && !options.sweep) {
    options.suite.measure.competitors = &competitors();
    for (const Competitor& one : competitors()) print("with " + std::string(one.name) + " " + one.version + "\n");
  }
  bool wrong = false;
  const Json report = options.seed    ? run_random_and_print(options, wrong)
                      : options.sweep ? run_sweep_and_print(options, wrong)
                                      : run_suite_and_print(options, wrong);
  if (!options.out.empty()) write_json(options.out, report);
  if (wrong) throw Error(ErrorCode::internal, "a result differs from the reference's");
  return 0;
}

}  // namespace
}  // namespace relayout::bench

namespace {

void add_options(CLI::App& app, relayout::bench::Options& options) {
  CLI::Option* const quick = app.add_flag("--quick", options.suite.quick, "The short form");
  CLI::Option* const filter =
      app.add_option("--filter", options.suite.filter, "Only cases that have this in their names");
  app.add_option("--threads", options.suite.threads, "Each case with each of these (1; 0: all)")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--repeat", options.suite.measure.repeat, "Repetitions (15)")->check(CLI::PositiveNumber);
  app.add_flag("--verify", options.suite.measure.verify, "Compare with the reference, up to 4 Mi elements");
  app.add_flag("--alone", options.alone, "Without the other systems");
  CLI::Option* const sweep =
      app.add_flag("--sweep", options.sweep, "Sizes from 4 KiB up instead, without the other systems");
  app.add_option("--largest", options.largest_mib, "The sweep's largest source in MiB (1024)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  CLI::Option* const random =
      app.add_option("--random", options.seed, "Conversions drawn from this seed instead, on the least of --threads")
          ->check(CLI::NonNegativeNumber)
          ->excludes(sweep)
          ->excludes(quick)
          ->excludes(filter);
  app.add_option("--count", options.count, "How many --random draws (100)")
      ->check(CLI::Range(1, 100000))
      ->needs(random);
  std::vector<std::string> kinds;
  for (std::string_view kind : relayout::bench::random_kind_names()) kinds.emplace_back(kind);
  app.add_option("--kind", options.kind, "The kind of --random; all in turn unless given")
      ->check(CLI::IsMember(kinds))
      ->needs(random);
  app.add_option("--slowest", options.slowest, "How many of the slowest --random lists (10)")
      ->check(CLI::NonNegativeNumber)
      ->needs(random);
  app.add_option("--out", options.out, "Write the JSON to this file");
}

}  // namespace

int main(int argc, char** argv) {
  relayout::bench::Options options;
  CLI::App app("The suite of conversions, or random ones, beside copies and other systems", "relayout_suite");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const int code = relayout::bench::run(options);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw std::runtime_error("cannot write standard output");
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relayout_suite: %s\n", error.what());
    return 1;
  }
}
