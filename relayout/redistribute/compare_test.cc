// Differences, overlaps and shapes of random placements against loops over all elements.
#include "relayout/redistribute/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/drawn_placements.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

using test::draw_pair;
using test::Drawn;
using test::each_index;
using test::Home;
using test::home;

bool same(const Home& a, const Home& b) {
  std::vector<int64_t> left = a.places, right = b.places;
  std::ranges::sort(left);
  std::ranges::sort(right);
  return left == right && a.local == b.local;
}

TEST(Compare, TheFirstIndexThatLiesElsewhere) {
  Drawn draw(60);
  int equal = 0, late = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    auto [a, b] = draw_pair(draw);
    if (draw.from_to(0, 1) == 0) {  // alike but for one dim
      std::vector<DimPlaces> dims = a.of_dims();
      DimPlaces& last = dims[static_cast<std::size_t>(draw.from_to(0, std::ssize(dims) - 1))];
      last.block += draw.from_to(0, 2);
      b = Placement::of(a.dims(), a.places(), dims);
    }
    std::optional<Dims> expected;
    each_index(a.dims(), [&](const Dims& index) {
      if (!expected && !same(home(a, index), home(b, index))) expected = index;
    });
    const auto found = difference(a, b);
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!found) {
      ++equal;
      continue;
    }
    ASSERT_EQ(found->index, *expected);
    late += found->index == Dims(a.dims().size(), 0) ? 0 : 1;
    const Home at_a = home(a, *expected), at_b = home(b, *expected);
    EXPECT_EQ(found->place_a, at_a.places[0]);
    EXPECT_EQ(found->place_b, at_b.places[0]);
    EXPECT_EQ(found->local_a, at_a.local);
    EXPECT_EQ(found->local_b, at_b.local);
  }
  EXPECT_GT(equal, 200);
  EXPECT_GT(late, 300);
}

TEST(Compare, WhatTwoPlacesHaveInCommon) {
  Drawn draw(61);
  for (int trial = 0; trial < 500; ++trial) {
    const auto [a, b] = draw_pair(draw);
    const int64_t here = draw.from_to(0, a.places() - 1), there = draw.from_to(0, b.places() - 1);
    PlaceOverlap expected;
    each_index(a.dims(), [&](const Dims& index) {
      const Home at_a = home(a, index), at_b = home(b, index);
      if (std::ranges::find(at_a.places, here) == at_a.places.end()) return;
      if (std::ranges::find(at_b.places, there) == at_b.places.end()) return;
      if (expected.elements++ == 0) expected.index = index;
    });
    const PlaceOverlap found = overlap(a, here, b, there);
    ASSERT_EQ(found.elements, expected.elements);
    if (found.elements > 0) {
      EXPECT_EQ(found.index, expected.index);
    }
  }
}

TEST(Compare, ShapesOfAllPlaces) {
  Drawn draw(62);
  for (int trial = 0; trial < 500; ++trial) {
    const Placement p = draw_pair(draw).src;
    std::map<std::vector<int64_t>, int64_t> expected, found;
    for (int64_t place = 0; place < p.places(); ++place) {
      const Dims local = p.local_dims(place);
      ++expected[{local.begin(), local.end()}];
    }
    int64_t before = -1;
    for (const PlaceShape& shape : shapes_of(p)) {
      found[{shape.dims.begin(), shape.dims.end()}] += shape.places;
      const int64_t elements = *checked_product(shape.dims);
      if (before >= 0) {
        EXPECT_LE(elements, before);
      }
      before = elements;
    }
    ASSERT_EQ(found, expected);
  }
}

TEST(Compare, RefusesWhatIsNone) {
  const Placement a = Placement::chunks({4}, {2}), b = Placement::chunks({5}, {2});
  EXPECT_EQ(test::code_of([&] { (void)difference(a, b); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([&] { (void)overlap(a, 0, b, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([&] { (void)overlap(a, 2, a, 0); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace relayout::redistribute
