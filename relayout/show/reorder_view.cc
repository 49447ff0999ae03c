// Outline and moves of a plan, and folding moves.
#include "relayout/show/reorder_view.h"

#include <optional>
#include <utility>

#include "relayout/reorder/move_order.h"
#include "relayout/reorder/outline.h"

namespace relayout::show {
namespace {

/// Loops stand at most so deep.
constexpr int kDeepest = 4;

bool alike(const FoldedMoves& a, const FoldedMoves& b) {
  return a.count == b.count && a.fill == b.fill && a.loops == b.loops;
}
bool alike(const FoldedBlocks& a, const FoldedBlocks& b) {
  return a.box == b.box && a.moves == b.moves && a.loops == b.loops;
}
int64_t block_of(const FoldedMoves&) { return 0; }
int64_t block_of(const FoldedBlocks& blocks) { return blocks.block; }

template <typename Item>
FoldedLoop step_between(const Item& a, const Item& b) {
  return {1, b.src - a.src, b.dst - a.dst, block_of(b) - block_of(a)};
}

/// Makes one of each series of items that are alike and evenly apart. Returns whether there was one.
template <typename Item>
bool fold_once(std::vector<Item>& items) {
  std::vector<Item> out;
  for (std::size_t i = 0; i < items.size();) {
    std::size_t end = i + 1;
    if (end < items.size() && alike(items[i], items[end])) {
      const FoldedLoop step = step_between(items[i], items[end]);
      while (end < items.size() && alike(items[i], items[end]) && step_between(items[end - 1], items[end]) == step)
        ++end;
      if (end - i > 1) {
        FoldedLoop loop = step;
        loop.times = static_cast<int64_t>(end - i);
        items[i].loops.insert(items[i].loops.begin(), loop);
      }
    }
    out.push_back(std::move(items[i]));
    i = end;
  }
  const bool folded = out.size() < items.size();
  items = std::move(out);
  return folded;
}

template <typename Item>
void fold(std::vector<Item>& items) {
  for (int depth = 0; depth < kDeepest && fold_once(items); ++depth) {
  }
}

/// Takes moves in turn, and makes blocks of them.
class Folder {
 public:
  explicit Folder(std::vector<FoldedBlocks>& out) : out_(out) {}

  void add(const Move& move) {
    if (!now_ || now_->box != move.box || now_->block != move.block) {
      end();
      now_ = FoldedBlocks{move.box, move.block, move.fill ? 0 : move.src, move.dst};
    }
    now_->moves.push_back({move.fill ? 0 : move.src - now_->src, move.dst - now_->dst, move.count, move.fill});
  }

  void end() {
    if (!now_) return;
    fold(now_->moves);
    out_.push_back(*std::move(now_));
    now_.reset();
  }

 private:
  std::vector<FoldedBlocks>& out_;
  std::optional<FoldedBlocks> now_;
};

}  // namespace

ReorderView reorder_view(const Plan& plan) {
  PlanOutline outlined = outline(plan);
  ReorderView out;
  out.values = std::move(outlined.values);
  out.padding = std::move(outlined.padding);
  out.store = std::move(outlined.store);
  out.boxes = std::move(outlined.boxes);
  out.fills = std::move(outlined.fills);
  out.more = static_cast<int64_t>(outlined.more_boxes + outlined.more_fills);
  Folder folder(out.blocks);
  // Moves number the boxes of padding behind all boxes that move, of which some may be left out here.
  const auto shown = static_cast<int64_t>(out.boxes.size()), left_out = static_cast<int64_t>(outlined.more_boxes);
  out.complete = for_each_move(plan, kMostMoved, [&](Move move) {
    if (move.box >= shown) move.box = move.box < shown + left_out ? -1 : move.box - left_out;
    if (move.box >= shown + static_cast<int64_t>(out.fills.size())) move.box = -1;
    folder.add(move);
  });
  folder.end();
  fold(out.blocks);
  return out;
}

}  // namespace relayout::show
