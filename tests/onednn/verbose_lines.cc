// Standard output goes to a file while oneDNN prints: see verbose_lines.h.
#include "verbose_lines.h"

#include <oneapi/dnnl/dnnl.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace relayout {
namespace {

/// What is written to standard output while f runs.
std::string output_of(const std::function<void()>& f) {
  std::fflush(stdout);
  std::FILE* file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no temporary file");
  const int kept = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  const auto restore = [&] {
    std::fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
  };
  try {
    f();
  } catch (...) {
    restore();
    std::fclose(file);
    throw;
  }
  restore();
  std::string out;
  std::rewind(file);
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) out.append(buffer, got);
  std::fclose(file);
  return out;
}

}  // namespace

std::vector<onednn::VerboseLine> verbose_lines_of(const std::function<void()>& f) {
  dnnl_set_verbose(2);
  const std::string output = output_of(f);
  dnnl_set_verbose(0);
  std::vector<onednn::VerboseLine> out;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("onednn_verbose") || line.find(",info,") != std::string::npos) continue;
    out.push_back(onednn::parse_verbose_line(line));
    if (to_text(out.back()) != line) throw std::runtime_error("written as " + to_text(out.back()) + ", read " + line);
  }
  return out;
}

onednn::LibraryVersion library_version() { return {dnnl_version()->major, dnnl_version()->minor}; }

}  // namespace relayout
