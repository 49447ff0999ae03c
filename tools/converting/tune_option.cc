// The flag --tune.
#include "tools/converting/tune_option.h"

#include <fmt/format.h>

#include <cstdlib>

#include "tools/command/common.h"

namespace relayout::tools {

void add_tune_option(Command& command, TuneFlag& flag, const std::string& description) {
  command.add_flag("--tune", flag, description);
}

std::optional<cpu::TuneOptions> tune_options(const TuneFlag& flag, int threads) {
  if (flag.empty()) return std::nullopt;
  cpu::TuneOptions out{.threads = threads};
  const char* file = std::getenv("RELAYOUT_TUNE_FILE");
  if (flag != "true")
    out.file = flag;
  else if (file)
    out.file = file;
  return out;
}

void report_tune_file(const cpu::Tuned& tuned) {
  if (tuned.file_error) write_stderr(fmt::format("relayout: {}; not used\n", printable(tuned.file_error->message())));
}

}  // namespace relayout::tools
