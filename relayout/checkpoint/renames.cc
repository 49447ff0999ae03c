// Names that go through several rules (renames.h).
#include "relayout/checkpoint/renames.h"

namespace relayout::checkpoint {

std::string Renames::behind(std::size_t rule, std::string name) {
  const Rule& it = rules_.rules[rule];
  if (!it.go_on) return name;
  const auto captures = it.match[0].match(name);
  if (!captures || history_.applied(it, name)) return name;
  used_[rule] = true;
  return it.rename->with(*captures);
}

void Renames::finish(Target& target) {
  const Rule* counted = target.rule ? &rules_.rules[*target.rule] : nullptr;
  const bool named = counted && target.state == TargetState::converted &&
                     (counted->rename || counted->split || counted->merge || counted->repack);
  std::string name = target.spec.name;
  for (std::size_t r = named ? *target.rule + 1 : 0; r < rules_.rules.size(); ++r) name = behind(r, std::move(name));
  if (name == target.spec.name) return;
  target.spec.name = std::move(name);
  target.state = TargetState::converted;
}

}  // namespace relayout::checkpoint
