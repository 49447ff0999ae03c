// Where `relayout show` writes: a page, SVG or text, by the name of the file, and the browser.
#pragma once

#include <functional>
#include <string>

namespace relayout::tools {

/// The writers of what is shown, of which one is called.
struct Shown {
  std::function<std::string()> page, picture, json;
  std::function<std::string(bool colour)> text;
};

struct ShowTarget {
  std::string output = "-";
  bool overwrite = false, open = false, json = false;
};

/// Whether a page is asked for.
bool is_page(const ShowTarget& target);

/// Usage error where the name of the output says no kind of file.
void check_target(const ShowTarget& target);

/// Writes it; the exit code. Failures: those of the writers, usage; io.
int write_shown(const Shown& shown, const ShowTarget& target);

/// Writes a text that is a file of its own kind, whatever its name.
int write_text(const std::string& text, const ShowTarget& target);

}  // namespace relayout::tools
