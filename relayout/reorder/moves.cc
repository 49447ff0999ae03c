// The order in which methods that move bits are asked: join sub-byte elements to bytes where that is possible; look
// whether tiles of registers suit the box; then choose rows and columns of pieces, and the method that suits these.
// Start at plan_move() at the end.
#include "relayout/reorder/moves.h"

#include <limits>

#include "relayout/reorder/cached_price.h"
#include "relayout/reorder/region.h"

namespace relayout {
namespace {

/// Plans pieces whose rows or columns step along an index table.
BoxPlan plan_listed(Loops region, Box rest, bool streams) {
  const int64_t piece = region.piece[kDst];
  choose_listed_blocks(region);
  region.past_cache = streams && (region.along_dst.dense || piece >= kScatteredPiece);
  finish(region, std::move(rest));
  if (piece < kRegister && (piece & (piece - 1)) == 0) return Planned<Gather>{std::move(region), {}};
  return Planned<CopiedPieces>{std::move(region), {}};
}

/// Plans a box of elements of whole bytes by its rows and columns; where these are too few for a transposition, by
/// `tiles`, if there are any.
BoxPlan plan_elements(Box box, int64_t element, std::optional<Planned<RegisterTiles>> tiles, bool streams,
                      const BlockRules& rules) {
  if (auto copy = plan_long_copy(box, element, streams)) return *std::move(copy);
  Loops region;
  region.elements = count_elements(box);
  if (const auto run = find_run(box.axes, element, element); run != box.axes.end()) {
    element *= run->extent;  // a short run moves as one larger piece
    box.axes.erase(run);
  }
  region.piece = {element, element};
  Box rest = box;
  if (choose_listed_region(region, rest.axes)) return plan_listed(std::move(region), std::move(rest), streams);
  choose_region(region, rest.axes);
  if (element < kRegister) split_along_dst(region, rest.axes);
  // A piece of 16 bytes fills a register: it is copied, and not transposed with others.
  const bool in_registers = element < kRegister && (element & (element - 1)) == 0;
  if (in_registers && region.along_dst.dense && region.along_src.dense) {
    if (auto plan = plan_transposition(region, rest, streams, rules)) return *std::move(plan);
    if (tiles) return *std::move(tiles);
    region.along_src.dense = false;  // gathered with rows of other axes as well
  }
  if (in_registers) return plan_gather(box, std::move(region), std::move(rest), streams, rules);
  return plan_copied_pieces(std::move(region), std::move(rest), streams, rules);
}

/// Whether both sides start with the same long run, or each with a long run of an axis of its own. Then a plain copy
/// or transposition is best.
bool starts_with_long_runs(Axes& axes, int64_t element, bool streams) {
  if (const auto run = find_run(axes, element, element); run != axes.end())
    return run->extent * element > kRegister && run->extent * element % kRegister == 0;
  const auto row = stepping(axes, kSrc, element), col = stepping(axes, kDst, element);
  return row != axes.end() && col != axes.end() && row->extent * element >= kRegister &&
         col->extent * element >= (streams ? kCacheLine : kRegister) &&
         row->extent * col->extent * element >= kSmallTiles;
}

/// Whether one side interleaves a few long runs of the other side, for which there are kernels of their own.
bool interleaves_few(Box& box, int64_t element) {
  for (const Operand side : {kSrc, kDst}) {
    const auto few = stepping(box.axes, side, element);
    if (few == box.axes.end()) continue;
    const int64_t step = few->extent * element;
    const auto run = side == kSrc ? find_run(box.axes, step, element) : find_run(box.axes, element, step);
    if (run == box.axes.end() || !interleaved(few->extent, run->extent, element)) continue;
    // Five, seven or nine runs are slower by tiles of registers. Up to four are as fast, unless the runs are long.
    if (few->extent > kFew || run->extent * element >= 16 * kCacheLine) return true;
  }
  return false;
}

/// Plans a simplified box of elements of whole bytes.
BoxPlan plan_bytes(Box box, int64_t element, bool streams, const BlockRules& rules) {
  if (auto repeated = plan_repeated_pieces(box, element, streams)) return *std::move(repeated);
  turn_along_src(box, element, element);
  if (interleaves_few(box, element) || starts_with_long_runs(box.axes, element, streams))
    return plan_elements(std::move(box), element, {}, streams, rules);
  auto tiles = element < kRegister ? plan_register_tiles(box, element) : std::nullopt;
  if (tiles && wants_tiles(*tiles, streams)) return *std::move(tiles);
  return plan_elements(std::move(box), element, std::move(tiles), streams, rules);
}

}  // namespace

BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules) {
  return plan_bytes(std::move(box), std::max(1, bits(dtype) / 8), streams, rules);
}

void plan_cached_moves(Box box, int64_t element, const BlockRules& rules, std::vector<BoxPlan>& out) {
  const Box whole = box;
  const std::size_t first = out.size();
  auto left = cut_for_tiles(box, element);
  out.push_back(plan_bytes(std::move(box), element, false, rules));
  if (left) {
    simplify(*left);
    out.push_back(plan_bytes(*std::move(left), element, false, rules));
  }
  if (rules.tuning.way == Tuning::Way::boxes) return;
  double others = 0;
  for (std::size_t i = first; i < out.size(); ++i) others += cached_ns(out[i]);
  if (rules.tuning.way == Tuning::Way::lines) others = std::numeric_limits<double>::max();
  auto lines = plan_line_program(whole, element, {rules.machine, others});
  if (!lines) return;
  out.resize(first);
  out.push_back(*std::move(lines));
}

}  // namespace relayout
