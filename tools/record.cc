// relayout record: several fields in one buffer: where each lies, who has a byte, and which bytes nobody has.
#include <fmt/format.h>

#include "relayout/core/packed/packed.h"
#include "relayout/core/print.h"
#include "relayout/interop/c_record.h"
#include "relayout/interop/numpy_record.h"
#include "tools/common.h"
#include "tools/record_argument.h"

namespace relayout::tools {
namespace {

struct RecordOptions {
  std::string record, as;
  std::optional<std::string> dims;
  std::vector<std::string> bytes;
};

/// The buffers of a packed format whose fields have buffers of their own are records too, one each.
std::vector<std::pair<std::string, Record>> records_of(const std::string& text, const RecordFormat& format,
                                                       const Dims& dims) {
  const PackedFormat* packed = find_packed(text);
  if (packed == nullptr) return {{"", format.bind(dims)}};
  std::vector<std::pair<std::string, Record>> out;
  for (const std::string_view buffer : buffers_of(*packed))
    out.emplace_back(std::string(buffer), packed_record(*packed, dims, buffer));
  return out;
}

std::string letters_for(int ndims) {
  std::string out;
  for (int d = 0; d < ndims; ++d) out += static_cast<char>('a' + d);
  return out;
}

std::string place_text(const Record& record, const Record::Place& place) {
  const Field& field = record.fields()[place.field];
  const int width = bits(field.dtype), last = place.first_bit + place.bits - 1;
  std::string part;
  if (width > 8) part = fmt::format(", byte {} of its {}", place.element_bit / 8, width / 8);
  const std::string where = place.bits == 8   ? ""
                            : place.bits == 1 ? fmt::format(" in bit {}", place.first_bit)
                                              : fmt::format(" in bits {} to {}", place.first_bit, last);
  return fmt::format("{}({}){}{}{}", field.name, join(place.index), where, part, place.padding ? ", padding" : "");
}

std::string record_text(const std::string& buffer, const Record& record) {
  std::string out;
  if (!buffer.empty()) out += labelled("buffer", buffer);
  const int64_t free = record.free_bits();
  out += labelled("bytes",
                  fmt::format("{}{}", record.bytes(),
                              free == 0 ? ", each bit in one field" : fmt::format("; {} bits in no field", free)));
  constexpr std::size_t kRunsShown = 8;
  const auto runs = record.free_bytes(kRunsShown);
  std::string list;
  for (const auto& [first, count] : runs)
    list += (list.empty() ? "" : ", ") +
            (count == 1 ? std::to_string(first) : fmt::format("{} to {}", first, first + count - 1));
  if (!list.empty()) out += labelled("free", "bytes " + list + (runs.size() == kRunsShown ? ", ..." : ""));
  for (const Field& field : record.fields()) {
    out += "\n" + bold(fmt::format("{}  {}  {}", field.name, name(field.dtype), dims_text(field.layout.dims()))) + "\n";
    out += labelled("offset", offset_formula(field.layout, letters_for(field.layout.ndims())));
    out += labelled("paste", digits_expression(field.layout));
  }
  return out;
}

Json byte_places_json(const Record& record, const std::vector<Record::Place>& places) {
  Json out = Json::array();
  for (const Record::Place& place : places) {
    out.push_back({{"field", record.fields()[place.field].name},
                   {"index", json_of(place.index)},
                   {"padding", place.padding},
                   {"first_bit", place.first_bit},
                   {"bits", place.bits},
                   {"element_bit", place.element_bit}});
  }
  return out;
}

/// Who has each of the bytes that were asked for.
int print_places(const RecordOptions& options, const Record& record, bool json) {
  std::string text;
  Json list = Json::array();
  for (const std::string& argument : options.bytes) {
    const int64_t byte = from_command_line([&] { return parse_int(argument, "--byte"); });
    const auto places = from_command_line([&] { return record.at_byte(byte); });
    list.push_back({{"byte", byte}, {"places", byte_places_json(record, places)}});
    std::string line;
    for (const Record::Place& place : places) line += (line.empty() ? "" : "; ") + place_text(record, place);
    text += fmt::format("{}\n", line.empty() ? "no field" : line);
  }
  write_stdout(json ? json_text(list) : text);
  return kOk;
}

/// The record in the words of C or NumPy.
int print_as(const RecordOptions& options, const RecordFormat& format, const Dims& dims, bool json) {
  std::string text;
  if (options.as == "c") {
    text = from_command_line([&] { return c_record::code(format, dims); });
  } else if (options.as == "numpy") {
    text = from_command_line([&] { return numpy::record_descr(format); });
  } else if (options.as == "expression") {
    text = expression_of(from_command_line([&] { return format.bind(dims); }));
  } else {
    usage_error(fmt::format("--as {}: a record is written as c, numpy or expression", escaped(options.as)), "--as",
                escaped(options.as), "c, numpy, expression");
  }
  write_stdout(json ? json_text({{"as", options.as}, {"text", text}}) : text + "\n");
  return kOk;
}

int run_record(const RecordOptions& options, bool json) {
  const RecordFormat format = record_argument(options.record);
  const Dims dims = options.dims ? dims_argument(*options.dims) : Dims{};
  if (!options.as.empty()) return print_as(options, format, dims, json);
  const auto records = from_command_line([&] { return records_of(options.record, format, dims); });
  if (!options.bytes.empty()) {
    if (records.size() > 1)
      usage_error(fmt::format("--byte: {} has {} buffers, and a byte is one of a single buffer", options.record,
                              records.size()),
                  "--byte");
    return print_places(options, records[0].second, json);
  }
  const PackedFormat* packed = find_packed(options.record);
  std::string text = bold(options.record + (dims.empty() ? "" : "  " + dims_text(dims))) + "\n\n";
  Json list = Json::array();
  for (const auto& [buffer, record] : records) {
    Json object = record_json(record);
    if (!buffer.empty()) object["buffer"] = buffer;
    object["free_bits"] = record.free_bits();
    if (packed != nullptr) object["value"] = packed->value;
    list.push_back(std::move(object));
    text += record_text(buffer, record) + "\n";
  }
  if (packed != nullptr) {
    text += labelled("value", std::string(packed->value));
    if (packed->code != "q") text += labelled("q", std::string(packed->code));
  } else if (text.ends_with("\n\n")) {
    text.pop_back();
  }
  write_stdout(json ? json_text(list.size() == 1 ? list[0] : list) : text);
  return kOk;
}

}  // namespace

Verb add_record(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "record", "Show a record: several fields of different types in one buffer, such as packed weights",
      "  relayout record \"record{a:u8, x:f32[3];aligned}\" --dims 100\n"
      "  relayout record ggml:q4_0 --dims 4096,11008\n"
      "  relayout record ggml:q4_0 --dims 2,64 --byte 5                prints q(0,3) in bits 0 to 3; q(0,19) in ...\n"
      "  relayout record \"record{a:u8, x:f32[3];aligned}\" --dims 100 --as c\n"
      "RECORD is record{NAME:TYPE[EXTENTS]@BYTE, ...}, a struct of members, of which --dims says how many there are;\n"
      "record{NAME:TYPE[DIMS] = LAYOUT, ...}, where each field has a layout of its own; a packed format such as\n"
      "ggml:q4_0 or gptq; or the JSON that --json prints. No bit may be in two fields.");
  auto options = std::make_shared<RecordOptions>();
  command.add_option("RECORD", options->record, "Record, as described below").required();
  command.add_option("--dims", options->dims, "Extents of the array of structs, or of the packed matrix");
  command.add_option("--byte", options->bytes, "Print which elements have this byte; may be given several times")
      .one_value_each();
  command.add_option("--as", options->as, "Print the record as c, numpy (its descr) or expression");
  return {command, [options, json = json] { return run_record(*options, *json); }, json};
}

}  // namespace relayout::tools
