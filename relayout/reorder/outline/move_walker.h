// MoveWalker: goes through the blocks of box plans and says what is moved (internal to reorder; move_order.h has the
// order).
//
// It reads the same values as the runners of cpu/runners/ do, and knows of each method only how its blocks name
// elements. Nothing is moved, so it serves pictures and explanations.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "relayout/reorder/planner/plan_data.h"

namespace relayout {

/// Bits of the destination that a piece of a box has.
inline int64_t piece_bits(const Loops& box) { return std::max<int64_t>(1, box.piece[kDst]) * box.unit_bits[kDst]; }

class MoveWalker {
 public:
  /// Of `count` elements that follow each other, where the first is read and written, in elements of each side; with
  /// `fill`, nothing is read. Returning false stops the walk.
  using Found = std::function<bool(int64_t src, int64_t dst, int64_t count, bool fill)>;

  /// `bits`: of an element on each side.
  MoveWalker(const PlanData& plan, std::array<int64_t, 2> bits, Found found)
      : plan_(plan), tables_(plan.tables()), bits_(bits), found_(std::move(found)) {}

  /// One block of a box. `base` is where the box's offsets count from, in its units. False where the walk was stopped;
  /// so below.
  bool block(const BoxPlan& box, const Offsets& base, int64_t number);
  bool whole(const BoxPlan& box, const Offsets& base);
  /// The rows and columns [begin, end) of a region that starts at `at`.
  struct Part {
    int64_t row_begin, row_end, col_begin, col_end;
  };
  bool region(const BoxPlan& box, const Offsets& at, const Part& part);

  /// Where the loops of a box are at a position, with the box's own offset; and the index of each loop.
  Offsets loops_at(const Loops& box, const Offsets& base, int64_t position,
                   std::vector<int64_t>* index = nullptr) const;

 private:
  void step(Offsets& to, const Axis& axis, int64_t j) const;
  /// What row or column i adds: `axes` are fused, the innermost first.
  Offsets listed(const Axes& axes, int64_t i) const;
  /// Bits of the destination that are moved as one; of several elements, those whose first bit is among them.
  bool found_bits(const BoxPlan& box, const Offsets& at, int64_t bits, bool fill = false);

  bool rows(const BoxPlan& box, const Offsets& at, const Part& part);
  bool filled(const BoxPlan& box, const Fill& method, const Offsets& at, const Part& part);
  bool tiles(const BoxPlan& box, const RegisterTiles& method, const Offsets& at, const Part& part);
  bool lines(const BoxPlan& box, const ProgrammedLines& method, const Offsets& at, const Part& part);
  bool unit(const LineProgram& program, int64_t src, int64_t dst);
  bool tile_runs(const TileRuns& method, const Offsets& at, int64_t strip);
  bool stages(const BoxPlan& box, const Stages& method, const Offsets& base, int64_t number);
  bool chunk(const Stages& method, const Offsets& at);

  const PlanData& plan_;
  const Tables& tables_;
  std::array<int64_t, 2> bits_;
  Found found_;
};

}  // namespace relayout
