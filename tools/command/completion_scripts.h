// Completion of the command in three shells: each script is made of the verbs and their options alone, so that it has
// those of this very command.
#pragma once

#include <string>
#include <vector>

#include "tools/command/command_line.h"

namespace relayout::tools {

/// The script of a shell, of shell_names(). `texts` are CommandLine::texts().
std::string bash_completion(const std::vector<VerbText>& texts);
std::string zsh_completion(const std::vector<VerbText>& texts);
std::string fish_completion(const std::vector<VerbText>& texts);

/// What may stand behind "relayout": verbs of one word, and groups.
std::vector<std::string> first_words(const std::vector<VerbText>& texts);
/// The keys of the verbs of two words.
std::vector<std::string> second_words(const std::vector<VerbText>& texts);
/// A verb's name as one word of a script: "checkpoint/list".
std::string completion_key(const VerbText& verb);

}  // namespace relayout::tools
