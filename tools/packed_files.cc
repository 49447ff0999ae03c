// Files of packed weights: see packed_files.h.
#include "tools/packed_files.h"

#include <fmt/format.h>

#include <algorithm>

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

/// One of the tensors of a format that has several.
void take_buffer(const RecordConversion& options, const PackedField& field, const TensorFile& file, PackedInput& out) {
  const std::string buffer(field.buffer);
  if (std::ranges::find(out.buffers, buffer, &cpu::PackedBuffer::first) != out.buffers.end()) return;
  const std::size_t found = from_command_line([&] { return file.find(tensor_name(options, buffer)); });
  const StoredTensor& stored = file.tensors()[found];
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
  OutputBuffer out{{.name = name.empty() ? options.tensor : tensor_name(options, name), .dtype = DType::u8},
                   std::vector<std::byte>(static_cast<std::size_t>(record.bytes()))};
  const Field& first = record.fields()[0];
  const Dims& dims = first.layout.dims();
  if (format.one_buffer()) {  // rows of blocks
    const int64_t rows = tensor.values[0];
    out.spec.shape = {rows, rows == 0 ? 0 : record.bytes() / rows};
    return out;
  }
  if (bits(first.dtype) >= 8) {
    out.spec.dtype = first.dtype;
    out.spec.shape = dims;
    return out;
  }
  // A row of items is a row of the tensor.
  const int64_t rows = dims[0] / item_of(format, format.field(first.name)).block(0);
  const bool words = rows > 0 && record.bytes() % (4 * rows) == 0;
  out.spec.dtype = words ? DType::s32 : DType::u8;
  out.spec.shape = {rows, rows == 0 ? 0 : record.bytes() / rows / (words ? 4 : 1)};
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
