// Machine code of patterns, by Xbyak, for processors with AVX-512 VBMI (internal to cpu).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relayout/cpu/generated/lines.h"

namespace relayout::cpu {

struct ListedPattern {
  Pattern pattern;
  PatchLines lines;
  Readable readable;
};

/// The code of a function of two pointers, source and destination, and its constants, which may be copied anywhere that
/// starts at a line. Empty where it would be too large.
std::vector<std::byte> emit(const std::vector<ListedPattern>& patterns);

}  // namespace relayout::cpu
