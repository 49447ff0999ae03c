// BoxPlan: how one box is done, its loops and a method (internal to the library).
//
// A method is a small struct in a file of its own (methods/), which says when it applies, with which blocks, and at
// what price; a runner in cpu/runners/ does it. Two methods consist of other box plans and stand here.
//
//     if (const auto* tiles = box.as<RegisterTiles>()) use(tiles->row_run);
#pragma once

#include <string_view>

#include "relayout/reorder/methods/chunks.h"
#include "relayout/reorder/methods/conversions.h"
#include "relayout/reorder/methods/fill.h"
#include "relayout/reorder/methods/line_program.h"
#include "relayout/reorder/methods/long_copy.h"
#include "relayout/reorder/methods/nibbles.h"
#include "relayout/reorder/methods/permuted_rows.h"
#include "relayout/reorder/methods/register_tiles.h"

namespace relayout {

struct BoxPlan;

/// A conversion by stages, which are done one after the other inside the loops. Between them, elements of the narrower
/// type lie in the cache. The first stage converts dense stretches of the source, and the others move the result; with
/// converts_last, the others come first, and the last stage converts.
struct Stages {
  /// The most bytes between the stages, the most bytes of a group, and the most stages.
  static constexpr int64_t kMaxBytes = kHalfL1, kMaxGroup = 64;
  static constexpr int kMaxStages = 3;

  std::vector<BoxPlan> stages;
  int64_t bytes = 0;  // between the stages
  bool converts_last = false;
  /// If over 0: elements of one byte lie in the cache in groups of group_rows rows of group_cols bytes. Between the
  /// conversion and the moves each group is transposed in the cache, so that each of its columns moves as one larger
  /// element.
  int64_t group_rows = 0, group_cols = 0;

  const BoxPlan& converting() const;
  /// The larger of the boxes that are moved.
  const BoxPlan& moving() const;
};

/// One of the runs of a tile, and the boxes that fill it, at offsets from its start.
struct TileRun {
  int64_t begin = 0;  // in the destination, in units from where the tile starts
  /// If over 0: the boxes fill this many bytes without a gap. The bytes are put together in the cache, at byte `image`
  /// of the tile's memory, and written as a whole.
  int64_t bytes = 0, image = 0;
  int64_t elements = 0;
  /// For a run whose rows are alike and follow each other: where lines can be made straight from the source.
  RowPattern rows;
  std::vector<BoxPlan> boxes;
};

/// *Tiles* of the destination that several boxes fill together, one after the other in the loops.
struct TileRuns {
  /// The bytes of a tile's image, its runs of the destination, and the boxes that fill these runs.
  static constexpr int64_t kMaxBytes = kHalfL1;
  static constexpr int kMaxRuns = 16, kMaxBoxes = 64;

  std::vector<TileRun> runs;

  /// The largest box that is moved.
  const BoxPlan& largest() const;
};

using Method = std::variant<LongCopy, CopiedPieces, PermutedGroups, Transposition, Gather, Chunks, RegisterTiles,
                            ProgrammedLines, PermutedRows, Nibbles, Fill, ConvertedRuns, ConvertedTransposition,
                            ConvertedElements, Stages, TileRuns>;

/// What a method does in one word, as it is told to users.
enum class KernelShape : uint8_t {
  copy,       // runs that are contiguous on both sides
  transpose,  // rows contiguous in the source, columns contiguous in the destination
  gather,     // anything else, element by element
  fill,       // padding
};
std::string_view name(KernelShape shape);

/// A box that is ready to run. With Stages and TileRuns, the loops are around these instead of a region; the pieces and
/// the sides of a block are then those of the largest box inside.
struct BoxPlan : Loops {
  Method method;

  BoxPlan() = default;
  template <typename M>
  BoxPlan(Planned<M> planned) : Loops(std::move(planned.loops)), method(std::move(planned.method)) {}

  template <typename M>
  const M* as() const {
    return std::get_if<M>(&method);
  }
  template <typename M>
  M* as() {
    return std::get_if<M>(&method);
  }
  /// Of several boxes, that of the largest.
  KernelShape shape() const;
  /// Notes the pieces and blocks of the largest box inside.
  void describe(const BoxPlan& largest);
};

}  // namespace relayout
