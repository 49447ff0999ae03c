// The plans that the planner chooses from: one for each way to move a tensor (Tuning::Way) that this reorder can go, of
// large tensors with each store (Tuning::Stream), through the caches and past them.
//
//     for (const Offer& offer : offers(src, dst)) std::cout << name(offer.way) << offer.plan.cost().nanoseconds;
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relayout/reorder/plan.h"

namespace relayout {

struct Offer {
  Tuning::Way way;  // the first of those that lead to this plan
  Plan plan;
  bool chosen = false;
};

/// The plans of all ways, without those that are the same, the cheapest by Plan::cost() first; exactly one is chosen.
/// Errors and cost are those of Plan::make(), once for each way and store.
std::vector<Offer> offers(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                          const Machine& machine = {}, const Tuning& tuning = {});
/// One line for each offer: price, way and kernel.
std::string offers_text(const std::vector<Offer>& offers);
/// "boxes", "lines", "stages" or "cheapest".
std::string_view name(Tuning::Way way);

}  // namespace relayout
