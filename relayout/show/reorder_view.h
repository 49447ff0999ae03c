// ReorderView: how a plan moves the elements of one view to another, as a part of a scene.
//
// It has the plan's outline and its moves, in the order in which they are made (reorder/move_order.h). A plan repeats
// itself: rows of a block, blocks of a box. So moves that are alike and evenly apart are *folded* into loops, and
// blocks of such moves once more; a page unfolds them.
//
//     nchw -> nhwc of 1x3x4x5: one block, {src 0, dst 0, count 1, 20 times +1 +3, 3 times +20 +1}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/reorder/box_outline.h"

namespace relayout {
class Plan;
}

namespace relayout::show {

/// So many times, each so many elements further on both sides, and blocks further.
struct FoldedLoop {
  int64_t times = 1, src = 0, dst = 0, block = 0;
  friend bool operator==(const FoldedLoop&, const FoldedLoop&) = default;
};

/// Moves of one block, from where the block starts on both sides; `loops` outermost first. A fill has src 0.
struct FoldedMoves {
  int64_t src = 0, dst = 0, count = 1;
  bool fill = false;
  std::vector<FoldedLoop> loops{};
  friend bool operator==(const FoldedMoves&, const FoldedMoves&) = default;
};

/// Blocks of one box that are alike.
struct FoldedBlocks {
  int64_t box = 0, block = 0, src = 0, dst = 0;
  std::vector<FoldedMoves> moves{};
  std::vector<FoldedLoop> loops{};
};

struct ReorderView {
  /// As in PlanOutline.
  std::string values{}, padding{}, store{};
  std::vector<BoxOutline> boxes{}, fills{};
  int64_t more = 0;  // boxes of both kinds that are not among these
  /// The moves of the first kMostMoved elements; `complete`: there are no others.
  std::vector<FoldedBlocks> blocks{};
  bool complete = true;
};

inline constexpr int64_t kMostMoved = 65536;

/// Errors: those of outline() (reorder/outline.h).
ReorderView reorder_view(const Plan& plan);

/// As JSON (docs/show.md). `letters` are those of the destination's dims.
std::string reorder_json(const ReorderView& view, const Layout& dst, const std::string& letters);

/// One line of a nest: "for c/8 in 0..1", what one step is on both sides, and how deep it stands.
struct NestLine {
  std::string words, steps;
  int depth = 0;
};
/// The loops of a box, then its blocks, then rows, columns and pieces.
std::vector<NestLine> nest_lines(const BoxOutline& box, const Layout& dst, const std::string& letters);
/// "c/8": what an axis is of the destination's index. "" where it has no place there.
std::string axis_words(const OutlineAxis& axis, const Layout& dst, const std::string& letters);
/// "n 0..1, c 16, h 0..4": the indices that a box covers.
std::string covered_words(const BoxOutline& box, const std::string& letters);

/// A box as it is told: a heading, and pairs of a label and words.
struct BoxWords {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> lines{};
  std::vector<NestLine> nest{};
};
/// All boxes, those that fill padding behind the others, under what the plan as a whole does.
struct ReorderWords {
  std::string summary;
  std::vector<BoxWords> boxes{};
};
ReorderWords reorder_words(const ReorderView& view, const Layout& dst, const std::string& letters);

}  // namespace relayout::show
