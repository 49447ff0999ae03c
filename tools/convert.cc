// relayout convert: a file's tensor in another layout and type, as another file.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "relayout/cpu/reorder.h"
#include "tools/common.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/slabs.h"
#include "tools/tensor_input.h"

namespace relayout::tools {
namespace {

struct Options {
  std::string input, output, to;
  std::optional<std::string> from, dims, dtype, to_dtype;
  std::optional<float> scale, src_scale, dst_scale;
  std::optional<int32_t> zero_point, src_zero_point, dst_zero_point;
  std::string padding = "zero", tensor, max_memory;
  int threads = 0;
  bool force = false, explain = false;
};

Padding padding_argument(const std::string& text) {
  if (text == "zero") return Padding::zero();
  if (text == "keep") return Padding::keep();
  return Padding::of(number_argument(text, "--pad"));
}

Attributes attributes_for(const Options& options, DType src, DType dst) {
  Attributes out;
  out.padding = padding_argument(options.padding);
  std::optional<int32_t> src_zero_point = options.src_zero_point, dst_zero_point = options.dst_zero_point;
  if (options.zero_point) {
    if (!is_integer(src) && !is_integer(dst)) {
      usage_error(fmt::format("--zero-point {}: neither {} nor {} is an integer type", *options.zero_point, name(src),
                              name(dst)),
                  "--zero-point", std::to_string(*options.zero_point));
    }
    std::optional<int32_t>& side = is_integer(dst) ? dst_zero_point : src_zero_point;
    if (!side) side = options.zero_point;
  }
  if (const auto scale = options.src_scale ? options.src_scale : options.scale) out.src_scale.values = {*scale};
  if (options.dst_scale) out.dst_scale.values = {*options.dst_scale};
  if (src_zero_point) out.src_zero_point.values = {*src_zero_point};
  if (dst_zero_point) out.dst_zero_point.values = {*dst_zero_point};
  return out;
}

/// The array that the file will hold: the layout's physical shape, else a flat run.
Dims output_shape(const Format& to, const TensorDesc& dst) {
  return to.physical_shape(dst.layout.dims()).value_or(Dims{dst.layout.span()});
}

TensorSpec output_spec(const Options& options, const Format& to, const TensorDesc& dst) {
  TensorSpec spec;
  spec.name = options.tensor;
  spec.dtype = dst.dtype;
  spec.shape = output_shape(to, dst);
  // In letters where they suffice: a domain name means something only with its dims' order.
  const std::optional<std::string> tag = to.generic_tag(dst.layout.ndims());
  const bool tag_says_all = tag && Format::parse(*tag).bind(dst.layout.dims()) == dst.layout;
  spec.layout = tag_says_all ? Format::parse(*tag) : to;
  spec.dims = dst.layout.dims();
  return spec;
}

void check_output_format(const std::string& path) {
  const std::optional<FileFormat> format = format_of_path(path);
  if (format && *format != FileFormat::png && *format != FileFormat::jpeg) return;
  std::error_code ignored;
  if (!format && std::filesystem::is_other(path, ignored)) return;  // a pipe or device takes .npy
  usage_error(fmt::format("{}: the extension says no format that can be written; use .npy, .npz, .safetensors, .bin "
                          "or .raw",
                          escaped(path)),
              "OUT", escaped(path), ".npy .npz .safetensors .bin .raw");
}

SlabGrid slabs_for(const TensorInput& input, const TensorDesc& dst, bool dst_mapped, int64_t max_memory,
                   bool progress_visible) {
  static constexpr int64_t kProgressBytes = int64_t{1} << 30;
  const SlabSide sides[] = {{&input.desc, input.mapped ? kReadGranule : 0}, {&dst, dst_mapped ? kWriteGranule : 0}};
  const int64_t scratch = input.swap_item_bytes > 1 ? input.swap_item_bytes : 0;
  if (max_memory > 0) {
    const int64_t held = (input.mapped ? 0 : input.desc.span_bytes()) + (dst_mapped ? 0 : dst.span_bytes());
    if (held >= max_memory) {
      throw Failure(kUsage, Error(ErrorCode::limit,
                                  fmt::format("--max-memory {}: this pair of files is held in memory, which takes {} "
                                              "bytes; .npy, .safetensors and raw files are not",
                                              max_memory, held),
                                  "--max-memory", std::to_string(max_memory), std::to_string(held)));
    }
    return make_slabs(dst.layout.dims(), sides, scratch, max_memory - held);
  }
  if (progress_visible && dst.span_bytes() > kProgressBytes) {
    return make_slabs(dst.layout.dims(), sides, scratch, dst.span_bytes() / 8);
  }
  static constexpr int64_t kSwapBytes = int64_t{64} << 20;
  if (scratch > 0) return make_slabs(dst.layout.dims(), {}, scratch, kSwapBytes);
  return SlabGrid(dst.layout.dims(), dst.layout.dims());
}

void run_slabs(const SlabGrid& grid, const TensorInput& input, const TensorDesc& dst, TensorWriter& writer,
               const Attributes& attributes, const Options& options, Progress& progress) {
  std::vector<std::byte> scratch;
  const std::span<std::byte> dst_bytes = writer.bytes();
  if (grid.count() > 1 && input.mapped) map_small_pages(input.bytes, false);
  if (grid.count() > 1 && writer.mapped()) map_small_pages(dst_bytes, true);
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Slab slab = grid.slab(i);
    const TensorDesc dst_view = slab_view(dst, slab);
    convert_slab(input, slab, dst_view, dst_bytes, attributes, options.threads, scratch);
    if (grid.count() > 1) {
      if (input.mapped) release_pages(slab_bytes(slab_view(input.desc, slab), input.bytes));
      if (writer.mapped()) release_pages(slab_bytes(dst_view, dst_bytes));
    }
    progress.update(static_cast<double>(i + 1), static_cast<double>(grid.count()));
  }
}

Json summary(const Options& options, const TensorInput& input, const Format& to, const TensorDesc& dst, int64_t parts,
             std::size_t written, double seconds, const std::string& explanation) {
  Json out = {{"input", options.input}, {"output", options.output}};
  out["dims"] = json_of(dst.layout.dims());
  out["from"] = input.format.text();
  out["to"] = to.text();
  out["dtype"] = name(input.desc.dtype);
  out["to_dtype"] = name(dst.dtype);
  out["shape"] = json_of(output_shape(to, dst));
  out["bytes_read"] = input.bytes.size();
  out["bytes_written"] = written;
  out["parts"] = parts;
  out["isa"] = cpu::isa();
  out["threads"] = options.threads > 0 ? options.threads : cpu::default_threads();
  out["seconds"] = seconds;
  out["plan"] = explanation;
  return out;
}

/// Bytes of --max-memory, 0 where it is not given.
int64_t memory_cap(const Options& options) {
  static constexpr int64_t kLeastMemory = 1 << 20;
  if (options.max_memory.empty()) return 0;
  const int64_t bytes = size_argument(options.max_memory, "--max-memory");
  if (bytes < kLeastMemory) {
    usage_error(fmt::format("--max-memory {}: 1M is the least", escaped(options.max_memory)), "--max-memory",
                escaped(options.max_memory), std::to_string(kLeastMemory));
  }
  return bytes;
}

int run(const Options& options, bool json) {
  const auto start = std::chrono::steady_clock::now();
  if (const std::string problem = isa_problem(); !problem.empty()) {
    throw Error(ErrorCode::unsupported, problem, "RELAYOUT_ISA");
  }
  if (options.threads < 0) usage_error("--threads: 0 (all) or more", "--threads", std::to_string(options.threads), "0");
  const int64_t max_memory = memory_cap(options);
  check_output_format(options.output);
  const Format to = layout_argument(options.to);

  InputOptions input_options{.path = options.input,
                             .tensor = options.tensor,
                             .layout = options.from,
                             .dims = options.dims,
                             .dtype = options.dtype,
                             .max_memory = max_memory};
  const TensorInput input = open_tensor(input_options);
  const DType dst_dtype = options.to_dtype ? dtype_argument(*options.to_dtype, "--to-dtype") : input.desc.dtype;
  const TensorDesc dst = from_command_line([&] { return TensorDesc(to.bind(input.desc.layout.dims()), dst_dtype); });
  const Attributes attributes = attributes_for(options, input.desc.dtype, dst.dtype);
  const Plan plan = from_command_line([&] { return Plan::make(input.desc, dst, attributes); });

  InterruptGuard guard;
  TensorWriter writer = from_command_line(
      [&] { return TensorWriter::create(options.output, output_spec(options, to, dst), options.force); });
  guard.watch(writer.temporary_path());
  int64_t parts = 1;
  {
    Progress progress("converting");
    const SlabGrid grid = slabs_for(input, dst, writer.mapped(), max_memory, progress.visible());
    parts = grid.count();
    run_slabs(grid, input, dst, writer, attributes, options, progress);
  }
  const std::size_t written = writer.bytes().size();
  writer.commit();

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string explanation = plan.explain();
  while (!explanation.empty() && explanation.back() == '\n') explanation.pop_back();
  if (parts > 1) explanation += fmt::format("\nin {} parts", parts);
  if (json) write_stdout(json_text(summary(options, input, to, dst, parts, written, seconds, explanation)));
  if (!json && options.explain) write_stdout(explanation + "\n");
  return kOk;
}

void add_value_options(CLI::App& command, Options& options) {
  command.add_option("--scale", options.scale, "S in dst = S * src + Z or S * (src - Z)");
  command.add_option("--zero-point", options.zero_point,
                     "Of dst if that is an integer type (S * src + Z), else of src");
  command.add_option("--src-scale", options.src_scale, "S in dst = S * (src - ZS) / DS + ZD; as --scale");
  command.add_option("--dst-scale", options.dst_scale, "DS");
  command.add_option("--src-zero-point", options.src_zero_point, "ZS");
  command.add_option("--dst-zero-point", options.dst_zero_point, "ZD");
  command.add_option("--pad", options.padding, "Padding: zero, VALUE, or keep (of a new file: zero)");
}

}  // namespace

Verb add_convert(CLI::App& app) {
  auto [command, json] =
      add_verb(app, "convert", "Convert a tensor file to another layout, type or file format",
               "  relayout convert x.npy y.npy --from nchw --to nhwc\n"
               "  relayout convert photo.png photo.npy --to nChw16c --to-dtype f32 --scale 0.00392157\n"
               "  relayout convert y.npy x.npy --from nChw16c --dims 2,17,5,4 --to nchw\n"
               "  relayout convert x.bin y.safetensors --from nchw --dims 2,3,5,4 --dtype f32 --to channels_last\n"
               "  relayout convert big.npy out.npy --from ab --to ba --max-memory 64M --explain\n"
               "Formats by extension: .npy .npz .safetensors .bin .raw; .png and .jpg are read. A file's shape is\n"
               "the physical array, outermost axis first. The output appears whole or not at all.");
  auto options = std::make_shared<Options>();
  command->add_option("IN", options->input, "Input file")->required();
  command->add_option("OUT", options->output, "Output file")->required();
  command->add_option("--to", options->to, "Layout of the output")->required();
  command->add_option("--from", options->from, "Layout of the input, where the file does not say");
  command->add_option("--dims", options->dims, "Logical extents, where the file's shape does not say");
  command->add_option("--dtype", options->dtype, "Type of the input, where the file does not say");
  command->add_option("--to-dtype", options->to_dtype, "Type of the output (the input's)");
  add_value_options(*command, *options);
  command->add_option("--tensor", options->tensor, "Name of the tensor in a file of several");
  command->add_option("--threads", options->threads, "Threads (0: all)");
  command->add_option("--max-memory", options->max_memory, "Convert in parts that take at most this much, as 64M");
  command->add_flag("-f,--force", options->force, "Overwrite an output that exists");
  command->add_flag("--explain", options->explain, "Say how it is done");
  return {command, [options, json = json] { return run(*options, *json); }, json};
}

}  // namespace relayout::tools
