// Exit codes, output and the reading of command-line values.
#include "tools/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "relayout/cpu/reorder.h"

namespace relayout::tools {

int exit_code(const Error& error, int otherwise) {
  switch (error.code()) {
    case ErrorCode::io: return kIo;
    case ErrorCode::unsupported: return kUnsupported;
    case ErrorCode::internal: return kInternal;
    case ErrorCode::corrupt: return kBadData;
    default: return otherwise;
  }
}

void usage_error(std::string message, std::string field, std::string value, std::string limit) {
  throw Failure(kUsage, Error(ErrorCode::invalid_argument, std::move(message), std::move(field), std::move(value),
                              std::move(limit)));
}

std::pair<CLI::App*, std::shared_ptr<bool>> add_verb(CLI::App& app, const std::string& verb,
                                                     const std::string& description, const std::string& examples) {
  CLI::App* command = app.add_subcommand(verb, description);
  command->footer("Examples:\n" + examples);
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON, errors included");
  return {command, json};
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    const std::string reason = std::strerror(errno);
    throw Error(ErrorCode::io, "cannot write to standard output: " + reason, "stdout", reason);
  }
}

void print_error(const Error& error, bool json) {
  std::string text;
  if (json) {
    const Json object = {{"error",
                          {{"code", name(error.code())},
                           {"message", error.message()},
                           {"field", error.field()},
                           {"value", error.value()},
                           {"limit", error.limit()}}}};
    text = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    text = "relayout: " + printable(error.message()) + "\n";
  }
  // Nothing can be said where standard error does not work either.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

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
  for (char ch : text) {
    const auto byte = static_cast<unsigned char>(ch);
    if ((byte < 0x20 && ch != '\n') || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += ch;
    }
  }
  return out;
}

Format layout_argument(const std::string& text) {
  return from_command_line([&] { return Format::parse(text); });
}

Dims dims_argument(const std::string& text, std::string_view flag) {
  return from_command_line([&] { return parse_dims(text, flag); });
}

DType dtype_argument(const std::string& text, std::string_view flag) {
  return from_command_line([&] {
    try {
      return parse_dtype(text);
    } catch (const Error& error) {
      std::string_view message = error.message();
      if (message.starts_with("dtype: ")) message.remove_prefix(7);
      throw Error(error.code(), fmt::format("{}: {}", flag, message), std::string(flag), error.value(), error.limit());
    }
  });
}

int64_t size_argument(const std::string& text, std::string_view flag) {
  static constexpr std::string_view kUnits = "KMGT";
  int64_t count = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  std::optional<int64_t> bytes = count;
  if (const auto power = unit.empty() ? std::string_view::npos : kUnits.find(unit[0]);
      power != std::string_view::npos) {
    bytes = checked_mul(count, int64_t{1} << (10 * (power + 1)));
    unit.remove_prefix(1);
    if (unit.starts_with('i')) unit.remove_prefix(1);
  }
  if (unit == "B") unit.remove_prefix(1);
  if (status != std::errc() || !unit.empty() || count < 0 || !bytes) {
    usage_error(
        fmt::format("{}: \"{}\" is no size; write bytes, or a number with K, M, G or T (as 64M)", flag, escaped(text)),
        std::string(flag), escaped(text));
  }
  return *bytes;
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

Layout bind_argument(const Format& format, const Dims& dims) {
  return from_command_line([&] { return format.bind(dims); });
}

std::string isa_problem() {
  const char* forced = std::getenv("RELAYOUT_ISA");
  if (forced == nullptr || *forced == '\0') return "";
  std::string available;
  for (std::string_view isa : cpu::available_isas()) {
    if (isa == forced) return "";
    available += " " + std::string(isa);
  }
  return fmt::format("RELAYOUT_ISA: this machine does not run \"{}\"; it runs{}", escaped(forced), available);
}

std::string dims_text(const Dims& dims) { return dims.empty() ? "scalar" : join(dims, "x"); }

std::string size_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

bool colour_allowed(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

std::string bold(std::string_view text) {
  static const bool colour = colour_allowed(STDOUT_FILENO);
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string labelled(std::string_view label, std::string_view text) {
  static constexpr std::size_t kIndent = 12, kColumns = 80;
  std::string out = fmt::format("  {:<10}", label);
  std::size_t room = kColumns - kIndent;
  while (text.size() > room) {
    const std::size_t space = text.rfind(' ', room);
    if (space == std::string_view::npos || space == 0) break;
    out += text.substr(0, space);
    while (out.back() == ' ') out.pop_back();
    out += "\n" + std::string(kIndent, ' ');
    text.remove_prefix(space + 1);
  }
  out += text;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  std::ranges::replace(out, kNoBreakSpace, ' ');
  return out + "\n";
}

}  // namespace relayout::tools
