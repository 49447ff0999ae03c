// What a user should know of a conversion: its states, how many there are, and its notes.
#include <algorithm>

#include "relayout/checkpoint/conversion.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

/// "a", "b", "c" and 4 more.
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    out += (i == 0 ? "\"" : ", \"") + escaped(names[i], 100) + "\"";
  return names.size() > kNamed ? out + " and " + std::to_string(names.size() - kNamed) + " more" : out;
}

/// Why a rule was applied to nothing.
std::string why_idle(const Checkpoint& model, const Rule& rule) {
  std::string patterns;
  for (const NamePattern& pattern : rule.match) {
    patterns += (patterns.empty() ? "\"" : ", \"") + escaped(pattern.text(), 100) + "\"";
    for (const CheckpointTensor& tensor : model.tensors())
      if (pattern.match(tensor.name) && (!rule.rank || *rule.rank == tensor.shape.size()))
        return "rules before it take all that " + patterns + " matches";
  }
  return "no tensor matches " + patterns;
}

}  // namespace

std::string_view name(TargetState state) {
  return state == TargetState::copied ? "copied" : state == TargetState::converted ? "converted" : "already";
}

std::size_t Conversion::count(TargetState state) const {
  return static_cast<std::size_t>(std::ranges::count(targets, state, &Target::state));
}

std::vector<std::string> notes_of(const Checkpoint& model, const Rules& rules, const Conversion& conversion) {
  std::vector<std::string> out, assumed, unmatched, skipped;
  for (const Target& target : conversion.targets) {
    if (target.assumed) assumed.push_back(target.spec.name);
    if (!target.rule) unmatched.push_back(target.spec.name);
  }
  for (const std::size_t i : conversion.skipped) skipped.push_back(model.tensors()[i].name);
  const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty()) out.push_back(what + ": " + some_names(names));
  };
  add(assumed, "taken for what the rules say, as nothing is recorded of it");
  for (const std::size_t r : conversion.applied_before)
    out.push_back(rules.rules[r].where +
                  ": the checkpoint records that it was applied, so what it matches is left as it is");
  for (const std::size_t r : conversion.idle)
    out.push_back(rules.rules[r].where + ": " + why_idle(model, rules.rules[r]));
  if (rules.rules.empty()) out.emplace_back("there are no rules");
  if (!rules.rules.empty()) add(unmatched, "copied as it is, as no rule matches");
  add(skipped, "left out");
  return out;
}

}  // namespace relayout::checkpoint
