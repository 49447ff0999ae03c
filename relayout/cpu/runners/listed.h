// Runs the blocks of a box one after the other, each with lists of where its rows and columns start (internal to cpu).
#pragma once

#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {

/// The lists of a box's blocks. A box that is run again from other addresses takes over those that are the same.
struct BlockLists {
  Starts2 rows, cols;

  BlockLists(const BoxPlan& box, const Tables& tables)
      : rows(box.along_src.axes, &tables), cols(box.along_dst.axes, &tables) {}
};

/// Runs blocks [begin, end) of a box of any method that makes blocks.
void run_listed(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end,
                BlockLists& lists);
inline void run_listed(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin,
                       int64_t end) {
  BlockLists lists(box, tables);
  run_listed(context, box, tables, begin, end, lists);
}

/// run_blocks() of a box whose lists are kept.
void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end,
                BlockLists& lists);

}  // namespace relayout::cpu
