// The order in which methods that convert are asked: packed elements by stages; runs whose attribute values repeat;
// runs, or stages where they are short; a region, or stages where it has few values along a side.
#include "relayout/reorder/boxes/box_planner.h"

#include "relayout/reorder/boxes/methods/stages.h"
#include "relayout/reorder/boxes/moves.h"

namespace relayout {
namespace {

BoxPlan plan_cast(Box box, const ConvertedTypes& types, bool streams, const Tables& tables,
                  const std::array<int64_t, 2>& end, const BlockRules& rules) {
  /// Runs of fewer than kShortRun values do not fill a register, so stages are better; a box of fewer than
  /// kFewElements values is not worth planning them for.
  constexpr int64_t kShortRun = 8, kFewElements = 512;
  const bool worth_stages = count_elements(box) >= kFewElements;
  const auto by_stages = [&] {
    return plan_stages(std::span(&box, 1), types, true, streams, {end, false}, tables, rules);
  };
  if (!types.whole_bytes()) {
    if (auto plan = by_stages()) return *std::move(plan);
  }
  if (types.whole_bytes()) turn_along_src(box, units(types.src), units(types.dst));
  if (auto runs = plan_periodic_runs(box, types, streams)) return *std::move(runs);
  if (const auto run = find_run(box.axes, units(types.src), units(types.dst)); run != box.axes.end()) {
    if (worth_stages && box.axes.size() > 1 && run->extent < kShortRun) {
      if (auto plan = by_stages()) return *std::move(plan);
    }
    if (auto runs = plan_converted_runs(box, types, streams)) return *std::move(runs);
    return plan_converted_pieces(std::move(box), types, streams, rules);
  }
  ConvertedRegion region = choose_converted_region(box, types);
  if (worth_stages && converts_few(region, types)) {
    if (auto plan = by_stages()) return *std::move(plan);
  }
  if (region.transposes) return plan_converted_transposition(std::move(region), types, streams, rules);
  return plan_converted_elements(std::move(region), types, streams, rules);
}

}  // namespace

BoxPlan BoxPlanner::move(Box box, bool streamed) const {
  simplify(box);
  return move_simple(std::move(box), streamed);
}

BoxPlan BoxPlanner::move_simple(Box box, bool streamed) const {
  if (converts) return plan_cast(std::move(box), types, streamed, tables, end, rules);
  if (types.whole_bytes()) return plan_move(std::move(box), types.src, streamed, rules);
  if (auto plan = move_as_bytes(box, streamed, nullptr)) return *std::move(plan);
  if (auto plan = plan_stages(std::span(&box, 1), types, false, streamed, {end, false}, tables, rules))
    return *std::move(plan);
  return plan_sub_byte(std::move(box), bits(types.src));
}

std::optional<BoxPlan> BoxPlanner::move_as_bytes(const Box& box, bool streamed, Tables* changed) const {
  Box joined = box;
  if (!join_to_bytes(joined, bits(types.src), changed)) return {};
  BoxPlan plan = plan_move(std::move(joined), types.src, streamed, rules);
  plan.elements = count_elements(box);
  return plan;
}

BoxPlan BoxPlanner::pad(Box box) const {
  simplify(box);
  return plan_fill(std::move(box), types.dst, *fill);
}

}  // namespace relayout
