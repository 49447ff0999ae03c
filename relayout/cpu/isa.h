// The instruction set that kernels are made for: the best of this machine, or one that is asked for.
#pragma once

#include <string_view>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout::cpu {

/// The instruction set in use, e.g. "avx512". The best this machine has, unless RELAYOUT_ISA
/// (or set_isa) names another; RELAYOUT_ISA=scalar forces plain C++.
std::string_view isa();
/// The instruction sets that this machine can run, worst first ("scalar" is always there).
std::vector<std::string_view> available_isas();
/// Forces one of available_isas(), or the default with "". Error{unsupported} lists them. Must not be called while a
/// reorder runs.
void set_isa(std::string_view name);

}  // namespace relayout::cpu
