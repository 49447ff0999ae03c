// relayout convert --into: writes a part of a tensor where it lies: see convert_into.h.
#include "tools/converting/convert_into.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "relayout/checkpoint/whole.h"
#include "tools/command/common.h"
#include "tools/command/progress.h"
#include "tools/input/slabs.h"

namespace relayout::tools {
namespace {

using checkpoint::WholeTensor;

/// Refuses flags of which nothing becomes here.
void check_into_flags(const ConvertOptions& o) {
  const std::pair<std::string_view, bool> given[] = {{"--via", o.via.opencl()},
                                                     {"--tune", !o.tune.empty()},
                                                     {"--index", !o.index.from.empty()},
                                                     {"--index-to", !o.index.to.empty()},
                                                     {"--max-memory", o.max_memory.has_value()},
                                                     {"--dry-run", o.dry_run},
                                                     {"--field", !o.field.empty()},
                                                     {"--dequantize", o.dequantize},
                                                     {"--repack", o.repack},
                                                     {"--requantise", o.requantise},
                                                     {"--group", o.group.has_value()},
                                                     {"--pad", o.values.padding != "zero"},
                                                     {"--explain", !o.explain.empty()},
                                                     {"--force", o.force}};
  for (const auto& [flag, is_given] : given) {
    if (is_given)
      usage_error(fmt::format("{} has no meaning with --into, by which a part of a tensor is written in place", flag),
                  std::string(flag));
  }
}

WholeTensor open_whole(const ConvertOptions& options, bool names) {
  checkpoint::WholeOptions whole{.tensor = options.to_tensor.value_or(names ? options.tensor : "")};
  if (!options.to.empty()) whole.layout = layout_argument(options.to);
  if (options.to_dims) whole.dims = dims_argument(*options.to_dims, "--to-dims");
  if (options.to_dtype) whole.dtype = dtype_argument(*options.to_dtype, "--to-dtype");
  try {
    return WholeTensor::open(options.output, whole);
  } catch (const Error& error) {
    const std::string flag = error.field() == "dtype" ? "--to-dtype" : error.field() == "dims" ? "--to-dims" : "";
    if (flag.empty()) throw Failure(exit_code(error, error.field() == "tensor" ? kUsage : kBadData), error);
    usage_error(fmt::format("{} ({})", error.message(), flag), flag, error.value(), error.limit());
  }
}

bool is_same(const std::string& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

int run_convert_into(const ConvertOptions& options, bool json) {
  const auto start = std::chrono::steady_clock::now();
  check_into_flags(options);
  const Dims begin = dims_argument(*options.into, "--into");
  const TensorInput part = open_tensor({.path = options.input,
                                        .tensor = options.tensor,
                                        .tensor_may_name_output = true,
                                        .layout = options.from,
                                        .dims = options.dims,
                                        .dtype = options.dtype,
                                        .raw = options.raw,
                                        .gates_apart = true});
  WholeTensor whole = open_whole(options, !options.tensor.empty());
  if (is_same(options.input, whole.path()))
    usage_error(fmt::format("{} and {} are one file, and a part is written from another one", escaped(options.input),
                            escaped(options.output)),
                "OUT", escaped(options.output));
  const TensorDesc place(Layout::contiguous(part.desc.layout.dims()), whole.desc().dtype);
  checkpoint::WholeWrite how{.may_round = options.to_dtype.has_value(), .threads = options.threads};
  from_command_line([&] { whole.check(part.desc, begin, {.may_round = true}); });
  how.attributes = from_command_line([&] {
    return attributes_for(options.values, {part.format, part.desc}, {whole.format(), place});
  });
  Progress progress("writing");
  how.go_on = [&](int64_t done, int64_t total) {
    progress.update(static_cast<double>(done), static_cast<double>(total));
    return true;
  };
  try {
    whole.write(slab_source(part), begin, how);
  } catch (const Error& error) {
    if (error.field() != "dtype") throw Failure(exit_code(error, kUsage), error);
    usage_error(
        fmt::format("--into: the part is {} and {} holds {}, which has not all of its values; --to-dtype {} "
                    "rounds them",
                    name(part.desc.dtype), escaped(options.output), name(whole.desc().dtype), name(whole.desc().dtype)),
        "--to-dtype", std::string(name(part.desc.dtype)), std::string(name(whole.desc().dtype)));
  }
  if (!json) return kOk;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_stdout(json_text({{"input", options.input},
                          {"output", options.output},
                          {"into", json_of(begin)},
                          {"dims", json_of(part.desc.layout.dims())},
                          {"from", part.format.text()},
                          {"to", whole.format().text()},
                          {"whole_dims", json_of(whole.desc().layout.dims())},
                          {"dtype", name(part.desc.dtype)},
                          {"to_dtype", name(whole.desc().dtype)},
                          {"seconds", seconds}}));
  return kOk;
}

void add_into_options(Command& command, ConvertOptions& options) {
  command.add_option("--into", options.into,
                     "Write the input into a part of the tensor that OUT has, from this index on: 0,8,0,0");
  command.add_option("--to-tensor", options.to_tensor,
                     "With --into, the name of the tensor in OUT; that of --tensor unless given");
}

}  // namespace relayout::tools
