// relayout_two_builds: two builds of relayout on the same conversions, in turns, to see what a change does to speed.
//
//     relayout_two_builds before/librelayout.so after/librelayout.so --random 7 --count 300        each kind, 300 of it
//     relayout_two_builds before/librelayout.so after/librelayout.so --photos                     photos, by name
//     relayout_two_builds before/librelayout.so after/librelayout.so --suite --threads 2
//
// Both are loaded into this program through the functions of relayout_c.h, so each conversion runs by the one and by
// the other from the same memory to the same memory, a few milliseconds apart. A conversion whose plans read alike
// (relayout_plan_explain) is not timed and counts as 1: where only plans have changed, the noise of all others stays
// out in this way. Where kernels have changed, --all times every conversion, as plans that read alike may run by other
// code.
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "bench/buffer.h"
#include "bench/random_cases.h"
#include "bench/random_run.h"
#include "bench/report.h"
#include "bench/suite.h"
#include "bench/summary.h"
#include "bench/timing.h"
#include "relayout/core/format.h"
#include "relayout/relayout_c.h"

namespace relayout::bench {
namespace {

struct Options {
  std::string before, after;
  std::optional<uint64_t> seed;
  std::string kind, filter;
  bool suite = false, photos = false, all = false, explain = false;
  int count = 300, threads = 1, repeat = 9, slowest = 10;
};

/// A conversion and the list that it is from.
struct Pair {
  std::string list, name;
  TensorDesc src, dst;
  std::string src_text, dst_text;
  Attributes attributes;
  int64_t misalign = 0;
};

/// A build of relayout: the functions of its C library.
class Build {
 public:
  explicit Build(const std::string& path)
      : path_(path), handle_(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(fmt::format("{}: {}", path, dlerror()));
    find(desc_parse, "relayout_desc_parse");
    find(desc_free, "relayout_desc_free");
    find(plan_make, "relayout_plan_make");
    find(plan_free, "relayout_plan_free");
    find(plan_explain, "relayout_plan_explain");
    find(plan_run, "relayout_plan_run");
    find(error_message, "relayout_error_message");
  }

  /// Error{internal} with the library's words where a call failed.
  void check(relayout_status status) const {
    if (status != RELAYOUT_OK) throw Error(ErrorCode::internal, path_ + ": " + error_message());
  }

  decltype(&relayout_desc_parse) desc_parse = nullptr;
  decltype(&relayout_desc_free) desc_free = nullptr;
  decltype(&relayout_plan_make) plan_make = nullptr;
  decltype(&relayout_plan_free) plan_free = nullptr;
  decltype(&relayout_plan_explain) plan_explain = nullptr;
  decltype(&relayout_plan_run) plan_run = nullptr;
  decltype(&relayout_error_message) error_message = nullptr;

 private:
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) throw std::runtime_error(fmt::format("{}: it has no function {}", path_, name));
  }

  std::string path_;
  void* handle_;
};

relayout_attributes attributes_of(const Pair& pair) {
  relayout_attributes out = RELAYOUT_ATTRIBUTES_INIT;
  out.ndims = pair.src.layout.ndims();
  const auto set = [](const PerMask& from, const double*& values, std::size_t& count, uint32_t& mask,
                      const int64_t*& groups) {
    values = from.values.data();
    count = from.values.size();
    mask = from.mask;
    groups = from.groups.empty() ? nullptr : from.groups.begin();
  };
  const Attributes& from = pair.attributes;
  set(from.src_scale, out.src_scale, out.src_scale_count, out.src_scale_mask, out.src_scale_groups);
  set(from.dst_scale, out.dst_scale, out.dst_scale_count, out.dst_scale_mask, out.dst_scale_groups);
  set(from.src_zero_point, out.src_zero_point, out.src_zero_point_count, out.src_zero_point_mask,
      out.src_zero_point_groups);
  set(from.mean, out.mean, out.mean_count, out.mean_mask, out.mean_groups);
  set(from.dst_zero_point, out.dst_zero_point, out.dst_zero_point_count, out.dst_zero_point_mask,
      out.dst_zero_point_groups);
  return out;
}

/// A build's plan of a conversion.
class Planned {
 public:
  Planned(const Build& build, const Pair& pair) : build_(build) {
    relayout_desc *src = nullptr, *dst = nullptr;
    const relayout_attributes attributes = attributes_of(pair);
    const Dims dims = pair.src.layout.dims();
    build.check(build.desc_parse(pair.src_text.c_str(), dims.size(), dims.begin(),
                                 static_cast<relayout_dtype>(pair.src.dtype), &src));
    build.check(build.desc_parse(pair.dst_text.c_str(), dims.size(), dims.begin(),
                                 static_cast<relayout_dtype>(pair.dst.dtype), &dst));
    build.check(build.plan_make(src, dst, &attributes, &plan_));
    build.desc_free(src);
    build.desc_free(dst);
  }
  ~Planned() { build_.plan_free(plan_); }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  std::string explain() const {
    std::size_t length = 0;
    build_.check(build_.plan_explain(plan_, nullptr, 0, &length));
    std::string out(length, '\0');
    build_.check(build_.plan_explain(plan_, out.data(), length + 1, &length));
    return out;
  }

  void run(std::span<const std::byte> src, std::span<std::byte> dst, int threads) const {
    relayout_run_options options = RELAYOUT_RUN_OPTIONS_INIT;
    options.threads = threads;
    build_.check(build_.plan_run(plan_, src.data(), src.size(), dst.data(), dst.size(), &options));
  }

 private:
  const Build& build_;
  relayout_plan* plan_ = nullptr;
};

struct Result {
  std::string list, name;
  int64_t bytes = 0;
  bool timed = false;
  double before_ns = 0, after_ns = 0;

  double ratio() const { return timed ? after_ns / before_ns : 1; }
};

Pair pair_of(const RandomCase& c) {
  return {std::string(name(c.kind)), name_of(c), c.src_desc(), c.dst_desc(), c.src, c.dst, c.attributes, c.misalign};
}

Pair pair_of(const Case& c) {
  const Dims dims = parse_dims(c.dims);
  Pair out{"suite",
           name_of(c),
           {Format::parse(c.src).bind(dims), c.dtype},
           {Format::parse(c.dst).bind(dims), c.to_dtype},
           std::string(c.src),
           std::string(c.dst),
           {},
           c.misalign};
  if (c.scale != 0) out.attributes.src_scale = {{c.scale}, 0};
  return out;
}

/// Images and videos of a few channels: interleaved and in planes, with a fourth channel that is left out or added.
std::vector<Pair> photos() {
  struct Conversion {
    const char *name, *src, *dst;
    int64_t channels;
  };
  static constexpr Conversion kConversions[] = {
      {"rgb -> planes", "nhwc", "nchw", 3},      {"planes -> rgb", "nchw", "nhwc", 3},
      {"rgba -> planes", "nhwc", "nchw", 4},     {"planes -> rgba", "nchw", "nhwc", 4},
      {"rgba -> 3 planes", "nChw4c", "nchw", 3}, {"3 planes -> rgbx", "nchw", "nChw4c", 3},
      {"rgba -> rgb", "nChw4c", "nhwc", 3},      {"rgb -> rgbx", "nhwc", "nChw4c", 3},
      {"two -> planes", "nhwc", "nchw", 2},      {"planes -> two", "nchw", "nhwc", 2}};
  static constexpr std::array<int64_t, 3> kSizes[] = {{1, 17, 23},   {1, 64, 64},    {1, 224, 224},  {8, 224, 224},
                                                      {1, 480, 641}, {1, 720, 1280}, {4, 1080, 1920}};
  std::vector<Pair> out;
  for (const Conversion& conversion : kConversions) {
    for (const auto& [n, h, w] : kSizes) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32}) {
        for (const int64_t misalign : {0, 16}) {
          const Dims dims{n, conversion.channels, h, w};
          out.push_back({"photos",
                         fmt::format("{} {} {}x{}x{}{}", name(dtype), conversion.name, n, h, w, misalign ? " +16" : ""),
                         {Format::parse(conversion.src).bind(dims), dtype},
                         {Format::parse(conversion.dst).bind(dims), dtype},
                         conversion.src,
                         conversion.dst,
                         {},
                         misalign});
        }
      }
    }
  }
  return out;
}

std::vector<Pair> pairs_of(const Options& options) {
  std::vector<Pair> out;
  if (options.photos) out = photos();
  if (options.suite) {
    for (const Case& c : all_cases()) out.push_back(pair_of(c));
  }
  if (!options.seed && !options.kind.empty()) throw std::runtime_error("--kind goes only with --random");
  if (options.seed) {
    const auto kind = find_random_kind(options.kind);
    if (!kind && !options.kind.empty()) throw std::runtime_error("--kind " + options.kind + ": there is no such kind");
    for (const RandomCase& c : random_cases(*options.seed, options.count * (kind ? 1 : kRandomKindCount), kind))
      out.push_back(pair_of(c));
  }
  if (out.empty()) throw std::runtime_error("nothing to do: give --random, --suite or --photos");
  std::erase_if(out, [&](const Pair& pair) { return pair.name.find(options.filter) == std::string::npos; });
  return out;
}

Result time_both(const Build& before, const Build& after, const Pair& pair, const Options& options) {
  Result out{pair.list, pair.name, pair.src.span_bytes() + pair.dst.span_bytes()};
  const Planned old_plan(before, pair), new_plan(after, pair);
  const std::string old_text = old_plan.explain(), new_text = new_plan.explain();
  out.timed = options.all || old_text != new_text;
  if (!out.timed) return out;
  if (options.explain) fmt::print("before: {}\n\nafter: {}\n\n", old_text, new_text);
  const PageBuffer src(pair.misalign + pair.src.span_bytes()), dst(pair.misalign + pair.dst.span_bytes());
  const auto skipped = static_cast<std::size_t>(pair.misalign);
  const auto from = src.bytes().subspan(skipped), to = dst.bytes().subspan(skipped);
  fill_values(pair.src.dtype, from);
  std::ranges::fill(dst.bytes(), std::byte{1});
  const auto work = [&](const Planned& plan) {
    return Work{[&](int64_t count) {
      for (int64_t i = 0; i < count; ++i) plan.run(from, to, options.threads);
    }};
  };
  const Work works[] = {work(old_plan), work(new_plan)};
  const auto timings = time_in_turns(works, {.repeat = options.repeat, .warm = out.bytes <= kWarmUpTo});
  out.before_ns = timings[0].median_ns;
  out.after_ns = timings[1].median_ns;
  return out;
}

/// How many times as long the second build takes.
std::string row(std::string_view what, const std::vector<const Result*>& results) {
  std::vector<double> ratios;
  int64_t timed = 0;
  for (const Result* result : results) {
    ratios.push_back(result->ratio());
    timed += result->timed;
  }
  return fmt::format("{:<22}{:>7}{:>7}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}\n", what, results.size(), timed,
                     geometric_mean(ratios), percentile(ratios, 1), percentile(ratios, 90), percentile(ratios, 99),
                     percentile(ratios, 100));
}

std::string_view size_name(int64_t bytes) {
  return bytes <= 128 << 10 ? "to 128 KiB" : bytes <= 4 << 20 ? "to 4 MiB" : bytes <= 64 << 20 ? "to 64 MiB" : "larger";
}

std::string report(std::vector<Result> results, int slowest) {
  std::string out = fmt::format("{:<22}{:>7}{:>7}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "after / before", "cases", "timed",
                                "mean", "1 %", "90 %", "99 %", "worst");
  std::map<std::string, std::vector<const Result*>> lists;
  std::vector<std::pair<std::string_view, std::vector<const Result*>>> sizes = {
      {"to 128 KiB", {}}, {"to 4 MiB", {}}, {"to 64 MiB", {}}, {"larger", {}}};
  std::vector<const Result*> all;
  for (const Result& result : results) {
    lists[result.list].push_back(&result);
    std::ranges::find(sizes, size_name(result.bytes), &decltype(sizes)::value_type::first)->second.push_back(&result);
    all.push_back(&result);
  }
  for (const auto& [list, of_it] : lists) out += row(list, of_it);
  for (const auto& [size, of_it] : sizes) out += of_it.empty() ? "" : row(size, of_it);
  out += row("all", all) + "\n";
  std::ranges::stable_sort(results, std::ranges::greater{}, &Result::ratio);
  for (const Result& result : results) {
    if (slowest-- == 0 || !result.timed) break;
    out += fmt::format("{:>6.2f}  {} -> {}  {}\n", result.ratio(), time_text(result.before_ns),
                       time_text(result.after_ns), result.name);
  }
  return out;
}

int run(const Options& options) {
  const Build before(options.before), after(options.after);
  const std::vector<Pair> pairs = pairs_of(options);
  if (pairs.empty()) throw std::runtime_error("--filter " + options.filter + ": no name contains that text");
  std::vector<Result> results;
  for (const Pair& pair : pairs) {
    results.push_back(time_both(before, after, pair, options));
    const Result& last = results.back();
    if (last.timed) fmt::print(stderr, "{:>8.3f}  {}: {}\n", last.ratio(), last.list, last.name);
  }
  fmt::print("{}", report(std::move(results), options.slowest));
  return 0;
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  relayout::bench::Options options;
  CLI::App app("Two builds of relayout on the same conversions, in turns", "relayout_two_builds");
  app.add_option("before", options.before, "The shared library of one build")->required()->check(CLI::ExistingFile);
  app.add_option("after", options.after, "The shared library of the other")->required()->check(CLI::ExistingFile);
  app.add_option("--random", options.seed, "Conversions drawn from this seed");
  app.add_option("--count", options.count, "How many of a kind")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--kind", options.kind, "Only this kind");
  app.add_flag("--suite", options.suite, "The project's list of conversions");
  app.add_flag("--photos", options.photos, "Images of a few channels");
  app.add_option("--filter", options.filter, "Only those whose names contain this");
  app.add_flag("--explain", options.explain, "Print both plans of what is timed");
  app.add_flag("--all", options.all, "Time conversions with equal plans as well");
  app.add_option("--threads", options.threads, "On how many threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--repeat", options.repeat, "How many turns each has")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--slowest", options.slowest, "How many to list at the end")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return relayout::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "relayout_two_builds: {}\n", error.what());
    return 1;
  }
}
