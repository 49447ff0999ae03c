// A whole verbose line of oneDNN: its fields, and its tensors with the dims that the problem says. See
// onednn_verbose.h.
#include <algorithm>

#include "relayout/interop/onednn_problem.h"
#include "relayout/interop/onednn_verbose.h"

namespace relayout::onednn {
namespace {

/// The fields behind the marker, the format's version, the timestamp and the kind of interface.
constexpr const char* kLineFields[] = {"operation",   "engine",     "primitive", "implementation", "propagation",
                                       "descriptors", "attributes", "auxiliary", "problem",        "time"};
constexpr std::size_t kLineFieldCount = std::size(kLineFields);

[[noreturn]] void refuse_line(ErrorCode code, std::string_view line, const std::string& field, std::string_view value,
                              const std::string& why, const std::string& allowed) {
  throw Error(code, "verbose line \"" + escaped(line, 120) + "\": " + why, field, escaped(value), allowed);
}

/// Takes the text up to the next comma, or all that is left.
std::string_view take_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(','), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return out;
}

std::string_view next_field(std::string_view rest) { return take_field(rest); }

/// Where the next marker begins at or behind a place: one of oneDNN, DNNL or MKL-DNN; the line's size without one.
std::size_t next_marker(std::string_view line, std::size_t from) {
  std::size_t out = line.size();
  for (const std::string_view marker : {"onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,"})
    out = std::min(out, line.find(marker, from));
  return out;
}

bool is_decimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// A primitive that was run, or created: by the program, or by another primitive that is made of it (create_nested).
bool is_about_primitive(std::string_view operation) {
  const std::string_view verb = operation.substr(0, operation.find(':'));
  return operation == "exec" || verb == "create" || verb == "create_nested";
}

/// Reads what stands in front of the operation, and refuses lines that are not about a primitive.
void parse_head(std::string_view line, std::string_view& rest, VerboseLine& out) {
  const std::string_view marker = take_field(rest);
  if (marker == "mkldnn_verbose") {
    refuse_line(ErrorCode::unsupported, line, "marker", marker,
                "it is a line of MKL-DNN 0, which writes no types and no dims of most tensors",
                "onednn_verbose, dnnl_verbose");
  }
  if (marker != "onednn_verbose" && marker != "dnnl_verbose") {
    refuse_line(ErrorCode::parse, line, "marker", marker, "it begins neither with onednn_verbose nor with dnnl_verbose",
                "onednn_verbose, dnnl_verbose");
  }
  out.marker = marker;
  const std::string_view version = next_field(rest);
  if (version.size() >= 2 && version[0] == 'v' && is_decimal(version.substr(1))) out.version = take_field(rest);
  if (is_decimal(next_field(rest))) out.timestamp = take_field(rest);
  const std::string_view api = next_field(rest);
  if (api == "primitive") out.api = take_field(rest);
  const std::string_view operation = next_field(rest);
  if (!is_about_primitive(operation)) {
    refuse_line(ErrorCode::unsupported, line, "operation", operation,
                "it is about \"" + escaped(operation) + "\", not about a primitive that is created or run",
                "exec, create:..., create_nested:...");
  }
  if (operation.ends_with(":check") || operation.ends_with(":dispatch")) {
    refuse_line(ErrorCode::unsupported, line, "operation", operation,
                "it tells why a primitive was not created, in other fields", "exec, create:cache_miss ...");
  }
}

void parse_tensors(std::string_view line, std::string_view list, VerboseLine& out) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view text = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    try {
      out.tensors.push_back(parse_verbose_tensor(text));
    } catch (const Error& error) {
      const std::string field = "descriptors[" + std::to_string(out.tensors.size()) + "]." + error.field();
      refuse_line(error.code(), line, field, text, field + " is wrong: " + error.message(), error.limit());
    }
  }
}

}  // namespace

const VerboseTensor& VerboseLine::tensor(std::string_view name, int number) const {
  std::string names;
  for (const VerboseTensor& tensor : tensors) {
    if (tensor.name == name && number-- == 0) return tensor;
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  throw Error(ErrorCode::invalid_argument,
              "the line of a " + escaped(primitive) + " has no such tensor \"" + escaped(name) + "\"; it has " + names,
              "name", escaped(name), names);
}

VerboseLine parse_verbose_line(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  VerboseLine out;
  std::string_view rest = line;
  parse_head(line, rest, out);
  const auto count = static_cast<std::size_t>(std::ranges::count(rest, ',')) + 1;
  if (count != kLineFieldCount) {
    const std::string have = std::to_string(count), need = std::to_string(kLineFieldCount);
    const std::string missing = count < kLineFieldCount ? std::string("; ") + kLineFields[count] + " is missing" : "";
    refuse_line(ErrorCode::parse, line, "fields", have,
                "it has " + have + " fields from the operation on, and a primitive has " + need + missing, need);
  }
  std::string_view fields[kLineFieldCount];
  for (std::string_view& field : fields) field = take_field(rest);
  out.operation = fields[0];
  out.engine = fields[1];
  out.primitive = fields[2];
  out.implementation = fields[3];
  out.propagation = fields[4];
  out.attributes = fields[6];
  out.auxiliary = fields[7];
  out.problem = fields[8];
  out.time = fields[9];
  if (out.primitive.empty()) refuse_line(ErrorCode::parse, line, "primitive", "", "the primitive is empty", "a name");
  parse_tensors(line, fields[5], out);
  bind_problem(out);
  return out;
}

void for_each_verbose_line(std::string_view text, const std::function<void(int64_t, std::string_view)>& take) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(next_marker(line, 0));
    while (!line.empty()) {
      const std::size_t next = next_marker(line, 1);
      take(number, line.substr(0, next));
      line.remove_prefix(next);
    }
  }
}

VerboseLog read_verbose_log(std::string_view text) {
  VerboseLog out;
  for_each_verbose_line(text, [&](int64_t number, std::string_view line) {
    try {
      out.lines.emplace_back(number, parse_verbose_line(line));
    } catch (const Error& error) {
      out.others.push_back({number, std::string(line), error.message()});
    }
  });
  return out;
}

std::string to_text(const VerboseLine& line) {
  std::string out = line.marker + ",";
  for (const std::string& part : {line.version, line.timestamp, line.api}) out += part.empty() ? "" : part + ",";
  for (const std::string& part : {line.operation, line.engine, line.primitive, line.implementation, line.propagation})
    out += part + ",";
  for (std::size_t k = 0; k < line.tensors.size(); ++k) out += (k == 0 ? "" : " ") + to_text(line.tensors[k]);
  for (const std::string& part : {line.attributes, line.auxiliary, line.problem, line.time}) out += "," + part;
  return out;
}

}  // namespace relayout::onednn
