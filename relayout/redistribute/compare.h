// Exact answers about two placements of one tensor, with a witness: whether each element lies at the same places and at
// the same index there, where it first does not, and what two places have in common.
//
//     difference(a, b);           // the first index that lies elsewhere, and where it lies on both sides
//     overlap(a, 3, b, 5);        // how many elements place 3 of a and place 5 of b both have, and the first of them
//     shapes_of(a);               // the shapes of what places hold, each with the number of places that have it
//
// What travels between two placements says Exchange (exchange.h).
#pragma once

#include <optional>
#include <vector>

#include "relayout/core/placement.h"

namespace relayout::redistribute {

struct PlacementDifference {
  /// The first index, in row-major order, that lies elsewhere; its first place on either side, and its index there.
  Dims index;
  int64_t place_a = 0, place_b = 0;
  Dims local_a, local_b;
};
/// Nothing where each element is at the same places, all copies counted, and at the same index of each. Places that
/// hold nothing do not count. Cost: a step for each segment of each dim. Error{invalid_argument} unless the dims are
/// equal.
std::optional<PlacementDifference> difference(const Placement& a, const Placement& b);

struct PlaceOverlap {
  int64_t elements = 0;
  Dims index;  // the first of them, if there are any
};
/// Errors: invalid_argument (other dims; a place that there is not).
PlaceOverlap overlap(const Placement& a, int64_t place_a, const Placement& b, int64_t place_b);

/// The shapes that places hold, the largest first, each with how many places have it; at most three extents a dim
/// occur.
struct PlaceShape {
  Dims dims;
  int64_t places = 0;
};
std::vector<PlaceShape> shapes_of(const Placement& placement);

}  // namespace relayout::redistribute
