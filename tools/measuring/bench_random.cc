// relayout bench --random: conversions that nobody chose, measured and summed up.
#include "tools/measuring/bench_random.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/random_report.h"
#include "tools/command/progress.h"

namespace relayout::tools {
namespace {

constexpr int kDefaultCount = 100, kDefaultSlowest = 10;
constexpr Range kSeedRange{0, std::numeric_limits<int64_t>::max()}, kCountRange{1, 100000}, kSlowestRange{0, 100000},
    kNumberRange{0, std::numeric_limits<int>::max()};

std::optional<bench::RandomKind> kind_argument(const RandomFlags& flags) {
  if (!flags.kind) return std::nullopt;
  const auto kind = bench::find_random_kind(*flags.kind);
  if (kind) return kind;
  const auto known = bench::random_kind_names();
  usage_error(fmt::format("--kind {}: it must be one of {}{}", escaped(*flags.kind), fmt::join(known, ", "),
                          did_you_mean(*flags.kind, known)),
              "--kind", escaped(*flags.kind));
}

}  // namespace

void add_random_flags(Command& command, RandomFlags& flags) {
  command.add_option("--random", flags.seed, kSeedRange,
                     "Measure conversions that are drawn from this seed, a whole number");
  command.add_option("--count", flags.count, kCountRange, "How many --random draws; 100 unless given");
  command.add_option("--kind", flags.kind,
                     "Of --random: permute, block, few_channels, convert, tails, cache, nibbles or scales; all in turn "
                     "unless given");
  command.add_option("--number", flags.number, kNumberRange,
                     "Measure only this one of --random and --kind, from 0, as if flags named it");
  command.add_flag(
      "--offers", flags.offers,
      "Time every plan that the planner chooses from as well, and compare the chosen one with the fastest");
  command.add_option("--slowest", flags.slowest, kSlowestRange,
                     "How many of the slowest --random lists; 10 unless given");
}

void check_random_flags(const RandomFlags& flags) {
  kind_argument(flags);
  if (flags.number && !flags.kind) usage_error("--number goes only with --random and --kind", "--number");
  const char* const of_a_list = flags.count     ? "--count"
                                : flags.slowest ? "--slowest"
                                : flags.offers  ? "--offers"
                                                : nullptr;
  if (flags.number && of_a_list)
    usage_error(fmt::format("{} is of a list of cases, and --number names one of them", of_a_list), of_a_list);
  if (flags.seed) return;
  const char* const alone = flags.count     ? "--count"
                            : flags.kind    ? "--kind"
                            : flags.slowest ? "--slowest"
                            : flags.offers  ? "--offers"
                            : flags.number  ? "--number"
                                            : nullptr;
  if (alone) usage_error(fmt::format("{} goes only with --random", alone), alone);
}

std::optional<bench::RandomCase> one_random_case(const RandomFlags& flags) {
  if (!flags.number) return std::nullopt;
  return bench::random_case(static_cast<uint64_t>(*flags.seed), *kind_argument(flags), *flags.number);
}

int run_random(const RandomFlags& flags, bench::MeasureOptions options, const std::optional<std::string>& out,
               bool json) {
  const auto seed = static_cast<uint64_t>(*flags.seed);
  options.offers = flags.offers;
  const auto cases = bench::random_cases(seed, flags.count.value_or(kDefaultCount), kind_argument(flags));
  std::vector<bench::RandomResult> results;
  {
    Progress progress("measuring");
    double done = 0;
    results = bench::run_random(cases, options, [&](const bench::RandomResult&) {
      progress.update(++done, static_cast<double>(cases.size()));
    });
  }
  const Json report = bench::random_json(seed, results);
  if (out) bench::write_json(*out, report);
  write_stdout(json ? json_text(report) : bench::random_text(seed, results, flags.slowest.value_or(kDefaultSlowest)));
  if (std::ranges::any_of(results, &bench::RandomResult::wrong)) {
    throw Error(ErrorCode::internal, "bench: a result differs from that of the reference implementation");
  }
  return kOk;
}

}  // namespace relayout::tools
