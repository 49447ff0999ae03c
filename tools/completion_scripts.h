// Completion of the command in three shells: each script is made of the verbs and their options alone, so that it has
// those of this very command.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line.h"

namespace relayout::tools {

/// The script of a shell, of shell_names(). `texts` are CommandLine::texts().
std::string bash_completion(const std::vector<VerbText>& texts);
std::string zsh_completion(const std::vector<VerbText>& texts);
std::string fish_completion(const std::vector<VerbText>& texts);

}  // namespace relayout::tools
