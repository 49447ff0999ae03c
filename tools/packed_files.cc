// Files of packed weights: see packed_files.h.
#include "tools/packed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "relayout/cpu/repack.h"
#include "tools/record_argument.h"

namespace relayout::tools {
namespace {

const PackedFormat& packed_argument(const std::string& text, const char* flag) {
  if (const PackedFormat* found = find_packed(text)) return *found;
  try {
    return packed_format(text);
  } catch (const Error& error) {
    usage_error(fmt::format("{}: {}", flag, error.message()), flag, escaped(text));
  }
}

std::string tensor_name(const RecordConversion& options, std::string_view buffer) {
  return options.tensor.empty() ? std::string(buffer) : options.tensor + "." + std::string(buffer);
}

/// What a tensor of a format is called in a file, and the array that it is: rows of items.
TensorSpec spec_of_buffer(const RecordConversion& options, const PackedFormat& format, const cpu::PackedTensor& tensor,
                          std::string_view name, const Record& record) {
  TensorSpec spec{.name = name.empty() ? options.tensor : tensor_name(options, name), .dtype = DType::u8};
  const Field& first = record.fields()[0];
  const Dims& dims = first.layout.dims();
  if (format.one_buffer()) {  // rows of blocks
    const int64_t rows = tensor.values[0];
    spec.shape = {rows, rows == 0 ? 0 : record.bytes() / rows};
    return spec;
  }
  if (bits(first.dtype) >= 8) {
    spec.dtype = first.dtype;
    spec.shape = dims;
    return spec;
  }
  // A row of items is a row of the tensor.
  const int64_t rows = dims[0] / item_of(format, format.field(first.name)).block(0);
  const bool words = rows > 0 && record.bytes() % (4 * rows) == 0;
  spec.dtype = words ? DType::s32 : DType::u8;
  spec.shape = {rows, rows == 0 ? 0 : record.bytes() / rows / (words ? 4 : 1)};
  return spec;
}

int64_t bytes_of_row(const Dims& shape, int64_t item_bits) { return shape[shape.size() - 1] * item_bits / 8; }

/// Failure (bad data) where a tensor of the file is another array than the format has for these dims.
void check_buffer(const RecordConversion& options, const PackedFormat& format, const cpu::PackedTensor& tensor,
                  const TensorFile& file, const std::string& buffer) {
  const StoredTensor& stored = file.tensors()[file.find(tensor_name(options, buffer))];
  const Record record = from_command_line([&] { return packed_record(format, tensor.values, buffer, tensor.group); });
  const TensorSpec wanted = spec_of_buffer(options, format, tensor, buffer, record);
  const DType first = record.fields()[0].dtype;
  const bool codes = bits(first) < 8;
  const int64_t item = codes ? bits(wanted.dtype) : stored.item_bits;
  const bool rows = stored.shape.size() != 2 || wanted.shape.size() != 2 ||
                    (stored.shape[0] == wanted.shape[0] &&
                     bytes_of_row(stored.shape, stored.item_bits) == bytes_of_row(wanted.shape, item));
  int64_t elements = 1;
  for (const int64_t extent : wanted.shape) elements *= extent;
  const bool right =
      rows && stored.byte_size == elements * item / 8 && !(codes && stored.dtype && is_floating(*stored.dtype));
  if (right) return;
  throw Failure(kBadData,
                Error(ErrorCode::invalid_argument,
                      fmt::format("{}: {} is {} of {}, and of {} with dims {} it is {} of {}",
                                  shown_path({.path = options.input}), escaped(stored.name), dims_text(stored.shape),
                                  stored.dtype ? name(*stored.dtype) : std::string_view("another type"), format.name,
                                  dims_text(tensor.values), dims_text(wanted.shape), name(wanted.dtype)),
                      escaped(stored.name), dims_text(stored.shape), dims_text(wanted.shape)));
}

/// An order of groups that is no order of rows: the file's table of the group of each row, where it is not k / group.
void check_order(const RecordConversion& options, const cpu::PackedTensor& tensor, const TensorFile& file) {
  for (const char* name : {"g_idx", "weight_g_idx"}) {
    const std::string called = tensor_name(options, name);
    const auto at = std::ranges::find(file.tensors(), called, &StoredTensor::name);
    if (at == file.tensors().end() || at->item_bits != 32 || at->byte_swapped) continue;
    const auto bytes = from_data([&] { return file.bytes(static_cast<std::size_t>(at - file.tensors().begin())); });
    for (std::size_t k = 0; k < bytes.size() / 4; ++k) {
      int32_t group = 0;
      std::memcpy(&group, bytes.data() + 4 * k, 4);
      const auto row = static_cast<int64_t>(k);
      if (group < 0 || tensor.group == 0 || group == row / tensor.group) continue;  // -1: not in use
      throw Failure(
          kUnsupported,
          Error(ErrorCode::unsupported,
                fmt::format("{}: {} puts row {} in group {} and not {}: weights whose groups are in the order "
                            "of activations are not read",
                            shown_path({.path = options.input}), escaped(called), row, group, row / tensor.group),
                escaped(called), std::to_string(group), std::to_string(row / tensor.group)));
    }
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
        if (ours || std::ranges::find(file.tensors(), tensor_name(options, buffer), &StoredTensor::name) ==
                        file.tensors().end())
          continue;
        usage_error(fmt::format("--from {}: {} has {}, too, which --from {} reads", format.name,
                                shown_path({.path = options.input}), escaped(tensor_name(options, buffer)), other.name),
                    "--from", std::string(format.name), std::string(other.name));
      }
    }
  }
}

/// One of the tensors of a format that has several.
void take_buffer(const RecordConversion& options, const PackedField& field, const TensorFile& file, PackedInput& out) {
  const std::string buffer(field.buffer);
  if (std::ranges::find(out.buffers, buffer, &cpu::PackedBuffer::first) != out.buffers.end()) return;
  const std::size_t found = from_command_line([&] { return file.find(tensor_name(options, buffer)); });
  const StoredTensor& stored = file.tensors()[found];
  check_plain_bytes(stored, shown_path({.path = options.input}));
  if (is_floating(field.dtype)) {  // coefficients may have another type and other groups
    if (stored.dtype && is_floating(*stored.dtype)) out.tensor.types.emplace_back(field.name, *stored.dtype);
    for (int d = 0; d < 2 && stored.shape.size() == 2; ++d) {
      if (field.group[static_cast<std::size_t>(d)] == 0 && stored.shape[d] > 0)
        out.tensor.group = out.tensor.values[d] / stored.shape[d];
    }
  }
  out.buffers.emplace_back(buffer, from_data([&] { return file.bytes(found); }));
}

/// The memory of one buffer of the output, and what a file says of it.
struct OutputBuffer {
  TensorSpec spec;
  std::vector<std::byte> bytes;
};

OutputBuffer output_buffer(const RecordConversion& options, const PackedFormat& format, const cpu::PackedTensor& tensor,
                           std::string_view name) {
  const Record record = packed_record(format, tensor.values, name, tensor.group);
  return {spec_of_buffer(options, format, tensor, name, record),
          std::vector<std::byte>(static_cast<std::size_t>(record.bytes()))};
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
  if (!options.from) usage_error("--from: name the packed format of the input", "--from");
  const PackedFormat& format = packed_argument(*options.from, "--from");
  const Dims dims = options.dims ? dims_argument(*options.dims) : Dims{};
  if (dims.size() != 2)
    usage_error(fmt::format("--from {}: give --dims, the matrix's extents", *options.from), "--dims");
  PackedInput out{{.format = *options.from, .values = dims}, {}, {}};
  if (format.one_buffer()) {
    const int64_t need = from_command_line([&] { return packed_record(format, dims).bytes(); });
    RecordBytes found = record_bytes(options.input, options.tensor, options.raw, need);
    out.buffers.emplace_back("", found.bytes);
    out.files.push_back(std::move(found.file));
    return out;
  }
  out.files.push_back(from_data([&] { return TensorFile::open(file_path({.path = options.input})); }));
  for (const std::string& name : cpu::value_of(format).names())
    take_buffer(options, format.field(name), out.files[0], out);
  for (const auto& [name, bytes] : out.buffers) check_buffer(options, format, out.tensor, out.files[0], name);
  check_order(options, out.tensor, out.files[0]);
  check_left_out(options, format, out.files[0]);
  return out;
}

Json repack(const RecordConversion& options) {
  const PackedInput input = open_packed(options);
  const PackedFormat &from = packed_format(input.tensor.format), &to = packed_argument(options.to, "--to");
  cpu::PackedTensor target{.format = options.to, .values = input.tensor.values};
  if (from.dims != to.dims) target.values = {input.tensor.values[1], input.tensor.values[0]};
  target.group = options.group.value_or(input.tensor.group);
  for (const PackedField& field : from.fields) {  // a format whose groups are fixed says them
    const int64_t own = std::max(field.group[0], field.group[1]);
    if (!options.group && target.group == 0 && own > 1 && own != kAllValues) target.group = own;
  }
  std::vector<OutputBuffer> buffers;
  std::vector<cpu::PackedTarget> targets;
  const cpu::Repacked done = from_command_line([&] {
    for (const std::string_view name : buffers_of(to)) {
      const bool needed = std::ranges::any_of(cpu::value_of(to).names(),
                                              [&](const std::string& field) { return to.field(field).buffer == name; });
      if (needed) buffers.push_back(output_buffer(options, to, target, name));
    }
    for (OutputBuffer& buffer : buffers) {
      const bool prefixed = !options.tensor.empty() && !to.one_buffer();
      targets.emplace_back(prefixed          ? buffer.spec.name.substr(options.tensor.size() + 1)
                           : to.one_buffer() ? ""
                                             : buffer.spec.name,
                           buffer.bytes);
    }
    return cpu::repack(input.tensor, input.buffers, target, targets,
                       {.requantise = options.requantise, .run = {.threads = options.threads}});
  });
  from_command_line([&] { write_buffers(options, buffers); });
  return {{"from", *options.from},
          {"to", options.to},
          {"exact", done.exact},
          {"largest_error", done.largest_error},
          {"rms_error", done.rms_error}};
}

}  // namespace relayout::tools
