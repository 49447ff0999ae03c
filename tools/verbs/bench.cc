// relayout bench: the time of a conversion, compared with the time of copying as many bytes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "bench/lines.h"
#include "bench/report.h"
#include "relayout/cpu/reorder.h"
#include "tools/command/common.h"
#include "tools/command/output.h"
#include "tools/converting/explain_option.h"
#include "tools/converting/tune_option.h"
#include "tools/input/values.h"
#include "tools/measuring/bench_packed.h"
#include "tools/measuring/bench_random.h"

namespace relayout::tools {
namespace {

struct BenchOptions {
  std::optional<std::string> src, dst, dims, dst_dims, dtype, to_dtype, out;
  ValueOptions values;
  std::string filter;
  TuneFlag tune;
  RandomFlags random;
  PackedFlags packed;
  int threads = 1, repeat = 15;
  int64_t misalign = 0;
  bool verify = false, suite = false, quick = false, sweep = false, force = false;
  ExplainFlag explain;
};

struct LayoutPair {
  Format src_format, dst_format;
  TensorDesc src, dst;
  Attributes attributes;
};

LayoutPair pair_of(const bench::RandomCase& c) {
  return {Format::parse(c.src), Format::parse(c.dst), c.src_desc(), c.dst_desc(), c.attributes};
}

LayoutPair pair_of(const BenchOptions& options) {
  const Format src = layout_argument(*options.src), dst = layout_argument(*options.dst);
  const Dims dims = dims_for(src, options.dims);
  const DType dtype = dtype_argument(options.dtype.value_or("f32"));
  const DType to_dtype = options.to_dtype ? dtype_argument(*options.to_dtype, "--to-dtype") : dtype;
  return from_command_line([&] {
    const TensorDesc from = bind_tensor(src, dims, dtype);
    const Dims dst_dims = destination_dims(dst, from.layout.dims(), options.dst_dims, "--dst-dims");
    const TensorDesc to = bind_tensor(dst, dst_dims, to_dtype);
    return LayoutPair{src, dst, from, to, attributes_for(options.values, {src, from}, {dst, to})};
  });
}

Json measurement_json(const LayoutPair& pair, const bench::Measurement& m) {
  Json out;
  out["src"] = pair.src_format.text();
  out["dst"] = pair.dst_format.text();
  out["dims"] = json_of(pair.src.layout.dims());
  out["dtype"] = name(pair.src.dtype);
  out["to_dtype"] = name(pair.dst.dtype);
  out.update(bench::to_json(m));
  return out;
}

/// Why the tuned plan is what it is.
std::string tuned_reason(const cpu::Tuned& tuned) {
  const std::size_t tried = tuned.candidates.size();
  if (tuned.remembered) return "as remembered";
  if (tried > 0) return fmt::format("chosen from {} candidates", tried);
  if (!tuned.out_of_time) return "as there was nothing to choose";
  const std::chrono::duration<double> budget = cpu::TuneOptions().budget;
  return fmt::format("as {:g} s did not suffice to time another plan", budget.count());
}

/// The plan that was found by trying, and what all that were tried take.
std::string tuned_text(const bench::TunedResult& result) {
  const cpu::Tuned& tuned = result.tuned;
  std::string out = labelled("tuned", fmt::format("{} by {}, {}", bench::time_text(result.median_ns),
                                                  cpu::to_text(tuned.tuning), tuned_reason(tuned)));
  std::string times;
  for (const cpu::TimedTuning& timed : tuned.candidates) {
    times += fmt::format("{}{} {}", times.empty() ? "" : ", ", cpu::to_text(timed.tuning),
                         bench::time_text(timed.median_ns));
  }
  if (!times.empty()) out += labelled("tried", times);
  return out;
}

std::string measurement_text(const LayoutPair& pair, const bench::Measurement& m) {
  const std::string types = pair.src.dtype == pair.dst.dtype
                                ? std::string(name(pair.src.dtype))
                                : fmt::format("{} -> {}", name(pair.src.dtype), name(pair.dst.dtype));
  std::string out = bold(fmt::format("{} -> {}  {}  {}", pair.src_format.text(), pair.dst_format.text(), types,
                                     dims_text(pair.src.layout.dims()))) +
                    "\n\n";
  out += labelled("run", fmt::format("{} ({:.1f} GB/s), best {}; {} read and written", bench::time_text(m.median_ns),
                                     m.gbps, bench::time_text(m.min_ns), size_text(m.bytes)));
  out += labelled(
      "copy", fmt::format("{}: memcpy {}, non-temporal {}", bench::time_text(m.copy_ns), bench::time_text(m.memcpy_ns),
                          m.nt_copy_ns ? bench::time_text(*m.nt_copy_ns) : "not measured for so few bytes"));
  out += labelled("ratio", fmt::format("{:.2f}; best against best {:.2f}", m.ratio, m.min_ratio));
  out += labelled("plan", fmt::format("{} to make; it predicts {} on one thread", bench::time_text(m.plan_ns),
                                      bench::time_text(m.predicted_ns)));
  if (m.tuned) out += tuned_text(*m.tuned);
  out += labelled("kernel", m.kernel);
  out += labelled("by",
                  fmt::format("{}, {} thread{}, medians of {}", m.isa, m.threads, m.threads == 1 ? "" : "s", m.repeat));
  if (m.verified)
    out += labelled("verified", *m.verified ? "yes" : "no, the result is wrong");
  else if (m.too_large_to_verify)
    out += labelled("verified", fmt::format("no, because there are more than {} elements", bench::kMostVerified));
  return out;
}

/// How the conversion is done on this machine: the plan that is measured, in words.
std::string plan_text(const LayoutPair& pair, const ExplainFlag& explain) {
  return explained(cpu::make_plan(pair.src, pair.dst, pair.attributes), explain);
}

bench::MeasureOptions measure_options(const BenchOptions& options) {
  return {.threads = options.threads,
          .repeat = options.repeat,
          .misalign = options.misalign,
          .verify = options.verify,
          .tune = tune_options(options.tune, options.threads)};
}

[[noreturn]] void no_match(const BenchOptions& options) {
  usage_error(fmt::format("--filter \"{}\": no name contains that text", escaped(options.filter)), "--filter",
              escaped(options.filter));
}

[[noreturn]] void wrong_result() {
  throw Error(ErrorCode::internal, "bench: the result differs from that of the reference implementation");
}

int run_pair(const BenchOptions& options, bool json) {
  const auto drawn = one_random_case(options.random);
  const LayoutPair pair = drawn ? pair_of(*drawn) : pair_of(options);
  bench::MeasureOptions how = measure_options(options);
  if (drawn) {
    // As in a list of cases.
    how.misalign = drawn->misalign;
    how.copy_bytes = bench::bytes_of_lines(pair.src, pair.dst, drawn->misalign);
  }
  const bench::Measurement measured =
      from_command_line([&] { return bench::measure(pair.src, pair.dst, pair.attributes, how); });
  if (measured.tuned) report_tune_file(measured.tuned->tuned);
  Json report;
  if (drawn) report = {{"kind", name(drawn->kind)}, {"number", drawn->number}, {"name", name_of(*drawn)}};
  report.update(measurement_json(pair, measured));
  if (!options.explain.empty()) report["plan"] = plan_text(pair, options.explain);
  if (options.out) bench::write_json(*options.out, report);
  std::string text = drawn ? bold(name_of(*drawn)) + "\n" : "";
  text += measurement_text(pair, measured);
  if (!options.explain.empty()) text += "\n" + plan_text(pair, options.explain) + "\n";
  write_stdout(json ? json_text(report) : text);
  if (measured.wrong()) wrong_result();
  return kOk;
}

int run_suite(const BenchOptions& options, bool json) {
  bench::SuiteOptions suite{options.filter, options.quick, {options.threads}, measure_options(options)};
  const auto results = bench::run_suite(suite, [&](const bench::CaseResult& result) {
    if (!json) write_stdout(bench::result_text(result));
  });
  if (results.empty()) no_match(options);
  const auto bad_file = std::ranges::find_if(results, [](const bench::CaseResult& result) {
    return result.measured.tuned && result.measured.tuned->tuned.file_error;
  });
  if (bad_file != results.end()) report_tune_file(bad_file->measured.tuned->tuned);
  const Json report = bench::suite_json(results);
  if (options.out) bench::write_json(*options.out, report);
  write_stdout(json ? json_text(report) : "\n" + bench::suite_text(results));
  if (std::ranges::any_of(results, &bench::CaseResult::wrong)) wrong_result();
  return kOk;
}

int run_sweep(const BenchOptions& options, bool json) {
  static constexpr int64_t kLargest = int64_t{1} << 30, kLargestQuick = int64_t{1} << 20;
  const auto sweeps =
      bench::run_sweep(measure_options(options), options.filter, options.quick ? kLargestQuick : kLargest, nullptr);
  if (sweeps.empty()) no_match(options);
  const Json report = bench::sweep_json(sweeps);
  if (options.out) bench::write_json(*options.out, report);
  std::string text;
  for (const bench::Sweep& sweep : sweeps) text += (text.empty() ? "" : "\n") + bench::sweep_text(sweep);
  write_stdout(json ? json_text(report) : text);
  if (std::ranges::any_of(sweeps, &bench::Sweep::wrong)) wrong_result();
  return kOk;
}

/// The list of conversions that is measured, as its flag; nothing where one conversion is named.
const char* list_flag(const BenchOptions& options) {
  if (options.random.number) return nullptr;
  return options.random.seed ? "--random" : options.suite ? "--suite" : options.sweep ? "--sweep" : nullptr;
}

bool has_value_flags(const ValueOptions& values) {
  return values.scale || values.src_scale || values.dst_scale || values.zero_point || values.src_zero_point ||
         values.dst_zero_point || values.mean || values.std || values.per || values.groups || values.padding != "zero";
}

bool names_a_conversion(const BenchOptions& options) {
  return has_value_flags(options.values) || options.packed.given() || options.src || options.dst || options.dims ||
         options.dst_dims || options.dtype || options.to_dtype || options.misalign != 0;
}

/// What is measured is one pair of layouts, the suite, the sweep or random cases. Each takes flags of its own.
void check_mode(const BenchOptions& options) {
  const char* const list = list_flag(options);
  check_random_flags(options.random);
  check_explain(options.explain);
  if (options.suite && options.sweep) usage_error("--suite and --sweep cannot be given together", "--sweep");
  if (options.random.seed && (options.suite || options.sweep)) {
    usage_error(fmt::format("--random and --{} cannot be given together", options.suite ? "suite" : "sweep"),
                "--random");
  }
  if (list && !options.suite && !options.tune.empty())
    usage_error(fmt::format("--tune goes with a conversion or with --suite, not with {}", list), "--tune");
  const char* const own = options.random.number ? "--number" : list;
  if (own && (names_a_conversion(options) || (list && !options.explain.empty()))) {
    usage_error(fmt::format("{} measures its own conversions; flags that name a conversion do not go with it", own),
                own);
  }
  if (!list && is_packed_bench(options.packed, options.src)) return;
  const bool has_dims = options.src && layout_argument(*options.src).default_dims();
  if (!own && (!options.src || !options.dst || (!options.dims && !has_dims))) {
    usage_error("give --src, --dst and --dims to name a conversion, or --suite, --sweep or --random", "--src");
  }
  if (!options.suite && !options.sweep && (options.quick || !options.filter.empty())) {
    usage_error(fmt::format("{} goes only with --suite or --sweep", options.quick ? "--quick" : "--filter"),
                options.quick ? "--quick" : "--filter");
  }
}

/// Checks that --out can be written before minutes are spent on measuring.
void check_report_file(const BenchOptions& options) {
  if (!options.out) return;
  std::error_code ignored;
  if (!options.force && !is_stdout(*options.out) && std::filesystem::is_regular_file(*options.out, ignored)) {
    throw Error(ErrorCode::io, "create \"" + escaped(*options.out) + "\": the file exists and is not to be overwritten",
                "overwrite", escaped(*options.out));
  }
  bench::check_writable(*options.out);
}

/// What is measured of packed weights; run_packed() says which flags go with it.
PackedBench packed_bench(const BenchOptions& options) {
  const std::pair<const char*, bool> others[] = {
      {"--dtype", options.dtype.has_value()}, {"--dst-dims", options.dst_dims.has_value()},
      {"--misalign", options.misalign != 0},  {"--verify", options.verify},
      {"--tune", !options.tune.empty()},      {"--explain", !options.explain.empty()},
      {"--filter", !options.filter.empty()},  {"--quick", options.quick}};
  const auto other = std::ranges::find(others, true, &std::pair<const char*, bool>::second);
  return {.flags = options.packed,
          .from = options.src,
          .to = options.dst,
          .dims = options.dims,
          .to_dtype = options.to_dtype,
          .out = options.out,
          .other_flag = other == std::end(others) ? "" : other->first,
          .values = options.values,
          .value_flags = has_value_flags(options.values)};
}

int run_bench(const BenchOptions& options, bool json) {
  require_isa();
  check_mode(options);
  check_report_file(options);
  if (options.suite) return run_suite(options, json);
  if (options.sweep) return run_sweep(options, json);
  if (options.random.seed && !options.random.number)
    return run_random(options.random, measure_options(options), options.out, json);
  if (is_packed_bench(options.packed, options.src))
    return run_packed(packed_bench(options), measure_options(options), json);
  return run_pair(options, json);
}

}  // namespace

Verb add_bench(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "bench", "Measure the time of a conversion, and of copying as many bytes",
      "  relayout bench --src nchw --dst nhwc --dims 32,64,56,56\n"
      "  relayout bench --src nchw --dst nhwc --dims 32,64,56,56 --to-dtype u8 --scale 255 --threads 2 --json\n"
      "  relayout bench --src nchw --dst nhwc --dims 32,64,56,56 --explain --tune\n"
      "  relayout bench --suite --filter transpose\n"
      "  relayout bench --random 1 --count 200 --kind tails\n"
      "  relayout bench --from ggml:q4_0 --to ab --dims 4096,11008 --to-dtype f16\n"
      "  relayout bench --from gptq --to awq --repack --dims 4096,11008 --group 128\n"
      "The copy is the faster of memcpy and a loop of non-temporal stores. It runs in turns with the conversion, and\n"
      "times are medians. Tensors that fit into the caches are measured in the caches. The flags for scales, zero\n"
      "points and padding are those of convert. Values and repackings of packed weights are timed beside a copy, too,\n"
      "and beside writing as many bytes; codes are random, and no scale differs from another.\n"
      "A plan is the cheapest of a few, by a prediction for one thread (--explain=all). --tune\n"
      "measures alternatives: stream=always or never (whether the destination is written past the cache), panel= and\n"
      "strip= (the columns and rows of a block) and ahead= (how many bytes ahead the source is fetched).");
  auto options = std::make_shared<BenchOptions>();
  command.add_option("--src,--from", options->src, "Layout to convert from, or a packed format");
  command.add_option("--dst,--to", options->dst, "Layout to convert to, or with --repack a packed format");
  command.add_option("--dims", options->dims, "Logical extents, before any views of --src, for example 2,17,5,4");
  command.add_option("--dst-dims", options->dst_dims,
                     "Extents of the whole buffer, where --dst ends in views that are a part of one");
  command.add_option("--dtype", options->dtype, "Element type; f32 unless given");
  command.add_option("--to-dtype", options->to_dtype, "Element type to convert to; the same unless given");
  add_value_options(command, options->values);
  command.add_option("--misalign", options->misalign, {0, bench::kMostMisaligned},
                     "Both tensors start this many bytes after the start of a page; 0 unless given");
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 1 unless given, 0 is all");
  command.add_option("--repeat", options->repeat, {1, 1000000000}, "Number of repetitions; 15 unless given");
  command.add_flag("--verify", options->verify,
                   "Compare the result with the reference implementation; up to 4 Mi elements");
  add_packed_flags(command, options->packed);
  add_tune_option(command, options->tune,
                  "Time several plans and show the fastest as well; --tune=FILE remembers it in FILE");
  add_explain_option(command, options->explain, "Say how the conversion is done on this machine");
  command.add_flag("--suite", options->suite, "Measure the project's own list of conversions, each against its goal");
  command.add_flag("--sweep", options->sweep, "Measure a few conversions at sizes from 4 KiB to 1 GiB");
  add_random_flags(command, options->random);
  command.add_option("--filter", options->filter,
                     "Measure only those of --suite or --sweep whose names contain this text");
  command.add_flag("--quick", options->quick, "Measure a shorter form of --suite or --sweep");
  command.add_option("--out", options->out, "Write the JSON to this file as well");
  command.add_flag("-f,--force", options->force, "Replace a file that exists");
  return {command, [options, json = json] { return run_bench(*options, *json); }, json};
}

}  // namespace relayout::tools
