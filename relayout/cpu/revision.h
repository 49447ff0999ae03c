// Revision: identifies the code of the reorders, so that tuning results are used only with the code that was measured
// (internal to cpu).
#pragma once

#include <string_view>

namespace relayout::cpu {

/// 16 hexadecimal digits of the sources of core, reorder and cpu, the compiler and its flags
/// (cmake/SourceRevision.cmake): a tuning for another revision's kernels need not suit these.
std::string_view source_revision();

}  // namespace relayout::cpu
