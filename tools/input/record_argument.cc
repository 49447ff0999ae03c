// Records on the command line: see record_argument.h.
#include "tools/input/record_argument.h"

#include <fmt/format.h>

#include "relayout/core/packed/packed.h"

namespace relayout::tools {
namespace {

[[noreturn]] void refuse_json(const std::string& why) {
  usage_error("record: the JSON " + why + R"(; it is {"fields": [{"name", "dtype", "dims", "layout"}, ...]})", "record",
              why);
}

Json parsed_json(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse_json("is malformed");
  return json;
}

/// The expression of a record that JSON describes.
std::string expression_of_json(const Json& json) {
  if (!json.is_object() || !json.contains("fields") || !json["fields"].is_array())
    refuse_json("has no list \"fields\"");
  std::string out = "record{";
  for (const Json& field : json["fields"]) {
    for (const char* key : {"name", "dtype", "layout"}) {
      if (!field.is_object() || !field.contains(key) || !field[key].is_string())
        refuse_json(std::string("has a field without the text \"") + key + "\"");
    }
    if (!field.contains("dims") || !field["dims"].is_array()) refuse_json("has a field without the list \"dims\"");
    Dims dims;
    for (const Json& extent : field["dims"]) {
      if (!extent.is_number_integer() || dims.size() == kMaxDims) refuse_json("has dims that are none");
      dims.push_back(extent.get<int64_t>());
    }
    out += (out.back() == '{' ? "" : ", ") + field["name"].get<std::string>() + ":" +
           field["dtype"].get<std::string>() + "[" + join(dims) + "] = " + field["layout"].get<std::string>();
  }
  if (json.contains("bytes")) {
    if (!json["bytes"].is_number_integer()) refuse_json("has bytes that are no whole number");
    out += ";bytes=" + std::to_string(json["bytes"].get<int64_t>());
  }
  return out + "}";
}

}  // namespace

RecordFormat record_argument(const std::string& text) {
  const std::string expression = text.starts_with('{') ? expression_of_json(parsed_json(text)) : text;
  return from_command_line([&] { return RecordFormat::parse(expression); });
}

std::vector<NamedRecord> records_argument(const std::string& text, const Dims& dims, int64_t group) {
  std::vector<NamedRecord> out;
  if (const PackedFormat* packed = find_packed(text)) {
    for (const std::string_view buffer : buffers_of(*packed)) {
      out.push_back({std::string(buffer),
                     from_command_line([&] { return packed_record(*packed, dims, buffer, group); }),
                     std::string(packed->value), packed->code == "q" ? "" : std::string(packed->code)});
    }
    return out;
  }
  const auto own = [](const Json& json, const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  if (!text.starts_with('[') && !text.starts_with('{')) {
    const RecordFormat format = record_argument(text);
    return {{"", from_command_line([&] { return format.bind(dims); })}};
  }
  const Json json = parsed_json(text);
  const Json list = json.is_array() ? json : Json::array({json});
  if (list.empty()) refuse_json("is an empty list");
  for (const Json& each : list) {
    const std::string expression = expression_of_json(each);
    out.push_back({own(each, "buffer"), from_command_line([&] { return RecordFormat::parse(expression).bind(dims); }),
                   own(each, "value"), own(each, "code")});
  }
  return out;
}

bool is_record(const std::string& text) {
  if (RecordFormat::looks_like(text) || text.starts_with('{')) return true;
  const PackedFormat* packed = find_packed(text);
  return packed != nullptr && packed->alone.empty();
}

Json record_json(const Record& record) {
  Json fields = Json::array();
  for (const Field& field : record.fields()) {
    fields.push_back({{"name", field.name},
                      {"dtype", name(field.dtype)},
                      {"dims", json_of(field.layout.dims())},
                      {"layout", digits_expression(field.layout)}});
  }
  return {{"bytes", record.bytes()}, {"fields", std::move(fields)}};
}

void check_plain_bytes(const StoredTensor& stored, const std::string& shown) {
  const std::string called = stored.name.empty() ? shown : fmt::format("{}: {}", shown, escaped(stored.name));
  if (stored.fortran_order && stored.shape.size() > 1) {
    throw Failure(kUnsupported, Error(ErrorCode::unsupported,
                                      called + " is in Fortran order, in which blocks are not read; save it in C order",
                                      "order", "fortran", "C"));
  }
  if (!stored.byte_swapped) return;
  throw Failure(kUnsupported,
                Error(ErrorCode::unsupported,
                      called + " is in the other byte order, in which blocks are not read; save it in this machine's",
                      "order", "big-endian", "little-endian"));
}

std::size_t find_or_only(const TensorFile& file, const std::string& tensor) {
  if (file.tensors().size() == 1 && file.tensors()[0].name.empty()) return 0;
  return from_command_line([&] { return file.find(tensor); });
}

RecordBytes record_bytes(const std::string& path, const std::string& tensor, const RawOptions& raw, int64_t need) {
  const InputOptions options{.path = path, .tensor = tensor, .raw = raw};
  TensorFile file = from_data([&] { return TensorFile::open(file_path(options), {}, tensor); });
  const std::size_t found = find_or_only(file, tensor);
  std::span<const std::byte> bytes = from_data([&] { return file.bytes(found); });
  check_plain_bytes(file.tensors()[found], shown_path(options));
  if (file.tensors()[found].type_name.starts_with('[')) {
    usage_error(fmt::format("{}: its type says its fields, {}; leave --from out", shown_path(options),
                            escaped(file.tensors()[found].type_name, 200)),
                "--from");
  }
  const bool named = !file.tensors()[found].name.empty();
  const bool is_raw = file.format() == FileFormat::raw;
  if (!is_raw && (raw.file_offset || raw.slack))
    usage_error(fmt::format("--file-offset and --slack are for raw bytes, and {} is a {} file", shown_path(options),
                            name(file.format())),
                "--file-offset");
  const int64_t offset = raw.file_offset ? size_argument(*raw.file_offset, "--file-offset") : 0;
  const auto have = static_cast<int64_t>(bytes.size());
  if (offset > have || have - offset < need || (have - offset > need && !raw.slack)) {
    throw Failure(kBadData, Error(have - offset < need ? ErrorCode::buffer_too_small : ErrorCode::corrupt,
                                  fmt::format("{}: {} bytes{}, and the record has {}{}", shown_path(options), have,
                                              offset > 0 ? fmt::format(" less {} before it", offset) : "", need,
                                              is_raw && have - offset > need ? "; --slack allows more behind it" : ""),
                                  "bytes", std::to_string(have), std::to_string(need)));
  }
  return {std::move(file), bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(need)), named};
}

}  // namespace relayout::tools
