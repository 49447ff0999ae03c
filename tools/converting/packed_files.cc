// Files of packed weights: see packed_files.h.
#include "tools/converting/packed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "relayout/cpu/repack.h"
#include "tools/input/record_argument.h"

namespace relayout::tools {
namespace {

const PackedFormat& packed_argument(const std::string& text, const char* flag) {
  try {
    return packed_format(text);
  } catch (const Error& error) {
    throw Failure(exit_code(error, kUsage), Error(error.code(), fmt::format("{}: {}", flag, error.message()), flag,
                                                  escaped(text), error.limit()));
  }
}

/// What stands before the name of a buffer: --tensor with a point behind it, unless it ends in one or in '_'.
std::string prefix_of(const RecordConversion& options) {
  const std::string& tensor = options.tensor;
  return tensor.empty() || tensor.ends_with('.') || tensor.ends_with('_') ? tensor : tensor + ".";
}

std::string tensor_name(const RecordConversion& options, std::string_view buffer) {
  return prefix_of(options) + std::string(buffer);
}

/// The tensor of a file that holds a buffer, under any of the buffer's names, behind --tensor and '.' or '_'.
std::optional<std::size_t> find_buffer(const RecordConversion& options, const PackedFormat& format,
                                       const TensorFile& file, std::string_view buffer) {
  std::string other = prefix_of(options);
  if (!options.tensor.empty() && other.size() > options.tensor.size()) other.back() = '_';
  for (const std::string_view called : names_of_buffer(format, buffer)) {
    for (const std::string& prefix : {prefix_of(options), other}) {
      const auto found = std::ranges::find(file.tensors(), prefix + std::string(called), &StoredTensor::name);
      if (found != file.tensors().end()) return static_cast<std::size_t>(found - file.tensors().begin());
    }
  }
  return std::nullopt;
}

/// Failure (usage) that says which --tensor a file has, where it has the buffer behind other names.
[[noreturn]] void no_buffer(const RecordConversion& options, const PackedFormat& format, const TensorFile& file,
                            std::string_view buffer) {
  const std::vector<std::string_view> names = names_of_buffer(format, buffer);
  std::vector<std::string> prefixes;
  for (const StoredTensor& stored : file.tensors()) {
    for (const std::string_view called : names) {
      const std::size_t at = stored.name.size() - std::min(stored.name.size(), called.size() + 1);
      const bool ends = stored.name.ends_with(called) && at > 0 && (stored.name[at] == '.' || stored.name[at] == '_');
      if (ends) prefixes.push_back(stored.name.substr(0, at));
    }
  }
  std::string called, list;
  for (const std::string_view each : names) called += (called.empty() ? "" : " or ") + std::string(each);
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(prefixes.size(), kShown); ++i)
    list += (i == 0 ? "" : ", ") + escaped(prefixes[i]);
  if (prefixes.size() > kShown) list += fmt::format(", ... ({} in all)", prefixes.size());
  if (prefixes.empty()) {
    for (std::size_t i = 0; i < std::min(file.tensors().size(), kShown); ++i)
      list += (i == 0 ? "" : ", ") +
              escaped(file.tensors()[i].name.empty() ? "one without a name" : file.tensors()[i].name);
    if (file.tensors().size() > kShown) list += fmt::format(", ... ({} in all)", file.tensors().size());
  }
  usage_error(fmt::format("{}: {} has no tensor {}{}; {} {}", format.name, shown_path({.path = options.input}),
                          options.tensor.empty() ? "" : "behind " + escaped(options.tensor) + " called ", called,
                          prefixes.empty() ? "there are" : "give --tensor, what stands before it:", list),
              "--tensor", escaped(options.tensor), list);
}

int64_t bytes_of_row(const Dims& shape, int64_t item_bits) { return shape[shape.size() - 1] * item_bits / 8; }

/// Failure (bad data) where a tensor of the file is another array than the format has for these dims.
void check_buffer(const RecordConversion& options, const PackedFormat& format, const cpu::PackedTensor& tensor,
                  const StoredTensor& stored, const std::string& buffer) {
  const PackedArray wanted =
      from_command_line([&] { return packed_array(format, tensor.values, buffer, tensor.group); });
  const auto field = std::ranges::find(format.fields, buffer, &PackedField::buffer);
  const bool codes = bits(field->dtype) < 8 || is_integer(field->dtype);
  // Coefficients may be of another floating type, and those of 8 bits lie in files as bytes, too.
  const bool is_number = stored.dtype && is_floating(*stored.dtype);
  const bool type = codes ? !is_number : is_number || (bits(field->dtype) == 8 && stored.item_bits == 8);
  const int64_t item = codes ? bits(wanted.dtype) : stored.item_bits;
  const bool rows = stored.shape.size() != 2 || wanted.shape.size() != 2 ||
                    (stored.shape[0] == wanted.shape[0] &&
                     bytes_of_row(stored.shape, stored.item_bits) == bytes_of_row(wanted.shape, item));
  int64_t elements = 1;
  for (const int64_t extent : wanted.shape) elements *= extent;
  if (type && rows && stored.byte_size == elements * item / 8) return;
  throw Failure(kBadData,
                Error(ErrorCode::invalid_argument,
                      fmt::format("{}: {} is {} of {}, and of {} with dims {} it is {} of {}",
                                  shown_path({.path = options.input}), escaped(stored.name), dims_text(stored.shape),
                                  stored.dtype ? name(*stored.dtype) : std::string_view("another type"), format.name,
                                  dims_text(tensor.values), dims_text(wanted.shape), name(wanted.dtype)),
                      escaped(stored.name), dims_text(stored.shape), dims_text(wanted.shape)));
}

/// The file's table of the group of each row, where it is not k / group: weights in the order of activations.
void take_order(const RecordConversion& options, const TensorFile& file, PackedInput& out) {
  cpu::PackedTensor& tensor = out.tensor;
  for (const char* name : {"g_idx", "weight_g_idx"}) {
    const std::string called = tensor_name(options, name);
    const auto at = std::ranges::find(file.tensors(), called, &StoredTensor::name);
    if (at == file.tensors().end() || at->item_bits != 32 || at->byte_swapped || tensor.group == 0) continue;
    const auto bytes = from_data([&] { return file.bytes(static_cast<std::size_t>(at - file.tensors().begin())); });
    std::vector<int64_t> groups;
    bool in_order = true, used = false;  // a table of negative numbers is not in use
    for (std::size_t k = 0; k < bytes.size() / 4; ++k) {
      int32_t group = 0;
      std::memcpy(&group, bytes.data() + 4 * k, 4);
      used = used || group >= 0;
      groups.push_back(group);
      in_order = in_order && group == static_cast<int64_t>(k) / tensor.group;
    }
    if (in_order || !used) continue;
    tensor.group_of = std::move(groups);
    out.order_name = called;
  }
}

/// A tensor that this format leaves out and another one of its name reads, such as the zero points of
/// compressed-tensors:pack-quantized:asymmetric.
void check_left_out(const RecordConversion& options, const PackedFormat& format, const TensorFile& file) {
  const std::string longer = std::string(format.name) + ":";
  const std::vector<std::string_view> own = buffers_of(format);
  for (const PackedSystem& system : packed_systems()) {
    for (const PackedFormat& other : system.formats) {
      if (!other.name.starts_with(longer)) continue;
      for (const std::string_view buffer : buffers_of(other)) {
        const bool ours = std::ranges::find(own, buffer) != own.end();
        const std::optional<std::size_t> found = ours ? std::nullopt : find_buffer(options, other, file, buffer);
        if (!found) continue;
        usage_error(fmt::format("--from {}: {} has {}, too, which --from {} reads", format.name,
                                shown_path({.path = options.input}), escaped(file.tensors()[*found].name), other.name),
                    "--from", std::string(format.name), std::string(other.name));
      }
    }
  }
}

/// One of the tensors of a format that has several.
void take_buffer(const RecordConversion& options, const PackedFormat& format, const PackedField& field,
                 const TensorFile& file, PackedInput& out) {
  const std::string buffer(field.buffer);
  if (std::ranges::find(out.buffers, buffer, &cpu::PackedBuffer::first) != out.buffers.end()) return;
  const std::optional<std::size_t> found = find_buffer(options, format, file, buffer);
  if (!found) no_buffer(options, format, file, buffer);
  const StoredTensor& stored = file.tensors()[*found];
  check_plain_bytes(stored, shown_path({.path = options.input}));
  out.stored.push_back(*found);
  out.buffers.emplace_back(buffer, from_data([&] { return file.bytes(*found); }));
  if (!is_floating(field.dtype)) return;  // coefficients may have another type and other groups
  if (stored.dtype && is_floating(*stored.dtype)) out.tensor.types.emplace_back(field.name, *stored.dtype);
  for (int d = 0; d < 2 && stored.shape.size() == 2; ++d) {
    if (field.group[static_cast<std::size_t>(d)] == 0 && stored.shape[d] > 0)
      out.tensor.group = out.tensor.values[d] / stored.shape[d];
  }
}

/// The dims that a tensor of the file says, such as weight_shape; nothing where there is none.
std::optional<Dims> stated_dims(const RecordConversion& options, const PackedFormat& format, const TensorFile& file) {
  if (format.dims_buffer.empty()) return std::nullopt;
  const std::optional<std::size_t> found = find_buffer(options, format, file, format.dims_buffer);
  if (!found) return std::nullopt;
  const StoredTensor& stored = file.tensors()[*found];
  if (stored.item_bits != 64 && stored.item_bits != 32) return std::nullopt;
  if (stored.byte_swapped || stored.byte_size != 2 * stored.item_bits / 8) return std::nullopt;
  const auto bytes = from_data([&] { return file.bytes(*found); });
  Dims out{0, 0};
  for (int d = 0; d < 2; ++d) {
    const int64_t width = stored.item_bits / 8;
    std::memcpy(&out[d], bytes.data() + d * width, static_cast<std::size_t>(width));  // little-endian, not negative
  }
  return out;
}

/// The dims of the matrix: those of --dims, or those that the file says.
Dims matrix_dims(const RecordConversion& options, const PackedFormat& format, const TensorFile* file) {
  const std::optional<Dims> own = file == nullptr ? std::nullopt : stated_dims(options, format, *file);
  if (!options.dims && own) return *own;
  const std::string letters{static_cast<char>(format.dims[0] - 'a' + 'A'), ',',
                            static_cast<char>(format.dims[1] - 'a' + 'A')};
  if (!options.dims)
    usage_error(fmt::format("--from {}: give --dims, the matrix's extents {}", *options.from, letters), "--dims");
  const Dims dims = dims_argument(*options.dims);
  if (dims.size() != 2)
    usage_error(fmt::format("--dims {}: a matrix of {} has two extents, {}", *options.dims, *options.from, letters),
                "--dims", *options.dims, letters);
  if (own && !(*own == dims))
    throw Failure(kBadData, Error(ErrorCode::invalid_argument,
                                  fmt::format("--dims {}: {} of {} says {}", *options.dims, format.dims_buffer,
                                              shown_path({.path = options.input}), dims_text(*own)),
                                  "--dims", *options.dims, dims_text(*own)));
  return dims;
}

/// The memory of one buffer of the output, and what a file says of it.
struct OutputBuffer {
  std::string buffer;
  TensorSpec spec;
  std::vector<std::byte> bytes;
};

OutputBuffer output_buffer(const RecordConversion& options, const PackedFormat& format, const cpu::PackedTensor& tensor,
                           std::string_view buffer) {
  const PackedArray array = packed_array(format, tensor.values, buffer, tensor.group);
  OutputBuffer out{std::string(buffer),
                   {.name = format.one_buffer() ? options.tensor : tensor_name(options, buffer),
                    .dtype = array.dtype,
                    .shape = array.shape},
                   {}};
  for (const auto& [field, type] : tensor.types) {
    if (format.field(field).buffer == buffer) out.spec.dtype = type;
  }
  int64_t elements = 1;
  for (const int64_t extent : array.shape) elements *= extent;
  out.bytes.resize(static_cast<std::size_t>(elements * bits(out.spec.dtype) / 8));
  return out;
}

/// The tensor that says the dims of the values.
OutputBuffer dims_buffer(const RecordConversion& options, const PackedFormat& format, const Dims& values) {
  OutputBuffer out{std::string(format.dims_buffer),
                   {.name = tensor_name(options, format.dims_buffer), .dtype = DType::s64, .shape = {2}},
                   std::vector<std::byte>(16)};
  const int64_t extents[] = {values[0], values[1]};
  std::memcpy(out.bytes.data(), extents, sizeof extents);
  return out;
}

void write_buffers(const RecordConversion& options, const std::vector<OutputBuffer>& buffers) {
  const std::optional<FileFormat> format = format_of_path(options.output);
  std::vector<NamedTensor> tensors;
  for (const OutputBuffer& buffer : buffers) tensors.push_back({buffer.spec, buffer.bytes});
  if (format == FileFormat::npz) return write_npz(options.output, tensors, options.force);
  if (format == FileFormat::safetensors) return write_safetensors(options.output, tensors, {}, options.force);
  if (format == FileFormat::raw && buffers.size() == 1)
    return write_file(options.output, buffers[0].bytes, options.force);
  usage_error(fmt::format("{}: {} is written to .safetensors or .npz{}", escaped(options.output), options.to,
                          buffers.size() == 1 ? ", or to .bin" : ", as it has several tensors"),
              "OUT", escaped(options.output));
}

}  // namespace

PackedInput open_packed(const RecordConversion& options) {
  const PackedFormat& format = packed_argument(*options.from, "--from");
  if (!format.one_buffer() && (options.raw.file_offset || options.raw.slack))
    usage_error(fmt::format("--file-offset and --slack are for raw bytes, and {} has several tensors", *options.from),
                "--file-offset");
  PackedInput out{{.format = *options.from}, {}, {}, {}};
  if (format.one_buffer()) {
    out.tensor.values = matrix_dims(options, format, nullptr);
    const int64_t need = from_command_line([&] { return packed_record(format, out.tensor.values).bytes(); });
    RecordBytes found = record_bytes(options.input, options.tensor, options.raw, need);
    check_output_name(options.tensor, found.named, options.input, options.output);
    out.buffers.emplace_back("", found.bytes);
    out.files.push_back(std::move(found.file));
    return out;
  }
  out.files.push_back(from_data([&] { return TensorFile::open(file_path({.path = options.input})); }));
  const TensorFile& file = out.files[0];
  out.tensor.values = matrix_dims(options, format, &file);
  for (const std::string& name : cpu::value_of(format).names())
    take_buffer(options, format, format.field(name), file, out);
  for (std::size_t k = 0; k < out.buffers.size(); ++k)
    check_buffer(options, format, out.tensor, file.tensors()[out.stored[k]], out.buffers[k].first);
  take_order(options, file, out);
  check_left_out(options, format, file);
  return out;
}

Json repack(const RecordConversion& options) {
  const PackedFormat& to = packed_argument(options.to, "--to");
  const PackedInput input = open_packed(options);
  if (!input.tensor.group_of.empty()) {
    throw Failure(kUnsupported,
                  Error(ErrorCode::unsupported,
                        fmt::format("{}: g_idx puts the rows in groups by the order of activations, which {} does not "
                                    "have; --dequantize gives their values",
                                    shown_path({.path = options.input}), options.to),
                        "g_idx", options.to));
  }
  const cpu::PackedTensor target =
      from_command_line([&] { return cpu::packed_as(input.tensor, to.name, options.group.value_or(0)); });
  std::vector<OutputBuffer> buffers;
  std::vector<cpu::PackedTarget> targets;
  const cpu::Repacked done = from_command_line([&] {
    for (const std::string_view name : cpu::value_buffers(to))
      buffers.push_back(output_buffer(options, to, target, name));
    for (OutputBuffer& buffer : buffers) targets.emplace_back(buffer.buffer, buffer.bytes);
    return cpu::repack(input.tensor, input.buffers, target, targets,
                       {.requantise = options.requantise, .run = {.threads = options.threads}});
  });
  if (!to.dims_buffer.empty()) buffers.push_back(dims_buffer(options, to, target.values));
  from_command_line([&] { write_buffers(options, buffers); });
  return {{"from", *options.from},
          {"to", options.to},
          {"exact", done.exact},
          {"largest_error", done.largest_error},
          {"rms_error", done.rms_error}};
}

}  // namespace relayout::tools
