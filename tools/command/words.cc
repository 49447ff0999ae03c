// Dims, counts, sizes and times as text.
#include "tools/command/words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "relayout/core/print.h"
#include "relayout/show/memory_text.h"

namespace relayout::tools {

std::string dims_text(const Dims& dims) { return dims.empty() ? "scalar" : join(dims, "x"); }

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string size_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string time_text(double us) {
  if (!std::isfinite(us)) return "-";
  const double size = std::abs(us);
  if (size < 1e3) return fmt::format("{:.4g} us", us);
  return size < 1e6 ? fmt::format("{:.4g} ms", us / 1e3) : fmt::format("{:.4g} s", us / 1e6);
}

std::string unbroken(std::string text, std::string_view glue) {
  for (std::size_t at = 0; (at = text.find(glue, at)) != std::string::npos; at += glue.size()) {
    for (std::size_t i = at; i < at + glue.size(); ++i) {
      if (text[i] == ' ') text[i] = show::kNoBreakSpace;
    }
  }
  return text;
}

bool colour_allowed(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

std::string bold(std::string_view text) {
  static const bool colour = colour_allowed(STDOUT_FILENO);
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

}  // namespace relayout::tools
