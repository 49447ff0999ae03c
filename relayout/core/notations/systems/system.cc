// What a name of a system means: see system.h.
#include "relayout/core/notations/systems/system.h"

#include <algorithm>

#include "relayout/core/nearest.h"

namespace relayout {

Spelled read_name(NotationText& text, const NamedSystem& system) {
  const std::size_t at = text.at();
  const std::string_view word = text.all();
  const auto found = std::ranges::find(system.names, word, &SystemName::name);
  if (found == system.names.end()) {
    std::string list;
    std::vector<std::string_view> known;
    for (const SystemName& name : system.names) {
      list += (list.empty() ? "" : ", ") + std::string(name.name);
      known.push_back(name.name);
    }
    text.fail(at, std::string(system.title) + " has no such format; there are " + list + did_you_mean(word, known));
  }
  Spelled out;
  out.tag = found->layout;
  out.names = found->letters;
  if (found->one_image) out.unit_dim = 0;
  return out;
}

}  // namespace relayout
