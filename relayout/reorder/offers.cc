// Planning a reorder every way.
#include "relayout/reorder/offers.h"

#include <algorithm>
#include <cmath>

#include "relayout/reorder/planner/plan_data.h"

namespace relayout {

std::string_view name(Tuning::Way way) {
  switch (way) {
    case Tuning::Way::cheapest: return "cheapest";
    case Tuning::Way::boxes: return "boxes";
    case Tuning::Way::lines: return "lines";
    case Tuning::Way::stages: return "stages";
  }
  return "";
}

std::vector<Offer> offers(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                          const Machine& machine, const Tuning& tuning) {
  const Plan chosen = Plan::make(src, dst, attributes, machine, tuning);
  const auto same = [](const Plan& a, const Plan& b) { return a.data().answer() == b.data().answer(); };
  // Both stores, where the planner compares them.
  using Stream = Tuning::Stream;
  const bool both = tuning.stream == Stream::by_size && chosen.data().far();
  std::vector<Stream> stores{tuning.stream};
  if (both) stores = {Stream::never, Stream::always, Stream::by_size};
  // A reorder that no line program can do goes box by box, where it is asked to go by lines.
  const auto by_lines = [](const Plan& plan) {
    return std::ranges::any_of(plan.data().boxes(), [](const BoxPlan& box) {
      const auto* tiles = box.as<TileRuns>();
      return box.as<ProgrammedLines>() != nullptr || (tiles != nullptr && tiles->by_lines());
    });
  };
  std::vector<Offer> out;
  for (const Tuning::Way way : {Tuning::Way::boxes, Tuning::Way::lines, Tuning::Way::stages, Tuning::Way::cheapest}) {
    for (const Stream store : stores) {
      Tuning one = tuning;
      one.way = way;
      one.stream = store;
      Plan plan = Plan::make(src, dst, attributes, machine, one);
      if (way == Tuning::Way::lines && !by_lines(plan)) continue;
      if (std::ranges::any_of(out, [&](const Offer& offer) { return same(offer.plan, plan); })) continue;
      const bool is_chosen = same(plan, chosen);
      out.push_back({way, is_chosen ? chosen : std::move(plan), is_chosen});
    }
  }
  std::ranges::stable_sort(out, {}, [](const Offer& offer) { return offer.plan.cost().nanoseconds; });
  return out;
}

namespace {

/// A time with one decimal, in us, or in ns below one us.
std::string time_text(double ns) {
  const bool small = ns < 1000;
  const auto tenths = std::llround(small ? 10 * ns : ns / 100);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + (small ? " ns" : " us");
}

}  // namespace

std::string offers_text(const std::vector<Offer>& offers) {
  std::string out;
  for (const Offer& offer : offers) {
    out += "  offer " + std::string(name(offer.way)) + (offer.plan.streams() ? " past the cache: " : ": ") +
           time_text(offer.plan.cost().nanoseconds) + ", " + offer.plan.kernel() + (offer.chosen ? ", chosen" : "") +
           "\n";
  }
  return out;
}

}  // namespace relayout
