// --tune: choosing a plan by measuring, for the verbs that move data.
#pragma once

#include <optional>
#include <string>

#include "relayout/cpu/tune.h"
#include "tools/command/command_line.h"

namespace relayout::tools {

/// The FILE of --tune=FILE, "true" for --tune alone, "" without.
using TuneFlag = std::string;

/// --tune[=FILE]; FILE must follow "=", so that none of the verb's own files is taken for it.
void add_tune_option(Command& command, TuneFlag& flag, const std::string& description);

/// What the flag asks for. Results are kept in its FILE, else in that of RELAYOUT_TUNE_FILE in the environment, else
/// not. Nothing where it is not given.
std::optional<cpu::TuneOptions> tune_options(const TuneFlag& flag, int threads);

/// Says on standard error what was wrong with the file, if anything: the plan is good without it.
void report_tune_file(const cpu::Tuned& tuned);

}  // namespace relayout::tools
