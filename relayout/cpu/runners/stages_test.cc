// Stages equal the reference, whatever layouts, types and attributes are, on every instruction set, between guard
// pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>
#include <vector>

#include "relayout/core/print.h"
#include "relayout/cpu/isa.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/runners/runner.h"
#include "relayout/reorder/boxes/box_plan.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::desc;
using test::Guarded;

/// Small values of a type, so that sums and products of floats are exact.
std::vector<std::byte> values(const TensorDesc& of) {
  const auto count = static_cast<std::size_t>(of.layout.span());
  std::vector<std::byte> out(static_cast<std::size_t>(of.span_bytes()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 29 + i / 7);
  if (of.dtype != DType::f32 && of.dtype != DType::f64) return out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i % 61) - 30;
    const auto wide = static_cast<double>(value);
    if (of.dtype == DType::f32)
      std::memcpy(&out[i * 4], &value, 4);
    else
      std::memcpy(&out[i * 8], &wide, 8);
  }
  return out;
}

/// Runs the plans on every instruction set, with the destination right before and right after a forbidden page.
void expect_staged(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                   std::span<const Plan> plans) {
  const std::vector<std::byte> in = values(src);
  std::vector<std::byte> before = values(dst), expected = before;
  reference_reorder(src, in.data(), dst, expected.data(), attributes);
  for (const std::string_view isa : available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    for (const Guarded::Side side : {Guarded::Side::start, Guarded::Side::end}) {
      Guarded from(src.span_bytes(), side, 0), to(dst.span_bytes(), side, 0);
      std::ranges::copy(in, from.data());
      for (const Plan& plan : plans) {
        std::ranges::copy(before, to.data());
        run(plan, from.data(), to.data(), {.threads = side == Guarded::Side::start ? 1 : 3, .grain_bytes = 1});
        ASSERT_TRUE(std::ranges::equal(to.bytes(), expected)) << isa << "\n" << plan.explain();
      }
    }
  }
}

constexpr std::tuple<const char*, const char*> kStagedLayouts[] = {{"abcd", "acdb"},
                                                                   {"acdb", "abcd"},
                                                                   {"abcd", "dcba"},
                                                                   {"aBcd16b", "acdb"},
                                                                   {"acdb", "aBcd16b"},
                                                                   {"aBcd6b", "aBcd5b"},
                                                                   {"aBcd5b", "aBcd16b"},
                                                                   {"ABcd4a8b", "abcd"},
                                                                   {"abcd", "ABcd8b16a2b"},
                                                                   {"strides:1,9,400,-9000", "acdb"},
                                                                   {"abcd", "strides:40000,1,1000,40"},
                                                                   {"strides:0,70,9,1", "acdb"},
                                                                   {"aBcd4b", "ABcd2a3b"}};

TEST(Stages, EqualTheReference) {
  const std::pair<DType, DType> kTypes[] = {
      {DType::s4, DType::s4},   {DType::u4, DType::f32}, {DType::f32, DType::s4}, {DType::s4, DType::u4},
      {DType::f32, DType::s8},  {DType::s8, DType::f32}, {DType::u8, DType::u8},  {DType::bf16, DType::bf16},
      {DType::f32, DType::s32}, {DType::f64, DType::f64}};
  int64_t planned = 0;
  for (const Dims& dims : {Dims{3, 17, 7, 9}, Dims{2, 35, 11, 13}, Dims{5, 24, 1, 23}}) {
    for (const auto& [from, to] : kStagedLayouts) {
      for (const auto& [src_type, dst_type] : kTypes) {
        const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
        for (const auto kind : {Padding::Kind::value, Padding::Kind::keep}) {
          Attributes attributes;
          attributes.padding.kind = kind;
          std::vector<Plan> plans;
          for (const auto stream : {Tuning::Stream::never, Tuning::Stream::always}) {
            plans.push_back(Plan::make(src, dst, attributes, {.permuted_bytes = 64},
                                       {.stream = stream, .way = Tuning::Way::stages}));
            planned += plans.back().data().boxes()[0].as<Stages>() != nullptr;
          }
          SCOPED_TRACE(std::string(from) + " -> " + to + " " + join(dims) + " " + std::string(name(src_type)) + " -> " +
                       std::string(name(dst_type)));
          expect_staged(src, dst, attributes, plans);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(planned, 1000);
}

TEST(Stages, Compute) {
  const Dims dims{3, 19, 7, 9};
  Attributes scale, batch, channel, spread, sum, point;
  batch.src_scale = {{0.5f, 1, 2}, 1};
  scale.src_scale = {{0.5f}, 0};
  channel.src_scale.mask = 2;
  for (int64_t c = 0; c < dims[1]; ++c) channel.src_scale.values.push_back(0.25f * static_cast<float>(c % 5 + 1));
  spread.dst_scale.mask = 8;
  for (int64_t w = 0; w < dims[3]; ++w) spread.dst_scale.values.push_back(w % 2 == 0 ? 1 : 2);
  sum.beta = 0.5f;
  point.dst_zero_point = {{3}, 0};
  point.padding.value = 2;
  for (const Attributes& attributes : {scale, batch, channel, spread, sum, point}) {
    for (const auto& [from, to] : kStagedLayouts) {
      for (const auto& [src_type, dst_type] : {std::pair{DType::f32, DType::s8},
                                               {DType::s8, DType::f32},
                                               {DType::s4, DType::s4},
                                               {DType::u4, DType::f32},
                                               {DType::f32, DType::u4},
                                               {DType::f32, DType::f32},
                                               {DType::f64, DType::f64}}) {
        if (!attributes.dst_zero_point.values.empty() && !is_integer(dst_type)) continue;
        const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
        const Plan plan = Plan::make(src, dst, attributes, {}, {.way = Tuning::Way::stages});
        SCOPED_TRACE(std::string(from) + " -> " + to + " " + std::string(name(src_type)) + " -> " +
                     std::string(name(dst_type)));
        expect_staged(src, dst, attributes, {&plan, 1});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Chunks that do not divide a tensor overlap at its ends, but never between two threads.
TEST(Stages, ManyChunks) {
  for (const auto& [from, to, dims] : {std::tuple{"abc", "cba", Dims{131, 37, 43}},
                                       {"aBc16b", "acb", {3, 67, 531}},
                                       {"abc", "aBc6b", {5, 77, 513}},
                                       {"ab", "ba", {683, 317}}}) {
    for (const auto& [src_type, dst_type] : {std::pair{DType::s4, DType::s4},
                                             {DType::u8, DType::u8},
                                             {DType::f32, DType::bf16},
                                             {DType::u8, DType::f32}}) {
      const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
      const Plan plan = Plan::make(src, dst, {}, {}, {.stream = Tuning::Stream::always, .way = Tuning::Way::stages});
      ASSERT_TRUE(plan.data().boxes()[0].as<Stages>()) << plan.explain();
      EXPECT_GT(plan.data().boxes()[0].blocks, 1) << plan.explain();
      expect_staged(src, dst, {}, {&plan, 1});
      if (HasFatalFailure()) return;
    }
  }
}

// Where a single block of a box that makes none is asked for, that is an error, and nothing is left undone in silence.
TEST(Stages, MakeNoSingleBlocks) {
  const Plan staged = make_plan(desc("abc", {7, 9, 3}, DType::s4), desc("bac", {7, 9, 3}, DType::s4));
  const Plan moved = make_plan(desc("ab", {64, 64}, DType::f32), desc("ba", {64, 64}, DType::f32));
  const BoxPlan &stages = staged.data().boxes()[0], &transposition = moved.data().boxes()[0];
  ASSERT_TRUE(stages.as<Stages>());
  EXPECT_FALSE(makes_blocks(stages));
  EXPECT_TRUE(makes_blocks(transposition));
  const RunContext context{.plan = staged.data(), .kernels = kernels(), .src = nullptr, .dst = nullptr};
  EXPECT_THROW(make_block(context, stages, Block{}), Error);
}

}  // namespace
}  // namespace relayout::cpu
