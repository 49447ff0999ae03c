// The flags of relayout convert: see convert_options.h.
#include "tools/converting/convert_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/core/packed/packed.h"
#include "relayout/core/record/record_format.h"
#include "tools/input/record_argument.h"

namespace relayout::tools {
namespace {

/// A flag that is given, and the conversions that take it.
struct Given {
  std::string_view flag;
  bool given;
  std::vector<Conversion> taken_by;
  /// What to do instead, behind a semicolon.
  std::string_view instead = "";
};

std::string_view words(Conversion conversion) {
  switch (conversion) {
    case Conversion::tensor: return "a tensor is converted";
    case Conversion::field: return "--field converts a field of a record";
    case Conversion::record: return "the fields of a record are moved";
    case Conversion::values: return "values of packed weights are computed";
    case Conversion::repack: return "packed weights are repacked";
  }
  return "";
}

std::vector<Given> given_flags(const ConvertOptions& o) {
  using enum Conversion;
  const ValueOptions& v = o.values;
  std::vector<Given> out{
      {"--dtype", o.dtype.has_value(), {tensor}, "the types of fields are those of the record"},
      {"--to-dims", o.to_dims.has_value(), {tensor, field}},
      {"--to-dtype", o.to_dtype.has_value(), {tensor, field, values}, "fields keep their types"},
      {"--tune", !o.tune.empty(), {tensor, field}},
      {"--via opencl", o.via.opencl(), {tensor, field}},
      {"--index", !o.index.from.empty(), {tensor, field}},
      {"--index-to", !o.index.to.empty(), {tensor, field}},
      {"--max-memory", o.max_memory.has_value(), {tensor, field}},
      {"--dry-run", o.dry_run, {tensor, field}},
      {"--group",
       o.group.has_value(),
       {repack},
       "it is how many values share a scale in the output of --repack, and --groups how many indices of each dim share "
       "a number of --scale and its like"},
      {"--groups", v.groups.has_value(), {tensor, field, values}, "--group says how many values share a scale"},
      {"--per", v.per.has_value(), {tensor, field, values}},
      {"--pad", v.padding != "zero", {tensor, field, values}},
  };
  const auto number = [&](std::string_view flag, const std::optional<std::string>& text) {
    out.push_back({flag, text.has_value(), {tensor, field, values}});
  };
  number("--scale", v.scale);
  number("--src-scale", v.src_scale);
  number("--dst-scale", v.dst_scale);
  number("--zero-point", v.zero_point);
  number("--src-zero-point", v.src_zero_point);
  number("--dst-zero-point", v.dst_zero_point);
  number("--mean", v.mean);
  number("--std", v.std);
  return out;
}

/// Flags of which each says what is converted, and so only one may be there.
void check_kinds(const ConvertOptions& o) {
  std::vector<std::string_view> kinds;
  if (!o.field.empty()) kinds.emplace_back("--field");
  if (o.dequantize) kinds.emplace_back("--dequantize");
  if (o.repack || o.requantise) kinds.emplace_back(o.requantise ? "--requantise" : "--repack");
  if (kinds.size() < 2) return;
  usage_error(fmt::format("{} and {}: give one of them; --field takes one field, --dequantize computes the values, and "
                          "--repack and --requantise write another packed format",
                          kinds[0], kinds[1]),
              std::string(kinds[1]));
}

/// Also one that is refused or misspelt, of which packed_format() says more.
bool is_packed_name(const std::string& text) {
  return text.find('.') == std::string::npos && packed_length(text) == text.size();
}

/// The sides of a conversion must be what it is of.
void check_sides(const ConvertOptions& o, Conversion conversion) {
  const std::string from = o.from ? escaped(*o.from) : "";
  if (conversion == Conversion::field && o.from && !is_record(*o.from) && !is_packed_name(*o.from))
    usage_error(
        fmt::format("--field {}: --from {} is a layout, and a field is one of a record: --from record{{...}}, a "
                    "packed format such as ggml:q4_0, or nothing where the file has a structured type",
                    escaped(o.field), from),
        "--from", from);
  if (conversion == Conversion::record && !o.to_dtype && o.from && !is_record(*o.from) && !find_packed(*o.from))
    usage_error(
        find_packed(o.to) != nullptr
            ? fmt::format("--from {} --to {}: the values of a tensor are not quantised; {} is written from "
                          "another packed format, by --repack or --requantise",
                          from, escaped(o.to), escaped(o.to))
            : fmt::format("--from {} is a layout, and --to a record, whose fields only another record has", from),
        "--from", from);
  if (conversion == Conversion::values && is_record(o.to))
    usage_error(fmt::format("--dequantize: --to {} is a record, and values are written in a layout, such as ab; "
                            "another packed format is written by --repack",
                            escaped(o.to, 60)),
                "--to", escaped(o.to));
  const bool packed = conversion == Conversion::values || conversion == Conversion::repack;
  const std::string_view flag = o.dequantize ? "--dequantize" : o.requantise ? "--requantise" : "--repack";
  if (packed && !o.from)
    usage_error(fmt::format("{}: --from must name the packed format of the input, such as gptq or ggml:q4_0", flag),
                "--from");
  if (conversion == Conversion::values && find_packed(o.to) != nullptr)
    usage_error(
        fmt::format("--from {} --to {}: another packed format is written by --repack, and values in a layout, such "
                    "as ab",
                    from, escaped(o.to)),
        "--to", escaped(o.to));
  const std::optional<FileFormat> file = format_of_path(o.input);
  if (conversion == Conversion::tensor && o.from && find_packed(*o.from) != nullptr && !o.dtype && file &&
      has_names(*file))
    usage_error(
        fmt::format("--from {}: its tensors in {} give values by --dequantize, another packed format by --repack, "
                    "and one field by --field; the layout of the codes alone is {}.{}",
                    from, escaped(o.input), from, find_packed(*o.from)->alone),
        "--from", from);
  if (conversion == Conversion::tensor && o.from && is_record(*o.from))
    usage_error(
        fmt::format("--from {}: a record is no tensor; --field NAME converts one of its fields, and a record in "
                    "--to takes all that have its names",
                    escaped(*o.from, 60)),
        "--from", escaped(*o.from));
}

}  // namespace

void check_codes(const std::string& to, DType dtype) {
  const PackedFormat* packed = find_packed(to);
  if (packed == nullptr || packed->alone.empty() || packed->field(packed->alone).dtype == dtype) return;
  const std::string_view codes = name(packed->field(packed->alone).dtype);
  usage_error(
      fmt::format("--to {}: its codes are {}, and the output is {}; values are not quantised to a packed format, "
                  "--to-dtype {} converts them to such codes, and {}.{} is the layout for any type",
                  to, codes, name(dtype), codes, to, packed->alone),
      "--to", to);
}

RecordConversion record_options(const ConvertOptions& o) {
  return {o.input, o.output, o.to,      o.from,  o.dims,       o.to_dtype, o.field,      o.tensor,
          o.raw,   o.values, o.threads, o.force, o.dequantize, o.repack,   o.requantise, o.group};
}

bool means_values(const std::string& from) {
  return is_packed_name(from) && (is_record(from) || find_packed(from) == nullptr);
}

Conversion conversion_of(const ConvertOptions& options) {
  if (options.to.empty()) usage_error("--to is required; see relayout convert --help", "--to");
  if (options.to_tensor)
    usage_error("--to-tensor has no meaning without --into; --tensor names the output", "--to-tensor");
  check_kinds(options);
  Conversion out = Conversion::tensor;
  if (options.repack || options.requantise) {
    out = Conversion::repack;
  } else if (!options.field.empty()) {
    out = Conversion::field;
  } else if (options.dequantize) {
    out = Conversion::values;
  } else if (is_record(options.to)) {
    out = Conversion::record;
  } else if (options.from && means_values(*options.from)) {
    out = Conversion::values;
  }
  check_sides(options, out);
  for (const Given& each : given_flags(options)) {
    if (!each.given || std::ranges::find(each.taken_by, out) != each.taken_by.end()) continue;
    usage_error(fmt::format("{} has no meaning where {}{}{}", each.flag, words(out), each.instead.empty() ? "" : "; ",
                            each.instead),
                std::string(each.flag.substr(0, each.flag.find(' '))));
  }
  return out;
}

}  // namespace relayout::tools
