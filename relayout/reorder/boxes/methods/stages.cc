// Planning stages: how many steps of each axis a chunk has, and how it lies in the buffers between the stages.
#include "relayout/reorder/boxes/methods/stages.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "relayout/reorder/boxes/cached_price.h"
#include "relayout/reorder/boxes/methods/chunk.h"
#include "relayout/reorder/boxes/methods/line_program.h"
#include "relayout/reorder/boxes/methods/together.h"
#include "relayout/reorder/boxes/moves.h"
#include "relayout/reorder/price.h"

namespace relayout {
namespace {

/// Bytes: stretches of the source and of the destination first grow to these. A chunk of enough of both has kHalfL1
/// bytes in a buffer, and others up to Stages::kMaxBytes.
constexpr std::array<int64_t, 2> kStretch{512, 2048};
/// Boxes of so many elements together are one chunk.
constexpr int64_t kMostWhole = 16 << 10;

/// On which side values are converted, and the type that is moved.
struct Between {
  DType type;
  bool last;  // converted as they are written
};

Between choose_between(const ConvertedTypes& types, const Box& box) {
  const DType src = types.src, dst = types.dst;
  // An element of a broadcast source has several values where the attributes differ.
  const bool differs = std::ranges::any_of(
      box.axes, [](const Axis& a) { return a.table < 0 && a.stride[kSrc] == 0 && a.stride[kAttribute] != 0; });
  bool last = bits(dst) > bits(src) || bits(src) < 8 || types.sums || differs;
  if (bits(dst) == bits(src) && !last) {
    // By the side that is dense.
    const auto dense = [&](Operand side, int64_t unit) {
      return std::ranges::any_of(box.axes,
                                 [&](const Axis& a) { return a.table < 0 && std::abs(a.stride[side]) == unit; });
    };
    last = !dense(kSrc, units(src)) && dense(kDst, units(dst));
  }
  return {last ? src : dst, last};
}

/// Plans the moves of all own boxes with the axes of a chunk, between the buffers or between a buffer and the tensor.
/// The rules' limit is that of all `elements`. False where a box does not step evenly there, or where the buffers alone
/// take too long.
bool plan_moves(const Together& together, const std::vector<ChunkAxis>& axes, const std::array<int64_t, 2>& size,
                int64_t elements, BlockRules rules, Stages& method) {
  const int64_t element = units(method.between);
  std::vector<Box> boxes = together.own;
  int64_t moved = 0;
  for (const Box& own : boxes) moved += count_elements(own);
  for (const ChunkAxis& axis : axes) moved *= axis.steps;
  rules.most_ns = rules.most_ns * number(moved) / number(elements) - buffers_ns(method);
  if (rules.most_ns <= 0) return false;
  for (Box& own : boxes) {
    for (const Operand k : {kSrc, kDst}) {
      const Stretches& side = k == kSrc ? method.in : method.out;
      if (k == kSrc ? !method.reads : !method.writes) continue;
      if (!put_in_buffer(own, k, size[k], together.footprints[k], side.base_pitch)) return false;
      own.offset[k] = (own.offset[k] + side.origin) * element;
      for (Axis& axis : own.axes) axis.stride[k] *= element;
    }
    for (const ChunkAxis& a : axes) {
      own.axes.push_back({a.steps, {}, -1});
      for (const Operand k : {kSrc, kDst}) {
        const bool buffer = k == kSrc ? method.reads : method.writes;
        own.axes.back().stride[k] = buffer ? a.apart[k] * element : a.axis.stride[k];
      }
    }
    simplify(own);
    plan_cached_moves(own, element, rules, method.moves);
  }
  if (boxes.size() == 1 || rules.tuning.way == Tuning::Way::boxes) return true;
  // All of them by one line program, where that takes less.
  double ns = 0;
  for (const BoxPlan& move : method.moves) ns += cached_ns(move, rules.machine);
  ns = std::min(ns, rules.most_ns);
  constexpr int64_t kAnywhere = std::numeric_limits<int64_t>::max();  // what else lies in buffers is never read
  const auto joined = join(boxes, {element, element}, {{kAnywhere, kAnywhere}}, {}, false);
  auto program =
      joined ? plan_line_program(*joined, element, ProgramFills::nothing, {rules.machine, ns}) : std::nullopt;
  if (!program) return true;
  method.moves.clear();
  method.moves.emplace_back(*std::move(program));
  return true;
}

/// Whether all stretches of one side, of all chunks, are whole periods of its swizzle, of so many units.
bool in_periods(const Loops& loops, const Stages& method, Operand side, int64_t period, int64_t unit) {
  const Stretches& own = side == kSrc ? method.in : method.out;
  const auto whole = [&](int64_t units) { return units % period == 0; };
  const auto steps = [&](const Axis& axis) { return axis.table < 0 && whole(axis.stride[side]); };
  return whole(loops.offset[side]) && whole(own.first[side]) && whole(own.run * unit) &&
         std::ranges::all_of(own.axes, steps) && std::ranges::all_of(own.bases, whole) &&
         std::ranges::all_of(loops.loops, steps) &&
         std::ranges::all_of(method.rests, [&](const Stages::Rest& rest) { return whole(rest.shift[side]); }) &&
         own.count * own.run * unit / period <= Stages::kMaxStretches &&
         own.swizzle.period() / own.swizzle.run() <= Stages::kMaxStretches;
}

using Swizzles = std::array<Swizzle, 2>;

/// How long stretches should be, in elements, and the periods of the swizzles, in units; 1 where there is none.
std::pair<std::array<int64_t, 2>, std::array<int64_t, 2>> goals_and_periods(const Swizzles& swizzles,
                                                                            const std::array<int64_t, 2>& size) {
  std::array<int64_t, 2> goals{kStretch[kSrc] / size[kSrc], kStretch[kDst] / size[kDst]}, periods{1, 1};
  for (const Operand side : {kSrc, kDst}) {
    if (swizzles[side].identity()) continue;
    periods[side] = swizzles[side].period() * size[side];
    goals[side] = std::max(goals[side], swizzles[side].period());
  }
  return {goals, periods};
}

/// Plans boxes whose common axes are known.
std::optional<BoxPlan> plan_chunks_of(const Together& together, std::span<const Box> boxes, const ConvertedTypes& types,
                                      bool converts, bool streams, const Gaps& gaps, const Swizzles& swizzles,
                                      const BlockRules& rules) {
  const std::array<int64_t, 2> size{units(types.src), units(types.dst)};
  Planned<Stages> out{};
  Loops& loops = out.loops;
  Stages& method = out.method;
  const auto [between, convert_last] = converts ? choose_between(types, boxes[0]) : Between{types.src, false};
  const bool last = convert_last;  // clang captures no structured bindings in lambdas
  const int64_t element = units(between);
  method.between = between;
  method.converts = converts;
  method.converts_last = last;
  method.each = types.each;
  const std::array<bool, 2> swizzled{!swizzles[kSrc].identity(), !swizzles[kDst].identity()};
  method.reads = bits(types.src) < 8 || (converts && !last) || swizzled[kSrc];
  method.writes = bits(types.dst) < 8 || (converts && last) || (!converts && streams) || swizzled[kDst];
  const auto shape = goals_and_periods(swizzles, size);
  const std::array<int64_t, 2>&goals = shape.first, &periods = shape.second;
  const auto lay_out = [&](int64_t small, int64_t most) {
    Chunk chunk(together.axes, size, periods, together);
    chunk.grow(goals, small, most, types.sums);
    method.in = chunk.lay_out(kSrc, element, !types.sums && !swizzled[kSrc], types.computes && !last);
    method.out = chunk.lay_out(kDst, element, gaps.dst && !types.sums, types.computes && last);
    method.in.swizzle = swizzles[kSrc];
    method.out.swizzle = swizzles[kDst];
    return chunk;
  };
  Chunk chunk = lay_out(kHalfL1 / element, Stages::kMaxBytes / 2 / element);
  const auto fits = [&] {
    return together.most <= Stages::kMaxBytes / element &&
           std::max(method.in.count, method.out.count) <= Stages::kMaxStretches &&
           std::max(method.in.bytes(element), method.out.bytes(element)) <= Stages::kMaxBytes;
  };
  for (int64_t most = kHalfL1 / element; !fits(); most /= 2) {
    if (most < together.most) return std::nullopt;
    chunk = lay_out(most, most);
  }
  if (swizzled[kSrc]) method.in.period = swizzled_lines(swizzles[kSrc], bits(types.src), rules.machine);
  if (swizzled[kDst]) method.out.period = swizzled_lines(swizzles[kDst], bits(types.dst), rules.machine);
  loops.unit_bits = {static_cast<int8_t>(unit_bits(types.src)), static_cast<int8_t>(unit_bits(types.dst))};
  loops.loops = chunk.loops(method.rests);
  loops.offset = together.offset;
  for (const Box& box : boxes) loops.elements += count_elements(box);
  loops.past_cache = streams && !types.sums && method.writes;
  loops.blocks = count_elements(loops.loops);
  for (const Operand side : {kSrc, kDst}) {
    if (swizzled[side] && !in_periods(loops, method, side, periods[side], size[side])) return std::nullopt;
  }
  // Padding that all chunks together write is part of the buffer, and then needs no filling.
  // The bits of 0 are 0 in all types but f8_e8m0, which has none.
  const bool zeros = types.src != DType::f8_e8m0 && types.dst != DType::f8_e8m0;
  const bool same_value = !last || (gaps.fill == 0 && zeros && !types.computes);
  method.fills = gaps.dst && method.writes && same_value && chunk.written(method.out) == gaps.elements;
  method.fill = bits(between) < 8 ? gaps.fill & ((uint64_t{1} << bits(between)) - 1) : gaps.fill;
  if (!plan_moves(together, chunk.axes(), size, loops.elements, rules, method)) return std::nullopt;
  BoxPlan plan(std::move(out));
  plan.describe(plan.as<Stages>()->moving());
  return plan;
}

}  // namespace

std::optional<BoxPlan> plan_stages(std::span<const Box> boxes, const ConvertedTypes& types, bool converts, bool streams,
                                   const Gaps& gaps, const Tables& tables, const BlockRules& rules) {
  const std::array<int64_t, 2> size{units(types.src), units(types.dst)};
  int64_t elements = 0;
  for (const Box& box : boxes) elements += count_elements(box);
  Gaps closed = gaps;
  closed.dst = false;
  // As one chunk, then with the destination's padding, then without it.
  for (const auto& [allowed, whole] : {std::pair{&gaps, true}, {&gaps, false}, {&closed, false}}) {
    if (whole && (elements > kMostWhole || (boxes.size() == 1 && !gaps.dst))) continue;
    if (allowed == &closed && !gaps.dst) continue;
    const auto together = join(boxes, size, *allowed, tables, whole);
    if (!together) continue;
    if (auto plan = plan_chunks_of(*together, boxes, types, converts, streams, *allowed, {}, rules)) return plan;
  }
  return std::nullopt;
}

std::optional<BoxPlan> plan_swizzled_stages(const Box& box, const std::array<Swizzle, 2>& swizzles,
                                            const ConvertedTypes& types, bool converts, bool streams, const Gaps& gaps,
                                            const BlockRules& rules) {
  const std::array<DType, 2> type{types.src, types.dst};
  for (const Operand side : {kSrc, kDst}) {
    if (!swizzles[side].identity() && swizzles[side].run() * bits(type[side]) % 8 != 0) return std::nullopt;
  }
  if (types.sums || std::ranges::any_of(box.axes, [](const Axis& axis) { return axis.table >= 0; }))
    return std::nullopt;
  const auto together = join(std::span(&box, 1), {units(types.src), units(types.dst)}, gaps, {}, false);
  if (!together) return std::nullopt;
  return plan_chunks_of(*together, std::span(&box, 1), types, converts, streams, gaps, swizzles, rules);
}

}  // namespace relayout
