// What a box plan says of itself, whatever its method.
#include "relayout/reorder/boxes/box_plan.h"

#include <algorithm>

namespace relayout {
namespace {

KernelShape shape_of(const LongCopy&) { return KernelShape::copy; }
KernelShape shape_of(const RepeatedRuns&) { return KernelShape::copy; }
KernelShape shape_of(const CopiedPieces&) { return KernelShape::copy; }
KernelShape shape_of(const Transposition&) { return KernelShape::transpose; }
KernelShape shape_of(const Gather&) { return KernelShape::gather; }
KernelShape shape_of(const RegisterTiles&) { return KernelShape::transpose; }
KernelShape shape_of(const ProgrammedLines&) { return KernelShape::gather; }
KernelShape shape_of(const SubByte&) { return KernelShape::gather; }
KernelShape shape_of(const Fill&) { return KernelShape::fill; }
KernelShape shape_of(const ConvertedRuns&) { return KernelShape::copy; }
KernelShape shape_of(const ConvertedTransposition&) { return KernelShape::transpose; }
KernelShape shape_of(const ConvertedElements& method) { return method.runs ? KernelShape::copy : KernelShape::gather; }
KernelShape shape_of(const Stages& method) { return method.moving().shape(); }
KernelShape shape_of(const TileRuns& method) { return method.largest().shape(); }

}  // namespace

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

KernelShape BoxPlan::shape() const {
  return std::visit([](const auto& m) { return shape_of(m); }, method);
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
