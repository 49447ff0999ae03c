// A box plan in words: its kernel, method and reason (internal to reorder).
#pragma once

#include <string>

#include "relayout/reorder/box_outline.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout {

/// The outline of a box without its indices: BoxOutline::first, origin, extents, and the parts of the axes.
BoxOutline outline_of(const PlanData& plan, const BoxPlan& box);

/// How many elements the pieces of a box have, where it has rows and columns of pieces.
int64_t elements_of_piece(const PlanData& plan, const BoxPlan& box);

/// "1 box", "2 boxes".
std::string plural(int64_t count, const std::string& one, const std::string& many = {});

/// What becomes of values, of padding, and why the destination is written past the cache; "" where there is nothing to
/// say.
std::string values_words(const PlanData& plan);
std::string padding_words(const PlanData& plan);
std::string store_words(const PlanData& plan);

}  // namespace relayout
