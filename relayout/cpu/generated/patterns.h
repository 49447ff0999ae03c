// Patterns: a destination cut into patches, of which those whose elements lie alike in the source are instances of one
// pattern (internal to cpu). Code is generated once for each pattern, as a loop over its instances.
//
//     u8 nChw6c -> nChw16c, 41 channels: patches of 384 bytes, all blocks of some images; the last images are a pattern
//     of their own
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "relayout/cpu/generated/origins.h"

namespace relayout::cpu {

struct Instance {
  int64_t src, dst;  // in bytes; src is that of the patch's first element of the source
};

struct Pattern {
  int64_t bytes = 0;
  std::vector<Instance> instances;

  /// The least and the largest src of its instances.
  std::pair<int64_t, int64_t> reach() const;
};

/// How a destination is cut: into periods, and these into patches. The last patch of a period starts earlier than a
/// multiple of its bytes, so that it is whole, and some elements are moved twice. Both are multiples of an element.
struct Cut {
  int64_t period = 0, patch = 0;
  bool operator==(const Cut&) const = default;
};

/// The patterns of a cut, or nothing where these are more than `most`. The windows of 64 bytes that an instance
/// reads must lie within the source; instances at its ends, for which they may not, are patterns of their own.
std::optional<std::vector<Pattern>> patterns_of(const Origins& origins, const Cut& cut, int64_t src_bytes,
                                                std::size_t most);

/// Where the first element of some bytes of the destination lies in the source; 0 where there is none.
int64_t first_origin(const Origins& origins, int64_t dst, int64_t bytes);

}  // namespace relayout::cpu
