// The values that a flag or an operand is known to take, for completions: names of layouts, of element types, of verbs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/command/command_line.h"

namespace relayout::tools {

/// The names that `relayout tags` lists, and those of other systems' layouts.
std::vector<std::string> layout_names();

/// What may be typed there, the commonest first; empty where it is a file or any text. `verbs` are those of the
/// command.
std::vector<std::string> known_values(const VerbText& verb, const OptionText& option,
                                      const std::vector<std::string>& verbs);

/// The names that a build's planner knows for "--policy" and "KIND"; none for others, and without a planner.
std::vector<std::string> planner_values(std::string_view name);

/// Whether a file may be typed there: no values are known, and it is no number.
bool takes_file(const OptionText& option, const std::vector<std::string>& known);

/// The shells that completions are written for.
std::vector<std::string> shell_names();

}  // namespace relayout::tools
