// Differences, overlaps and shapes, each found dim by dim, since what a dim adds to the place and to the index there
// does not depend on the others.
#include "relayout/redistribute/compare.h"

#include <algorithm>
#include <map>

#include "relayout/core/error.h"
#include "relayout/redistribute/exchange.h"

namespace relayout::redistribute {
namespace {

void check_same_dims(const Placement& a, const Placement& b) {
  if (a.dims() != b.dims())
    throw Error(ErrorCode::invalid_argument,
                "placement: one is of dims " + join(a.dims()) + ", the other of " + join(b.dims()), "dims",
                join(b.dims()), join(a.dims()));
}

void check_place(const Placement& placement, int64_t place) {
  if (place < 0 || place >= placement.places())
    throw Error(ErrorCode::invalid_argument,
                "placement: place " + std::to_string(place) + " of " + std::to_string(placement.places()), "place",
                std::to_string(place), std::to_string(placement.places() - 1));
}

/// What a coordinate of dim d adds to a place's number.
int64_t share(const Placement& placement, int d, int64_t coordinate) {
  Dims coordinates(placement.dims().size(), 0);
  coordinates[d] = coordinate;
  return placement.place_at(coordinates);
}

/// The first index of dim d at which the other dims being 0 either side has another place than `apart` from each other,
/// or another local index; nothing where there is none.
std::optional<int64_t> first_difference(const Placement& a, const Placement& b, int d, int64_t apart) {
  std::optional<int64_t> out;
  const auto found = [&](int64_t index) { out = out ? std::min(*out, index) : index; };
  for (const Segment& segment : segments_of(a, b, d)) {
    if (share(a, d, segment.src_coordinate) - share(b, d, segment.dst_coordinate) != apart ||
        segment.src_start != segment.dst_start)
      found(segment.start);
    else if (segment.count > 1 && segment.src_step != segment.dst_step)
      found(segment.start + segment.step);
  }
  return out;
}

/// How often each extent occurs among the coordinates of a dim.
std::map<int64_t, int64_t, std::greater<>> extents_of(int64_t extent, const DimPlaces& dim) {
  const int64_t round = dim.block * dim.count(), whole = extent / round * dim.block, rest = extent % round;
  std::map<int64_t, int64_t, std::greater<>> out;
  const int64_t full = rest / dim.block, partial = rest % dim.block;
  const auto add = [&](int64_t indices, int64_t coordinates) {
    if (coordinates > 0) out[indices] += coordinates;
  };
  add(whole + dim.block, full);
  add(whole + partial, partial > 0 ? 1 : 0);
  add(whole, dim.count() - full - (partial > 0 ? 1 : 0));
  return out;
}

}  // namespace

std::optional<PlacementDifference> difference(const Placement& a, const Placement& b) {
  check_same_dims(a, b);
  for (const int64_t extent : a.dims()) {
    if (extent == 0) return std::nullopt;
  }
  Dims index(a.dims().size(), 0);
  const int64_t apart = a.place(index) - b.place(index);
  bool found = apart != 0 || !(a.copies() == b.copies());
  // The last dims change fastest, so the first index that differs has zeros before the last dim that has any.
  for (int d = index.size(); !found && d-- > 0;) {
    const int64_t at_zero = share(a, d, a.of_dims()[static_cast<std::size_t>(d)].first) -
                            share(b, d, b.of_dims()[static_cast<std::size_t>(d)].first);
    const std::optional<int64_t> first = first_difference(a, b, d, at_zero);
    if (!first) continue;
    index[d] = *first;
    found = true;
  }
  if (!found) return std::nullopt;
  return PlacementDifference{index, a.place(index), b.place(index), a.local_index(index), b.local_index(index)};
}

PlaceOverlap overlap(const Placement& a, int64_t place_a, const Placement& b, int64_t place_b) {
  check_same_dims(a, b);
  check_place(a, place_a);
  check_place(b, place_b);
  PlaceOverlap out{1, {}};
  for (int d = 0; d < a.dims().size(); ++d) {
    const int64_t here = a.coordinate(place_a, d), there = b.coordinate(place_b, d);
    int64_t indices = 0;
    std::optional<int64_t> first;
    for (const Segment& segment : segments_of(a, b, d)) {
      if (segment.src_coordinate != here || segment.dst_coordinate != there) continue;
      indices += segment.length * segment.count;
      first = first ? std::min(*first, segment.start) : segment.start;
    }
    if (indices == 0) return {};
    out.elements *= indices;
    out.index.push_back(*first);
  }
  return out;
}

std::vector<PlaceShape> shapes_of(const Placement& placement) {
  std::vector<PlaceShape> out{{Dims{}, placement.copy_count()}};
  for (int d = 0; d < placement.dims().size(); ++d) {
    const auto extents = extents_of(placement.dims()[d], placement.of_dims()[static_cast<std::size_t>(d)]);
    std::vector<PlaceShape> longer;
    for (const PlaceShape& shape : out) {
      for (const auto& [extent, count] : extents) {
        longer.push_back({shape.dims, shape.places * count});
        longer.back().dims.push_back(extent);
      }
    }
    out = std::move(longer);
  }
  const auto elements = [](const PlaceShape& shape) {
    int64_t all = 1;
    for (const int64_t extent : shape.dims) all *= extent;
    return all;
  };
  std::ranges::stable_sort(out, std::ranges::greater{}, elements);
  return out;
}

}  // namespace relayout::redistribute
