// Revision: which code is measured (internal to execute).
#pragma once

#include <string_view>

namespace relayout::execute {

/// 16 hexadecimal digits of the library's sources, compiler and flags (cmake/SourceRevision.cmake). Times and
/// implementations that another revision has found may be different ones.
std::string_view source_revision();

}  // namespace relayout::execute
