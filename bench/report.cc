// JSON and tables.
#include "bench/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>
#include <thread>

#include "relayout/cpu/machine.h"
#include "relayout/interop/files/file_io.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout::bench {
namespace {

std::string first_line_with(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? line : line.substr(colon + 2);
  }
  return "";
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

/// A value of a metric: plan_ns is shown in microseconds.
std::string value_text(Metric metric, double value) {
  if (metric == Metric::plan_ns) return fmt::format("{:.2f} us", value / 1e3);
  if (metric == Metric::run_ns) return fmt::format("{:.1f} ns", value);
  return fmt::format("{:.2f}", value);
}

std::string side_text(const RowSummary& row, int threads) {
  const auto side = row.by_threads.find(threads);
  if (side == row.by_threads.end()) return "";
  return value_text(row.row->metric, side->second.mean) + ", " + value_text(row.row->metric, side->second.worst);
}

std::string verdict_text(const RowSummary& row) {
  int cases = 0, met = 0;
  for (const auto& [threads, side] : row.by_threads) {
    cases += side.cases;
    met += side.met;
  }
  return met == cases ? "met" : fmt::format("{} of {}", met, cases);
}

std::string cell(double value, std::string_view format) {
  return value > 0 ? fmt::format(fmt::runtime(format), value) : "-";
}

}  // namespace

Json to_json(const Measurement& m) {
  Json out;
  out["threads"] = m.threads;
  out["repeat"] = m.repeat;
  if (m.misalign != 0) out["misalign"] = m.misalign;
  out["isa"] = m.isa;
  out["kernel"] = m.kernel;
  out["median_ns"] = m.median_ns;
  out["min_ns"] = m.min_ns;
  out["bytes"] = m.bytes;
  out["gbps"] = m.gbps;
  out["copy_ns"] = m.copy_ns;
  out["memcpy_ns"] = m.memcpy_ns;
  out["nt_copy_ns"] = m.nt_copy_ns ? Json(*m.nt_copy_ns) : Json(nullptr);
  out["ratio"] = m.ratio;
  out["min_ratio"] = m.min_ratio;
  out["plan_ns"] = m.plan_ns;
  out["predicted_ns"] = m.predicted_ns;
  if (m.verified || m.too_large_to_verify) out["verified"] = m.verified ? Json(*m.verified) : Json(nullptr);
  if (!m.offers.empty()) {
    out["regret"] = m.regret();
    Json& list = out["offers"] = Json::array();
    for (const OfferResult& offer : m.offers) {
      list.push_back({{"way", offer.way},
                      {"kernel", offer.kernel},
                      {"predicted_ns", offer.predicted_ns},
                      {"median_ns", offer.median_ns},
                      {"chosen", offer.chosen}});
    }
  }
  if (m.tuned) {
    out["tuned_ns"] = m.tuned->median_ns;
    out["tuning"] = cpu::to_text(m.tuned->tuned.tuning);
    out["tuning_remembered"] = m.tuned->tuned.remembered;
    out["tuning_out_of_time"] = m.tuned->tuned.out_of_time;
    Json& candidates = out["tuning_candidates"] = Json::array();
    for (const cpu::TimedTuning& timed : m.tuned->tuned.candidates) {
      candidates.push_back({{"tuning", cpu::to_text(timed.tuning)}, {"median_ns", timed.median_ns}});
    }
  }
  if (m.competitors.empty()) return out;
  Json& list = out["competitors"] = Json::array();
  for (const CompetitorResult& one : m.competitors) {
    Json entry = {{"name", one.name}, {"version", one.version}};
    entry["median_ns"] = one.median_ns > 0 ? Json(one.median_ns) : Json(nullptr);
    if (one.median_ns > 0) entry["ratio"] = one.median_ns / m.copy_ns;
    if (!one.why.empty()) entry["why"] = one.why;
    list.push_back(std::move(entry));
  }
  return out;
}

Json to_json(const CaseResult& result) {
  const Case& about = *result.about;
  Json out;
  out["row"] = about.row;
  out["name"] = name_of(about);
  out["src"] = about.src;
  out["dst"] = about.dst;
  out["dims"] = Json::array();
  for (int64_t extent : parse_dims(about.dims)) out["dims"].push_back(extent);
  out["dtype"] = name(about.dtype);
  out["to_dtype"] = name(about.to_dtype);
  if (about.scale != 0) out["scale"] = about.scale;
  out["goal"] = about.goal;
  out["goal_of"] = row_of(about).metric == Metric::ratio    ? "ratio"
                   : row_of(about).metric == Metric::run_ns ? "median_ns"
                                                            : "plan_ns";
  if (!result.error.empty()) {
    out["threads"] = result.measured.threads;
    out["error"] = result.error;
    out["met"] = false;
    return out;
  }
  out.update(to_json(result.measured));
  out["met"] = result.met();
  return out;
}

Json machine_json() {
  Json out;
  const std::string processor = first_line_with("/proc/cpuinfo", "model name");
  out["processor"] = processor.empty() ? Json(nullptr) : Json(processor);
  out["cores"] = std::thread::hardware_concurrency();
  const Machine& caches = cpu::machine();
  out["caches"] = {{"L1d", caches.l1}, {"L2", caches.l2}, {"L3", caches.l3}};
  out["page_bytes"] = sysconf(_SC_PAGESIZE);
  out["transparent_huge_pages"] = first_line_with("/sys/kernel/mm/transparent_hugepage/enabled", "");
  utsname system{};
  if (uname(&system) == 0) out["system"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  out["compiler"] = compiler();
  out["flags"] = RELAYOUT_BENCH_FLAGS;
  out["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return out;
}

Json suite_json(const std::vector<CaseResult>& results) {
  Json out;
  out["machine"] = machine_json();
  out["rows"] = Json::array();
  for (const RowSummary& row : summarize(results)) {
    Json entry = {{"row", row.row->name}, {"title", row.row->title}, {"goal", row.goal}};
    entry["unit"] = row.row->metric == Metric::ratio ? "x" : "ns";
    entry["by_threads"] = Json::array();
    for (const auto& [threads, side] : row.by_threads) {
      entry["by_threads"].push_back({{"threads", threads},
                                     {"mean", side.mean},
                                     {"worst", side.worst},
                                     {"worst_case", side.worst_case},
                                     {"cases", side.cases},
                                     {"met", side.met}});
    }
    entry["best_peer"] = row.best_peer > 0 ? Json(row.best_peer) : Json(nullptr);
    entry["raced"] = row.raced;
    entry["ahead"] = row.ahead;
    entry["verdict"] = verdict_text(row);
    out["rows"].push_back(std::move(entry));
  }
  out["speedups"] = Json::array();
  for (const auto& [competitor, by_threads] : speedups(results)) {
    for (const auto& [threads, values] : by_threads) {
      out["speedups"].push_back({{"over", competitor},
                                 {"threads", threads},
                                 {"geometric_mean", geometric_mean(values)},
                                 {"cases", values.size()}});
    }
  }
  const Prediction predicted = prediction(results);
  out["cost_model"] = {{"cases", predicted.cases},
                       {"within_25_percent", predicted.within_25_percent},
                       {"geometric_mean", predicted.mean}};
  out["results"] = Json::array();
  for (const CaseResult& result : results) out["results"].push_back(to_json(result));
  return out;
}

Json sweep_json(const std::vector<Sweep>& sweeps) {
  Json out;
  out["machine"] = machine_json();
  out["sweeps"] = Json::array();
  for (const Sweep& sweep : sweeps) {
    Json points = Json::array();
    for (const Sweep::Point& point : sweep.points) {
      Json entry = {{"src_bytes", point.src_bytes}};
      entry.update(to_json(point.measured));
      points.push_back(std::move(entry));
    }
    out["sweeps"].push_back({{"name", sweep.name}, {"points", std::move(points)}});
  }
  return out;
}

std::string result_text(const CaseResult& result) {
  const Case& about = *result.about;
  const Measurement& m = result.measured;
  const std::string head = fmt::format("{:<10}{:<46} {}t ", about.row, name_of(about), m.threads);
  if (!result.error.empty()) return head + "not measured: " + result.error + "\n";
  const Metric metric = row_of(about).metric;
  std::string out = head + fmt::format("{:>9} (goal {}){} {:>9} {:5.1f} GB/s  {}", value_text(metric, result.value()),
                                       goal_text(metric, about.goal), result.met() ? " " : "!", time_text(m.median_ns),
                                       m.gbps, m.kernel);
  if (result.wrong()) out += "  WRONG RESULT";
  for (const CompetitorResult& one : m.competitors) {
    if (one.median_ns > 0) {
      out += fmt::format(
          "  {} {}", one.name,
          metric == Metric::ratio ? fmt::format("{:.2f}", one.median_ns / m.copy_ns) : time_text(one.median_ns));
    } else if (one.why == "wrong result") {
      out += fmt::format("  {} wrong result", one.name);
    }
  }
  return out + "\n";
}

std::string suite_text(const std::vector<CaseResult>& results) {
  const std::vector<RowSummary> rows = summarize(results);
  std::set<int> threads;
  for (const RowSummary& row : rows) {
    for (const auto& [count, side] : row.by_threads) threads.insert(count);
  }
  std::string out = fmt::format("{:<11}{:<17}", "", "goal");
  for (int count : threads) out += fmt::format("{:<20}", fmt::format("{} thread{}", count, count == 1 ? "" : "s"));
  out += fmt::format("{:<12}{:<9}{}\n{:<28}", "best peer", "ahead", "verdict", "");
  for (std::size_t i = 0; i < threads.size(); ++i) out += fmt::format("{:<20}", "mean, worst");
  out += "\n";
  for (const RowSummary& row : rows) {
    out += fmt::format("{:<11}{:<17}", row.row->name, row.goal);
    for (int count : threads) out += fmt::format("{:<20}", side_text(row, count));
    out += fmt::format("{:<12}{:<9}{}\n", row.best_peer > 0 ? value_text(row.row->metric, row.best_peer) : "-",
                       row.raced > 0 ? fmt::format("{} of {}", row.ahead, row.raced) : "-", verdict_text(row));
  }
  out += "\n";
  for (const RowSummary& row : rows) out += fmt::format("{:<11}{}\n", row.row->name, row.row->title);
  out +=
      "\nRatios are to the faster of memcpy and a non-temporal copy of as many bytes, in the same run; means are\n"
      "geometric. plan counts the plan of every case.\n";
  for (const auto& [competitor, by_threads] : speedups(results)) {
    for (const auto& [count, values] : by_threads) {
      out += fmt::format("{} takes {:.2f} times as long ({} thread{}, geometric mean of {} cases)\n", competitor,
                         geometric_mean(values), count, count == 1 ? "" : "s", values.size());
    }
  }
  const Prediction predicted = prediction(results);
  if (predicted.cases > 0) {
    out += fmt::format("Plan::cost is within 25 % of {} of {} measured times\n", predicted.within_25_percent,
                       predicted.cases);
  }
  VerifiedCount verified;
  for (const CaseResult& result : results) verified.add(result.measured);
  return out + verified.text();
}

void VerifiedCount::add(const Measurement& measured) {
  right += measured.verified && !measured.wrong();
  wrong += measured.wrong();
  too_large += measured.too_large_to_verify;
}

std::string VerifiedCount::text() const {
  if (right + wrong + too_large == 0) return "";
  std::string out = fmt::format("verified: {} right, {} wrong", right, wrong);
  if (too_large > 0) out += fmt::format("; {} with more than {} elements not looked at", too_large, kMostVerified);
  return out + "\n";
}

std::string sweep_text(const Sweep& sweep) {
  std::string out = sweep.name + "\n";
  out += fmt::format("  {:>9}  {:>10}  {:>7}  {:>8}  {:>8}  {:>6}\n", "source", "run", "GB/s", "memcpy", "nt copy",
                     "ratio");
  for (const Sweep::Point& point : sweep.points) {
    const Measurement& m = point.measured;
    const auto rate = [&](double ns) { return ns > 0 ? static_cast<double>(m.bytes) / ns : 0; };
    out += fmt::format("  {:>9}  {:>10}  {:>7.1f}  {:>8.1f}  {:>8}  {:>6.2f}\n", bytes_text(point.src_bytes),
                       time_text(m.median_ns), m.gbps, rate(m.memcpy_ns),
                       cell(rate(m.nt_copy_ns.value_or(0)), "{:.1f}"), m.ratio);
  }
  VerifiedCount verified;
  for (const Sweep::Point& point : sweep.points) verified.add(point.measured);
  return out + verified.text();
}

void check_writable(const std::string& path) { OutputFile::create(path, 0, /*overwrite=*/true); }

void write_json(const std::string& path, const Json& json) {
  const std::string text = json.dump(1) + "\n";
  write_file(path, std::as_bytes(std::span(text)), /*overwrite=*/true);
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  return fmt::format("{:.2f} ms", ns / 1e6);
}

std::string bytes_text(int64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

}  // namespace relayout::bench
