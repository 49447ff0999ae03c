// The order in which methods that move bits are asked: join sub-byte elements to bytes where that is possible; look
// whether tiles of registers suit the box; then choose rows and columns of pieces, and the method that suits these.
// Through the cache, a box is planned with tiles of registers and without, and the price decides. Start at plan_move()
// at the end.
#include "relayout/reorder/boxes/moves.h"

#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "relayout/reorder/boxes/cached_price.h"
#include "relayout/reorder/boxes/region.h"

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

/// Bytes of a region from which on a transposition is worth its start without tiles of registers, whose blocks hold
/// several regions.
constexpr int64_t kWorthTransposition = 4 << 10;

/// Whether both sides start with the same long run, or each with a long run of an axis of its own. Then a plain copy
/// or transposition is best.
bool starts_with_long_runs(Axes& axes, int64_t element, bool streams) {
  if (const auto run = find_run(axes, element, element); run != axes.end())
    return run->extent * element > kRegister && run->extent * element % kRegister == 0;
  const auto row = stepping(axes, kSrc, element), col = stepping(axes, kDst, element);
  return row != axes.end() && col != axes.end() && row->extent * element >= kRegister &&
         col->extent * element >= (streams ? kCacheLine : kRegister) &&
         row->extent * col->extent * element >= kWorthTransposition;
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

/// Plans a simplified box of elements of whole bytes; with `tiled`, by tiles of registers where these can be.
BoxPlan plan_bytes(Box box, int64_t element, bool streams, bool tiled, const BlockRules& rules) {
  if (auto repeated = plan_repeated_pieces(box, element, streams)) return *std::move(repeated);
  turn_along_src(box, element, element);
  if (interleaves_few(box, element) || starts_with_long_runs(box.axes, element, streams))
    return plan_elements(std::move(box), element, {}, streams, rules);
  auto tiles = tiled && element < kRegister ? plan_register_tiles(box, element) : std::nullopt;
  if (tiles && (streams ? wants_tiles(*tiles) : !copies_pieces(*tiles))) return *std::move(tiles);
  return plan_elements(std::move(box), element, std::move(tiles), streams, rules);
}

/// Plans boxes through the cache, by the cheaper of two ways: `cut` by tiles of registers, where they can be, or
/// `whole` without.
void plan_cached(const Box& whole, std::span<Box> cut, int64_t element, const BlockRules& rules,
                 std::vector<BoxPlan>& out) {
  const std::size_t first = out.size();
  double tiled_ns = 0;
  bool tiled = false;
  for (Box& box : cut) {
    const BoxPlan& plan = out.emplace_back(plan_bytes(std::move(box), element, false, true, rules));
    tiled_ns += cached_ns(plan, rules.machine);
    tiled = tiled || plan.as<RegisterTiles>();
  }
  if (!tiled) return;
  BoxPlan plain = plan_bytes(whole, element, false, false, rules);
  if (cached_ns(plain, rules.machine) >= tiled_ns) return;
  out.resize(first);
  out.push_back(std::move(plain));
}

}  // namespace

BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules) {
  const int64_t element = std::max(1, bits(dtype) / 8);
  if (streams) return plan_bytes(std::move(box), element, true, true, rules);
  std::vector<BoxPlan> out;
  Box cut = box;
  plan_cached(box, std::span(&cut, 1), element, rules, out);
  return std::move(out[0]);
}

void plan_cached_moves(Box box, int64_t element, const BlockRules& rules, std::vector<BoxPlan>& out) {
  const Box whole = box;
  const std::size_t first = out.size();
  auto left = cut_for_tiles(box, element);
  std::array<Box, 2> cut{std::move(box)};
  if (left) {
    simplify(*left);
    cut[1] = *std::move(left);
  }
  plan_cached(whole, std::span(cut).first(left ? 2 : 1), element, rules, out);
  if (rules.tuning.way == Tuning::Way::boxes) return;
  double others = 0;
  for (std::size_t i = first; i < out.size(); ++i) others += cached_ns(out[i], rules.machine);
  others = std::min(others, rules.most_ns);
  if (rules.tuning.way == Tuning::Way::lines) others = std::numeric_limits<double>::max();
  auto lines = plan_line_program(whole, element, {rules.machine, others});
  if (!lines) return;
  out.resize(first);
  out.push_back(*std::move(lines));
}

}  // namespace relayout
