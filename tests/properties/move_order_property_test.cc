// Compares the moves that for_each_move() says with what layouts say: each element comes from where its index lies in
// the source, once; each element of padding is filled once; and outlines hold all that is moved.
//
// RELAYOUT_SEED repeats a run, RELAYOUT_CASES sets the number of cases.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "random_case.h"
#include "relayout/reorder/move_order.h"
#include "relayout/reorder/outline.h"
#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout::test {
namespace {

/// What is expected: for each offset of the destination the offset of the source, and the offsets of padding.
struct Expected {
  std::map<int64_t, int64_t> source;
  std::set<int64_t> padding;
};

/// The place of index i by a table, or kNone.
int64_t stands_at(const IndexTable& table, int64_t i) {
  const int64_t entry = table.entries()[static_cast<std::size_t>(i / table.block())];
  return entry == IndexTable::kNone ? entry : entry * table.block() + i % table.block();
}

Expected expected_of(const Case& c) {
  Expected out;
  const bool fills = c.attributes.padding.kind == Padding::Kind::value && c.attributes.dst_index.empty();
  const Dims dims = reorder_dims(c.src.layout, c.dst.layout, c.attributes);
  each_index(Dims(dims.size(), 0), dims, [&](const Dims& index) {
    Dims from = index, to = index;
    bool read = true, written = true;
    for (const IndexTable& table : c.attributes.src_index)
      read = (from[table.dim()] = stands_at(table, index[table.dim()])) != IndexTable::kNone && read;
    for (const IndexTable& table : c.attributes.dst_index)
      written = (to[table.dim()] = stands_at(table, index[table.dim()])) != IndexTable::kNone && written;
    if (!written) return;
    if (read)
      out.source[c.dst.layout.offset(to)] = c.src.layout.offset(from);
    else if (fills)
      out.padding.insert(c.dst.layout.offset(to));
  });
  if (!fills || c.dst.layout.empty()) return out;
  each_index(Dims(dims.size(), 0), c.dst.layout.padded_dims(), [&](const Dims& index) {
    for (int d = 0; d < index.size(); ++d) {
      if (index[d] >= c.dst.layout.dim(d)) return void(out.padding.insert(c.dst.layout.offset(index)));
    }
  });
  return out;
}

/// The boxes of an outline hold what is moved, and where each element is moved once, nothing else.
void check_outline(const Case& c, const Plan& plan, const std::vector<Move>& moves) {
  const PlanOutline outlined = outline(plan, 1000);
  ASSERT_EQ(outlined.boxes.size(), plan.data().boxes().size()) << c.text;
  ASSERT_EQ(outlined.fills.size(), plan.data().fills().size()) << c.text;
  std::vector<const BoxOutline*> boxes;
  for (const auto* list : {&outlined.boxes, &outlined.fills}) {
    for (const BoxOutline& box : *list) boxes.push_back(&box);
  }
  std::map<int64_t, std::pair<Dims, Dims>> reached;
  for (const Move& move : moves) {
    const BoxOutline& box = *boxes[static_cast<std::size_t>(move.box)];
    ASSERT_LT(move.block, box.blocks) << c.text;
    for (int64_t i = 0; i < move.count; ++i) {
      Dims index;
      if (c.dst.layout.inverse(move.dst + i, &index) == Slot::gap) continue;
      auto& [lo, hi] = reached.try_emplace(move.box, index, index).first->second;
      for (int d = 0; d < index.size(); ++d) {
        ASSERT_GE(index[d], box.origin[d]) << c.text << "\n" << plan.explain();
        ASSERT_LT(index[d], box.origin[d] + box.extents[d]) << c.text << "\n" << plan.explain();
        lo[d] = std::min(lo[d], index[d]);
        hi[d] = std::max(hi[d], index[d]);
      }
    }
  }
  for (const auto& [number, bounds] : reached) {
    const BoxOutline& box = *boxes[static_cast<std::size_t>(number)];
    EXPECT_FALSE(box.why.empty());
    // Elements that are moved a second time count where they are moved first.
    if (box.unit != "block" || box.method == "line program" || boxes.size() > 1) continue;
    for (int d = 0; d < box.origin.size(); ++d) {
      EXPECT_EQ(bounds.first[d], box.origin[d]) << c.text << "\n" << plan.explain();
      EXPECT_EQ(bounds.second[d], box.origin[d] + box.extents[d] - 1) << c.text << "\n" << plan.explain();
    }
  }
}

std::set<std::size_t> methods;  // of the boxes of all plans

void check(const Case& c, const Plan& plan) {
  const Expected expected = expected_of(c);
  std::map<int64_t, int64_t> source;
  std::set<int64_t> filled;
  std::vector<Move> moves;
  int64_t elements = 0;
  EXPECT_TRUE(for_each_move(plan, 1 << 20, [&](const Move& move) {
    moves.push_back(move);
    elements += move.count;
    for (int64_t i = 0; i < move.count; ++i) {
      const int64_t at = move.dst + i;
      if (move.fill) {
        EXPECT_TRUE(filled.insert(at).second) << c.text << ": " << at << " is filled twice";
      } else if (expected.source.contains(at)) {
        EXPECT_TRUE(source.emplace(at, move.src + i).second) << c.text << ": " << at << " is moved to twice";
      } else {
        // What is moved into padding is filled afterwards.
        EXPECT_TRUE(expected.padding.contains(at)) << c.text << ": " << at << " is no offset of the destination\n"
                                                   << plan.explain();
        EXPECT_FALSE(filled.contains(at)) << c.text << ": " << at << " is filled before it is moved to";
      }
    }
  })) << c.text;
  EXPECT_EQ(source, expected.source) << c.text << "\n" << plan.explain();
  EXPECT_EQ(filled, expected.padding) << c.text << "\n" << plan.explain();
  for (std::size_t i = 1; i < moves.size(); ++i) {
    EXPECT_LE(std::pair(moves[i - 1].box, moves[i - 1].block), std::pair(moves[i].box, moves[i].block)) << c.text;
  }
  check_outline(c, plan, moves);
  if (elements > 1) {  // the first of the moves, cut
    int64_t some = 0;
    EXPECT_FALSE(for_each_move(plan, elements - 1, [&](const Move& move) { some += move.count; }));
    EXPECT_EQ(some, elements - 1);
  }
  for (const BoxPlan& box : plan.data().boxes()) methods.insert(box.method.index());
}

void check_plans(const Case& c, std::mt19937_64& rng) {
  const Machine far{.l2 = 4 << 10, .l3 = int64_t{64} << 20}, wide{.permuted_bytes = 64};
  Tuning tuning{.stream = Tuning::Stream::always};
  if (rng() % 2 == 0) tuning.panel = 1 + static_cast<int64_t>(rng() % 48);
  if (rng() % 2 == 0) tuning.strip = 1 + static_cast<int64_t>(rng() % 24);
  constexpr Tuning::Way kWays[] = {Tuning::Way::boxes, Tuning::Way::lines, Tuning::Way::stages};
  const Tuning forced{.stream = Tuning::Stream{static_cast<uint8_t>(rng() % 3)}, .way = kWays[rng() % 3]};
  check(c, Plan::make(c.src, c.dst, c.attributes, rng() % 2 == 0 ? Machine{} : wide));
  check(c, Plan::make(c.src, c.dst, c.attributes, rng() % 2 == 0 ? Machine{} : far, tuning));
  check(c, Plan::make(c.src, c.dst, c.attributes, {.l3 = 8}));
  check(c, Plan::make(c.src, c.dst, c.attributes, rng() % 2 == 0 ? far : wide, forced));
}

/// A table for one dim of a case, in front of the source or, with different entries, of the destination.
void add_table(Case& c, std::mt19937_64& rng) {
  const int ndims = c.src.layout.ndims();
  if (ndims == 0 || c.src.layout.empty()) return;
  const int d = static_cast<int>(pick(rng, 0, ndims - 1));
  const int64_t extent = c.src.layout.dim(d);
  const bool scatters = pick(rng, 0, 2) == 0;
  std::vector<int64_t> entries(static_cast<std::size_t>(extent));
  std::iota(entries.begin(), entries.end(), 0);
  std::shuffle(entries.begin(), entries.end(), rng);
  for (int64_t& entry : entries) {
    if (!scatters && pick(rng, 0, 3) == 0) entry = pick(rng, 0, extent - 1);
    if (pick(rng, 0, 5) == 0) entry = IndexTable::kNone;
  }
  (scatters ? c.attributes.dst_index : c.attributes.src_index).emplace_back(d, std::move(entries));
  c.text += scatters ? ", scattered" : ", gathered";
}

TEST(MoveOrderProperty, EachElementOnceFromItsPlace) {
  const auto seed = static_cast<uint64_t>(number_from("RELAYOUT_SEED", 20261128));
  const int64_t total = number_from("RELAYOUT_CASES", slow_tests() ? 60'000 : 1'200);
  methods.clear();
  for (int64_t i = 0; i < total && !HasFailure(); ++i) {
    std::mt19937_64 rng(seed * 1'000'003 + static_cast<uint64_t>(i));
    Case c = random_case(rng, i % 40 == 0 ? 6000 : i % 10 == 0 ? 800 : 120);
    if (i % 8 == 7) add_table(c, rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(i));
    check_plans(c, rng);
  }
  std::printf("moves in order: %lld cases, boxes by %zu methods\n", static_cast<long long>(total), methods.size());
  // All but fills, which are no boxes that move.
  if (total >= 1000) {
    EXPECT_EQ(methods.size(), std::variant_size_v<Method> - 1);
  }
}

// Shapes of which many are done by other methods than the others, each way, and swizzled tiles.
TEST(MoveOrderProperty, EveryWay) {
  std::mt19937_64 rng(3);
  methods.clear();
  const auto swizzled = [](const char* tag, const Dims& dims, const Swizzle& swizzle, DType dtype) {
    return TensorDesc(Format::parse(tag).bind(dims).with_swizzle(swizzle), dtype);
  };
  const std::pair<TensorDesc, TensorDesc> pairs[] = {
      {desc("nchw", {1, 3, 40, 64}), desc("nhwc", {1, 3, 40, 64})},
      {desc("nhwc", {1, 3, 40, 64}, DType::u8), desc("nchw", {1, 3, 40, 64}, DType::u8)},
      {desc("nchw", {2, 64, 16, 16}), desc("nChw16c", {2, 64, 16, 16})},
      {desc("nchw", {2, 17, 30, 30}), desc("nChw16c", {2, 17, 30, 30})},
      {desc("nChw16c", {1, 40, 9, 9}, DType::s8), desc("nhwc", {1, 40, 9, 9}, DType::s8)},
      {desc("nChw16c", {1, 48, 9, 9}), desc("nhwc", {1, 48, 9, 9})},
      {desc("oihw", {32, 24, 3, 3}, DType::s8), desc("OIhw4i16o4i", {32, 24, 3, 3}, DType::s8)},
      {desc("oihw", {32, 24, 3, 3}), desc("OIhw4i16o4i", {32, 24, 3, 3}, DType::s8)},
      {desc("nchw", {2, 8, 20, 20}, DType::s4), desc("nhwc", {2, 8, 20, 20}, DType::s4)},
      {desc("ab", {33, 7}, DType::u4), desc("ba", {33, 7}, DType::u4)},
      {desc("nchw", {2, 3, 20, 33}), desc("nhwc", {2, 3, 20, 33}, DType::bf16)},
      {TensorDesc(Layout::strided({40, 64}, {1, 0}), DType::f32), desc("ab", {40, 64})},
      {TensorDesc(Layout::strided({40, 64}, {128, 2}), DType::f32), desc("ab", {40, 64})},
      {desc("ba", {64, 64}, DType::f16), swizzled("ab", {64, 64}, Swizzle::make(3, 3, 3), DType::f16)},
      {swizzled("ab", {64, 64}, Swizzle::make(2, 4, 3), DType::f32), desc("ab", {64, 64})},
      {desc("ab", {37, 65}), desc("ab", {37, 65})},
      {desc("hwio", {128, 32, 1, 1}, DType::u8), desc("OIhw4i4o4i", {128, 32, 1, 1}, DType::u8)},
  };
  for (const auto& [src, dst] : pairs) {
    for (const Tuning::Way way : {Tuning::Way::cheapest, Tuning::Way::boxes, Tuning::Way::lines, Tuning::Way::stages}) {
      for (const Tuning::Stream stream : {Tuning::Stream::never, Tuning::Stream::always}) {
        for (const int64_t permuted : {0, 16, 64}) {
          Case c{src, dst, {}, src.layout.ndims() == 2 ? "rank 2" : "rank 4"};
          check(c, Plan::make(src, dst, {}, {.permuted_bytes = permuted}, {.stream = stream, .way = way}));
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(methods.size(), 9U);
}

TEST(MoveOrder, GoesBlockByBlock) {
  const Plan plan =
      Plan::make(desc("nchw", {1, 16, 4, 20}), desc("nhwc", {1, 16, 4, 20}), {}, {}, {.way = Tuning::Way::boxes});
  const PlanOutline outlined = outline(plan);
  ASSERT_EQ(outlined.boxes.size(), 1U);
  const BoxOutline& box = outlined.boxes[0];
  EXPECT_EQ(join(box.first), "0,0,0,0");
  EXPECT_EQ(join(box.extents), "1,16,4,20");
  ASSERT_EQ(box.axes.size(), 2U);
  EXPECT_EQ(box.axes[0].parts, (std::vector<OutlineAxis::Part>{{3, 1, 20}, {2, 1, 4}}));
  EXPECT_EQ(box.axes[1].parts, (std::vector<OutlineAxis::Part>{{1, 1, 16}}));
  std::vector<std::pair<int64_t, int64_t>> moves, expected;
  EXPECT_TRUE(for_each_move(plan, 10'000, [&](const Move& move) { moves.emplace_back(move.src, move.dst); }));
  for (int64_t strip = 0; strip < 80; strip += box.block[0]) {
    for (int64_t hw = strip; hw < std::min<int64_t>(80, strip + box.block[0]); ++hw) {
      for (int64_t c = 0; c < 16; ++c) expected.emplace_back(80 * c + hw, 16 * hw + c);
    }
  }
  EXPECT_EQ(moves, expected);
}

TEST(MoveOrder, PartsOfBlocksAndOfDimsThatAreOneAxis) {
  // The tail is a box of its own; 8 channels of a block, two blocks.
  const Plan plan = Plan::make(desc("nchw", {2, 17, 4, 4}), desc("nChw8c", {2, 17, 4, 4}), {}, {},
                               {.stream = Tuning::Stream::never, .way = Tuning::Way::boxes});
  const PlanOutline outlined = outline(plan);
  ASSERT_EQ(outlined.boxes.size(), 2U);
  std::set<std::string> origins;
  int64_t elements = 0;
  for (const BoxOutline& box : outlined.boxes) {
    origins.insert(join(box.origin));
    elements += box.elements;
  }
  EXPECT_EQ(origins, (std::set<std::string>{"0,0,0,0", "0,16,0,0"}));
  EXPECT_EQ(elements, 2 * 17 * 16);
  ASSERT_EQ(outlined.fills.size(), 1U);
  EXPECT_EQ(join(outlined.fills[0].origin), "0,17,0,0");
  EXPECT_EQ(join(outlined.fills[0].extents), "2,7,4,4");
}

// Elements that are no whole bytes are copied as bytes, of which some hold parts of two; they are counted as elements.
TEST(MoveOrder, SubByteElementsThatAreCopiedAsBytes) {
  for (const DType type : {DType::u1, DType::s4, DType::f6_e2m3}) {
    const Plan plan = Plan::make(desc("ab", {6, 80}, type), desc("ab", {6, 80}, type));
    const PlanOutline outlined = outline(plan);
    ASSERT_EQ(outlined.boxes.size(), 1U);
    EXPECT_EQ(outlined.boxes[0].elements, 480);
    EXPECT_EQ(join(outlined.boxes[0].origin), "0,0");
    EXPECT_EQ(join(outlined.boxes[0].extents), "6,80");
    EXPECT_EQ(plan.cost().bytes_read, 480 * bits(type) / 8);
  }
}

}  // namespace
}  // namespace relayout::test
