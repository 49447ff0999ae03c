// Makes the bytes of packed weights in their new format, some rows at a time (internal to checkpoint).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "relayout/checkpoint/packed/group.h"

namespace relayout::checkpoint {

/// A part of one of the new tensors.
struct MadeBuffer {
  std::string buffer;
  int64_t at = 0;  // its first byte in the tensor
  std::vector<std::byte> bytes;
};
struct MadePart {
  std::vector<MadeBuffer> buffers;
  bool exact = true;
  double largest_error = 0, rms_error = 0;
};

/// How many indices of the new matrix' first dim there are, and of how many a part must be a multiple.
struct PartSizes {
  int64_t extent = 0, unit = 1;
  /// Bytes of memory that an index takes while it is made, besides the sources.
  int64_t bytes = 0;
};
/// Whole matrices alone where their values are quantised anew, which one group of values decides for all, and where
/// rows are in the order of activations.
PartSizes part_sizes(const PackedGroup& group);

/// The indices [begin, begin + count) of the new matrix' first dim. `sources` are the buffers of PackedGroup::sources.
/// Errors: those of cpu::repack(), cpu::quantise() and cpu::dequantize(), with the tensor and the rule, and with
/// indices in the whole matrix.
MadePart make_part(const PackedGroup& group, std::span<const cpu::PackedBuffer> sources, int64_t begin, int64_t count);

}  // namespace relayout::checkpoint
