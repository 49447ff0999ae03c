// Exit codes, output and the reading of command-line values.
#include "tools/command/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "relayout/core/letters.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/directml.h"
#include "relayout/interop/placements/placement_text.h"

namespace relayout::tools {

int exit_code(const Error& error, int otherwise) {
  switch (error.code()) {
    case ErrorCode::io: return kIo;
    case ErrorCode::unsupported: return kUnsupported;
    case ErrorCode::interrupted: return kInterrupted;
    case ErrorCode::internal: return kInternal;
    case ErrorCode::corrupt: return kBadData;
    default: return otherwise;
  }
}

void usage_error(std::string message, std::string field, std::string value, std::string limit) {
  throw Failure(kUsage, Error(ErrorCode::invalid_argument, std::move(message), std::move(field), std::move(value),
                              std::move(limit)));
}

std::pair<Command, std::shared_ptr<bool>> add_verb(CommandLine& line, const std::string& verb,
                                                   const std::string& description, const std::string& examples) {
  Command command = line.add_verb(verb, description, "Examples:\n" + examples);
  auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "Print JSON, errors included");
  return {command, json};
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    const std::string reason = std::strerror(errno);
    throw Error(ErrorCode::io, "cannot write to standard output: " + reason, "stdout", reason);
  }
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string error_text(const Error& error, bool json) {
  if (!json) return "relayout: " + printable(error.message()) + "\n";
  const Json object = {{"error",
                        {{"code", name(error.code())},
                         {"message", error.message()},
                         {"field", error.field()},
                         {"value", error.value()},
                         {"limit", error.limit()}}}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_error(const Error& error, bool json) { write_stderr(error_text(error, json)); }

std::string json_text(const Json& json) {
  const auto compact = [](const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (!json.is_structured() || json.empty()) return compact(json) + "\n";
  std::string out(1, json.is_object() ? '{' : '[');
  std::string_view separator = "\n  ";
  for (auto it = json.begin(); it != json.end(); ++it) {
    out += separator;
    if (json.is_object()) out += compact(it.key()) + ": ";
    const std::string value = compact(*it);
    const bool long_list = it->is_array() && !it->empty() && it->front().is_object() && value.size() > 100;
    if (!long_list) out += value;
    for (std::size_t i = 0; long_list && i < it->size(); ++i) {
      out += (i == 0 ? "[\n    " : ",\n    ") + compact((*it)[i]) + (i + 1 == it->size() ? "]" : "");
    }
    separator = ",\n  ";
  }
  return out + (json.is_object() ? "\n}\n" : "\n]\n");
}

Json json_of(const Dims& dims) {
  Json out = Json::array();
  for (int64_t value : dims) out.push_back(value);
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(text.find_first_of("\n\\\""), text.size());
    out += escaped(text.substr(0, end), std::string_view::npos);
    if (end == text.size()) return out;
    out += text[end];
    text.remove_prefix(end + 1);
  }
}

Format layout_argument(const std::string& text) {
  if (PlacementText::is(text))
    usage_error(escaped(text) +
                    " is a placement over ranks or chunks; describe, diff and offset take one, and a layout "
                    "is wanted here, such as nchw",
                "layout", escaped(text));
  return from_command_line([&] {
    try {
      return Format::parse(text);
    } catch (const Error& error) {
      std::error_code none;
      if (!std::filesystem::is_regular_file(text, none)) throw;
      throw Error(error.code(),
                  "layout: " + escaped(text) +
                      " is a file, and a layout is wanted here, such as nchw; the verbs that read files are convert, "
                      "compare and check",
                  error.field(), error.value(), error.limit());
    }
  });
}

Dims dims_argument(const std::string& text, std::string_view flag) {
  return from_command_line([&] { return parse_dims(text, flag); });
}

DType dtype_argument(const std::string& text, std::string_view flag) {
  return from_command_line([&] {
    try {
      return parse_dtype(text);
    } catch (const Error& error) {
      std::string message = error.message();
      if (message.starts_with("dtype: ")) message.erase(0, 7);
      throw Error(error.code(), fmt::format("{}: {}", flag, message), std::string(flag), error.value(), error.limit());
    }
  });
}

int64_t size_argument(const std::string& text, std::string_view flag) {
  static constexpr std::string_view kUnits = "kmgt";
  double count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, count, std::chars_format::fixed);
  std::string unit;
  for (const char* at = rest; at != end && unit.size() < 4; ++at) unit += small_letter(*at);
  double bytes = count;
  if (const auto power = unit.empty() ? std::string::npos : kUnits.find(unit[0]); power != std::string::npos) {
    bytes = std::ldexp(count, 10 * static_cast<int>(power + 1));
    unit.erase(0, 1);
    if (unit == "ib") unit.erase(0, 1);
  }
  if (unit == "b") unit.clear();
  // Also refuses inf and nan, which are written without a digit.
  const bool number = !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
  if (status != std::errc() || !number || !unit.empty() || !(bytes < 9.0e18)) {
    usage_error(fmt::format("{}: \"{}\" is no size; write bytes, or a number with K, M, G or T (as 64M or 1.5G)", flag,
                            escaped(text)),
                std::string(flag), escaped(text));
  }
  return static_cast<int64_t>(bytes);
}

int64_t max_memory_argument(const std::optional<std::string>& text) {
  static constexpr int64_t kLeastMemory = 1 << 20;
  if (!text) return 0;
  const int64_t bytes = size_argument(*text, "--max-memory");
  if (bytes < kLeastMemory) {
    usage_error(fmt::format("--max-memory {}: 1M is the least", escaped(*text)), "--max-memory", escaped(*text),
                std::to_string(kLeastMemory));
  }
  return bytes;
}

double number_argument(const std::string& text, std::string_view flag) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || rest != end || text.empty()) {
    usage_error(fmt::format("{}: \"{}\" is no number", flag, escaped(text)), std::string(flag), escaped(text));
  }
  return value;
}

Dims dims_for(const Format& format, const std::optional<std::string>& text) {
  if (text) return dims_argument(*text);
  if (const auto dims = from_command_line([&] { return format.default_dims(); })) return *dims;
  // No dims help these; the error says so.
  if (format.kind() == Format::Kind::undef || format.kind() == Format::Kind::any) bind_argument(format, {});
  usage_error(fmt::format("--dims is required, as {} does not say the extents", escaped(format.text())), "--dims");
}

Dims destination_dims(const Format& format, const Dims& dims, const std::optional<std::string>& before,
                      std::string_view before_flag) {
  std::optional<Dims> out;
  if (before) out = dims_argument(*before, before_flag);
  if (!out) out = format.views().empty() ? format.fixed_dims().value_or(dims) : format.dims_before_views(dims);
  if (!out) {
    usage_error(
        fmt::format("{}: its views do not show the dims of the buffer; give {}", escaped(format.text()), before_flag),
        std::string(before_flag));
  }
  const Dims behind = bind_argument(format, *out).dims();
  if (behind == dims) return *out;
  usage_error(fmt::format("{} of dims {} has a tensor of {}, and {} is to be stored in it", escaped(format.text()),
                          dims_text(*out), dims_text(behind), dims_text(dims)),
              std::string(before ? before_flag : "layout"), dims_text(behind), dims_text(dims));
}

Layout bind_argument(const Format& format, const Dims& dims) {
  return from_command_line([&] { return format.bind(dims); });
}

TensorDesc bind_tensor(const Format& format, const Dims& dims, DType dtype) {
  if (format.notation() == "dml") directml::data_type(dtype);
  return TensorDesc(format.bind(dims), dtype);
}

std::optional<Error> isa_problem() {
  const char* forced = std::getenv("RELAYOUT_ISA");
  if (forced == nullptr || *forced == '\0') return std::nullopt;
  std::string available;
  for (std::string_view isa : cpu::available_isas()) {
    if (isa == forced) return std::nullopt;
    available += (available.empty() ? "" : " ") + std::string(isa);
  }
  return Error(ErrorCode::unsupported,
               fmt::format("RELAYOUT_ISA: this machine does not run \"{}\"; it runs {}", escaped(forced), available),
               "RELAYOUT_ISA", escaped(forced), available);
}

void require_isa() {
  if (const std::optional<Error> problem = isa_problem()) throw *problem;
}

}  // namespace relayout::tools
