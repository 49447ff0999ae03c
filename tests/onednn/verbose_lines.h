// The verbose lines that oneDNN prints to standard output while a function runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "relayout/interop/onednn_verbose.h"

namespace relayout {

/// The lines about primitives. Each is parsed, and parsing and writing it gives the same text, or std::runtime_error is
/// thrown. Lines about the library and the machine are left out.
std::vector<onednn::VerboseLine> verbose_lines_of(const std::function<void()>& f);

/// The version of the library that runs.
onednn::LibraryVersion library_version();

}  // namespace relayout
