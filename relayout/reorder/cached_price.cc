// Each kind of kernel has a price of starting a block and prices of what it does in a block: lines, registers or
// pieces. The prices are fitted to 736 reorders with shapes drawn at random (docs/lab/line-programs.md), on an Intel
// Xeon with AVX-512; other machines differ by a factor that all kinds have in common.
#include "relayout/reorder/cached_price.h"

#include <algorithm>
#include <array>
#include <bit>

namespace relayout {
namespace {

/// Nanoseconds by log2 of an element's bytes.
using BySize = std::array<double, 5>;
/// To transpose a square of registers of 16 bytes: where both sides step evenly, where one takes lists of where rows
/// and columns start, and by tiles of registers whose runs lie anywhere.
constexpr BySize kEvenTile{6.2, 2.75, 0.97, 0.36, 0.36}, kListedTile{6, 2.7, 2.4, 0.4, 0.4},
    kRegisterTile{13, 4.4, 1.9, 1, 0.5};
/// How many times as long a square with lists takes of which so few rows or columns are used.
constexpr double kFewInTile = 2;
/// To transpose a square of whole lines, which has 16 registers a side, with lists.
constexpr BySize kListedLines{136, 27, 20, 6, 6};
/// To start a block of each kind.
constexpr double kEvenBlock = 42, kListedBlock = 40, kInterleavedBlock = 9, kRegisterBlock = 34, kCopyBlock = 22,
                 kLongBlock = 40, kGatherBlock = 20;
/// To list where a row or a column of several axes starts; and to read where a row or column of a tile starts.
constexpr double kListed = 0.3, kStart = 0.45;
/// To copy a piece of up to 32 bytes, and each 32 bytes of longer ones; to start a row of pieces.
constexpr double kPiece = 0.45, kHalfLine = 0.2, kRow = 0.5;
/// To start a long run, to copy a line, to interleave a line, and to move one element by itself.
constexpr double kLongRunNs = 16, kLine = 0.33, kInterleavedLine = 1, kElement = 0.6;
/// To start a run of one piece, and to fill a line of it.
constexpr double kRepeated = 1, kFilledLine = 0.3;
/// To start the conversion of a run; what a value adds whose neighbours have other attribute values.
constexpr double kConvertedRun = 3.5, kVaried = 0.45;
double count(int64_t n) { return static_cast<double>(n); }

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
  double of(int64_t rows, int64_t cols) const { return count(ceil_div(rows, side) * ceil_div(cols, side)); }
};

// What a block of a box takes with each method.

double transposed_ns(const Loops& box, int64_t piece) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block;
  if (!box.strided && has_few(box, piece)) {
    const int64_t few = std::min(rows, cols), many = std::max(rows, cols);
    return kInterleavedBlock + kInterleavedLine * count(few * ceil_div(many * piece, kCacheLine));
  }
  const Tiles tiles(piece);
  if (box.strided) return kEvenBlock + tiles.of(rows, cols) * kEvenTile[tiles.size];
  const int64_t line = kCacheLine / piece;
  const double whole = count((rows / line) * (cols / line)), rest = tiles.of(rows, cols) - 16 * whole;
  const double few = std::min(rows, cols) <= kFew ? kFewInTile : 1;
  const double listed = count((box.along_src.axes.size() > 1 ? rows : 0) + (box.along_dst.axes.size() > 1 ? cols : 0));
  return kListedBlock + kListed * listed + whole * kListedLines[tiles.size] + rest * kListedTile[tiles.size] * few;
}

double block_ns(const Loops& box, const Transposition&) { return transposed_ns(box, box.piece[kSrc]); }

double block_ns(const Loops& box, const RegisterTiles& method) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block;
  const int64_t row_run = std::min(method.row_run, rows), col_run = std::min(method.col_run, cols);
  const double runs = count(rows) / count(row_run) * count(cols) / count(col_run);
  const Tiles tiles(box.piece[kSrc]);
  return kRegisterBlock + kStart * count(rows + cols) + runs * tiles.of(row_run, col_run) * kRegisterTile[tiles.size];
}

/// What a block of tiles of registers that runs do not fill takes longer: where the destination's runs do not, and,
/// where loads of a part of a register cannot be masked, where the source's do not, its pieces are moved one by one.
double unfilled_ns(const Loops& box, const RegisterTiles& method, const Machine& machine) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block, side = Tiles(box.piece[kSrc]).side;
  const bool masks = machine.permuted_bytes == kCacheLine;
  const bool filled = std::min(method.col_run, cols) >= side && (masks || std::min(method.row_run, rows) >= side);
  return filled ? 0 : count(rows * cols) * kElement;
}

double block_ns(const Loops& box, const LongCopy&) {
  return kLongBlock + count(box.along_src.block) *
                          (kLongRunNs + kLine * count(ceil_div(box.along_dst.block * box.piece[kSrc], kCacheLine)));
}

double block_ns(const Loops& box, const RepeatedRuns&) {
  const double lines = count(ceil_div(box.along_dst.block * box.piece[kDst], kCacheLine));
  return kCopyBlock + count(box.along_src.block) * (kRepeated + kFilledLine * lines);
}

double block_ns(const Loops& box, const CopiedPieces&) {
  const double rows = count(box.along_src.block), pieces = rows * count(box.along_dst.block);
  const int64_t halves = box.piece[kSrc] > kCacheLine / 2 ? ceil_div(box.piece[kSrc], kCacheLine / 2) : 0;
  return kCopyBlock + kRow * rows + pieces * (kPiece + kHalfLine * count(halves));
}

double block_ns(const Loops& box, const Gather&) {
  return kGatherBlock + count(box.along_src.block * box.along_dst.block) * kElement;
}

/// Whether attribute values differ along any of these axes.
bool differ(const Axes& axes) {
  return std::ranges::any_of(axes, [](const Axis& axis) { return axis.stride[kAttribute] != 0; });
}
/// To convert runs of `values` values. Where attribute values differ within a run, it is computed step by step.
double converted_ns(int64_t runs, int64_t values, double each, bool varies) {
  return count(runs) * (kConvertedRun + count(values) * (each + (varies ? kVaried : 0)));
}
double block_ns(const Loops& box, const ConvertedRuns& method) {
  return kCopyBlock + converted_ns(box.along_src.block, box.along_dst.block, method.each, differ(box.along_dst.axes));
}
double block_ns(const Loops& box, const ConvertedTransposition& method) {
  const int64_t rows = box.along_src.block, cols = box.along_dst.block, runs = method.narrows ? cols : rows;
  return transposed_ns(box, std::min(box.piece[kSrc], box.piece[kDst])) +
         converted_ns(runs, rows * cols / runs, method.each,
                      differ(method.narrows ? box.along_src.axes : box.along_dst.axes));
}
double block_ns(const Loops& box, const ConvertedElements& method) {
  const int64_t pieces = box.along_src.block * box.along_dst.block;
  const double values = count(box.elements) / count(box.blocks);
  const double piece = method.runs ? kConvertedRun : kElement * (box.along_dst.dense ? 1 : 2);
  return kGatherBlock + count(pieces) * piece + values * (method.each + (differ(box.along_dst.axes) ? kVaried : 0));
}

}  // namespace

bool has_cached_price(const BoxPlan& box) {
  if (box.sub_byte()) return false;
  return box.as<ProgrammedLines>() || std::visit(
                                          [&](const auto& method) {
                                            return requires { block_ns(box, method); };
                                          },
                                          box.method);
}

double cached_ns(const BoxPlan& box, const Machine& machine) {
  if (const auto* lines = box.as<ProgrammedLines>()) return line_program_ns(box, *lines->program);
  const double block = std::visit(
      [&](const auto& method) -> double {
        if constexpr (requires { block_ns(box, method); })
          return block_ns(box, method);
        else
          return 0;
      },
      box.method);
  const auto* tiles = box.as<RegisterTiles>();
  return count(box.blocks) * (block + (tiles ? unfilled_ns(box, *tiles, machine) : 0));
}

double stages_ns(const Loops& loops, const Stages& method, const Machine& machine) {
  /// Nanoseconds to start a chunk and a stretch, and bytes of a buffer that are read or written a nanosecond.
  constexpr double kChunk = 30, kStretchNs = 3, kBuffered = 16;
  const auto stretches = [&](bool buffer, const Stretches& side, bool converts) {
    const double computed = method.each + (side.run_attribute != 0 ? kVaried : 0);
    const double each = converts ? computed : count(units(method.between)) / kBuffered;
    const double turned = side.swizzle.identity() ? 0 : kPiece / count(side.swizzle.run());
    return buffer ? count(side.count) * (kStretchNs + count(side.run) * (each + turned)) : 0;
  };
  // Past the cache, a stretch that does not start and end at lines shares these with others, and waits for them.
  constexpr double kShared = 60;
  const auto in_lines = [&](const Axis& axis) {
    return axis.table < 0 && axis.stride[kDst] * loops.unit_bits[kDst] % (8 * kCacheLine) == 0;
  };
  const bool whole = std::ranges::all_of(method.out.axes, in_lines) && std::ranges::all_of(loops.loops, in_lines);
  const double shared = loops.past_cache && !whole ? kShared * count(method.out.count) : 0;
  double chunk = shared + kChunk + stretches(method.reads, method.in, method.converts && !method.converts_last) +
                 stretches(method.writes, method.out, method.converts && method.converts_last);
  double moved = 0;
  for (const BoxPlan& box : method.moves) {
    chunk += cached_ns(box, machine);
    moved += count(box.elements);
  }
  return chunk * count(loops.elements) / moved;
}

double waited_ns(const Machine& machine, double bytes) {
  const Waits waits = prices_of(machine).waits;
  double each = bytes > count(machine.l1) ? waits.beyond_first : 0;
  if (bytes > count(machine.l2)) each += waits.beyond_second;
  if (bytes > 4 * count(machine.l2)) each += waits.far_beyond;
  return each * bytes;
}

}  // namespace relayout
