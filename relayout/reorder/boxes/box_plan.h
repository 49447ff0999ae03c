// BoxPlan: how one box is done, its loops and a method (internal to the library).
//
// A method is a small struct in a file of its own (methods/), which says when it applies, and with which blocks;
// cached_price.cc says what these take, and a runner in cpu/runners/ does them. Two methods consist of other box plans
// and stand here.
//
//     if (const auto* tiles = box.as<RegisterTiles>()) use(tiles->row_run);
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "relayout/core/swizzle.h"
#include "relayout/reorder/boxes/methods/conversions.h"
#include "relayout/reorder/boxes/methods/copied_pieces.h"
#include "relayout/reorder/boxes/methods/fill.h"
#include "relayout/reorder/boxes/methods/gather.h"
#include "relayout/reorder/boxes/methods/line_program.h"
#include "relayout/reorder/boxes/methods/long_copy.h"
#include "relayout/reorder/boxes/methods/register_tiles.h"
#include "relayout/reorder/boxes/methods/repeated_runs.h"
#include "relayout/reorder/boxes/methods/sub_byte.h"
#include "relayout/reorder/boxes/methods/transposition.h"

namespace relayout {

struct BoxPlan;

/// How the elements of a chunk lie on one side: in *stretches* of `run` elements, perhaps with gaps between them, which
/// lie one after the other in a buffer, `pitch` elements apart.
struct Stretches {
  int64_t run = 1, pitch = 1, count = 1;
  /// Where stretches start on this side, and in the attribute values; the first axis changes fastest. All that again
  /// from each base on; in the buffer, bases are base_pitch elements apart.
  Axes axes;
  std::vector<int64_t> bases{0};
  int64_t base_pitch = 1;
  /// Where the first stretch starts, from the chunk's first element.
  Offsets first{};
  /// By how much the index of the attribute values grows from element to element of a stretch.
  int64_t run_attribute = 0;
  /// Where the chunk's first element lies in the buffer, in elements.
  int64_t origin = 0;
  /// Of a swizzled side: the swizzle, which is not in what stands above. Stretches are whole periods of it.
  Swizzle swizzle = {};
  /// The lines of a period, where a line has runs of one other line; else empty, and runs are copied.
  LineProgram period = {};

  bool operator==(const Stretches&) const = default;
  int64_t bytes(int64_t element) const { return ((count - 1) * pitch + run) * element; }
};

/// A *chunk* of the tensor at a time: its stretches of the source are read to a buffer in the cache, moved to another
/// buffer, and written as stretches of the destination. Where nothing is converted or unpacked, a buffer is left out.
struct Stages {
  /// The most bytes of a buffer, and the most stretches of a chunk.
  static constexpr int64_t kMaxBytes = 64 << 10, kMaxStretches = 1024;

  /// What is left over at the end of a loop, less than a chunk: the last chunk is done once more, moved by `shift`.
  struct Rest {
    std::size_t loop;
    int64_t loop_stride;  // of the loop, in the destination
    Offsets shift;

    bool operator==(const Rest&) const = default;
  };

  Stretches in, out;
  /// Whether there is a buffer behind the source, and before the destination; a swizzled side has one.
  bool reads = false, writes = false;
  /// Whether values are converted, and whether as they are written or as they are read.
  bool converts = false, converts_last = false;
  double each = 0;  // nanoseconds to convert a value
  /// Whether the second buffer first gets this value everywhere, so that padding between elements is written as well;
  /// then no other padding is left.
  bool fills = false;
  uint64_t fill = 0;
  /// The type of the elements that are moved; those of sub-byte types take a byte.
  DType between = DType::u8;
  std::vector<BoxPlan> moves;
  std::vector<Rest> rests;

  bool operator==(const Stages&) const = default;
  /// The largest of the boxes that are moved.
  const BoxPlan& moving() const;
  Told told() const;
};

/// One of the runs of a tile, and the boxes that fill it, at offsets from its start.
struct TileRun {
  int64_t begin = 0;  // in the destination, in units from where the tile starts
  /// If over 0: the boxes fill this many bytes without a gap. The bytes are put together in the cache, at byte `image`
  /// of the tile's memory, and written as a whole.
  int64_t bytes = 0, image = 0;
  int64_t elements = 0;
  std::vector<BoxPlan> boxes;

  bool operator==(const TileRun&) const = default;
};

/// *Tiles* of the destination that several boxes fill together, one after the other in the loops: put together in the
/// cache, or by a line program for each run. Each program then has as many blocks as Loops::along_src says, and the
/// runs take turns block by block.
struct TileRuns {
  /// The bytes of a tile's image, its runs of the destination, and the boxes that fill these runs.
  static constexpr int64_t kMaxBytes = kHalfL1;
  static constexpr int kMaxRuns = 16, kMaxBoxes = 64;

  std::vector<TileRun> runs;

  bool operator==(const TileRuns&) const = default;
  /// The largest box that is moved.
  const BoxPlan& largest() const;
  /// Whether each run is one box, a line program.
  bool by_lines() const;
  Told told() const;
};

using Method = std::variant<LongCopy, RepeatedRuns, CopiedPieces, Transposition, Gather, RegisterTiles, ProgrammedLines,
                            SubByte, Fill, ConvertedRuns, ConvertedTransposition, ConvertedElements, Stages, TileRuns>;

/// A box that is ready to run. With Stages and TileRuns, the loops are around these instead of a region; the pieces and
/// the sides of a block are then those of the largest box inside.
struct BoxPlan : Loops {
  Method method;

  BoxPlan() = default;
  template <typename M>
  BoxPlan(Planned<M> planned) : Loops(std::move(planned.loops)), method(std::move(planned.method)) {
    from_lines_only = past_cache && leaves_scraps();
  }

  bool operator==(const BoxPlan&) const = default;

  template <typename M>
  const M* as() const {
    return std::get_if<M>(&method);
  }
  template <typename M>
  M* as() {
    return std::get_if<M>(&method);
  }
  /// Of several boxes, the shape is that of the largest.
  Told told() const;
  KernelShape shape() const { return told().shape; }
  /// Whether a box that is written past the cache leaves parts of lines where the destination does not start at a line:
  /// it has short runs then that do not either. What is left of such a line is written much later, and a part of a line
  /// that is written past the cache waits for memory, over 100 ns. Through the cache, lines are read first but do not
  /// wait for each other. (Transpositions keep the last line of a row until the next panel.)
  bool leaves_scraps() const;
  /// Notes the pieces and blocks of the largest box inside.
  void describe(const BoxPlan& largest);
};

}  // namespace relayout
