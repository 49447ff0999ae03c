// Conversions of records: see record_conversion.h.
#include "tools/converting/record_conversion.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/cpu/dequantize.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/numpy_record.h"
#include "tools/command/interrupt.h"
#include "tools/command/output.h"
#include "tools/converting/packed_files.h"
#include "tools/input/record_argument.h"

namespace relayout::tools {
namespace {

bool is_structured(const StoredTensor& tensor) { return tensor.type_name.starts_with('['); }

/// The file's tensor of a structured type; nothing where --from says what the bytes are.
std::optional<std::pair<TensorFile, std::size_t>> structured_tensor(const RecordConversion& options) {
  if (options.from) return std::nullopt;
  const InputOptions input{.path = options.input};
  TensorFile file = from_data([&] { return TensorFile::open(file_path(input), {}, options.tensor); });
  const std::size_t found = find_or_only(file, options.tensor);
  if (!is_structured(file.tensors()[found]))
    usage_error(
        fmt::format("{} has no structured type, so --from must say what record its bytes are", shown_path(input)),
        "--from");
  if (options.raw.file_offset || options.raw.slack)
    usage_error(
        fmt::format("--file-offset and --slack are for raw bytes, and {} has a structured type", shown_path(input)),
        "--file-offset");
  return std::pair(std::move(file), found);
}

Dims record_dims(const RecordConversion& options) { return options.dims ? dims_argument(*options.dims) : Dims{}; }

/// A field's elements and where they are.
struct FieldBytes {
  TensorDesc desc;
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy{};
};

/// The fields of the input, by name: those of the record that --from says, or of a file's structured type.
class FieldSource {
 public:
  explicit FieldSource(const RecordConversion& options) {
    if (auto structured = structured_tensor(options)) {
      const StoredTensor& stored = structured->first.tensors()[structured->second];
      type_ = from_data([&] { return numpy::record_type(stored.type_name); });
      shape = stored.shape;
      named = !stored.name.empty();
      if (options.dims && !(dims_argument(*options.dims) == shape))
        usage_error(fmt::format("--dims {}: {} is an array of structs of {}", *options.dims,
                                shown_path({.path = options.input}), dims_text(shape)),
                    "--dims", *options.dims, dims_text(shape));
      if (stored.fortran_order && shape.size() > 1)
        usage_error("an array of structs in Fortran order has no fields that are taken", "--field");
      bytes_ = from_data([&] { return structured->first.bytes(structured->second); });
      file_.emplace(std::move(structured->first));
      return;
    }
    if (const PackedFormat* packed = find_packed(*options.from); packed != nullptr && !packed->one_buffer()) {
      packed_.emplace(open_packed(options));
      fields_ = from_command_line([&] { return cpu::value_fields(packed_->tensor, packed_->buffers); });
      shape = packed_->tensor.values;
      return;
    }
    const RecordFormat format = record_argument(*options.from);
    shape = record_dims(options);
    record_ = from_command_line([&] { return format.bind(shape); });
    RecordBytes found = record_bytes(options.input, options.tensor, options.raw, record_->bytes());
    named = found.named;
    bytes_ = found.bytes;
    file_.emplace(std::move(found.file));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const cpu::ValueField& field : fields_) out.push_back(field.name);
    if (record_) {
      for (const Field& field : record_->fields()) out.push_back(field.name);
    } else {
      for (const numpy::RecordField& field : type_.fields) out.push_back(field.name);
    }
    return out;
  }

  FieldBytes get(const std::string& name) const {
    return from_command_line([&]() -> FieldBytes {
      if (packed_) return packed_field(name);
      if (record_) return {record_->field(name).desc(), bytes_};
      numpy::TakenField taken = numpy::take_field(type_, name, shape, bytes_);
      FieldBytes out{taken.desc, {}, std::move(taken.bytes)};
      out.bytes = out.copy;
      return out;
    });
  }
  const TensorFile& file() const { return packed_ ? packed_->files[0] : *file_; }

  Dims shape;
  bool named = true;  // the input's tensors have names

 private:
  FieldBytes packed_field(const std::string& name) const {
    const auto found = std::ranges::find(fields_, name, &cpu::ValueField::name);
    if (found != fields_.end()) return {found->desc, found->buffer.bytes()};
    std::string list;
    for (const cpu::ValueField& field : fields_) list += (list.empty() ? "" : ", ") + field.name;
    usage_error(
        fmt::format("--field {}: {} has no such field; there are {}", escaped(name), packed_->tensor.format, list),
        "--field", escaped(name), list);
  }

  std::optional<PackedInput> packed_;
  std::vector<cpu::ValueField> fields_;  // of packed_
  std::optional<TensorFile> file_;
  std::optional<Record> record_;
  numpy::RecordType type_;
  std::span<const std::byte> bytes_;
};

/// What a new file of a record says: NumPy's structured type for an array of structs in .npy and .npz, else its bytes.
TensorSpec spec_of_record(const RecordConversion& options, const RecordFormat& format, const Record& record,
                          const Dims& dims) {
  TensorSpec spec{.name = options.tensor, .dtype = DType::u8, .shape = {record.bytes()}};
  const std::optional<FileFormat> file = format_of_path(options.output);
  if (!format.is_struct() || (file && *file != FileFormat::npy && *file != FileFormat::npz)) return spec;
  spec.type_name = from_command_line([&] { return numpy::record_descr(format); });
  spec.item_bits = static_cast<int>(format.struct_bytes() * 8);
  spec.shape = dims;
  return spec;
}

}  // namespace

Json move_fields(const RecordConversion& options) {
  if (options.from && find_packed(*options.from) && find_packed(options.to) && *options.from != options.to) {
    usage_error(fmt::format("--from {} --to {}: values of two formats are moved with --repack, or rounded with "
                            "--requantise",
                            *options.from, options.to),
                "--to", options.to);
  }
  const FieldSource source(options);
  check_output_name(options.tensor, source.named, options.input, options.output);
  const RecordFormat format = record_argument(options.to);
  const Dims dims = options.dims ? record_dims(options) : source.shape;
  const Record record = from_command_line([&] { return format.bind(dims); });
  std::vector<std::pair<const Field*, FieldBytes>> moves;
  Json moved = Json::array(), left = Json::array();
  for (const std::string& name : source.names()) {
    const auto at = record.find(name);
    if (!at) {
      left.push_back(name);
      continue;
    }
    const Field& field = record.fields()[*at];
    FieldBytes from = source.get(name);
    if (from.desc.dtype != field.dtype || !(from.desc.layout.dims() == field.layout.dims())) {
      usage_error(fmt::format("field {} is {} of dims {} in the input and {} of dims {} in the output; fields of one "
                              "name must agree",
                              name, relayout::name(from.desc.dtype), dims_text(from.desc.layout.dims()),
                              relayout::name(field.dtype), dims_text(field.layout.dims())),
                  name);
    }
    moved.push_back(name);
    moves.emplace_back(&field, std::move(from));
    if (!moves.back().second.copy.empty()) moves.back().second.bytes = moves.back().second.copy;
  }
  if (moves.empty()) usage_error("no field of the input has the name of one of the output", "--to", options.to);
  InterruptGuard guard;
  Output writer = from_command_line(
      [&] { return Output::create(options.output, spec_of_record(options, format, record, dims), options.force); });
  guard.watch(writer.temporary_path());
  for (const auto& [field, from] : moves)
    cpu::reorder(from.desc, from.bytes, field->desc(), writer.bytes(), {}, {.threads = options.threads});
  const std::size_t written = writer.bytes().size();
  writer.commit();
  return {{"fields", moved}, {"left_out", left}, {"bytes_written", written}};
}

namespace {

/// An error about the order of groups, which is bad data of a file's tensor.
Failure wrong_order(const RecordConversion& options, const PackedInput& input, const Error& error) {
  constexpr std::string_view kCalled = "dequantize: group_of ";
  const std::string text = error.message();
  const std::string what = text.starts_with(kCalled) ? text.substr(kCalled.size()) : text;
  return {kBadData,
          Error(error.code(),
                fmt::format("{}: {} {}", shown_path({.path = options.input}), escaped(input.order_name), what),
                input.order_name, error.value(), error.limit())};
}

}  // namespace

Json compute_values(const RecordConversion& options) {
  const PackedInput input = open_packed(options);
  const PackedFormat& format = packed_format(input.tensor.format);
  const Dims& dims = input.tensor.values;
  const DType dtype = options.to_dtype ? dtype_argument(*options.to_dtype, "--to-dtype") : DType::f32;
  const Format to = layout_argument(options.to);
  const TensorDesc dst = from_command_line([&] { return bind_tensor(to, dims, dtype); });
  const Format rows = Format::parse("ab").with_names(std::string(format.dims));
  const TensorDesc values(Layout::contiguous(dims), DType::f32);
  const Attributes attributes = from_command_line([&] {
    return attributes_for(options.values, {rows, values}, {to, dst});
  });
  InterruptGuard guard;
  const TensorSpec spec = from_command_line([&] { return spec_of(to, dims, dtype, options.tensor); });
  Output writer = from_command_line([&] { return Output::create(options.output, spec, options.force); });
  guard.watch(writer.temporary_path());
  from_command_line([&] {
    try {
      cpu::dequantize(input.tensor, input.buffers, dst, Elements(writer.bytes()), attributes,
                      {.threads = options.threads});
    } catch (const Error& error) {
      if (error.field() == "group_of" && !input.order_name.empty()) throw wrong_order(options, input, error);
      throw;
    }
  });
  const std::size_t written = writer.bytes().size();
  writer.commit();
  return {{"from", *options.from}, {"value", format.value}, {"to_dtype", name(dtype)}, {"bytes_written", written}};
}

void check_output_name(const std::string& tensor, bool named, const std::string& input, const std::string& output) {
  if (tensor.empty() || named) return;
  const std::optional<FileFormat> format = format_of_path(output);
  if (format && has_names(*format)) return;
  usage_error(fmt::format("--tensor {}: neither {} nor {} can hold names of tensors", escaped(tensor), escaped(input),
                          escaped(output)),
              "--tensor", escaped(tensor));
}

TensorInput open_field(const RecordConversion& options) {
  const FieldSource source(options);
  FieldBytes field = source.get(options.field);
  const Dims dims = field.desc.layout.dims();
  TensorInput out{.file = source.file(),
                  .format = Format::parse(digits_expression(field.desc.layout)),
                  .buffer_dims = dims,
                  .dims_given = true,
                  .desc = field.desc,
                  .bytes = field.bytes,
                  .gates = {},
                  .named = source.named,
                  .copy = std::move(field.copy)};
  if (!out.copy.empty()) out.bytes = out.copy;
  return out;
}

}  // namespace relayout::tools
