// Which rules were applied to a checkpoint, as its metadata records it (internal to checkpoint). Names and orders of
// indices have no record a tensor, and only this tells whether a rule would be applied twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/rules/rules.h"
#include "relayout/checkpoint/target.h"

namespace relayout::checkpoint {

class RuleHistory {
 public:
  /// What the metadata has under kRulesKey: rules in TOML, in the order in which they were applied, each with the names
  /// in a comment that it matches and was not applied to, as another rule took them.
  explicit RuleHistory(const Checkpoint& model);

  /// Whether this very rule was applied to a tensor of this name, and not undone by its inverse since then. Error
  /// {invalid_argument} where the files of the checkpoint record different rules, so that nobody knows.
  bool applied(const Rule& rule, std::string_view name) const;
  /// Whether the rule's inverse was applied and this one not since then, so that there is something to undo.
  bool undoes(const Rule& rule) const;
  /// The history with one more rule, which was not applied to these tensors, though it matches them.
  void add(const Rule& rule, std::vector<std::string> except);
  /// As the metadata has it; "" of no rules.
  std::string text() const;

 private:
  /// The last place of a rule; -1 where there is none.
  int64_t last(const Rule& rule) const;
  int64_t last_inverse(const Rule& rule) const;

  struct Entry {
    std::string toml;
    std::vector<std::string> except;
  };

  std::vector<Entry> entries_;
  std::optional<std::pair<std::string, std::string>> differing_;  // files that record different rules
};

/// The tensors, of those that other rules or none made, whose names this rule matches, both the new one and that of the
/// first source, so that a next run would apply it to them.
std::vector<std::string> not_applied_to(const Checkpoint& model, const Rules& rules, std::size_t rule,
                                        const std::vector<Target>& targets);

}  // namespace relayout::checkpoint
