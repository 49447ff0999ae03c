// Paths by the XDG specification, and the processor's name from Linux's /proc/cpuinfo.
#include "relayout/io/user_cache.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace relayout::io {

namespace fs = std::filesystem;

fs::path cache_file(const char* variable, std::string_view name) {
  const auto path_in = [](const char* of) {
    const char* value = std::getenv(of);
    return fs::path(value ? value : "");
  };
  if (const fs::path file = path_in(variable); !file.empty()) return file;
  fs::path folder = path_in("XDG_CACHE_HOME");
  if (!folder.is_absolute()) {
    const fs::path home = path_in("HOME");
    if (!home.is_absolute()) return {};
    folder = home / ".cache";
  }
  return folder / "relayout" / name;
}

std::string processor() {
  static const std::string kName = [] {
    std::ifstream file("/proc/cpuinfo");
    std::string out, line;
    while (std::getline(file, line) && !line.empty()) {
      for (const char* field : {"model name", "cpu family", "model\t", "CPU implementer", "CPU part"}) {
        if (line.starts_with(field)) out += line.substr(std::min(line.find(':'), line.size())) + " ";
      }
    }
    return out;
  }();
  return kName;
}

}  // namespace relayout::io
