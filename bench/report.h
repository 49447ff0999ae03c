// The results of measurements, as JSON for programs and as tables for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/summary.h"

namespace relayout::bench {

using Json = nlohmann::ordered_json;

/// The members of Measurement under their names. nt_copy_ns is null where it was not timed; `verified`, `tuned_ns`,
/// `tuning` and so on are there only where they were asked for, and `competitors` where there were any.
Json to_json(const Measurement& measured);
/// The case's layouts, dims and types, its goal, the measurement, and "met"; or "error".
Json to_json(const CaseResult& result);

/// All that the figures depend on: processor, caches, pages, system, compiler, flags, date (UTC).
Json machine_json();

/// machine_json(), "results", "rows", the geometric means, and how well Plan::cost predicts.
Json suite_json(const std::vector<CaseResult>& results);
Json sweep_json(const std::vector<Sweep>& sweeps);

/// One line for a result as it comes.
std::string result_text(const CaseResult& result);
/// The goal table and the means.
std::string suite_text(const std::vector<CaseResult>& results);
std::string sweep_text(const Sweep& sweep);

/// What came of comparing results with the reference, for a list of them.
struct VerifiedCount {
  int right = 0, wrong = 0, too_large = 0;

  void add(const Measurement& measured);
  /// "verified: 130 right, 0 wrong; 9 with more than 4194304 elements not looked at\n"; "" where no comparison was
  /// asked for.
  std::string text() const;
};

/// Error{io} where a file of this name cannot be written. To be called before minutes are spent on what goes into it.
void check_writable(const std::string& path);
/// Replaces the file. Error{io}.
void write_json(const std::string& path, const Json& json);

/// "4.35 ms", "8.1 ns".
std::string time_text(double ns);
/// "4 KiB", "1 GiB": binary units without a fraction where there is none.
std::string bytes_text(int64_t bytes);

}  // namespace relayout::bench
