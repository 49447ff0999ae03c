// relayout convert: writes the tensor of a file in another layout, element type or file format.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "relayout/cpu/reorder.h"
#include "tools/common.h"
#include "tools/convert_opencl.h"
#include "tools/explain_option.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/slabs.h"
#include "tools/tensor_input.h"
#include "tools/tune_option.h"
#include "tools/values.h"

namespace relayout::tools {
namespace {

struct Options {
  std::string input, output, to;
  std::optional<std::string> from, dims, to_dims, dtype, to_dtype;
  ValueOptions values;
  RawOptions raw;
  std::string tensor;
  std::optional<std::string> max_memory;
  TuneFlag tune;
  ViaOptions via;
  int threads = 0;
  bool force = false;
  ExplainFlag explain;
};

/// The layout of the output, and the dims that it is bound to: those of the tensor unless the layout ends in views.
struct Destination {
  Format format;
  Dims dims;
  std::optional<Format::GateOrder> gates{};  // an order that is no layout: one gate is converted after the other
};

/// The destination for a tensor of these dims.
Destination destination_of(const Options& options, const Format& format, const Dims& dims) {
  if (gates_are_no_layout(format, dims, true)) return {format, dims, format.gates()};
  return {format, destination_dims(format, dims, options.to_dims, "--to-dims")};
}

TensorDesc tensor_of(const Destination& to, DType dtype) {
  const Format format = to.gates ? to.format.without_gates() : to.format;
  return from_command_line([&] { return bind_tensor(format, to.dims, dtype); });
}

/// A part of the grid as it lies on one side, where the gates stand in another order.
Slab with_gates(Slab slab, const std::optional<Format::GateOrder>& gates) {
  if (gates) slab.offsets[gates->dim] = gates->places[static_cast<int>(slab.offsets[gates->dim])];
  return slab;
}

/// The grid, where parts of both sides have the same gates, cut so that each has one gate.
SlabGrid gate_by_gate(const SlabGrid& grid, const Dims& dims, const TensorInput& input, const Destination& to) {
  if (!input.gates && !to.gates) return grid;
  Dims step = grid.step();
  for (const auto& gates : {input.gates, to.gates}) {
    if (gates && !dims.empty()) step[gates->dim] = 1;
  }
  return SlabGrid(dims, step, grid.part_bytes());
}

/// The shape of the array that the file will hold: the layout's physical shape, or one dim where it has none. With
/// views it is that of the whole buffer of which the tensor is a part.
Dims output_shape(const Destination& to) {
  return to.format.physical_shape(to.dims).value_or(Dims{to.format.buffer_span(to.dims)});
}

TensorSpec output_spec(const Options& options, const Destination& to, const TensorDesc& dst) {
  TensorSpec spec;
  spec.name = options.tensor;
  spec.dtype = dst.dtype;
  spec.shape = output_shape(to);
  // The file records the tag in letters a to l where that says all, because nchw and its like mean something only
  // together with an order of the dims.
  const std::optional<std::string> tag = to.format.generic_tag(dst.layout.ndims());
  const bool tag_says_all = tag && Format::parse(*tag).bind(dst.layout.dims()) == dst.layout;
  spec.layout = tag_says_all ? Format::parse(*tag) : to.format;
  spec.dims = to.dims;
  return spec;
}

/// Bytes that are in memory whatever the size of the parts is. Failure where they exceed --max-memory.
int64_t held_bytes(const InputOptions& options, const TensorInput& input, const TensorDesc& dst, const Output& output) {
  const int64_t held_input = input.mapped ? 0 : static_cast<int64_t>(input.bytes.size());
  const int64_t held_output = output.mapped() ? 0 : dst.span_bytes();
  const int64_t held = held_input + held_output;
  if (options.max_memory == 0 || held < options.max_memory) return held;
  std::string why;
  if (held_input > 0) why = why_held(options);
  if (held_output > 0)
    why += (why.empty() ? "" : "; ") + std::string("the output is a pipe or a device and held in memory");
  throw Failure(kUsage, Error(ErrorCode::limit,
                              fmt::format("--max-memory {}: {}, which takes {} bytes", options.max_memory, why, held),
                              "--max-memory", std::to_string(options.max_memory), std::to_string(held)));
}

SlabGrid slabs_for(const InputOptions& options, const TensorInput& input, const TensorDesc& dst, const Output& output,
                   bool progress_visible) {
  static constexpr int64_t kProgressBytes = int64_t{1} << 30, kSwapBytes = int64_t{64} << 20;
  const SlabSide sides[] = {{&input.desc, input.mapped ? kReadGranule : 0},
                            {&dst, output.mapped() ? kWriteGranule : 0}};
  const SlabSide uncounted[] = {{&input.desc, 0}, {&dst, 0}};
  const int64_t scratch = input.swap_item_bytes > 1 ? input.swap_item_bytes : 0;
  const Dims& dims = dst.layout.dims();
  if (options.max_memory > 0) {
    const int64_t held = held_bytes(options, input, dst, output);
    SlabGrid grid = make_slabs(dims, sides, scratch, options.max_memory - held);
    check_cap(grid, options.max_memory, held);
    return grid;
  }
  if (progress_visible && dst.span_bytes() > kProgressBytes) {
    return make_slabs(dims, sides, scratch, dst.span_bytes() / 8);
  }
  if (scratch > 0) return make_slabs(dims, uncounted, scratch, kSwapBytes);
  return SlabGrid(dims, dims);
}

void run_slabs(const SlabGrid& grid, const TensorInput& input, const Destination& to, const TensorDesc& dst,
               Output& writer, const Attributes& attributes, const Options& options, Progress& progress) {
  std::vector<std::byte> scratch;
  const std::span<std::byte> dst_bytes = writer.bytes();
  if (grid.count() > 1 && input.mapped) map_small_pages(input.bytes, false);
  if (grid.count() > 1 && writer.mapped()) map_small_pages(dst_bytes, true);
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Slab slab = with_gates(grid.slab(i), input.gates);
    const TensorDesc dst_view = slab_view(dst, with_gates(grid.slab(i), to.gates));
    const Attributes part = part_of(attributes, dst.layout.dims(), slab.offsets, slab.dims);
    convert_slab(input, slab, dst_view, dst_bytes, part, options.threads, scratch);
    if (grid.count() > 1) {
      if (input.mapped) release_slab(slab_view(input.desc, slab), input.bytes);
      if (writer.mapped()) release_slab(dst_view, dst_bytes);
    }
    progress.update(static_cast<double>(i + 1), static_cast<double>(grid.count()));
  }
}

void check_bytes(const char* side, const TensorDesc& desc, std::size_t have) {
  if (static_cast<int64_t>(have) >= desc.span_bytes()) return;
  throw Error(ErrorCode::buffer_too_small,
              fmt::format("convert: the {} has {} bytes, but {} are needed", side, have, desc.span_bytes()), side,
              std::to_string(have), std::to_string(desc.span_bytes()));
}

/// Converts by the plan that measuring found, and returns it.
Plan convert_tuned(const TensorInput& input, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                   const Attributes& attributes, const Options& options) {
  check_bytes("source", input.desc, input.bytes.size());
  check_bytes("destination", dst, dst_bytes.size());
  const cpu::Tuned tuned = cpu::tune(input.desc, dst, attributes, input.bytes.data(), dst_bytes.data(),
                                     *tune_options(options.tune, options.threads));
  report_tune_file(tuned);
  // Where several plans were timed, those runs have written the result already.
  if (tuned.candidates.empty())
    cpu::run(tuned.plan, input.bytes.data(), dst_bytes.data(), {.threads = options.threads});
  return tuned.plan;
}

/// How a conversion was done.
struct Done {
  int64_t parts = 1;
  std::string explanation;  // without a line end behind it
  Json device = nullptr;    // with --via opencl
};

Done convert_on_cpu(const Options& options, const InputOptions& input_options, const TensorInput& input,
                    const Destination& to, const TensorDesc& dst, const Attributes& attributes, Plan plan,
                    Output& writer) {
  Progress progress("converting");
  const SlabGrid grid =
      gate_by_gate(slabs_for(input_options, input, dst, writer, progress.visible()), dst.layout.dims(), input, to);
  const int64_t parts = grid.count();
  if (!options.tune.empty() && parts == 1 && input.swap_item_bytes <= 1)
    plan = convert_tuned(input, dst, writer.bytes(), attributes, options);
  else
    run_slabs(grid, input, to, dst, writer, attributes, options, progress);
  std::string explanation = explained(plan, options.explain);
  if (parts > 1) explanation += fmt::format("\nin {} parts", parts);
  return {parts, std::move(explanation)};
}

Json summary(const Options& options, const TensorInput& input, const Destination& to, const TensorDesc& dst,
             const Done& done, std::size_t written, double seconds) {
  Json out = {{"input", options.input}, {"output", options.output}};
  out["dims"] = json_of(dst.layout.dims());
  out["from"] = input.format.text();
  out["to"] = to.format.text();
  out["dtype"] = name(input.desc.dtype);
  out["to_dtype"] = name(dst.dtype);
  out["shape"] = json_of(output_shape(to));
  out["bytes_read"] = input.bytes.size();
  out["bytes_written"] = written;
  out["parts"] = done.parts;
  out["isa"] = cpu::isa();
  out["threads"] = options.threads > 0 ? options.threads : cpu::default_threads();
  out["seconds"] = seconds;
  if (!done.device.is_null()) out["opencl"] = done.device;
  out["plan"] = done.explanation;
  return out;
}

/// --tensor names the tensor in the input and in the output. Where the input has no names, it names the output alone.
void check_tensor_name(const Options& options, const TensorInput& input) {
  if (options.tensor.empty() || input.named) return;
  const std::optional<FileFormat> format = format_of_path(options.output);
  if (format == FileFormat::npz || format == FileFormat::safetensors) return;
  usage_error(fmt::format("--tensor {}: neither {} nor {} can hold names of tensors", escaped(options.tensor),
                          escaped(options.input), escaped(options.output)),
              "--tensor", escaped(options.tensor));
}

int run(const Options& options, bool json) {
  const auto start = std::chrono::steady_clock::now();
  require_isa();
  const int64_t max_memory = max_memory_argument(options.max_memory);
  check_explain(options.explain);
  check_via(options.via);
  if (options.via.opencl()) {
    refuse_on_device(options.max_memory.has_value(), "--max-memory");
    refuse_on_device(!options.tune.empty(), "--tune");
  }
  check_output_path(options.output);
  const Format to_format = layout_argument(options.to);

  InputOptions input_options{.path = options.input,
                             .tensor = options.tensor,
                             .tensor_may_name_output = true,
                             .layout = options.from,
                             .dims = options.dims,
                             .dtype = options.dtype,
                             .max_memory = max_memory,
                             .raw = options.raw,
                             .gates_apart = true};
  const TensorInput input = open_tensor(input_options);
  check_tensor_name(options, input);
  const DType dst_dtype = options.to_dtype ? dtype_argument(*options.to_dtype, "--to-dtype") : input.desc.dtype;
  const Destination to = destination_of(options, to_format, input.desc.layout.dims());
  const TensorDesc dst = tensor_of(to, dst_dtype);
  const Attributes attributes = from_command_line([&] {
    return attributes_for(options.values, {input.format, input.desc}, {to.format, dst});
  });
  Plan plan = from_command_line([&] { return cpu::make_plan(input.desc, dst, attributes); });

  std::optional<DeviceConversion> on_device;
  if (options.via.opencl()) on_device.emplace(input, to.format, dst, attributes, options.via);

  InterruptGuard guard;
  Output writer =
      from_command_line([&] { return Output::create(options.output, output_spec(options, to, dst), options.force); });
  guard.watch(writer.temporary_path());
  Done done;
  if (on_device) {
    on_device->run(input.bytes, writer.bytes(), options.threads);
    done = {1, on_device->explain(), on_device->json()};
  } else {
    done = convert_on_cpu(options, input_options, input, to, dst, attributes, std::move(plan), writer);
  }
  const std::size_t written = writer.bytes().size();
  writer.commit();

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text = options.explain.empty() ? "" : done.explanation + "\n";
  if (json) text = json_text(summary(options, input, to, dst, done, written, seconds));
  // Text must not follow a tensor that was written to standard output.
  if (writer.takes_stdout()) {
    write_stderr(text);
  } else {
    write_stdout(text);
  }
  return kOk;
}

}  // namespace

Verb add_convert(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "convert", "Convert a tensor file to another layout, element type or file format",
      "  relayout convert x.npy y.npy --from nchw --to nhwc\n"
      "  relayout convert photo.png photo.npy --to nChw16c --to-dtype f32 --scale 0.00392157\n"
      "  relayout convert y.npy x.npy --from nChw16c --dims 2,17,5,4 --to nchw\n"
      "  relayout convert x.bin y.safetensors --from nchw --dims 2,3,5,4 --dtype f32 --to channels_last\n"
      "  relayout convert big.npy out.npy --from ab --to ba --max-memory 64M --explain\n"
      "  relayout convert x.npy image.npy --from nchw --to mace:in_out_channel --via opencl --explain\n"
      "The extension names the file format: .npy .npz .safetensors .bin .raw; .png, .jpg and .bmp can only be read.\n"
      "A file's shape is that of the physical array, outermost axis first.\n"
      "The output appears whole or not at all, even if the command is killed.\n"
      "- is standard input or output, in .npy format; --explain and --json then print on standard error.\n"
      "With --scale S and --zero-point Z: dst = S * src + Z where dst is an integer type, else S * (src - Z).\n"
      "With the flags of each side: dst = (SS * (src - SZ) - M) / DS + DZ. Results are rounded and saturated.\n"
      "Scales, zero points, means and deviations are one number each, or a list with one a channel: 0.5,0.25,0.5.\n"
      "--via opencl converts equal types of 8 to 64 bits, f32 and f16, u8 and u32 through the memory of a device:\n"
      "an image layout is an image there. The result is that of the CPU, but for the bits of NaNs in images.\n"
      "--max-memory limits the mapped pages of both files and the scratch memory, not the program itself\n"
      "(some 10M). What is read from a pipe or decoded must fit into the limit as a whole.");
  auto options = std::make_shared<Options>();
  command.add_option("IN", options->input, "Input file; - is standard input").required();
  command.add_option("OUT", options->output, "Output file; - is standard output").required();
  command.add_option("--to", options->to, "Layout of the output").required();
  command.add_option("--from", options->from, "Layout of the input; needed where the file does not record it");
  command.add_option("--dims", options->dims,
                     "Logical extents, before any views; needed where the file's shape does not determine them");
  command.add_option("--to-dims", options->to_dims,
                     "Extents of the output's whole buffer, where --to ends in views that are a part of one");
  command.add_option("--dtype", options->dtype, "Element type of the input; needed where the file does not record it");
  command.add_option("--to-dtype", options->to_dtype, "Element type of the output; that of the input unless given");
  add_raw_options(command, options->raw);
  add_value_options(command, options->values);
  command.add_option("--tensor", options->tensor,
                     "Name of the tensor, in the input and in an .npz or .safetensors output");
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 0, the default, is all");
  command.add_option("--max-memory", options->max_memory,
                     "Convert in parts that take about this much memory, for example 64M; at least 1M");
  add_tune_option(command, options->tune,
                  "Time several plans for about a second and use the fastest; --tune=FILE remembers it in FILE");
  add_via_options(command, options->via);
  command.add_flag("-f,--force", options->force, "Replace an output file that exists");
  add_explain_option(command, options->explain, "Print how the conversion is done");
  return {command, [options, json = json] { return run(*options, *json); }, json};
}

}  // namespace relayout::tools
