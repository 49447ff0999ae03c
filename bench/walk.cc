// relayout_walk: every pair of oneDNN's tags of one rank, each timed beside a copy, the slowest listed.
//
//     relayout_walk                                          all 4-D pairs at 32x67x29x31, f32, s8 and bf16
//     relayout_walk --dtypes f32 --limit 60                  a minute's sample of the pairs
//     relayout_walk --decisions                              no times: one number over what is planned for all pairs
//     relayout_walk --dims 32x67x5x7x31 --filter aBcde:      those from layouts whose name has "aBcde"
//
// It looks for cliffs: a pair far above the others. Tags that bind to equal layouts are walked once. A pair's limit is
// the faster of memcpy and a copy with non-temporal stores (bench/copy.h), of (source span + destination span) / 2
// bytes: as many bytes are read and written as the two buffers have. The walk takes each pair's median of three runs;
// then the largest ratios are measured again, copies and reorder in turns, until all of those listed have been, so that
// noise alone makes no cliff. Times count after one run of warming: at the default dims both buffers fit a large L3.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "bench/decisions.h"
#include "bench/report.h"
#include "bench/tag_walk.h"
#include "relayout/core/format.h"

namespace relayout::bench {
namespace {

struct Options : WalkOptions {
  std::string dims = "32x67x29x31", json_file, tag_file = RELAYOUT_DNNL_TYPES_H;
  std::vector<std::string> dtypes{"f32", "s8", "bf16"};
  bool decisions = false;
};

/// The names in a text file. If it is oneDNN's header, these are the names of enum dnnl_format_tag_t that are not
/// aliases; otherwise, all words.
std::vector<std::string> read_tag_names(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error(ErrorCode::io, "cannot read the list of tags " + path + "; name one with --tags");
  std::vector<std::string> lines;
  bool header = false, inside = true;
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find("//"));
    if (line.find("dnnl_format_tag_undef") != std::string::npos && !header) {
      header = inside = true;
      lines.clear();
    }
    if (line.find("dnnl_format_tag_last") != std::string::npos) inside = false;
    if (inside) lines.push_back(line);
  }
  std::vector<std::string> names;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::string prefix = "dnnl_";
      if (header && !word.starts_with(prefix)) continue;
      if (header) word = word.substr(prefix.size(), word.find(',') - prefix.size());
      if (!word.starts_with("format_tag_")) names.push_back(word);
    }
  }
  return names;
}

/// The different layouts that the tags of this rank have at these dims, each with its first name.
std::vector<NamedLayout> different_layouts(const std::vector<std::string>& tags, const Dims& dims) {
  std::vector<NamedLayout> out;
  for (const std::string& tag : tags) {
    const Format format = Format::parse(tag);
    if (format.rank() != dims.size()) continue;
    Layout layout = format.bind(dims);
    const auto same = [&](const NamedLayout& other) { return other.layout == layout; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back({tag, std::move(layout)});
  }
  return out;
}

constexpr std::size_t kKernelsShown = 16;

void print_slowest(const Json& slowest) {
  for (const Json& pair : slowest) {
    std::printf("  %7.2f  %9.1f us  %-9s %s -> %s\n           %s\n", pair["ratio"].get<double>(),
                pair["median_ns"].get<double>() / 1e3, pair["types"].get<std::string>().c_str(),
                pair["src"].get<std::string>().c_str(), pair["dst"].get<std::string>().c_str(),
                pair["kernel"].get<std::string>().c_str());
  }
}

void print_walk(const Json& walk) {
  std::printf(
      "\n%s: %ld of %ld pairs of %ld layouts in %.0f s; ratio to a copy: median %.2f, 99 %% within %.2f, up to %.2f\n",
      walk["types"].get<std::string>().c_str(), walk["measured"].get<long>(), walk["pairs"].get<long>(),
      walk["layouts"].get<long>(), walk["seconds"].get<double>(), walk["median"].get<double>(),
      walk["p99"].get<double>(), walk["max"].get<double>());
  for (const Json& above : walk["above"]) {
    std::printf("  above %g: %ld", above["ratio"].get<double>(), above["pairs"].get<long>());
  }
  if (walk.contains("wrong")) std::printf("\n  %ld results differ from the reference's", walk["wrong"].get<long>());
  std::printf("\n");
  const Json& kernels = walk["by_kernel"];
  for (std::size_t i = 0; i < std::min(kernels.size(), kKernelsShown); ++i) {
    const Json& kernel = kernels[i];
    std::printf("  mostly %-52s %6ld pairs  median %6.2f  up to %7.2f\n", kernel["kernel"].get<std::string>().c_str(),
                kernel["pairs"].get<long>(), kernel["median"].get<double>(), kernel["max"].get<double>());
  }
  if (kernels.size() > kKernelsShown) std::printf("  and %zu kernels more\n", kernels.size() - kKernelsShown);
  print_slowest(walk["slowest"]);
  std::fflush(stdout);
}

std::pair<DType, DType> parse_types(const std::string& text) {
  const std::size_t colon = text.find(':');
  const DType src = parse_dtype(text.substr(0, colon));
  return {src, colon == std::string::npos ? src : parse_dtype(text.substr(colon + 1))};
}

Dims parse_extents(std::string text) {
  std::replace(text.begin(), text.end(), 'x', ',');
  const Dims dims = parse_dims(text);
  for (const int64_t extent : dims) {
    if (extent < 1) throw Error(ErrorCode::invalid_argument, "dims " + text + ": an extent is below 1", "dims", text);
  }
  return dims;
}

/// A number over the plans of each types, for the caches that are assumed where none are known: equal on all machines.
int print_decisions(const Options& options) {
  const std::vector<NamedLayout> layouts =
      different_layouts(read_tag_names(options.tag_file), parse_extents(options.dims));
  for (const std::string& text : options.dtypes) {
    const auto [src, dst] = parse_types(text);
    std::printf("%-9s %zu layouts: %016llx\n", text.c_str(), layouts.size(),
                static_cast<unsigned long long>(decisions_of(layouts, src, dst, Machine{})));
  }
  return 0;
}

int walk_all(Options options) {
  if (!options.json_file.empty()) check_writable(options.json_file);
  const Dims dims = parse_extents(options.dims);
  const std::vector<NamedLayout> layouts = different_layouts(read_tag_names(options.tag_file), dims);
  std::vector<std::pair<DType, DType>> types;
  int64_t bytes = 1;
  for (const std::string& text : options.dtypes) {
    types.push_back(parse_types(text));
    for (const NamedLayout& layout : layouts) {
      bytes = std::max({bytes, TensorDesc(layout.layout, types.back().first).span_bytes(),
                        TensorDesc(layout.layout, types.back().second).span_bytes()});
    }
  }
  options.limit_s /= static_cast<double>(types.size());  // of each
  require_memory(2 * bytes, "relayout_walk");
  const PageBuffer from(bytes), to(bytes);
  Json out = {{"dims", options.dims}, {"threads", options.threads}, {"isa", cpu::isa()}, {"filter", options.filter}};
  if (options.limit_s > 0) out["seed"] = options.seed;
  std::printf("dims %s, %d thread%s, %s", options.dims.c_str(), options.threads, options.threads == 1 ? "" : "s",
              std::string(cpu::isa()).c_str());
  std::printf(options.limit_s > 0 ? ", seed %llu\n" : "\n", static_cast<unsigned long long>(options.seed));
  out["walks"] = Json::array();
  std::vector<Json> slowest;
  int wrong = 0;
  for (const auto& [src, dst] : types) {
    Walk walk(layouts, src, dst, options, from, to);
    out["walks"].push_back(walk.run());
    wrong += walk.wrong();
    print_walk(out["walks"].back());
    for (const Json& pair : out["walks"].back()["slowest"]) slowest.push_back(pair);
  }
  const auto slower = [](const Json& a, const Json& b) { return a["ratio"] > b["ratio"]; };
  std::stable_sort(slowest.begin(), slowest.end(), slower);
  slowest.resize(std::min(slowest.size(), static_cast<std::size_t>(options.top)));
  out["slowest"] = slowest;
  if (types.size() > 1) {
    std::printf("\nslowest of all\n");
    print_slowest(out["slowest"]);
  }
  if (!options.json_file.empty()) write_json(options.json_file, out);
  return wrong == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  Options options;
  options.seed = std::random_device{}();
  CLI::App app("Times every pair of oneDNN's tags of one rank beside a copy and lists the slowest.", "relayout_walk");
  app.add_option("--dims", options.dims, "Extents, which choose the rank")->capture_default_str();
  app.add_option("--dtypes", options.dtypes, "Types, as f32 or, converting, f32:bf16")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads of each reorder and copy")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--top", options.top, "How many pairs to list")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--filter", options.filter, "SRC:DST, parts of the names of the tags to walk");
  app.add_option("--limit", options.limit_s, "Seconds for all types together; pairs are then taken at random");
  app.add_option("--seed", options.seed, "For --limit; random unless given");
  app.add_option("--tags", options.tag_file, "Names of tags, or oneDNN's dnnl_types.h")->capture_default_str();
  app.add_option("--json", options.json_file, "Writes the results to this file too");
  app.add_flag("--decisions", options.decisions, "Times nothing: prints a hash over the plans of all pairs");
  app.add_flag("--verify", options.verify, "Compares each result with the reference (slow); exit 1 where one differs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const int code = options.decisions ? print_decisions(options) : walk_all(options);
    if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw std::runtime_error("cannot write standard output");
    return code;
  } catch (const std::exception& error) {
    std::cerr << "relayout_walk: " << error.what() << "\n";
    return 2;
  }
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) { return relayout::bench::run(argc, argv); }
