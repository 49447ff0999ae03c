// The rules of a verb of the group checkpoint: --map and --rules.
#pragma once

#include <string>
#include <vector>

#include "relayout/checkpoint/rules/rules.h"
#include "tools/command/common.h"

namespace relayout::tools {

struct RulesOptions {
  std::vector<std::string> maps;
  std::string file;
  bool invert = false;
};

void add_rules_options(Command& command, RulesOptions& options);

/// The rules of --map, in their order, and behind them the file's; their inverse with --invert. Failure: usage, io.
checkpoint::Rules rules_argument(const RulesOptions& options);

}  // namespace relayout::tools
