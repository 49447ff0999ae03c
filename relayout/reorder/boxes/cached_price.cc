// What each method takes in the first-level cache: to start a block, and for what a block has of lines, registers,
// pieces or values. The numbers are in price.h.
#include "relayout/reorder/boxes/cached_price.h"

#include <algorithm>
#include <bit>

#include "relayout/reorder/price.h"

namespace relayout {
namespace {

/// Whether a transposition has a kernel of its own for so few rows or columns (see transpose_by_kernel()).
bool has_few(const Loops& box, int64_t piece) {
  const bool into_rows =
      box.along_src.axes.size() == 1 && box.along_src.axes[0].stride[kDst] == box.along_dst.count * piece;
  const bool into_cols =
      box.along_dst.axes.size() == 1 && box.along_dst.axes[0].stride[kSrc] == box.along_src.count * piece;
  return (into_rows && interleaved(box.along_dst.count, box.along_src.count, piece)) ||
         (into_cols && interleaved(box.along_src.count, box.along_dst.count, piece));
}

/// The pieces of a transposition's block, by what kernels take at once.
struct Tiles {
  std::size_t size;  // log2 of an element's bytes
  int64_t side;      // elements of a register of 16 bytes

  explicit Tiles(int64_t piece)
      : size(static_cast<std::size_t>(std::countr_zero(static_cast<uint64_t>(piece)))), side(16 / piece) {}
  double of(int64_t rows, int64_t cols) const { return number(ceil_div(rows, side) * ceil_div(cols, side)); }
};

// What a block of a box takes with each method.

double transposed_ns(const Loops& box, int64_t piece) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block;
  if (!box.strided && has_few(box, piece)) {
    const int64_t few = std::min(rows, cols), many = std::max(rows, cols);
    return price::kInterleavedBlock + price::kInterleavedLine * number(few * ceil_div(many * piece, kCacheLine));
  }
  const Tiles tiles(piece);
  if (box.strided) return price::kEvenBlock + tiles.of(rows, cols) * price::kEvenTile[tiles.size];
  const int64_t line = kCacheLine / piece;
  const double whole = number((rows / line) * (cols / line)), rest = tiles.of(rows, cols) - 16 * whole;
  const double few = std::min(rows, cols) <= kFew ? price::kFewInTile : 1;
  const double listed = number((box.along_src.axes.size() > 1 ? rows : 0) + (box.along_dst.axes.size() > 1 ? cols : 0));
  return price::kListedBlock + price::kListed * listed + whole * price::kListedLines[tiles.size] +
         rest * price::kListedTile[tiles.size] * few;
}

double block_ns(const Loops& box, const Transposition&) { return transposed_ns(box, box.piece[kSrc]); }

double block_ns(const Loops& box, const RegisterTiles& method) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block;
  const int64_t row_run = std::min(method.row_run, rows), col_run = std::min(method.col_run, cols);
  const double runs = number(rows) / number(row_run) * number(cols) / number(col_run);
  const Tiles tiles(box.piece[kSrc]);
  return price::kRegisterBlock + price::kStart * number(rows + cols) +
         runs * tiles.of(row_run, col_run) * price::kRegisterTile[tiles.size];
}

/// What a block of tiles of registers that runs do not fill takes longer: where the destination's runs do not, and,
/// where loads of a part of a register cannot be masked, where the source's do not, its pieces are moved one by one.
double unfilled_ns(const Loops& box, const RegisterTiles& method, const Machine& machine) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block, side = Tiles(box.piece[kSrc]).side;
  const bool masks = machine.permuted_bytes == kCacheLine;
  const bool filled = std::min(method.col_run, cols) >= side && (masks || std::min(method.row_run, rows) >= side);
  return filled ? 0 : number(rows * cols) * price::kElement;
}

double block_ns(const Loops& box, const LongCopy&) {
  return price::kLongBlock +
         number(box.along_src.block) *
             (price::kRunStart + price::kLine * number(ceil_div(box.along_dst.block * box.piece[kSrc], kCacheLine)));
}

double block_ns(const Loops& box, const RepeatedRuns&) {
  const double lines = number(ceil_div(box.along_dst.block * box.piece[kDst], kCacheLine));
  return price::kCopyBlock + number(box.along_src.block) * (price::kRepeated + price::kFilledLine * lines);
}

double block_ns(const Loops& box, const CopiedPieces&) {
  const double rows = number(box.along_src.block), pieces = rows * number(box.along_dst.block);
  const int64_t halves = box.piece[kSrc] > kCacheLine / 2 ? ceil_div(box.piece[kSrc], kCacheLine / 2) : 0;
  return price::kCopyBlock + price::kRow * rows + pieces * (price::kPiece + price::kHalfLine * number(halves));
}

double block_ns(const Loops& box, const Gather&) {
  return price::kGatherBlock + number(box.along_src.block * box.along_dst.block) * price::kElement;
}

/// Whether attribute values differ along any of these axes.
bool differ(const Axes& axes) {
  return std::ranges::any_of(axes, [](const Axis& axis) { return axis.stride[kAttribute] != 0; });
}
/// To convert runs of `values` values. Where attribute values differ within a run, it is computed step by step.
double converted_ns(int64_t runs, int64_t values, double each, bool varies) {
  return number(runs) * (price::kConvertedRun + number(values) * (each + (varies ? price::kVaried : 0)));
}
double block_ns(const Loops& box, const ConvertedRuns& method) {
  return price::kCopyBlock +
         converted_ns(box.along_src.block, box.along_dst.block, method.each, differ(box.along_dst.axes));
}
double block_ns(const Loops& box, const ConvertedTransposition& method) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block, runs = method.narrows ? cols : rows;
  return transposed_ns(box, std::min(box.piece[kSrc], box.piece[kDst])) +
         converted_ns(runs, rows * cols / runs, method.each,
                      differ(method.narrows ? box.along_src.axes : box.along_dst.axes));
}
double block_ns(const Loops& box, const ConvertedElements& method) {
  const int64_t pieces = box.along_src.block * box.along_dst.block;
  const double values = number(box.elements) / number(box.blocks);
  const bool varies = differ(box.along_src.axes) || differ(box.along_dst.axes);
  const bool straight = box.past_cache && method.runs && !varies && box.piece[kDst] % kCacheLine == 0;
  const double piece = straight      ? price::kStreamedPiece
                       : method.runs ? price::kBufferedPiece
                                     : price::kElement * (box.along_dst.dense ? 1 : 2);
  return (straight ? price::kGatherBlock : price::kBufferedBlock) + number(pieces) * piece +
         values * (method.each + (differ(box.along_dst.axes) ? price::kVaried : 0));
}

double block_ns(const Loops& box, const Fill&) {
  return price::kCopyBlock +
         number(box.along_src.block) * (price::kRepeated + price::kFilledLine * number(box.along_dst.block));
}

/// What stretches of a chunk take that are read to a buffer, or written from one.
double stretches_ns(const Stages& method, const Stretches& side, bool converts) {
  const double computed = method.each + (side.run_attribute != 0 ? price::kVaried : 0);
  const double each = converts ? computed : number(units(method.between)) / price::kBuffered;
  const double turned = side.swizzle.identity() ? 0 : price::kPiece / number(side.swizzle.run());
  return number(side.count) * (price::kStretch + number(side.run) * (each + turned));
}

// What a box takes with each method.

template <typename Method>
double box_ns(const Loops& box, const Method& method, const Machine&) {
  if (box.sub_byte()) return number(box.elements) * price::kSubByte;
  return number(box.blocks) * block_ns(box, method);
}
double box_ns(const Loops& box, const SubByte&, const Machine&) { return number(box.elements) * price::kSubByte; }
double box_ns(const Loops& box, const RegisterTiles& method, const Machine& machine) {
  return number(box.blocks) * (block_ns(box, method) + unfilled_ns(box, method, machine));
}
double box_ns(const Loops& box, const ProgrammedLines& method, const Machine&) {
  return line_program_ns(box, *method.program);
}
/// By elements: chunks that are done once more at the end of a loop (Stages::rests) are not counted, as prices come no
/// nearer to the time that way, and plans get worse (docs/lab/plan-cost.md).
double box_ns(const Loops& box, const Stages& method, const Machine& machine) {
  double chunk = buffers_ns(method), moved = 0;
  for (const BoxPlan& move : method.moves) {
    chunk += cached_ns(move, machine);
    moved += number(move.elements);
  }
  return chunk * number(box.elements) / moved;
}
double box_ns(const Loops& box, const TileRuns& method, const Machine& machine) {
  double tile = 0;
  for (const TileRun& run : method.runs) {
    for (const BoxPlan& leaf : run.boxes) tile += cached_ns(leaf, machine);
  }
  return tile * number(box.blocks) / number(box.along_src.blocks);
}

}  // namespace

double buffers_ns(const Stages& stages) {
  double chunk = price::kChunk;
  if (stages.reads) chunk += stretches_ns(stages, stages.in, stages.converts && !stages.converts_last);
  if (stages.writes) chunk += stretches_ns(stages, stages.out, stages.converts && stages.converts_last);
  return chunk;
}

double cached_ns(const BoxPlan& box, const Machine& machine) {
  return std::visit([&](const auto& method) { return box_ns(box, method, machine); }, box.method);
}

}  // namespace relayout
