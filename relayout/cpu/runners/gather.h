// Moving single elements (internal to cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// Calls f with a value of the unsigned type of `bytes` bytes: 1, 2, 4, 8 or 16.
template <typename F>
void with_element(int64_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return f(Bytes16());
  }
}

/// Moves the elements of a block one by one. `loops` tell their bytes and the axes of rows and columns.
void gather_elements(const RunContext& context, const Loops& loops, const Block& block);

}  // namespace relayout::cpu
