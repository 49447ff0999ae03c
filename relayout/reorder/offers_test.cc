// The plans that the planner chooses from, on this and on other machines.
#include "relayout/reorder/offers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout {
namespace {

TensorDesc typed_desc(std::string_view format, const Dims& dims, DType type = DType::f32) {
  return {Format::parse(format).bind(dims), type};
}

const Offer& chosen(const std::vector<Offer>& all) { return *std::ranges::find_if(all, &Offer::chosen); }

TEST(Offers, AreSortedByPriceAndOneIsChosen) {
  const std::tuple<TensorDesc, TensorDesc> pairs[] = {
      {typed_desc("abc", {83, 106, 2}, DType::s16), typed_desc("bac", {83, 106, 2}, DType::s16)},
      {typed_desc("nChw16c", {8, 800, 40, 30}), typed_desc("nhwc", {8, 800, 40, 30})},
      {typed_desc("ab", {300, 500}), typed_desc("ba", {300, 500}, DType::bf16)},
      {typed_desc("nchw", {2, 3, 17, 19}, DType::s4), typed_desc("nhwc", {2, 3, 17, 19}, DType::s4)}};
  for (const auto& [src, dst] : pairs) {
    const auto all = offers(src, dst);
    ASSERT_FALSE(all.empty());
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, [](const Offer& o) { return o.plan.cost().nanoseconds; }));
    EXPECT_EQ(std::ranges::count_if(all, &Offer::chosen), 1);
    EXPECT_EQ(chosen(all).plan.explain(), Plan::make(src, dst).explain());
    const std::string text = offers_text(all);
    EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<int64_t>(all.size()));
    EXPECT_NE(text.find("chosen"), std::string::npos);
  }
}

TEST(Offers, AWayThatIsAskedForIsGone) {
  const TensorDesc src = typed_desc("ab", {300, 500}), dst = typed_desc("ba", {300, 500}, DType::bf16);
  const auto by = [&](Tuning::Way way) { return Plan::make(src, dst, {}, {}, {.way = way}); };
  EXPECT_TRUE(by(Tuning::Way::stages).data().boxes()[0].as<Stages>());
  EXPECT_FALSE(by(Tuning::Way::boxes).data().boxes()[0].as<Stages>());
  const TensorDesc small = typed_desc("nwc", {16, 3, 211}, DType::u8),
                   turned = typed_desc("ncw", {16, 3, 211}, DType::u8);
  const auto lines = Plan::make(small, turned, {}, {.permuted_bytes = 64}, {.way = Tuning::Way::lines});
  EXPECT_TRUE(lines.data().boxes()[0].as<ProgrammedLines>());
  const auto boxes = Plan::make(small, turned, {}, {.permuted_bytes = 64}, {.way = Tuning::Way::boxes});
  EXPECT_FALSE(boxes.data().boxes()[0].as<ProgrammedLines>());
}

// What machines choose for twice 2.8 MB of f32, nhwc -> nchw.
TEST(Offers, MachinesChooseByTheirCaches) {
  const TensorDesc src = typed_desc("nhwc", {1, 64, 104, 105}), dst = typed_desc("nchw", {1, 64, 104, 105});
  const auto on = [&](const Machine& machine) { return chosen(offers(src, dst, {}, machine)).plan; };
  // On a phone with 4 MiB of a last level both sides are beyond the caches, so that the destination is better not read
  // before it is written. A desktop whose last level is large and its own keeps both there.
  EXPECT_TRUE(on({.l1 = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20}).streams());
  EXPECT_FALSE(on({.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 32 << 20}).streams());
  // A machine that permutes no bytes is never offered line programs.
  const TensorDesc few = typed_desc("nwc", {16, 3, 211}, DType::u8),
                   planar = typed_desc("ncw", {16, 3, 211}, DType::u8);
  for (const Offer& offer : offers(few, planar, {}, {.permuted_bytes = 0}))
    EXPECT_FALSE(offer.plan.data().boxes()[0].as<ProgrammedLines>()) << offer.plan.explain();
  const auto wide = offers(few, planar, {}, {.permuted_bytes = 64});
  EXPECT_TRUE(std::ranges::any_of(
      wide, [](const Offer& offer) { return offer.plan.data().boxes()[0].as<ProgrammedLines>() != nullptr; }));
}

// A server's shared last level is slow to reach, so what a desktop would move through it goes past it in whole lines.
TEST(Offers, ASharedLastLevelIsPassedBySooner) {
  const TensorDesc src = typed_desc("nChw16c", {32, 64, 28, 28}), dst = typed_desc("nhwc", {32, 64, 28, 28});
  const Machine desktop{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  const Machine server{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = int64_t{260} << 20};
  EXPECT_FALSE(Plan::make(src, dst, {}, desktop).streams() && !Plan::make(src, dst, {}, server).streams());
  EXPECT_TRUE(Plan::make(src, dst, {}, server).streams());
}

}  // namespace
}  // namespace relayout
