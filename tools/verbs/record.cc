// relayout record: several fields in one buffer: where each lies, who has a byte, and which bytes nobody has.
#include <fmt/format.h>

#include <algorithm>

#include "relayout/core/packed/packed.h"
#include "relayout/core/print.h"
#include "relayout/interop/c_record.h"
#include "relayout/interop/numpy_record.h"
#include "tools/command/common.h"
#include "tools/input/record_argument.h"

namespace relayout::tools {
namespace {

struct RecordOptions {
  std::string record, as;
  std::optional<std::string> dims;
  std::vector<std::string> bytes;
  std::optional<int64_t> group;
};

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

/// Groups are said of formats that leave them open.
void check_group(const RecordOptions& options) {
  if (!options.group) return;
  const PackedFormat* packed = find_packed(options.record);
  const bool open = packed != nullptr && std::ranges::any_of(packed->fields, [](const PackedField& field) {
                      return field.group[0] == 0 || field.group[1] == 0;
                    });
  if (open) return;
  usage_error(fmt::format("--group {}: {} has no groups of any size, as gptq, awq or mlx:affine have", *options.group,
                          escaped(options.record, 60)),
              "--group", std::to_string(*options.group));
}

int run_record(const RecordOptions& options, bool json) {
  check_group(options);
  const Dims dims = options.dims ? dims_argument(*options.dims) : Dims{};
  if (!options.as.empty()) return print_as(options, record_argument(options.record), dims, json);
  const std::vector<NamedRecord> records = records_argument(options.record, dims, options.group.value_or(0));
  if (options.bytes.empty()) {
    write_stdout(records_text(options.record, dims, records, json));
    return kOk;
  }
  if (records.size() > 1)
    usage_error(fmt::format("--byte: {} has {} buffers, and a byte is one of a single buffer",
                            escaped(options.record, 60), records.size()),
                "--byte");
  return print_places(options, records[0].record, json);
}

}  // namespace

std::string records_text(const std::string& title, const Dims& dims, const std::vector<NamedRecord>& records,
                         bool json) {
  std::string text = bold((title.starts_with('[') || title.starts_with('{') ? "record" : title) +
                          (dims.empty() ? "" : "  " + dims_text(dims))) +
                     "\n\n";
  Json list = Json::array();
  for (const NamedRecord& each : records) {
    Json object = record_json(each.record);
    if (!each.buffer.empty()) object["buffer"] = each.buffer;
    object["free_bits"] = each.record.free_bits();
    if (!each.value.empty()) object["value"] = each.value;
    if (!each.code.empty()) object["code"] = each.code;
    list.push_back(std::move(object));
    text += record_text(each.buffer, each.record) + "\n";
  }
  const NamedRecord& last = records.back();
  if (!last.value.empty()) {
    text += labelled("value", last.value);
    if (!last.code.empty()) text += labelled("q", last.code);
  } else if (text.ends_with("\n\n")) {
    text.pop_back();
  }
  return json ? json_text(list.size() == 1 ? list[0] : list) : text;
}

int describe_record(const std::string& record, const std::optional<std::string>& dims_text, std::string_view flag,
                    bool json) {
  if (!flag.empty())
    usage_error(fmt::format("{}: {} is a record, whose fields have types and names of their own; relayout record --as "
                            "writes it as c, numpy or expression",
                            flag, escaped(record, 60)),
                std::string(flag));
  const Dims dims = dims_text ? dims_argument(*dims_text) : Dims{};
  write_stdout(records_text(record, dims, records_argument(record, dims), json));
  return kOk;
}

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
  command.add_option("--group", options->group, Range{1, 1 << 30},
                     "Values that share a scale, of packed formats that leave it open, such as gptq");
  command.add_option("--byte", options->bytes, "Print which elements have this byte; may be given several times")
      .one_value_each();
  command.add_option("--as", options->as, "Print the record as c, numpy (its descr) or expression");
  return {command, [options, json = json] { return run_record(*options, *json); }, json};
}

}  // namespace relayout::tools
