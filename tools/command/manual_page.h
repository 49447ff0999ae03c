// The manual page of the command, written from what its help says.
#pragma once

#include <string>
#include <vector>

#include "tools/command/command_line.h"

namespace relayout::tools {

/// relayout(1) in troff's man macros. `texts` are CommandLine::texts().
std::string manual_page(const std::vector<VerbText>& texts);

}  // namespace relayout::tools
