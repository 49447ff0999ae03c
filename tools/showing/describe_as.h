// What `relayout describe --as SYSTEM` prints: a layout in the words of other systems.
#pragma once

#include <string>

#include "relayout/core/layout.h"

namespace relayout::tools {

/// Writes the text for one system, or for "all"; returns the exit code. `letters` name the dims. A single system that
/// cannot say the layout is Error{unsupported} with the reason.
int describe_as(const TensorDesc& desc, const std::string& letters, const std::string& system, bool json);

/// The names that --as takes, in alphabetical order, without "all".
std::string systems_text();

}  // namespace relayout::tools
