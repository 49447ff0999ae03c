// Limits: how long a call, or a primitive, can take on a machine that does nothing else, at most (internal to execute).
//
// Where a thread loses its core to another process, the threads that work with it wait for a slice of the scheduler's,
// of some milliseconds. Every run may then take the same few slices, so that run times agree well and are wrong.
// Agreement does not show this, but the work does: the limits here are far above what the slowest implementations need
// on any machine, and a small call that waited is above them.
#pragma once

namespace relayout::execute {

/// A call that does next to nothing, and what a step takes beside its primitive: microseconds. To wake all threads
/// takes some tens of them.
inline constexpr double kMostCallUs = 1000;

/// A primitive or a reorder that moves so many bytes and computes so many operations. References that compute an offset
/// for every element, and take 10 ns for a multiplication, stay below a fifth of it.
inline double most_us(double bytes, double flops) {
  constexpr double kFewestBytesPerUs = 50, kFewestFlopsPerUs = 20;
  return kMostCallUs + bytes / kFewestBytesPerUs + flops / kFewestFlopsPerUs;
}

}  // namespace relayout::execute
