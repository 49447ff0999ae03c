// Memory: where the buffers of a run lie, so that those that do not live at the same time share bytes.
//
//     std::vector<Lifetime> live = {{4096, 0, 1}, {4096, 1, 2}, {4096, 2, 3}};
//     place(live);                     // peak 8192: the third lies where the first was
#pragma once

#include <cstdint>
#include <span>

namespace relayout::execute {

/// A buffer that is written at step `first` and read until step `last`.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
  /// Set by place(), a multiple of 64.
  int64_t offset = 0;
};

/// Gives offsets so that no two buffers share a byte during a step in which both live: the largest first, each at the
/// lowest place that is free. Returns the peak in bytes. Cost: the square of the number of buffers.
int64_t place(std::span<Lifetime> buffers);

}  // namespace relayout::execute
