// The names that rules with `go_on` make, before and behind the rule that counts (internal to checkpoint).
#pragma once

#include <string>
#include <vector>

#include "relayout/checkpoint/history.h"
#include "relayout/checkpoint/target.h"

namespace relayout::checkpoint {

class Renames {
 public:
  Renames(const Rules& rules, const RuleHistory& history)
      : rules_(rules), history_(history), used_(rules.rules.size()) {}

  /// What a rule makes of a name: another one where it has go_on, matches the name, and was not applied to the file.
  std::string behind(std::size_t rule, std::string name);
  /// Gives a target the name that all these rules make of it: those behind the rule that counts where that made a name,
  /// and else all.
  void finish(Target& target);
  /// Which rules made a name of another one.
  const std::vector<bool>& used() const { return used_; }

 private:
  const Rules& rules_;
  const RuleHistory& history_;
  std::vector<bool> used_;
};

}  // namespace relayout::checkpoint
