// BoxOutline: one box of a plan as a value that people can read: where it lies, the loops over it, the method and why.
//
// A box covers some indices of the destination. Its axes stand in the order in which they run, the outermost first: the
// loops around the region, then those along the source, then those along the destination (loops.h), then the elements
// of a piece. The blocks cut both; move_order.h says in which order blocks, and the elements in them, are moved.
//
//     nchw -> nhwc of 2x3x4x5, f32:  loop n (2 | 240 -> 240 bytes)  along src hw (20 | 4 -> 12)  along dst c
//     (3 | 80 -> 4)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/extents.h"

namespace relayout {

/// An axis as a part of the nest of its box: `extent` steps, each so many units further on both sides. A unit is a
/// byte, or an element where BoxOutline::unit_bits is less than 8.
struct OutlineAxis {
  /// The elements of a piece move at once: they have no strides, because they follow each other, or are permuted.
  enum class Role : uint8_t { loop, along_src, along_dst, piece };
  /// What an axis does to the index of the destination: with every step, `place` more of one dim, `extent` times, and
  /// then again from the start with the next part. 0 as the place: the dim changes by a table, or several dims that are
  /// one axis are cut elsewhere than where one of them ends.
  struct Part {
    int dim = 0;
    int64_t place = 1, extent = 1;
    friend bool operator==(const Part&, const Part&) = default;
  };

  Role role = Role::loop;
  int64_t extent = 1;
  int64_t src = 0, dst = 0;  // strides
  bool table = false;        // a table has the offsets, and there are no strides
  std::vector<Part> parts;   // innermost first
};
constexpr std::string_view name(OutlineAxis::Role role) {
  constexpr std::string_view kNames[] = {"loop", "along src", "along dst", "piece"};
  return kNames[static_cast<std::size_t>(role)];
}

/// A buffer in the cache through which a chunk of stages goes on one side.
struct OutlineBuffer {
  bool reads = false;              // behind the source; otherwise before the destination
  int64_t stretches = 1, run = 1;  // so many stretches of so many elements are read or written for a chunk
};

/// Where the chunks of stages do not divide an axis, its last chunk is done once more, so much further on, which moves
/// some elements twice.
struct OutlineRest {
  std::size_t behind = 0;    // how many of BoxOutline::axes stand before it: those to the loop that it ends
  int64_t src = 0, dst = 0;  // as strides of an axis
};

struct BoxOutline {
  std::string kernel;  // as in explain()
  std::string method;  // in a word or two: "transpose"
  std::string why;     // a sentence without its full stop: why it is this method
  int64_t elements = 0;
  bool past_cache = false;  // whether the destination is written past the cache, in whole lines
  std::array<int64_t, 2> unit_bits{8, 8};
  std::vector<OutlineAxis> axes;
  bool one_run = false;  // what is along the destination is one run, so that it takes no steps of a loop
  /// What a block is called: "block", "chunk" or "tile"; its pieces along the source and along the destination; and how
  /// many blocks there are along each in a region, and in all.
  std::string unit = "block";
  std::array<int64_t, 2> block{1, 1}, region_blocks{1, 1};
  int64_t blocks = 1;
  std::vector<OutlineBuffer> buffers;
  std::vector<OutlineRest> rests;

  /// The index of the destination that is moved to first; and the smallest box of indices that holds all that are moved
  /// to or filled, in the padding too. Of boxes of over 65,536 elements by stages, tiles, line programs or uneven axes,
  /// and of padding, the one that holds the first and the last block. Empty where the destination has no index there.
  Dims first, origin, extents;
};

}  // namespace relayout
