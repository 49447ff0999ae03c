// Which rules were applied to a checkpoint, as its metadata records it (internal to checkpoint). Names and orders of
// indices have no record a tensor, and only this tells whether a rule would be applied twice.
#pragma once

#include <string>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/rules/rules.h"

namespace relayout::checkpoint {

class RuleHistory {
 public:
  /// What the metadata has under kRulesKey: rules in TOML, in the order in which they were applied.
  explicit RuleHistory(const Checkpoint& model);

  /// Whether this very rule was applied and not undone by its inverse since then.
  bool applied(const Rule& rule) const;
  /// Whether the rule's inverse was applied and this one not since then, so that there is something to undo.
  bool undoes(const Rule& rule) const;
  /// The history with one more rule.
  void add(const Rule& rule);
  /// As the metadata has it; "" of no rules.
  std::string text() const;

 private:
  /// The last place of a rule; -1 where there is none.
  int64_t last(const Rule& rule) const;
  int64_t last_inverse(const Rule& rule) const;

  std::vector<std::string> entries_;
};

}  // namespace relayout::checkpoint
