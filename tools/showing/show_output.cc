// Output of `relayout show`.
#include "tools/showing/show_output.h"

#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "relayout/interop/files/tensor_file.h"
#include "tools/command/common.h"

extern char** environ;

namespace relayout::tools {
namespace {

bool is_picture(const ShowTarget& target) { return target.output.ends_with(".svg"); }

/// Starts the program by which the desktop opens files. Failure (io) where there is none.
void open_in_browser(const std::string& path) {
#ifdef __APPLE__
  std::string program = "open";
#else
  std::string program = "xdg-open";
#endif
  std::string argument = path;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    throw Failure(
        kIo, Error(ErrorCode::io,
                   fmt::format("show: {} cannot be started; open {} yourself", program, escaped(path, 200)), "--open"));
  }
}

/// A new file for a page that nobody named.
std::string temporary_page() {
  std::string path = (std::filesystem::temp_directory_path() / "relayout-XXXXXX.html").string();
  const int file = mkstemps(path.data(), 5);
  if (file < 0) throw Failure(kIo, Error(ErrorCode::io, "show: cannot make " + path, "--open"));
  close(file);
  return path;
}

void write_picture(const std::string& path, const std::string& text, bool overwrite) {
  from_data([&] { write_file(path, std::as_bytes(std::span(text)), overwrite); });
}

}  // namespace

bool is_page(const ShowTarget& target) {
  return target.open || target.output.ends_with(".html") || target.output.ends_with(".htm");
}

void check_target(const ShowTarget& target) {
  if (is_page(target) || is_picture(target) || target.output == "-" || target.output.ends_with(".txt")) return;
  usage_error(fmt::format("--out {}: its name ends in .html, .svg or .txt, or it is - for the terminal",
                          escaped(target.output)),
              "--out", escaped(target.output), ".html, .svg, .txt, -");
}

int write_text(const std::string& text, const ShowTarget& target) {
  if (target.output == "-")
    write_stdout(text);
  else
    write_picture(target.output, text, target.overwrite);
  return kOk;
}

int write_shown(const Shown& shown, const ShowTarget& target) {
  if (target.json) {
    write_stdout(json_text(Json::parse(from_command_line(shown.json))));
    return kOk;
  }
  if (!is_page(target)) {
    const bool colour = target.output == "-" && colour_allowed(STDOUT_FILENO);
    return write_text(from_command_line([&] { return is_picture(target) ? shown.picture() : shown.text(colour); }),
                      target);
  }
  const std::string text = from_command_line(shown.page);
  const bool named = target.output != "-";
  const std::string path = named ? target.output : temporary_page();
  write_picture(path, text, target.overwrite || !named);
  if (target.open) open_in_browser(std::filesystem::absolute(path).string());
  if (!named) write_stdout(path + "\n");
  return kOk;
}

}  // namespace relayout::tools
