// The rules of a verb of the group checkpoint: --map and --rules, and what a conversion has to say of itself.
#pragma once

#include <string>
#include <vector>

#include "relayout/checkpoint/conversion.h"
#include "tools/common.h"

namespace relayout::tools {

struct RulesOptions {
  std::vector<std::string> maps;
  std::string file;
  bool invert = false;
};

void add_rules_options(Command& command, RulesOptions& options);

/// The rules of --map, in their order, and behind them the file's; their inverse with --invert. Failure: usage.
checkpoint::Rules rules_argument(const RulesOptions& options);

/// Sentences, one a line: tensors whose layout was taken from a rule, rules that match nothing, tensors without a rule.
std::vector<std::string> notes_of(const checkpoint::Checkpoint& model, const checkpoint::Rules& rules,
                                  const checkpoint::Conversion& conversion);

}  // namespace relayout::tools
