// What a box plan says of itself, whatever its method.
#include "relayout/reorder/boxes/box_plan.h"

#include <algorithm>

namespace relayout {

std::string_view name(KernelShape shape) {
  switch (shape) {
    case KernelShape::copy: return "copy";
    case KernelShape::transpose: return "transpose";
    case KernelShape::gather: return "gather";
    case KernelShape::fill: return "fill";
  }
  return "";
}

const BoxPlan& Stages::moving() const { return *std::ranges::max_element(moves, {}, &BoxPlan::elements); }

const BoxPlan& TileRuns::largest() const {
  const BoxPlan* out = nullptr;
  for (const TileRun& run : runs) {
    for (const BoxPlan& box : run.boxes) {
      if (!box.as<Fill>() && (!out || box.elements > out->elements)) out = &box;
    }
  }
  return *out;
}

bool TileRuns::by_lines() const { return runs[0].boxes[0].as<ProgrammedLines>() != nullptr; }

Told Stages::told() const {
  const KernelShape shape = moving().shape();
  if (!writes)
    return {shape, "stages",
            "the source is read in long stretches by way of the cache, and elements change places there"};
  if (!reads)
    return {shape, "stages",
            "the destination is written in long stretches by way of the cache, and elements change places there"};
  return {shape, "stages",
          "both sides are reached in long stretches by way of the cache, and elements change places there"};
}

Told TileRuns::told() const {
  const KernelShape shape = largest().shape();
  if (by_lines())
    return {shape, "line programs",
            "several boxes write to the same lines of the destination, so that each run of it is put together by "
            "permutations of bytes, and runs that read the same lines take turns"};
  return {shape, "tiles",
          "several boxes write to the same lines of the destination, so that each line is written once, tile by tile"};
}

Told BoxPlan::told() const {
  const auto of = []<typename M>(const M& m) -> Told {
    if constexpr (requires { M::kTold; })
      return M::kTold;
    else
      return m.told();
  };
  return std::visit(of, method);
}

bool BoxPlan::leaves_scraps() const {
  if (as<Transposition>() || as<ConvertedTransposition>()) return run_of_rows(*this) < kLongRunOfRows;
  const int64_t run = !along_dst.dense       ? piece[kDst]
                      : along_dst.blocks > 1 ? along_dst.block * piece[kDst]
                                             : run_of_rows(*this);
  // Waiting for the two parts of lines of a shorter run takes longer than reading its lines before they are written.
  return as<CopiedPieces>() && run < 2 * kLongRunOfRows;
}

void BoxPlan::describe(const BoxPlan& largest) {
  piece = largest.piece;
  long_runs = largest.long_runs;
  along_dst.count = largest.along_dst.count;
  along_src.block = largest.along_src.block;
  along_dst.block = largest.along_dst.block;
}

}  // namespace relayout
