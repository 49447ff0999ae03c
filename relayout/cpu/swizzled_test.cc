// Reorders from and into swizzled layouts against loops over all indices, in memory between forbidden pages.
#include <gtest/gtest.h>

#include <cstring>

#include "relayout/core/format.h"
#include "relayout/cpu/in_place.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/slab_reorder.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/swizzled_layouts.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::Guarded;

/// Runs the plan between forbidden pages; the destination's bytes before are `old`.
void run_guarded(const Plan& plan, std::span<const std::byte> in, std::span<const std::byte> old,
                 std::span<const std::byte> expected, const std::string& what) {
  for (const auto side : {Guarded::Side::start, Guarded::Side::end}) {
    Guarded src(static_cast<int64_t>(in.size()), side), dst(static_cast<int64_t>(old.size()), side);
    std::ranges::copy(in, src.data());
    std::ranges::copy(old, dst.data());
    run(plan, src.data(), dst.data(), {.threads = 2, .grain_bytes = 1});
    ASSERT_TRUE(dst.intact() && src.intact()) << what << "\n" << plan.explain();
    ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << what << "\n" << plan.explain();
  }
}

/// The definition for tiles of whole elements: element (r, c) goes from one offset to the other.
TEST(SwizzledReorder, TilesAgainstALoop) {
  const Dims dims{128, 64};
  const auto offset_in_tile = [](int64_t r, int64_t c) { return r * 64 + ((c / 8) ^ (r % 8)) * 8 + c % 8; };
  const TensorDesc plain(Layout::contiguous(dims), DType::f16);
  const TensorDesc tile(Format::parse("cute:Sw<3,3,3>o0o(128,64):(64,1)").bind(dims), DType::f16);
  const TensorDesc columns(Format::parse("ba").bind(dims), DType::f16);
  std::vector<uint16_t> in(128 * 64), swizzled(128 * 64), transposed(128 * 64), out(128 * 64);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i * 7919);
  for (int64_t r = 0; r < 128; ++r) {
    for (int64_t c = 0; c < 64; ++c) {
      const uint16_t value = in[static_cast<std::size_t>(r * 64 + c)];
      swizzled[static_cast<std::size_t>(offset_in_tile(r, c))] = value;
      transposed[static_cast<std::size_t>(c * 128 + r)] = value;
    }
  }
  for (const std::string_view isa : available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    const auto check = [&](const TensorDesc& src, auto& from, const TensorDesc& dst, auto& into) {
      const auto bytes = [](auto& list) { return std::as_bytes(std::span(list)); };
      std::ranges::fill(out, uint16_t{0xa5a5});
      run_guarded(make_plan(src, dst), bytes(from), bytes(out), bytes(into), std::string(isa));
    };
    check(plain, in, tile, swizzled);
    check(tile, swizzled, plain, in);
    check(columns, transposed, tile, swizzled);
    check(tile, swizzled, columns, transposed);
    check(tile, swizzled, tile, swizzled);
  }
}

struct SwizzledCase {
  TensorDesc src, dst;
  Attributes attributes;
  std::string text;
};

SwizzledCase random_case(test::SwizzledLayouts& random, int64_t most) {
  static constexpr DType kTypes[] = {DType::f16, DType::f32, DType::u8, DType::s8, DType::f64, DType::s4, DType::u4};
  const Dims dims = random.dims(most);
  Layout a = random.layout(dims), b = random.layout(dims);
  const int64_t which = random.pick(0, 3);
  if (which != 0) a = a.with_swizzle(random.swizzle());
  if (which != 1) b = b.with_swizzle(random.swizzle());
  const DType from = kTypes[random.pick(0, std::size(kTypes) - 1)];
  const DType to = random.pick(0, 2) ? from : kTypes[random.pick(0, std::size(kTypes) - 1)];
  SwizzledCase out{{a, from}, {b, to}, {}, ""};
  if (random.pick(0, 3) == 0) out.attributes.padding = Padding::keep();
  if (random.pick(0, 5) == 0 && from != to) out.attributes.src_scale = {{2}, 0};
  if (random.pick(0, 7) == 0) {
    out.attributes.src_scale.mask = 1;
    out.attributes.src_scale.values.clear();
    for (int64_t i = 0; i < dims[0]; ++i) out.attributes.src_scale.values.push_back(static_cast<double>(i % 3 + 1));
  }
  out.text = std::string(name(from)) + " " + digits_expression(a) + " -> " + std::string(name(to)) + " " +
             digits_expression(b) + " of " + join(dims);
  return out;
}

TEST(SwizzledReorder, EqualsTheReference) {
  test::SwizzledLayouts random(12);
  for (int turn = 0; turn < 3000; ++turn) {
    const SwizzledCase c = random_case(random, turn % 8 ? 24 : 70);
    const auto isas = available_isas();
    const test::ScopedIsa isa_scope(isas[static_cast<std::size_t>(turn) % isas.size()]);
    auto in = test::counting(c.src.span_bytes()), old = test::counting(c.dst.span_bytes() + 1);
    old.erase(old.begin());
    auto expected = old;
    reference_reorder(c.src, in.data(), c.dst, expected.data(), c.attributes);
    Tuning tuning;
    if (turn % 4 == 1) tuning.stream = Tuning::Stream::always;
    if (turn % 4 == 2) tuning.way = Tuning::Way::stages;
    if (turn % 8 == 3) tuning.way = Tuning::Way::lines;
    if (turn % 8 == 7) tuning.way = Tuning::Way::boxes;
    run_guarded(make_plan(c.src, c.dst, c.attributes, tuning), in, old, expected, c.text);
    if (HasFatalFailure()) return;
  }
}

TEST(SwizzledReorder, InPlaceEqualsTheReference) {
  test::SwizzledLayouts random(13);
  int ran = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    SwizzledCase c = random_case(random, turn % 8 ? 24 : 70);
    InPlacePlan plan;
    try {
      plan = InPlacePlan::make(c.src, c.dst, c.attributes, {turn % 3 == 0 ? 2048 : 0});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::unsupported) << c.text << "\n" << error.what();
      continue;
    }
    ++ran;
    Guarded buffer(plan.buffer_bytes(), Guarded::Side::end), scratch(plan.scratch_bytes(2), Guarded::Side::end);
    const auto before = test::counting(plan.buffer_bytes());
    auto expected = before;
    reference_reorder(c.src, before.data(), c.dst, expected.data(), c.attributes);
    std::ranges::copy(before, buffer.data());
    run(plan, buffer.data(), scratch.bytes(), {2});
    ASSERT_TRUE(buffer.intact() && scratch.intact()) << c.text << "\n" << plan.explain();
    ASSERT_TRUE(std::ranges::equal(buffer.bytes(), expected)) << c.text << "\n" << plan.explain();
  }
  EXPECT_GT(ran, 1000);
}

// Whole periods go by stages, which permute the runs of a swizzle: tails, padding, types and stores of all kinds.
TEST(SwizzledReorder, WholePeriodsGoByStages) {
  struct Tile {
    std::string_view layout;
    Dims dims;
  };
  const std::string tiled = "cute:Sw<3,3,3>o0o((128,4),(64,2)):((64,16384),(1,8192))";
  const Tile tiles[] = {{"ab;swizzle=3,3,3", {1003, 64}}, {tiled, {512, 128}},
                        {"ab;swizzle=2,4,3", {160, 128}}, {"aB32b;swizzle=3,3,3", {70, 50}},
                        {"ab;swizzle=2,3,-3", {96, 64}},  {"ab;swizzle=1,5,2", {77, 128}}};
  const std::pair<DType, DType> types[] = {{DType::f16, DType::f16}, {DType::f32, DType::f32},
                                           {DType::u8, DType::u8},   {DType::u4, DType::u4},
                                           {DType::f32, DType::f16}, {DType::f16, DType::f32}};
  int staged = 0, turn = 0;
  for (const auto& [layout, dims] : tiles) {
    const Layout swizzled = Format::parse(layout).bind(dims), columns = Format::parse("ba").bind(dims);
    for (const auto& [from, to] : types) {
      for (const bool into : {true, false}) {
        const TensorDesc src(into ? columns : swizzled, from), dst(into ? swizzled : columns, to);
        Attributes attributes;
        if (from != to && ++turn % 2 == 0) attributes.src_scale = {{2}, 0};
        const auto in = test::counting(src.span_bytes());
        auto old = test::counting(dst.span_bytes() + 1);
        old.erase(old.begin());
        auto expected = old;
        reference_reorder(src, in.data(), dst, expected.data(), attributes);
        for (const std::string_view isa : available_isas()) {
          const test::ScopedIsa isa_scope(isa);
          for (const auto stream : {Tuning::Stream::by_size, Tuning::Stream::always}) {
            const Plan plan = make_plan(src, dst, attributes, {.stream = stream, .way = Tuning::Way::stages});
            for (const BoxPlan& box : plan.data().boxes()) {
              const auto* stages = box.as<Stages>();
              staged += stages && !(into ? stages->out : stages->in).swizzle.identity();
            }
            run_guarded(plan, in, old, expected, std::string(layout) + " " + std::string(isa));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(staged, 100);
}

// Parts of a large swizzled tensor go one at a time, by slabs and in place.
TEST(SwizzledReorder, LargeTensorsGoInParts) {
  const Dims dims{512, 64};
  const TensorDesc plain(Layout::contiguous(dims), DType::f16);
  const TensorDesc tile(plain.layout.with_swizzle(Swizzle::make(3, 3, 3)), DType::f16);
  const InPlacePlan plan = InPlacePlan::make(plain, tile, {}, {4096});
  EXPECT_LE(plan.scratch_bytes(), 4096);
  auto buffer = test::counting(plan.buffer_bytes());
  auto expected = buffer;
  reference_reorder(plain, buffer.data(), tile, expected.data());
  std::vector<std::byte> scratch(4096);
  run(plan, buffer.data(), scratch);
  EXPECT_EQ(buffer, expected);
}

// Layouts that differ in their swizzle alone have plans of their own.
TEST(SwizzledReorder, TheCacheKnowsSwizzlesApart) {
  const Dims dims{64, 64};
  const TensorDesc plain(Layout::contiguous(dims), DType::u8);
  const auto in = test::counting(plain.span_bytes());
  for (int turn = 0; turn < 2; ++turn) {
    for (const Swizzle& swizzle : {Swizzle(), Swizzle::make(3, 3, 3), Swizzle::make(2, 3, 3), Swizzle::make(3, 2, 4),
                                   Swizzle::make(2, 3, -3), Swizzle::make(2, 4, 3)}) {
      const TensorDesc tile(plain.layout.with_swizzle(swizzle), DType::u8);
      std::vector<std::byte> out(in.size()), expected(in.size());
      reorder(plain, in, tile, out);
      reference_reorder(plain, in.data(), tile, expected.data());
      EXPECT_EQ(out, expected) << swizzle.text();
    }
  }
}

}  // namespace
}  // namespace relayout::cpu
