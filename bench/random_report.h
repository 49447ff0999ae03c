// The results of random cases, as JSON for programs and as a table for people.
#pragma once

#include <span>
#include <string>

#include "bench/random_run.h"
#include "bench/report.h"

namespace relayout::bench {

/// The case, the command that measures it alone, and the measurement with its "copy_bytes"; or "error".
Json to_json(const RandomResult& result);

/// machine_json(), the seed, "kinds" and "all" as in RandomSummary, and "results".
Json random_json(uint64_t seed, std::span<const RandomResult> results);

/// One line for a result as it comes.
std::string result_text(const RandomResult& result);
/// The table by kind, then the `slowest_count` slowest cases, and the cases that were not measured.
std::string random_text(uint64_t seed, std::span<const RandomResult> results, int slowest_count);

}  // namespace relayout::bench
