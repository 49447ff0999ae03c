// JSON and tables of random cases.
#include "bench/random_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace relayout::bench {
namespace {

/// The command that measures the case alone, as it was measured.
std::string command_of(const RandomResult& result) {
  const int threads = result.measured.threads;
  return command_of(result.about) + (threads > 1 ? " --threads " + std::to_string(threads) : "");
}

Json to_json(const RandomSummary& summary) {
  Json out = {{"kind", summary.kind},
              {"cases", summary.cases},
              {"not_measured", summary.not_measured},
              {"geometric_mean", summary.mean},
              {"median", summary.median},
              {"percent_90", summary.percent_90},
              {"percent_99", summary.percent_99},
              {"worst", summary.worst}};
  out["cost_model"] = {{"cases", summary.predicted.cases},
                       {"within_25_percent", summary.predicted.within_25_percent},
                       {"geometric_mean", summary.predicted.mean}};
  if (summary.raced > 0) {
    out["peers"] = {
        {"raced", summary.raced}, {"ahead", summary.ahead}, {"never_over_10_percent_behind", summary.never_far_behind}};
  }
  if (summary.offered > 0) {
    out["regret"] = {{"cases", summary.offered},
                     {"within_10_percent", summary.chosen_well},
                     {"geometric_mean", summary.regret},
                     {"percent_90", summary.regret_90},
                     {"worst", summary.regret_worst}};
  }
  return out;
}

std::string share(int part, int of) { return of == 0 ? "-" : fmt::format("{:.0f} %", 100.0 * part / of); }

std::string row_text(const RandomSummary& row, bool raced) {
  std::string out = fmt::format("{:<14}{:>5}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>11}{:>8}", row.kind, row.cases,
                                row.mean, row.median, row.percent_90, row.percent_99, row.worst,
                                share(row.predicted.within_25_percent, row.predicted.cases),
                                row.predicted.cases > 0 ? fmt::format("{:.2f}", row.predicted.mean) : "-");
  if (raced) {
    out +=
        fmt::format("{:>8}{:>8}{:>8}", row.raced, share(row.ahead, row.raced), share(row.never_far_behind, row.raced));
  }
  if (row.offered > 0) {
    out += fmt::format("{:>9}{:>8.2f}{:>8.2f}{:>8.2f}", share(row.chosen_well, row.offered), row.regret, row.regret_90,
                       row.regret_worst);
  }
  return out + "\n";
}

std::string table_text(std::span<const RandomSummary> rows) {
  const bool raced = std::ranges::any_of(rows, [](const RandomSummary& row) { return row.raced > 0; });
  std::string out = fmt::format("{:<19}{:>40}{:>19}", "", "time in copies", "predicted");
  const bool offered = std::ranges::any_of(rows, [](const RandomSummary& row) { return row.offered > 0; });
  if (raced) out += fmt::format("{:>24}", "other systems");
  if (offered) out += fmt::format("{:>33}", "chosen against the best offer");
  out += fmt::format("\n{:<14}{:>5}{:>8}{:>8}{:>8}{:>8}{:>8}{:>11}{:>8}", "", "cases", "mean", "median", "90 %", "99 %",
                     "worst", "in 25 %", "mean");
  if (raced) out += fmt::format("{:>8}{:>8}{:>8}", "raced", "ahead", "in 10 %");
  if (offered) out += fmt::format("{:>9}{:>8}{:>8}{:>8}", "in 10 %", "mean", "90 %", "worst");
  out += "\n";
  for (const RandomSummary& row : rows) out += row_text(row, raced);
  return out;
}

std::string slow_text(const RandomResult& result) {
  const Measurement& m = result.measured;
  std::string out = fmt::format("{:>8.2f}  {:<13}{}\n", m.ratio, name(result.about.kind), name_of(result.about));
  out += fmt::format("          {}, a copy {}; {} in lines; {}\n", time_text(m.median_ns), time_text(m.copy_ns),
                     bytes_text(m.copy_bytes), m.kernel);
  return out + "          " + command_of(result) + "\n";
}

}  // namespace

Json to_json(const RandomResult& result) {
  const RandomCase& about = result.about;
  Json out;
  out["kind"] = name(about.kind);
  out["number"] = about.number;
  out["name"] = name_of(about);
  out["src"] = about.src;
  out["dst"] = about.dst;
  out["dims"] = Json::array();
  for (int64_t extent : about.dims) out["dims"].push_back(extent);
  out["dtype"] = name(about.dtype);
  out["to_dtype"] = name(about.to_dtype);
  out["command"] = command_of(result);
  if (!result.error.empty()) {
    out["error"] = result.error;
    return out;
  }
  out["copy_bytes"] = result.measured.copy_bytes;
  out.update(to_json(result.measured));
  return out;
}

Json random_json(uint64_t seed, std::span<const RandomResult> results) {
  Json out;
  out["machine"] = machine_json();
  out["seed"] = seed;
  out["kinds"] = Json::array();
  for (const RandomSummary& summary : summarize_random(results)) {
    if (summary.kind == kAll) {
      out["all"] = to_json(summary);
    } else if (summary.kind == kAllButNibbles) {
      out["all_but_nibbles"] = to_json(summary);
    } else {
      out["kinds"].push_back(to_json(summary));
    }
  }
  out["results"] = Json::array();
  for (const RandomResult& result : results) out["results"].push_back(to_json(result));
  return out;
}

std::string result_text(const RandomResult& result) {
  const Measurement& m = result.measured;
  const std::string head = fmt::format("{:<13}{:<60}", name(result.about.kind), name_of(result.about));
  if (!result.error.empty()) return head + " not measured: " + result.error + "\n";
  std::string out = head + fmt::format(" {:>6.2f} {:>10}  {}", m.ratio, time_text(m.median_ns), m.kernel);
  if (result.wrong()) out += "  WRONG RESULT";
  for (const CompetitorResult& one : m.competitors) {
    if (one.median_ns > 0) out += fmt::format("  {} {:.2f}", one.name, one.median_ns / m.copy_ns);
    if (one.why == "wrong result") out += fmt::format("  {} wrong result", one.name);
  }
  return out + "\n";
}

std::string random_text(uint64_t seed, std::span<const RandomResult> results, int slowest_count) {
  const std::vector<RandomSummary> rows = summarize_random(results);
  std::string out = fmt::format("seed {}, {} case{}", seed, results.size(), results.size() == 1 ? "" : "s");
  const auto measured = std::ranges::find(results, std::string(), &RandomResult::error);
  if (measured != results.end()) {
    const Measurement& m = measured->measured;
    out += fmt::format(", {} thread{}, {}, medians of {}", m.threads, m.threads == 1 ? "" : "s", m.isa, m.repeat);
  }
  out += "\n\n" + table_text(rows);
  out +=
      "\nA copy is the faster of memcpy and a non-temporal copy of as many lines of 64 bytes as the conversion "
      "touches.\n";
  VerifiedCount verified;
  for (const RandomResult& result : results) verified.add(result.measured);
  out += verified.text();
  const auto slow = slowest(results, slowest_count);
  if (!slow.empty()) out += slow.size() == 1 ? "\nthe slowest\n" : fmt::format("\nthe {} slowest\n", slow.size());
  for (const RandomResult* result : slow) out += slow_text(*result);
  for (const RandomResult& result : results) {
    if (!result.error.empty()) out += "\nnot measured: " + name_of(result.about) + ": " + result.error + "\n";
    if (result.wrong()) out += "\nWRONG RESULT: " + name_of(result.about) + "\n  " + command_of(result) + "\n";
  }
  return out;
}

}  // namespace relayout::bench
