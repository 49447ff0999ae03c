// What a user should know of a conversion.
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

}  // namespace

std::vector<std::string> notes_of(const Checkpoint& model, const Rules& rules, const Conversion& conversion) {
  if (conversion.done_before) return {"the checkpoint says that it was made by these rules, so all is left as it is"};
  std::vector<std::string> out, assumed, unmatched, skipped;
  for (const Target& target : conversion.targets) {
    if (target.assumed) assumed.push_back(target.spec.name);
    if (!target.rule) unmatched.push_back(target.spec.name);
  }
  for (const std::size_t i : conversion.skipped) skipped.push_back(model.tensors()[i].name);
  const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty()) out.push_back(what + ": " + some_names(names));
  };
  add(assumed, "taken for what the rules say, as no layout is recorded");
  for (const std::size_t r : conversion.idle) out.push_back(rules.rules[r].where + ": no tensor matches it");
  if (!rules.rules.empty()) add(unmatched, "copied as it is, as no rule matches");
  add(skipped, "left out");
  return out;
}

}  // namespace relayout::checkpoint
