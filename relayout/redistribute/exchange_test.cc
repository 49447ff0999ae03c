// Placements and exchanges: every element at the place and the index that plain loops say, 2,000 random pairs.
#include "relayout/redistribute/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "relayout/core/error.h"
#include "tests/support/drawn_placements.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

using test::draw_pair;
using test::Drawn;
using test::each_index;
using test::Home;
using test::home;

TEST(Placement, SaysWhatLoopsSay) {
  Drawn draw(50);
  for (int trial = 0; trial < 500; ++trial) {
    const Placement p = draw_pair(draw).src;
    std::vector<std::map<std::vector<int64_t>, int>> seen(static_cast<std::size_t>(p.places()));
    each_index(p.dims(), [&](const Dims& index) {
      const Home at = home(p, index);
      ASSERT_EQ(p.place(index), at.places[0]);
      ASSERT_EQ(p.local_index(index), at.local);
      for (int64_t place : at.places) {
        ASSERT_EQ(p.global_index(place, at.local), index);
        ++seen[static_cast<std::size_t>(place)][{at.local.begin(), at.local.end()}];
      }
    });
    for (int64_t place = 0; place < p.places(); ++place) {
      const Dims local = p.local_dims(place);
      each_index(local, [&](const Dims& index) {
        ASSERT_EQ((seen[static_cast<std::size_t>(place)][{index.begin(), index.end()}]), 1);
      });
      ASSERT_EQ(std::ssize(seen[static_cast<std::size_t>(place)]), *checked_product(local));
    }
  }
}

/// The memory of each place of a placement, row-major, each element with its number in the whole tensor.
std::vector<std::vector<int64_t>> memories(const Placement& p, bool filled) {
  std::vector<std::vector<int64_t>> out;
  for (int64_t place = 0; place < p.places(); ++place)
    out.emplace_back(static_cast<std::size_t>(*checked_product(p.local_dims(place))), -1);
  if (!filled) return out;
  const Layout whole = Layout::contiguous(p.dims());
  each_index(p.dims(), [&](const Dims& index) {
    const Home at = home(p, index);
    for (int64_t place : at.places) {
      const Layout local = Layout::contiguous(p.local_dims(place));
      out[static_cast<std::size_t>(place)][static_cast<std::size_t>(local.offset(at.local))] = whole.offset(index);
    }
  });
  return out;
}

TEST(Exchange, TwoThousandRandomPairsArrive) {
  Drawn draw(51);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto [src, dst] = draw_pair(draw);
    const Exchange exchange(src, dst);
    const auto from = memories(src, true), expected = memories(dst, true);
    auto to = memories(dst, false);
    int64_t travelled = 0;
    for (int64_t place = 0; place < src.places(); ++place) {
      for (const Message& m : exchange.sent_by(place)) {
        ASSERT_EQ(m.from, place);
        if (m.to != place) travelled += m.elements();
        const Layout sender = Layout::contiguous(src.local_dims(m.from)),
                     receiver = Layout::contiguous(dst.local_dims(m.to));
        const int64_t most = draw.from_to(1, 200);
        for (const Part& part : m.parts_of(most)) {
          ASSERT_LE(part.elements(), most);
          const Layout read = part.src_view(sender), written = part.dst_view(receiver);
          each_index(part.dims(), [&](const Dims& index) {
            int64_t& cell = to[static_cast<std::size_t>(m.to)][static_cast<std::size_t>(written.offset(index))];
            ASSERT_EQ(cell, -1) << "written twice";
            cell = from[static_cast<std::size_t>(m.from)][static_cast<std::size_t>(read.offset(index))];
          });
        }
      }
    }
    ASSERT_EQ(to, expected);
    ASSERT_EQ(travelled, exchange.elements_travelling());
    // What is received is what is sent.
    int64_t received = 0;
    for (int64_t place = 0; place < dst.places(); ++place) {
      for (const Message& m : exchange.received_by(place)) received += m.from == place ? 0 : m.elements();
    }
    ASSERT_EQ(received, travelled);
  }
}

// Every index is in one segment, at the places and the local indices that the placements say.
TEST(Exchange, SegmentsHaveEachIndexOnce) {
  Drawn draw(54);
  for (int trial = 0; trial < 3000; ++trial) {
    const Dims dims{draw.from_to(1, 400)};
    const auto drawn = [&] {
      const int64_t places = draw.from_to(1, 5), block = draw.from_to(1, draw.from_to(1, 90));
      return Placement::of(dims, places, {{block, {{places, 1}}, draw.from_to(0, places - 1)}});
    };
    const Placement src = drawn(), dst = drawn();
    std::vector<int> seen(static_cast<std::size_t>(dims[0]), 0);
    for (const Segment& s : segments_of(src, dst, 0)) {
      for (int64_t k = 0; k < s.count * s.length; ++k) {
        const int64_t turn = k / s.length, inside = k % s.length, index = s.start + turn * s.step + inside;
        ++seen.at(static_cast<std::size_t>(index));
        ASSERT_EQ(src.place({index}), s.src_coordinate);
        ASSERT_EQ(dst.place({index}), s.dst_coordinate);
        ASSERT_EQ(src.local_index({index})[0], s.src_start + turn * s.src_step + inside);
        ASSERT_EQ(dst.local_index({index})[0], s.dst_start + turn * s.dst_step + inside);
      }
    }
    ASSERT_EQ(std::ranges::count(seen, 1), dims[0]);
  }
}

// A period of blocks of 1 and of a million is the whole dim, and there are few segments all the same.
TEST(Exchange, SmallBlocksRepeatWithinLargeOnes) {
  const Dims dims{4'000'000};
  const Placement cyclic = Placement::of(dims, 4, {{1, {{4, 1}}}}),
                  whole = Placement::of(dims, 4, {{1'000'000, {{4, 1}}}});
  EXPECT_EQ(std::ssize(segments_of(cyclic, whole, 0)), 16);
  EXPECT_EQ(std::ssize(segments_of(whole, cyclic, 0)), 16);
  const Dims huge{1'000'000'000'000};
  const Placement fives = Placement::of(huge, 4, {{5, {{4, 1}}}}),
                  parts = Placement::of(huge, 3, {{333'333'333'334, {{3, 1}}}});
  EXPECT_LT(std::ssize(segments_of(fives, parts, 0)), 30);
  const Placement odd = Placement::of(huge, 4, {{999, {{4, 1}}}}), even = Placement::of(huge, 4, {{1000, {{4, 1}}}});
  EXPECT_LT(std::ssize(segments_of(odd, even, 0)), 20'000);
  const Placement primes = Placement::of(huge, 4, {{999'983, {{4, 1}}}});
  EXPECT_EQ(test::code_of([&] {
              (void)segments_of(primes, Placement::of(huge, 5, {{9973, {{5, 1}}}}), 0);
            }),
            ErrorCode::limit);
}

TEST(Exchange, BestAssignmentIsTheBestOfAllPermutations) {
  Drawn draw(52);
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<std::size_t>(draw.from_to(1, 6));
    std::vector<std::vector<int64_t>> gain(n, std::vector<int64_t>(n));
    for (auto& row : gain) {
      for (int64_t& value : row) value = draw.from_to(0, 9);
    }
    const auto worth = [&](const std::vector<int64_t>& p) {
      int64_t out = 0;
      for (std::size_t i = 0; i < n; ++i) out += gain[i][static_cast<std::size_t>(p[i])];
      return out;
    };
    std::vector<int64_t> p(n);
    std::iota(p.begin(), p.end(), 0);
    int64_t best = 0;
    do best = std::max(best, worth(p));
    while (std::next_permutation(p.begin(), p.end()));
    const std::vector<int64_t> found = best_assignment(gain);
    std::vector<int64_t> sorted = found;
    std::ranges::sort(sorted);
    std::iota(p.begin(), p.end(), 0);
    EXPECT_EQ(sorted, p);
    EXPECT_EQ(worth(found), best);
  }
}

TEST(Exchange, RelabellingLeavesNothingToSendWhereOnlyNumbersDiffer) {
  const Dims dims{12, 8};
  const Placement rows = Placement::of(dims, 4, {{6, {{2, 2}}}, {4, {{2, 1}}}}),
                  columns = Placement::of(dims, 4, {{6, {{2, 1}}}, {4, {{2, 2}}}});
  const Exchange exchange(rows, columns);
  EXPECT_EQ(exchange.elements_travelling(), 48);
  EXPECT_EQ(exchange.relabelled(), (std::vector<int64_t>{0, 2, 1, 3}));
  EXPECT_EQ(exchange.with_ranks(exchange.relabelled()).elements_travelling(), 0);
  EXPECT_EQ(test::code_of([&] { (void)exchange.with_ranks({0, 0, 1, 2}); }), ErrorCode::invalid_argument);
}

TEST(Exchange, RelabelledPlacesTakeTheirOwnCopies) {
  Drawn draw(53);
  for (int trial = 0; trial < 500; ++trial) {
    const auto [src, dst] = draw_pair(draw);
    const Exchange before(src, dst);
    const std::vector<int64_t> ranks = before.relabelled();
    const Exchange exchange = before.with_ranks(ranks);
    ASSERT_LE(exchange.elements_travelling(), before.elements_travelling());
    int64_t travelled = 0, all = 0;
    for (int64_t place = 0; place < src.places(); ++place) {
      for (const Message& m : exchange.sent_by(place)) {
        all += m.elements();
        if (ranks[static_cast<std::size_t>(m.to)] != place) travelled += m.elements();
      }
    }
    int64_t held = 0;
    for (int64_t place = 0; place < dst.places(); ++place) held += *checked_product(dst.local_dims(place));
    ASSERT_EQ(all, held);
    ASSERT_EQ(travelled, exchange.elements_travelling());
  }
}

TEST(Placement, RefusesWhatIsNone) {
  EXPECT_EQ(test::code_of([] { Placement::of({4}, 4, {}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([] { Placement::of({4}, 4, {{0, {}}}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([] { Placement::of({4}, 4, {{1, {{3, 1}}}}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([] {
              Placement::of({4, 4}, 4, {{2, {{2, 1}}}, {2, {{2, 1}}}});
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([] { Placement::of({4}, 4, {{1, {{4, 1}}, 4}}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([] { (void)Placement::chunks({4}, {2}).place({4}); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace relayout::redistribute
