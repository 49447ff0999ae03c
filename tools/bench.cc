// relayout bench: how long one conversion takes, beside a copy of as many bytes.
#include <fmt/format.h>

#include "bench/measure.h"
#include "tools/common.h"
#include "tools/values.h"

namespace relayout::tools {
namespace {

struct Options {
  std::string src, dst, dims, dtype = "f32";
  std::optional<std::string> to_dtype;
  ValueOptions values;
  int threads = 1, repeat = 15;
  bool verify = false;
};

struct Pair {
  Format src_format, dst_format;
  TensorDesc src, dst;
  Attributes attributes;
};

Pair pair_of(const Options& options) {
  const Format src = layout_argument(options.src), dst = layout_argument(options.dst);
  const Dims dims = dims_argument(options.dims);
  const DType dtype = dtype_argument(options.dtype);
  const DType to_dtype = options.to_dtype ? dtype_argument(*options.to_dtype, "--to-dtype") : dtype;
  return from_command_line([&] {
    return Pair{src, dst, TensorDesc(src.bind(dims), dtype), TensorDesc(dst.bind(dims), to_dtype),
                attributes_for(options.values, dtype, to_dtype)};
  });
}

Json to_json(const Pair& pair, const bench::Measurement& m) {
  Json out;
  out["src"] = pair.src_format.text();
  out["dst"] = pair.dst_format.text();
  out["dims"] = json_of(pair.src.layout.dims());
  out["dtype"] = name(pair.src.dtype);
  out["to_dtype"] = name(pair.dst.dtype);
  out["threads"] = m.threads;
  out["repeat"] = m.repeat;
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
  out["plan_ns"] = m.plan_ns;
  out["predicted_ns"] = m.predicted_ns;
  if (m.verified) out["verified"] = *m.verified;
  return out;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  return fmt::format("{:.2f} ms", ns / 1e6);
}

std::string to_text(const Pair& pair, const bench::Measurement& m) {
  const std::string types = pair.src.dtype == pair.dst.dtype
                                ? std::string(name(pair.src.dtype))
                                : fmt::format("{} -> {}", name(pair.src.dtype), name(pair.dst.dtype));
  std::string out = bold(fmt::format("{} -> {}  {}  {}", pair.src_format.text(), pair.dst_format.text(), types,
                                     dims_text(pair.src.layout.dims()))) +
                    "\n\n";
  out += labelled("run", fmt::format("{} ({:.1f} GB/s), best {}; {} read and written", time_text(m.median_ns), m.gbps,
                                     time_text(m.min_ns), size_text(m.bytes)));
  out += labelled("copy", fmt::format("{}: memcpy {}, non-temporal {}", time_text(m.copy_ns), time_text(m.memcpy_ns),
                                      m.nt_copy_ns ? time_text(*m.nt_copy_ns) : "not for so few bytes"));
  out += labelled("ratio", fmt::format("{:.2f}", m.ratio));
  out += labelled("plan", fmt::format("{} to make; predicts {}", time_text(m.plan_ns), time_text(m.predicted_ns)));
  out += labelled("kernel", m.kernel);
  out += labelled("by",
                  fmt::format("{}, {} thread{}, medians of {}", m.isa, m.threads, m.threads == 1 ? "" : "s", m.repeat));
  if (m.verified) out += labelled("verified", *m.verified ? "yes" : "no, the result is wrong");
  return out;
}

int run(const Options& options, bool json) {
  require_isa();
  check_threads(options.threads);
  const Pair pair = pair_of(options);
  const bench::Measurement measured = from_command_line([&] {
    return bench::measure(pair.src, pair.dst, pair.attributes,
                          {.threads = options.threads, .repeat = options.repeat, .verify = options.verify});
  });
  write_stdout(json ? json_text(to_json(pair, measured)) : to_text(pair, measured));
  if (measured.verified && !*measured.verified) {
    throw Error(ErrorCode::internal, "bench: the result differs from the reference's");
  }
  return kOk;
}

}  // namespace

Verb add_bench(CLI::App& app) {
  auto [command, json] = add_verb(
      app, "bench", "Measure a conversion beside a copy of as many bytes",
      "  relayout bench --src nchw --dst nhwc --dims 32,64,56,56\n"
      "  relayout bench --src nchw --dst nhwc --dims 32,64,56,56 --to-dtype u8 --scale 255 --threads 2 --json\n"
      "The copy is the faster of memcpy and a loop of non-temporal stores, in turns with the conversion; times\n"
      "are medians. What fits in the caches is measured there. The flags about values are those of convert.");
  auto options = std::make_shared<Options>();
  command->add_option("--src", options->src, "Layout to convert from")->required();
  command->add_option("--dst", options->dst, "Layout to convert to")->required();
  command->add_option("--dims", options->dims, "Logical extents, as 2,17,5,4")->required();
  command->add_option("--dtype", options->dtype, "Element type (f32)");
  command->add_option("--to-dtype", options->to_dtype, "Type to convert to (the same)");
  add_value_options(*command, options->values);
  command->add_option("--threads", options->threads, "Threads (1; 0: all)");
  command->add_option("--repeat", options->repeat, "Repetitions (15)");
  command->add_flag("--verify", options->verify, "Compare the result with the reference's, up to 4 Mi elements");
  return {command, [options, json = json] { return run(*options, *json); }, json};
}

}  // namespace relayout::tools
