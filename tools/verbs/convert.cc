// relayout convert: writes the tensor of a file in another layout, element type or file format.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "relayout/cpu/reorder.h"
#include "relayout/io/file_version.h"
#include "relayout/redistribute/files/run_tasks.h"
#include "tools/command/common.h"
#include "tools/command/interrupt.h"
#include "tools/command/output.h"
#include "tools/command/progress.h"
#include "tools/converting/convert_into.h"
#include "tools/converting/convert_options.h"
#include "tools/converting/packed_files.h"
#include "tools/input/slabs.h"

namespace relayout::tools {
namespace {

/// A conversion of whole records, of the values of a packed format or to another one.
int run_record_conversion(const ConvertOptions& options, Conversion conversion, bool json) {
  check_output_path(options.output);
  const RecordConversion record = record_options(options);
  const Json done = conversion == Conversion::record   ? move_fields(record)
                    : conversion == Conversion::values ? compute_values(record)
                                                       : repack(record);
  const bool says = !options.explain.empty() || options.requantise;
  const std::string text = json ? json_text(done) : says ? done.dump() + "\n" : "";
  is_stdout(options.output) ? write_stderr(text) : write_stdout(text);
  return kOk;
}

/// The layout of the output, and the dims that it is bound to: those of the tensor unless the layout ends in views.
struct Destination {
  Format format;
  Dims dims;
  std::optional<Format::GateOrder> gates{};  // an order that is no layout: one gate is converted after the other
};

/// The index tables that --index and --index-to give.
Attributes tables_of(const ConvertOptions& options, const TensorInput& input, const Format& to) {
  Attributes out;
  if (options.index.empty()) return out;
  const int ndims = input.desc.layout.ndims();
  out.src_index = index_tables(options.index.from, "--index", input.format, ndims);
  out.dst_index = index_tables(options.index.to, "--index-to", to, ndims);
  if (options.max_memory)
    usage_error("--index: the whole conversion takes place at once; give no --max-memory", "--index");
  if (options.via.opencl()) refuse_on_device(true, "--index");
  if (input.gates || cpu::gates_are_no_layout(to, input.desc.layout.dims(), true))
    usage_error("--index: gates in an order that is no layout cannot go through a table", "--index");
  return out;
}

/// The dims of the output of a conversion through index tables: as many indices as a table of the input is for.
Dims indexed_destination_dims(const ConvertOptions& options, const Format& format, Dims dims,
                              const Attributes& tables) {
  if (!format.views().empty())
    usage_error(fmt::format("--index: {} ends in views; convert to a layout without", escaped(format.text())), "--to");
  if (options.to_dims) return dims_argument(*options.to_dims, "--to-dims");
  if (!tables.dst_index.empty())
    usage_error("--index-to: give --to-dims, the extents of the output that the table points into", "--to-dims");
  for (const IndexTable& table : tables.src_index) dims[table.dim()] = table.indices();
  return dims;
}

/// The destination for a tensor of these dims.
Destination destination_of(const ConvertOptions& options, const Format& format, const Dims& dims,
                           const Attributes& tables) {
  if (tables.indexed()) return {format, indexed_destination_dims(options, format, dims, tables)};
  if (cpu::gates_are_no_layout(format, dims, true)) return {format, dims, format.gates()};
  return {format, destination_dims(format, dims, options.to_dims, "--to-dims")};
}

TensorDesc tensor_of(const Destination& to, DType dtype) {
  const Format format = to.gates ? to.format.without_gates() : to.format;
  return from_command_line([&] { return bind_tensor(format, to.dims, dtype); });
}

/// How a conversion under --max-memory goes. Failure where what is in memory anyway takes more than that, or where the
/// smallest part does.
redistribute::TaskPlan tasks_for(const InputOptions& options, const cpu::SlabSource& src,
                                 const cpu::SlabDestination& dst) {
  const int64_t held = cpu::held_bytes(src, dst);
  if (held >= options.max_memory) {
    std::string why;
    if (!src.mapped && !src.bytes.empty()) why = why_held(options);
    if (!dst.mapped && dst.desc.span_bytes() > 0)
      why += (why.empty() ? "" : "; ") + std::string("the output is a pipe or a device and held in memory");
    throw Failure(kUsage, Error(ErrorCode::limit,
                                fmt::format("--max-memory {}: {}, which takes {} bytes", options.max_memory, why, held),
                                "--max-memory", std::to_string(options.max_memory), std::to_string(held)));
  }
  try {
    return redistribute::file_plan(src, dst, options.max_memory);
  } catch (const Error& error) {
    if (error.field() != "max_memory") throw;
    throw Failure(kUsage, cap_error(std::stod(error.limit()), options.max_memory, held));
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
                   const Attributes& attributes, const ConvertOptions& options) {
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

/// The input as slabs are made of it, with its file opened once more where it is read in pieces.
struct SourceFile {
  SourceFile(const TensorInput& input, const InputOptions& options) : slabs(slab_source(input)) {
    if (input.mapped && options.max_memory > 0) file = input.file.reopen(input.bytes);
    slabs.descriptor = file.descriptor();
    slabs.file_offset = file.offset();
  }
  FilePart file;
  cpu::SlabSource slabs;
};

Done convert_on_cpu(const ConvertOptions& options, const InputOptions& input_options, const TensorInput& input,
                    const Destination& to, const TensorDesc& dst, const Attributes& attributes, Plan plan,
                    Output& writer) {
  const SourceFile file(input, input_options);
  const cpu::SlabSource& source = file.slabs;
  const cpu::SlabDestination destination{.desc = dst,
                                         .bytes = writer.bytes(),
                                         .mapped = writer.mapped(),
                                         .gates = to.gates,
                                         .descriptor = writer.descriptor(),
                                         .file_offset = writer.file_offset()};
  std::optional<redistribute::TaskPlan> tasks;
  if (input_options.max_memory > 0) tasks = tasks_for(input_options, source, destination);
  if (tasks && tasks->whole()) tasks.reset();  // all of it fits
  const SlabGrid grid = cpu::slab_grid(source, destination);
  const int64_t parts = tasks ? tasks->tasks() : grid.count();
  if (!options.tune.empty() && (tasks || input.swap_item_bytes > 1))
    usage_error(fmt::format("--tune: {}, and no plan is timed for that; leave --tune{} out",
                            tasks ? fmt::format("the tensor is converted in {} parts", parts)
                                  : "the bytes of the input's elements are turned round",
                            tasks ? " or --max-memory" : ""),
                "--tune");
  Progress progress("converting");
  const auto go_on = [&](int64_t done, int64_t total) {
    progress.update(static_cast<double>(done), static_cast<double>(total));
    return true;
  };
  const cpu::RunOptions run{.threads = options.threads};
  if (!options.tune.empty()) {
    plan = convert_tuned(input, dst, writer.bytes(), attributes, options);
  } else if (tasks) {
    redistribute::run_tasks(*tasks, source, destination, attributes, run, options.output, go_on);
  } else {
    cpu::reorder_slabs(grid, source, destination, attributes, run, go_on);
  }
  std::string explanation = explained(plan, options.explain);
  if (tasks) {
    explanation += "\n" + tasks->explain();
  } else if (parts > 1) {
    explanation += fmt::format("\nin {} parts", parts);
  }
  return {parts, std::move(explanation)};
}

/// How it would be done: the plan and, under --max-memory, the tasks.
std::string dry_run(const InputOptions& input_options, const TensorInput& input, const Destination& to,
                    const TensorDesc& dst, const Plan& plan) {
  std::string out = plan.explain();
  if (input_options.max_memory == 0) return out;
  const SourceFile source(input, input_options);
  const cpu::SlabDestination destination{.desc = dst, .bytes = {}, .mapped = true, .gates = to.gates};
  return out + "\n" + tasks_for(input_options, source.slabs, destination).explain();
}

Json summary(const ConvertOptions& options, const TensorInput& input, const Destination& to, const TensorDesc& dst,
             const TensorSpec& spec, const Done& done, std::size_t written, double seconds) {
  Json out = {{"input", options.input}, {"output", options.output}};
  out["dims"] = json_of(dst.layout.dims());
  out["from"] = input.format.text();
  out["to"] = to.format.text();
  out["dtype"] = name(input.desc.dtype);
  out["to_dtype"] = name(dst.dtype);
  out["shape"] = json_of(spec.shape);
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

/// cpu::make_plan(), whose errors name the flags of index tables.
Plan conversion_plan(const ConvertOptions& options, const TensorDesc& src, const TensorDesc& dst,
                     const Attributes& attributes) {
  try {
    return cpu::make_plan(src, dst, attributes);
  } catch (const Error& error) {
    throw attributes.indexed() ? with_flags(error, options.values) : error;
  }
}

InputOptions input_options_of(const ConvertOptions& options, int64_t max_memory) {
  return {.path = options.input,
          .tensor = options.tensor,
          .tensor_may_name_output = true,
          .layout = options.from,
          .dims = options.dims,
          .dtype = options.dtype,
          .max_memory = max_memory,
          .raw = options.raw,
          .gates_apart = true};
}

int run_convert(const ConvertOptions& options, bool json) {
  const auto start = std::chrono::steady_clock::now();
  require_isa();
  check_explain(options.explain);
  check_via(options.via);
  if (options.into) return run_convert_into(options, json);
  const Conversion conversion = conversion_of(options);
  if (conversion != Conversion::tensor && conversion != Conversion::field)
    return run_record_conversion(options, conversion, json);
  const int64_t max_memory = max_memory_argument(options.max_memory);
  if (options.via.opencl()) {
    refuse_on_device(options.max_memory.has_value(), "--max-memory");
    refuse_on_device(!options.tune.empty(), "--tune");
  }
  check_output_path(options.output);
  const Format to_format = layout_argument(options.to);

  const io::FileVersion version(options.input);
  const InputOptions input_options = input_options_of(options, max_memory);
  const TensorInput input =
      conversion == Conversion::tensor ? open_tensor(input_options) : open_field(record_options(options));
  check_output_name(options.tensor, input.named, options.input, options.output);
  const DType dst_dtype = options.to_dtype ? dtype_argument(*options.to_dtype, "--to-dtype") : input.desc.dtype;
  check_codes(options.to, dst_dtype);
  const Attributes tables = tables_of(options, input, to_format);
  const Destination to = destination_of(options, to_format, input.desc.layout.dims(), tables);
  const TensorDesc dst = tensor_of(to, dst_dtype);
  const Attributes attributes = from_command_line([&] {
    return attributes_for(options.values, {input.format, input.desc}, {to.format, dst}, tables);
  });
  Plan plan = from_command_line([&] { return conversion_plan(options, input.desc, dst, attributes); });

  std::optional<DeviceConversion> on_device;
  if (options.via.opencl()) on_device.emplace(input, to.format, dst, attributes, options.via);

  if (options.dry_run) {
    write_stdout(dry_run(input_options, input, to, dst, plan) + "\n");
    return kOk;
  }
  InterruptGuard guard;
  const TensorSpec spec = from_command_line([&] { return spec_of(to.format, to.dims, dst.dtype, options.tensor); });
  Output writer = from_command_line([&] { return Output::create(options.output, spec, options.force); });
  guard.watch(writer.temporary_path());
  Done done;
  if (on_device) {
    on_device->run(input.bytes, writer.bytes(), options.threads);
    done = {1, on_device->explain(), on_device->json()};
  } else {
    done = convert_on_cpu(options, input_options, input, to, dst, attributes, std::move(plan), writer);
  }
  const std::size_t written = writer.bytes().size();
  version.check("convert");
  writer.commit();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text = options.explain.empty() ? "" : done.explanation + "\n";
  if (json) text = json_text(summary(options, input, to, dst, spec, done, written, seconds));
  // Text must not follow a tensor that was written to standard output.
  writer.takes_stdout() ? write_stderr(text) : write_stdout(text);
  return kOk;
}

void add_record_options(Command& command, ConvertOptions& options) {
  command.add_option("--field", options.field,
                     "Convert this field of a record: of the one that --from says, or of NumPy's structured type");
  command.add_flag("--dequantize", options.dequantize,
                   "Compute the values of packed weights, whose format --from names, from the tensors of a file");
  command.add_flag("--repack", options.repack,
                   "Move codes and scales from the packed format --from to the packed format --to, rounding nothing");
  command.add_flag("--requantise", options.requantise,
                   "The same, where the formats' grids differ: compute the values, round them, and say by how much");
  command.add_option("--group", options.group, Range{1, 1 << 30},
                     "Values that share a scale in the output of --repack");
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
      "  relayout convert w.bin w.npy --from ggml:q4_0 --dims 4096,11008 --to ab\n"
      "  relayout convert structs.npy x.npy --field x --to ba\n"
      "  relayout convert cache.npy keys.npy --from ab --to ab --index 0=pages.npy,block=16\n"
      "  relayout convert part.npy whole.safetensors --into 0,8,0,0 --to-tensor conv.weight\n"
      "--from and --to may be records (relayout record --help): fields of one name move, each to its own place. A "
      "packed\n"
      "format that is no layout by itself (ggml:q4_0) gives its values, as f32 unless --to-dtype says otherwise.\n"
      "The extension names the file format: .npy .npz .safetensors .bin .raw; .png, .jpg and .bmp can only be read.\n"
      "A file's shape is that of the physical array, outermost axis first.\n"
      "The output appears whole or not at all, even if the command is killed. With --into it is there already, and\n"
      "the input becomes a part of its tensor in place; a run that is killed has then written some of the part.\n"
      "- is standard input or output, in .npy format; --explain and --json then print on standard error.\n"
      "With --scale S and --zero-point Z: dst = S * src + Z where dst is an integer type, else S * (src - Z).\n"
      "With the flags of each side: dst = (SS * (src - SZ) - M) / DS + DZ. Results are rounded and saturated.\n"
      "Scales, zero points, means and deviations are one number each, or a list with one a channel: 0.5,0.25,0.5.\n"
      "--via opencl converts equal types of 8 to 64 bits, f32 and f16, u8 and u32 through the memory of a device:\n"
      "an image layout is an image there. The result is that of the CPU, but for the bits of NaNs in images.\n"
      "--max-memory limits what a task has of both files in memory and the scratch memory, not the program itself\n"
      "(some 10M). What is read from a pipe or decoded must fit into the limit as a whole.");
  auto options = std::make_shared<ConvertOptions>();
  command.add_option("IN", options->input, "Input file; - is standard input").required();
  command.add_option("OUT", options->output, "Output file; - is standard output").required();
  command.add_option("--to", options->to, "Layout of the output; needed but with --into");
  command.add_option("--from", options->from, "Layout of the input; needed where the file does not record it");
  command.add_option("--dims", options->dims,
                     "Logical extents, before any views; needed where the file's shape does not determine them");
  command.add_option("--to-dims", options->to_dims,
                     "Extents of the output's whole buffer, where --to ends in views that are a part of one");
  command.add_option("--dtype", options->dtype, "Element type of the input; needed where the file does not record it");
  command.add_option("--to-dtype", options->to_dtype, "Element type of the output; that of the input unless given");
  add_raw_options(command, options->raw);
  add_value_options(command, options->values);
  add_index_options(command, options->index);
  command.add_option("--tensor", options->tensor,
                     "Name of the tensor, in the input and in an .npz or .safetensors output");
  add_into_options(command, *options);
  add_record_options(command, *options);
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 0, the default, is all");
  command.add_option("--max-memory", options->max_memory,
                     "Convert in parts that take about this much memory, for example 64M; at least 1M");
  add_tune_option(command, options->tune,
                  "Time several plans for about a second and use the fastest; --tune=FILE remembers it in FILE");
  add_via_options(command, options->via);
  command.add_flag("-f,--force", options->force, "Replace an output file that exists");
  command.add_flag("--dry-run", options->dry_run,
                   "Print how it would be done, with tasks, bytes and memory under --max-memory, and write nothing");
  add_explain_option(command, options->explain, "Print how the conversion is done");
  return {command, [options, json = json] { return run_convert(*options, *json); }, json};
}

}  // namespace relayout::tools
