// Generated code against the reference, and the lines that it is made of, which any processor can check.
#include "relayout/cpu/generated/generate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "relayout/cpu/generated/lines.h"
#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/plan_cache.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::desc;
using test::Guarded;

constexpr int64_t kPermuted = 64;

struct MovedCase {
  const char *src, *dst;
  Dims dims;
  DType dtype;
};

const MovedCase kCases[] = {{"ncw", "nwc", {178, 3, 21}, DType::s16},
                            {"abc", "bac", {51, 19, 4}, DType::f32},
                            {"abcde", "ceabd", {12, 83, 2, 6, 2}, DType::u8},
                            {"nhwc", "nChw16c", {3, 20, 5, 7}, DType::s32},
                            {"nChw6c", "nChw16c", {12, 41, 1, 2}, DType::u8},
                            {"nChw6c", "nChw8c", {2, 23, 2, 11}, DType::f64},
                            {"nCw16c", "nCw5c", {7, 163, 3}, DType::s8},
                            {"nChw7c", "nChw4c", {1, 139, 2, 6}, DType::f32},
                            {"oihw", "OIhw4i8o2i", {13, 9, 3, 3}, DType::f16},
                            {"ABcd16a16b", "abcd", {5, 35, 3, 3}, DType::s8},
                            {"ab", "ba", {3, 1000}, DType::s64},
                            {"ab", "ba", {501, 7}, DType::u8},
                            {"strides:6000,-1,150,3", "nhwc", {2, 3, 40, 50}, DType::u8},
                            {"strides:0,300,20,1", "nhwc", {4, 5, 6, 7}, DType::bf16},
                            // Gaps between rows of the destination.
                            {"ab", "strides:80,1", {60, 50}, DType::u8},
                            {"ab", "strides:1,70", {60, 33}, DType::f32},
                            {"nchw", "nhwc", {1, 2, 1, 9}, DType::u8}};

std::vector<std::byte> counted_bytes(int64_t bytes) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 37 + i / 251);
  return out;
}

std::vector<std::byte> moved_by_reference(const TensorDesc& src, const TensorDesc& dst,
                                          const Attributes& attributes = {}) {
  std::vector<std::byte> out(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
  reference_reorder(src, counted_bytes(src.span_bytes()).data(), dst, out.data(), attributes);
  return out;
}

Plan vbmi_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {}) {
  return Plan::make(src, dst, attributes, Machine{.permuted_bytes = kPermuted});
}

/// Makes the lines of an instance byte by byte, as their windows say.
void make(const PatchLines& lines, const std::vector<std::byte>& src, const Instance& at, std::vector<std::byte>& dst) {
  for (const PatchLines::Line& line : lines.lines) {
    uint64_t made = line.zeros;
    for (int64_t i = 0; i < kCacheLine; ++i) {
      if (line.zeros >> i & 1) dst[static_cast<std::size_t>(at.dst + line.dst + i)] = std::byte{0};
    }
    for (std::size_t w = line.first_window; w < line.first_window + line.windows; ++w) {
      const PatchLines::Window& window = lines.windows[w];
      EXPECT_EQ(made & window.taken, 0U);
      made |= window.taken;
      for (std::size_t p = window.first_piece; p < window.first_piece + window.pieces; ++p) {
        const PatchLines::Piece& piece = lines.pieces[p];
        EXPECT_TRUE(window.shifted ? piece.src - piece.dst == window.from
                                   : piece.src >= window.from && piece.src + piece.bytes <= window.from + kCacheLine);
        for (int64_t i = 0; i < piece.bytes; ++i)
          dst[static_cast<std::size_t>(at.dst + line.dst + piece.dst + i)] =
              src[static_cast<std::size_t>(at.src + piece.src + i)];
      }
    }
    EXPECT_EQ(made, line.written);
  }
}

TEST(GeneratedLines, MakeTheDestination) {
  for (const MovedCase& c : kCases) {
    const TensorDesc src = desc(c.src, c.dims, c.dtype), dst = desc(c.dst, c.dims, c.dtype);
    const Plan plan = vbmi_plan(src, dst);
    SCOPED_TRACE(plan.explain());
    const auto origins = origins_of(plan.data(), kMostGenerated);
    ASSERT_TRUE(origins);
    const std::vector<std::byte> from = counted_bytes(src.span_bytes());
    for (const int64_t lines_of_patch : {1, 3, 1000}) {
      const int64_t patch = std::min(origins->bytes(), lines_of_patch * kCacheLine);
      const auto patterns = patterns_of(*origins, {origins->bytes(), patch}, src.span_bytes(), 4096);
      ASSERT_TRUE(patterns);
      std::vector<std::byte> made(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
      for (const Pattern& pattern : *patterns) {
        const Readable readable = readable_by(pattern, src.span_bytes());
        const auto lines = lines_of(*origins, pattern.instances[0], pattern.bytes, readable, kCacheLine);
        ASSERT_TRUE(lines);
        for (const PatchLines::Window& window : lines->windows) {
          EXPECT_TRUE(window.shifted || readable.most < readable.least || readable.has(window.from));
        }
        for (const Instance& instance : pattern.instances) make(*lines, from, instance, made);
      }
      EXPECT_EQ(made, moved_by_reference(src, dst));
    }
  }
}

TEST(GeneratedCode, MovesWhatTheReferenceMoves) {
  // (The instruction set in use may be a lesser one than the machine's.)
  const std::string problem(code_problem({.permuted_bytes = all_kernels().back()->permuted_bytes}));
  if (!problem.empty()) GTEST_SKIP() << problem;
  int generated = 0;
  for (const MovedCase& c : kCases) {
    for (const Padding padding : {Padding::zero(), Padding::keep()}) {
      const TensorDesc src = desc(c.src, c.dims, c.dtype), dst = desc(c.dst, c.dims, c.dtype);
      const Plan plan = vbmi_plan(src, dst, {.padding = padding});
      SCOPED_TRACE(plan.explain());
      const auto code = generate_code(plan.data());
      generated += code != nullptr;
      if (!code) continue;
      const std::vector<std::byte> expected = moved_by_reference(src, dst, {.padding = padding});
      for (const auto side : {Guarded::Side::start, Guarded::Side::end}) {
        Guarded from(src.span_bytes(), side), to(dst.span_bytes(), side);
        std::ranges::copy(counted_bytes(src.span_bytes()), from.data());
        std::ranges::fill(to.bytes(), std::byte{0x5c});
        code->run(from.data(), to.data());
        EXPECT_EQ(std::memcmp(to.data(), expected.data(), expected.size()), 0);
        EXPECT_TRUE(to.intact());
      }
    }
  }
  EXPECT_GE(generated, 12);
}

TEST(GeneratedCode, OfPlansThatItCannotDo) {
  const auto code = [](const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {}) {
    return generate_code(vbmi_plan(src, dst, attributes).data());
  };
  const Dims dims{4, 21, 6, 6};
  const TensorDesc nchw = desc("nchw", dims, DType::f32), blocked = desc("nChw8c", dims, DType::f32);
  EXPECT_FALSE(code(nchw, desc("nChw8c", dims, DType::bf16)));
  EXPECT_FALSE(code(nchw, blocked, {.padding = Padding::of(1.0)}));
  EXPECT_FALSE(code(nchw, blocked, {.beta = 1}));
  EXPECT_FALSE(code(desc("nchw", dims, DType::s4), desc("nChw8c", dims, DType::s4)));
  EXPECT_FALSE(code(desc("nchw", {4, 21, 60, 60}, DType::f32), desc("nChw8c", {4, 21, 60, 60}, DType::f32)));
  EXPECT_FALSE(generate_code(Plan::make(nchw, blocked, {}, Machine{.permuted_bytes = 16}).data()));
  EXPECT_FALSE(make_plan(nchw, blocked).data().code());
}

TEST(GeneratedCode, OfPlansThatAreUsedOften) {
  const Dims dims{2, 23, 2, 11};
  const TensorDesc src = desc("nChw6c", dims, DType::u16), dst = desc("nChw8c", dims, DType::u16);
  const bool generates = generated_code_problem().empty();
  EXPECT_EQ(compiled_plan(src, dst).data().code() != nullptr, generates);
  PlanCache cache(4);
  cache.plan(src, dst, {});
  KeptPlan kept(make_plan(src, dst));
  for (int64_t uses = 1; uses <= KeptPlan::kUseOfCode + 1; ++uses) {
    const Plan found = cache.plan(src, dst, {}), used = kept.use();
    for (const Plan* plan : {&found, &used}) {
      ASSERT_EQ(plan->data().code() != nullptr, generates && uses >= KeptPlan::kUseOfCode) << uses;
      ASSERT_EQ(plan->explain().find("machine code") != std::string::npos, plan->data().code() != nullptr);
      if (uses + 1 < KeptPlan::kUseOfCode) continue;
      std::vector<std::byte> made(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5c});
      run(*plan, counted_bytes(src.span_bytes()).data(), made.data());
      EXPECT_EQ(made, moved_by_reference(src, dst));
    }
  }
}

TEST(GeneratedCode, IsMadeOnceWhereManyThreadsUseAPlan) {
  const Dims dims{2, 23, 2, 11};
  const TensorDesc src = desc("nChw6c", dims, DType::u16), dst = desc("nChw8c", dims, DType::u16);
  KeptPlan kept(make_plan(src, dst));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<std::byte> made(static_cast<std::size_t>(dst.span_bytes()));
      for (int64_t k = 0; k < KeptPlan::kUseOfCode; ++k)
        run(kept.use(), counted_bytes(src.span_bytes()).data(), made.data());
      EXPECT_EQ(made, moved_by_reference(src, dst));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept.plan().data().code() != nullptr, generated_code_problem().empty());
}

}  // namespace
}  // namespace relayout::cpu
