// Revision: which code is measured (internal to execute).
#pragma once

#include <string_view>

namespace relayout::execute {

/// 16 hexadecimal digits of the library's sources, compiler and flags (cmake/SourceRevision.cmake): times and ways that
/// another revision has found are not this one's.
std::string_view source_revision();

}  // namespace relayout::execute
