// What `relayout doctor` says of kernels: which there are (--kernels), and what RELAYOUT_KERNEL leaves out.
#pragma once

#include <string>

#include "tools/command/common.h"

namespace relayout::tools {

/// All kernels, a line each, with the number that each instruction set of this machine has.
std::string kernels_text();
/// The same, with every kernel's name.
Json kernels_json();

/// What RELAYOUT_KERNEL leaves out, and which of its items are ignored, with the reason; "" where it is not set.
std::string left_out_text();
/// The same: null where it is not set.
Json left_out_json();

}  // namespace relayout::tools
