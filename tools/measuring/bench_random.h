// relayout bench --random: the flags that only it has, and what it does.
#pragma once

#include <optional>
#include <string>

#include "bench/measure.h"
#include "bench/random_cases.h"
#include "tools/command/common.h"

namespace relayout::tools {

struct RandomFlags {
  std::optional<int64_t> seed;
  std::optional<int> count, slowest, number;
  std::optional<std::string> kind;
  bool offers = false;
};

void add_random_flags(Command& command, RandomFlags& flags);

/// Usage errors: an unknown kind, a flag of --random without it, and flags of a list with --number.
void check_random_flags(const RandomFlags& flags);

/// The case that --number names, where it is given: it is measured as a conversion that flags name.
std::optional<bench::RandomCase> one_random_case(const RandomFlags& flags);

/// Measures the cases; writes the JSON to `out`, if that is given, and the table or the JSON to standard output. Shows
/// the progress on a terminal.
int run_random(const RandomFlags& flags, bench::MeasureOptions options, const std::optional<std::string>& out,
               bool json);

}  // namespace relayout::tools
