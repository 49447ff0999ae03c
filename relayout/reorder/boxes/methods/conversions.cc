// Conversions: which form suits a box, and its blocks.
#include "relayout/reorder/boxes/methods/conversions.h"

#include <algorithm>
#include <numeric>

#include "relayout/reorder/boxes/methods/gather.h"
#include "relayout/reorder/boxes/methods/long_copy.h"
#include "relayout/reorder/boxes/methods/streamed_blocks.h"
#include "relayout/reorder/boxes/methods/transposition.h"
#include "relayout/reorder/boxes/region.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/price.h"

namespace relayout {

Loops ConvertedTypes::loops(const Box& box) const {
  Loops out;
  out.elements = count_elements(box);
  out.unit_bits = {static_cast<int8_t>(relayout::unit_bits(src)), static_cast<int8_t>(relayout::unit_bits(dst))};
  out.piece = {units(src), units(dst)};
  return out;
}

double value_ns(const ConvertedTypes& types, const Machine& machine) {
  const DType src = types.src, dst = types.dst;
  const auto floating = [](DType type) { return kind(type) == DTypeKind::floating; };
  const auto wide = [&](DType type) { return !floating(type) && bits(type) == 64; };
  double each = price::kByte * std::max(bits(src), bits(dst)) / 8;
  if (bits(src) == 8 && bits(dst) == 8 && (floating(src) || floating(dst)) && !types.computes) {
    each = price::kLookedUp;
  } else {
    if (dst == DType::bf16) each += price::kToBf16;
    if (dst == DType::f8_e5m2) each += price::kToE5m2;
    if (dst == DType::f8_e4m3) each += price::kToE4m3;
    if (src == DType::f8_e4m3) each += price::kFromE4m3;
    if ((wide(src) && floating(dst)) || (wide(dst) && floating(src))) each += price::kWideInteger;
  }
  if (types.computes)
    each += types.sums || compute_type(src, dst, true) != ComputeType::f32 ? price::kBySteps : price::kComputed;
  // Where the speed of kernels was measured, it includes the width of registers.
  return machine.permuted_bytes == kCacheLine || machine.speeds.kernels > 0 ? each : price::kNarrowRegisters * each;
}

std::optional<Planned<ConvertedRuns>> plan_converted_runs(const Box& box, const ConvertedTypes& types, bool streams) {
  Axes axes = box.axes;
  const auto run = find_run(axes, units(types.src), units(types.dst));
  if (run == axes.end()) return {};
  // All values of a piece must share one attribute value, so a run whose attribute values differ is cut into values.
  const bool divisible = run->stride[kAttribute] != 0 || !types.whole_bytes();
  // A run that goes on with other attribute values is a group of a long run, which is read and written as one.
  const bool group = std::ranges::any_of(axes, [&](const Axis& axis) {
    return axis.table < 0 && axis.stride[kAttribute] != 0 && axis.stride[kSrc] == run->extent * units(types.src) &&
           axis.stride[kDst] == run->extent * units(types.dst);
  });
  const bool long_run = run->extent * std::max(units(types.src), units(types.dst)) >= kLongRun;
  if (axes.size() > 1 && !divisible && !group && !long_run) return {};
  return convert_runs(box, types, streams);
}

std::optional<Planned<ConvertedRuns>> plan_periodic_runs(const Box& box, const ConvertedTypes& types, bool streams) {
  constexpr int64_t kMostPeriod = ConvertedRuns::kMostPeriod;
  if (!types.computes || !types.whole_bytes()) return {};
  Box rest = box;
  const auto at = find_run(rest.axes, units(types.src), units(types.dst));
  if (at == rest.axes.end()) return {};
  Axis run = take(rest.axes, at);
  ConvertedRuns method{types.each};
  method.axes[0] = {run.extent, run.stride[kAttribute]};
  const auto next = [&] {
    return std::ranges::find_if(rest.axes, [&](const Axis& axis) {
      return axis.table < 0 && axis.stride[kSrc] == run.extent * units(types.src) &&
             axis.stride[kDst] == run.extent * units(types.dst);
    });
  };
  // A period ends with an axis that steps the attribute values, and goes on through those before it that do not.
  Box after = rest;
  Axis longer = run;
  std::size_t count = run.stride[kAttribute] != 0 ? 1 : 0;
  for (std::size_t k = 1; k < ConvertedRuns::kMostAxes; ++k) {
    const auto more = next();
    if (more == rest.axes.end() || run.extent * more->extent > kMostPeriod) break;
    method.axes[k] = {more->extent, more->stride[kAttribute]};
    run.extent *= take(rest.axes, more).extent;
    if (method.axes[k].attribute == 0) continue;
    count = k + 1;
    longer = run;
    after = rest;
  }
  if (count == 0) return {};
  std::fill(method.axes.begin() + static_cast<std::ptrdiff_t>(count), method.axes.end(), ConvertedRuns::Steps{});
  run = longer;
  rest = std::move(after);
  run.stride[kAttribute] = 0;
  const int64_t period = run.extent;
  if (period > kMostPeriod) return {};
  for (auto more = next(); more != rest.axes.end() && more->stride[kAttribute] == 0; more = next())
    run.extent *= take(rest.axes, more).extent;
  if (count == 1 && run.extent == period) return {};
  const bool few = run.extent < ConvertedRuns::kManyPeriods * period;
  if (count > 1 && few && method.axes[0].extent >= ConvertedRuns::kLongPiece) return {};
  Loops loops = types.loops(box), runs = loops_of_runs(run, rest.axes);
  runs.elements = loops.elements;
  runs.unit_bits = loops.unit_bits;
  runs.piece = loops.piece;
  // A block puts the values of some periods side by side, which takes as long as converting some hundred elements; and
  // if one block starts at a line, all do.
  const int64_t lines = std::lcm(period, kCacheLine);
  runs.along_dst.block = kOpenLines / lines * lines;
  runs.along_src.block = std::clamp<int64_t>(runs.along_dst.block / runs.along_dst.count, 1, kMaxBlockSide);
  runs.past_cache = streams && !types.sums;
  finish(runs, std::move(rest));
  return {{std::move(runs), method}};
}

Planned<ConvertedRuns> convert_runs(const Box& box, const ConvertedTypes& types, bool streams) {
  Box rest = box;
  const Axis run = take(rest.axes, find_run(rest.axes, units(types.src), units(types.dst)));
  const bool past_cache = streams && types.whole_bytes();
  // A block of fewer values takes longer to start than to convert.
  const int64_t rows = past_cache ? 1 : kEnoughSteps / run.extent;
  Loops loops = types.loops(box), runs = loops_of_runs(run, rest.axes, rows);
  runs.elements = loops.elements;
  runs.unit_bits = loops.unit_bits;
  runs.piece = loops.piece;
  if (types.whole_bytes()) {
    runs.along_dst.block = past_cache ? kOpenLines : kMaxBuffered;
    // Past the cache, rows that follow each other are put together in the second level.
    const int64_t bytes = runs.bytes_along_dst(),
                  most = past_cache ? std::max<int64_t>(1, kInL2 / bytes) : kMaxBlockSide;
    runs.along_src.block =
        std::clamp<int64_t>(runs.along_dst.block / runs.along_dst.count, 1, std::min(most, kMaxBlockSide));
  } else {
    choose_sub_byte_blocks(runs);
  }
  runs.past_cache = past_cache && !types.sums;
  finish(runs, std::move(rest));
  return {std::move(runs), {.each = types.each}};
}

Planned<ConvertedElements> plan_converted_pieces(Box box, const ConvertedTypes& types, bool streams,
                                                 const BlockRules& rules) {
  Loops loops = types.loops(box);
  const Axis run = take(box.axes, find_run(box.axes, units(types.src), units(types.dst)));
  loops.piece = {run.extent * units(types.src), run.extent * units(types.dst)};
  const bool listed = choose_listed_region(loops, box.axes);
  if (!listed) {
    choose_region(loops, box.axes);
    split_along_dst(loops, box.axes);
  }
  if (listed) {
    choose_listed_blocks(loops);
  } else if (streams && loops.along_dst.dense) {
    choose_streamed_blocks(loops, {StreamedBox::Kind::copies, true}, rules.machine);
  } else {
    choose_square_blocks(loops);
  }
  if (streams) {
    apply_blocks(rules.tuning, loops);
    apply_ahead(rules.tuning, loops);
    if (!types.sums) write_past_cache(loops);
  }
  finish(loops, std::move(box));
  return {std::move(loops), {.runs = true, .each = types.each}};
}

ConvertedRegion choose_converted_region(const Box& box, const ConvertedTypes& types) {
  ConvertedRegion out{types.loops(box), box};
  if (types.whole_bytes() && choose_listed_region(out.loops, out.rest.axes)) {
    out.listed = true;
    return out;
  }
  choose_region(out.loops, out.rest.axes);
  split_along_dst(out.loops, out.rest.axes);
  out.transposes = types.whole_bytes() && out.loops.along_dst.dense && out.loops.along_src.dense;
  return out;
}

bool converts_few(const ConvertedRegion& region, const ConvertedTypes& types) {
  // Rows of fewer than kRegister values, and regions of fewer than kEnoughBlock, are few.
  const Loops& loops = region.loops;
  // The values that are converted together: rows as they lie in the source if the destination's type is narrower,
  // otherwise columns as they lie in the destination.
  const int64_t together = loops.piece[kDst] < loops.piece[kSrc] ? loops.along_src.count : loops.along_dst.count;
  const int64_t values = loops.along_src.count * loops.along_dst.count;
  return !region.transposes || together < kRegister ||
         (values < kEnoughBlock && values < loops.elements && units(types.src) != units(types.dst));
}

Planned<ConvertedTransposition> plan_converted_transposition(ConvertedRegion region, const ConvertedTypes& types,
                                                             bool streams, const BlockRules& rules) {
  Loops& loops = region.loops;
  ConvertedTransposition method{.each = types.each};
  method.narrows = loops.piece[kDst] < loops.piece[kSrc] && !types.sums;
  if (streams) {
    method.pack = choose_streamed_blocks(loops, {StreamedBox::Kind::transposes, true}, rules.machine);
    apply_blocks(rules.tuning, loops);
  } else {
    choose_square_blocks(loops);
  }
  method.joins = finish_transposition(loops, std::move(region.rest), method.pack, streams, rules.tuning) && !types.sums;
  loops.past_cache = loops.past_cache && !types.sums;
  return {std::move(loops), method};
}

Planned<ConvertedElements> plan_converted_elements(ConvertedRegion region, const ConvertedTypes& types, bool streams,
                                                   const BlockRules& rules) {
  Loops& loops = region.loops;
  if (region.listed)
    choose_listed_blocks(loops);
  else if (types.whole_bytes())
    choose_gather_blocks(loops, streams, true, rules);
  else
    choose_sub_byte_blocks(loops);
  loops.past_cache = loops.past_cache && !types.sums;
  finish(loops, std::move(region.rest));
  return {std::move(loops), {.each = types.each}};
}

}  // namespace relayout
