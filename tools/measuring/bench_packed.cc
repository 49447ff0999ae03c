// Measuring packed weights: see bench_packed.h.
#include "tools/measuring/bench_packed.h"

#include <fmt/format.h>

#include "bench/packed.h"
#include "bench/report.h"
#include "relayout/core/packed/packed.h"
#include "tools/command/output.h"
#include "tools/converting/convert_options.h"

namespace relayout::tools {
namespace {

void check_packed_bench(const PackedBench& bench) {
  if (bench.flags.dequantize && bench.flags.repack)
    usage_error("--dequantize and --repack: give one of them; the first computes values, the second moves codes",
                "--repack");
  const char* const what = bench.flags.repack ? "packed weights are repacked" : "values of packed weights are computed";
  if (!bench.from || !bench.to || !bench.dims)
    usage_error(fmt::format("give --from, a packed format, --to and --dims where {}", what), "--from");
  std::string other = bench.other_flag;
  if (bench.flags.repack && bench.to_dtype) other = "--to-dtype";
  if (bench.flags.repack && bench.value_flags) other = "a flag of values";
  if (!other.empty()) usage_error(fmt::format("{} has no meaning where {}", other, what), other);
  if (!bench.flags.repack && find_packed(*bench.to) != nullptr)
    usage_error(fmt::format("--from {} --to {}: another packed format is written by --repack, and values in a layout, "
                            "such as ab",
                            escaped(*bench.from), escaped(*bench.to)),
                "--to", escaped(*bench.to));
}

bench::PackedWork packed_work(const PackedBench& packed) {
  const Dims dims = dims_argument(*packed.dims);
  return from_command_line([&] {
    const PackedFormat& from = packed_format(*packed.from);
    bench::PackedWork out{
        {.format = *packed.from, .values = dims, .group = packed.flags.group.value_or(from.group)}, "", {}};
    if (packed.flags.repack) {
      out.to = std::string(packed_format(*packed.to).name);
      return out;
    }
    const Format to = layout_argument(*packed.to);
    out.dst = bind_tensor(to, dims, packed.to_dtype ? dtype_argument(*packed.to_dtype, "--to-dtype") : DType::f32);
    const Format rows = Format::parse("ab").with_names(std::string(from.dims));
    const TensorDesc values(Layout::contiguous(dims), DType::f32);
    out.attributes = attributes_for(packed.values, {rows, values}, {to, out.dst});
    return out;
  });
}

Json packed_json(const PackedBench& packed, const bench::PackedWork& work, const bench::PackedMeasurement& m) {
  Json out;
  out["from"] = *packed.from;
  out["to"] = *packed.to;
  out["dims"] = json_of(work.from.values);
  if (work.from.group > 0) out["group"] = work.from.group;
  if (work.to.empty()) out["to_dtype"] = name(work.dst.dtype);
  out["median_ns"] = m.median_ns;
  out["min_ns"] = m.min_ns;
  out["bytes_read"] = m.bytes_read;
  out["bytes_written"] = m.bytes_written;
  out["gbps"] = m.gbps;
  out["copy_ns"] = m.copy_ns;
  out["write_ns"] = m.write_ns;
  out["ratio"] = m.ratio;
  out["write_ratio"] = m.write_ratio;
  out["min_ratio"] = m.min_ratio;
  out["isa"] = m.isa;
  out["threads"] = m.threads;
  out["repeat"] = m.repeat;
  return out;
}

std::string packed_text(const PackedBench& packed, const bench::PackedWork& work, const bench::PackedMeasurement& m) {
  const std::string what = work.to.empty() ? fmt::format("values in {}", name(work.dst.dtype)) : "repacked";
  std::string out =
      bold(fmt::format("{} -> {}  {}  {}", *packed.from, *packed.to, what, dims_text(work.from.values))) + "\n\n";
  out += labelled(
      "run", fmt::format("{} ({:.1f} GB/s), best {}; {} read and {} written", bench::time_text(m.median_ns), m.gbps,
                         bench::time_text(m.min_ns), size_text(m.bytes_read), size_text(m.bytes_written)));
  out += labelled("copy", fmt::format("{} for a copy of half of these bytes; ratio {:.2f}, best against best {:.2f}",
                                      bench::time_text(m.copy_ns), m.ratio, m.min_ratio));
  out += labelled("write", fmt::format("{} for writing as many bytes without reading; ratio {:.2f}",
                                       bench::time_text(m.write_ns), m.write_ratio));
  out += labelled("by", fmt::format("{}, {}, medians of {}", m.isa, counted(m.threads, "thread"), m.repeat));
  return out;
}

}  // namespace

void add_packed_flags(Command& command, PackedFlags& flags) {
  command.add_flag("--dequantize", flags.dequantize,
                   "Measure computing the values of packed weights, whose format --from names");
  command.add_flag("--repack", flags.repack,
                   "Measure moving codes and scales from the packed format --from to the packed format --to");
  command.add_option("--group", flags.group, Range{1, 1 << 30},
                     "Values of packed weights that share a scale, where their format leaves that open");
}

bool is_packed_bench(const PackedFlags& flags, const std::optional<std::string>& from) {
  return flags.given() || (from && means_values(*from));
}

int run_packed(const PackedBench& packed, const bench::MeasureOptions& options, bool json) {
  check_packed_bench(packed);
  const bench::PackedWork work = packed_work(packed);
  const bench::PackedMeasurement measured = from_command_line([&] { return bench::measure_packed(work, options); });
  const Json report = packed_json(packed, work, measured);
  if (packed.out) bench::write_json(*packed.out, report);
  write_stdout(json ? json_text(report) : packed_text(packed, work, measured));
  return kOk;
}

}  // namespace relayout::tools
