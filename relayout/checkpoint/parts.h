// Moves what a conversion says: makes the bytes of new tensors part by part, on several threads, in bounded memory
// (internal to checkpoint).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "relayout/checkpoint/conversion.h"

namespace relayout::checkpoint {

struct PartOptions {
  /// 0: all that oneTBB has.
  int threads = 0;
  /// Bytes of parts and of mapped sources that are in memory at once, all threads together; 0: 1 GiB.
  int64_t max_memory = 0;
  /// Told how far the values of some rows of Conversion::groups are from what they were, where they were rounded: the
  /// largest distance, and the root of the mean square. Called from several threads, one at a time.
  std::function<void(std::size_t group, int64_t rows, double largest, double rms)> rounded{};
  /// Asked by the calling thread alone, between its own parts, and once more where other threads moved the last ones:
  /// the last call has done == total.
  GoOn go_on;
  /// Told how many values of a part were beyond the range of its target's type, where some were. Called from several
  /// threads.
  std::function<void(std::size_t target, int64_t values)> beyond;
};

/// The least that PartOptions::max_memory may be.
inline constexpr int64_t kLeastMemory = 16 << 20;

/// Those of a conversion. Error{invalid_argument} where its memory is less.
struct ConvertOptions;
PartOptions part_options(const ConvertOptions& options);

/// What is done with a part of a target: its bytes from byte `at` on. Called from several threads.
using Sink = std::function<void(std::size_t target, int64_t at, std::span<const std::byte> bytes)>;

/// Gives every byte of the targets `wanted` (indices of Conversion::targets) to `sink`, each once, and calls `done`
/// when it has had all of a target. Parts come about in the order of `wanted`. Errors: those of Checkpoint::contents
/// and of the sink; interrupted.
void each_part(const Checkpoint& model, const Conversion& conversion, std::span<const std::size_t> wanted,
               const PartOptions& options, const Sink& sink, const std::function<void(std::size_t)>& done);

}  // namespace relayout::checkpoint
