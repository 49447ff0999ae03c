// Rules that come with the library, by name: those of common pairs of frameworks. Each is a file in data/, which says
// in its first lines what it does.
//
//     const KnownRules* rules = find_known_rules("pytorch-mlx");
//     Rules::from_toml(rules->text, std::string(rules->name));
#pragma once

#include <span>
#include <string_view>

#include "relayout/cxx20.h"

namespace relayout::checkpoint {

struct KnownRules {
  std::string_view name;  // "pytorch-mlx"
  std::string_view text;  // TOML
};

/// All of them, by name.
std::span<const KnownRules> known_rules();
/// Those of a name, or null.
const KnownRules* find_known_rules(std::string_view name);

}  // namespace relayout::checkpoint
