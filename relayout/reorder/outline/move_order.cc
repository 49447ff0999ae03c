// The moves of a plan, each element once.
#include "relayout/reorder/move_order.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "relayout/reorder/outline/move_walker.h"

namespace relayout {
namespace {

/// Leaves out what was done before, joins elements that follow each other in one block, and ends after so many.
class Moves {
 public:
  Moves(int64_t most, const std::function<void(const Move&)>& f) : left_(most), f_(f) {}

  /// Whether all of the moves of a box were taken.
  bool run(const PlanData& plan, const BoxPlan& box, int64_t number) {
    int64_t block = 0;
    MoveWalker walker(plan, {bits(plan.src().dtype), bits(plan.dst().dtype)},
                      [&](int64_t src, int64_t dst, int64_t count, bool fill) {
                        for (int64_t i = 0; i < count; ++i) {
                          if (!take({fill ? -1 : src + i, dst + i, 1, fill, number, block}, i > 0)) return false;
                        }
                        return true;
                      });
    for (; block < box.blocks; ++block) {
      if (!walker.block(box, {}, block)) break;
    }
    end();
    return block == box.blocks;
  }

 private:
  /// `joined`: the element follows the one before it in what a kernel is handed.
  bool take(const Move& move, bool joined) {
    if (!(move.fill ? filled_ : moved_).insert(move.dst).second) return true;
    if (left_ == 0) return false;
    --left_;
    const bool goes_on = joined && now_ && now_->fill == move.fill && now_->dst + now_->count == move.dst &&
                         (move.fill || now_->src + now_->count == move.src);
    if (goes_on) {
      ++now_->count;
      return true;
    }
    end();
    now_ = move;
    return true;
  }

  void end() {
    if (now_) f_(*now_);
    now_.reset();
  }

  int64_t left_;
  const std::function<void(const Move&)>& f_;
  std::optional<Move> now_;
  std::unordered_set<int64_t> moved_, filled_;
};

}  // namespace

bool for_each_move(const Plan& plan, int64_t most, const std::function<void(const Move&)>& f) {
  const PlanData& data = plan.data();
  Moves moves(std::max<int64_t>(most, 0), f);
  int64_t number = 0;
  for (const auto boxes : {data.boxes(), data.fills()}) {
    for (const BoxPlan& box : boxes) {
      if (!moves.run(data, box, number++)) return false;
    }
  }
  return true;
}

}  // namespace relayout
