// Which boxes are done by line programs, and what a program says: it is run here as its words say, without a kernel.
#include "relayout/reorder/methods/line_program.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/reorder/axes.h"
#include "relayout/reorder/plan.h"
#include "relayout/reorder/plan_data.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;

constexpr Machine kWide{.permuted_bytes = 64}, kNarrow{.permuted_bytes = 16}, kNone{.permuted_bytes = 0};

const LineProgram* program_of(std::string_view src, std::string_view dst, const Dims& dims, DType dtype,
                              const Machine& machine = kWide) {
  static std::vector<Plan> plans;  // keeps the programs
  plans.push_back(Plan::make(desc(src, dims, dtype), desc(dst, dims, dtype), {}, machine));
  const auto* lines = plans.back().data().boxes()[0].as<ProgrammedLines>();
  return lines ? lines->program.get() : nullptr;
}

TEST(LineProgram, ShortRunsOnBothSides) {
  const LineProgram* rows = program_of("ncw", "nwc", {1783, 3, 21}, DType::s16);
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->width, 64);
  EXPECT_FALSE(rows->masked);
  // Some images of 126 bytes: each line has bytes of at most three windows.
  EXPECT_LE(rows->from.size(), 3 * rows->lines.size());
  EXPECT_NE(program_of("abcde", "ceabd", {12, 83, 2, 6, 2}, DType::u8), nullptr);
  EXPECT_NE(program_of("abcde", "ceabd", {12, 83, 2, 6, 2}, DType::u8, kNarrow), nullptr);
}

TEST(LineProgram, NotWhereOthersAreFaster) {
  EXPECT_EQ(program_of("ab", "ba", {640, 480}, DType::f32), nullptr);  // squares of registers
  EXPECT_EQ(program_of("nchw", "nhwc", {1, 64, 20, 20}, DType::u8), nullptr);
  EXPECT_EQ(program_of("abc", "bac", {30, 40, 64}, DType::f32), nullptr);  // pieces of 256 bytes
  EXPECT_EQ(program_of("ncw", "nwc", {1783, 3, 21}, DType::s16, kNone), nullptr);
  EXPECT_EQ(program_of("nchw", "nChw16c", {2, 3, 5, 5}, DType::f64), nullptr);
}

// Gaps of the destination are not written: stores are masked, which only 64 bytes can be.
TEST(LineProgram, GapsAreMasked) {
  const Box box{{0, 0, 0}, {{2000, {3, 4, 0}, -1}, {3, {-1, 1, 0}, -1}}};
  const auto plan = plan_line_program(box, 1, kWide);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->method.program->masked);
  for (const LineProgram::Line& line : plan->method.program->lines) {
    for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(line.written >> i & 1, (line.dst + i) % 4 != 3) << line.dst + i;
  }
  EXPECT_FALSE(plan_line_program(box, 1, kNarrow));
}

/// Runs a plan by the words of its program, and checks that each window lies within the source.
void run_by_words(const Planned<ProgrammedLines>& plan, const std::vector<int64_t>& src, int64_t low,
                  std::vector<int64_t>& dst) {
  const LineProgram& program = *plan.method.program;
  const auto unit = [&](Offsets at) {
    std::size_t window = 0;
    for (const LineProgram::Line& line : program.lines) {
      for (int64_t w = 0; w < line.windows; ++w, ++window) {
        for (int64_t i = 0; i < program.width; ++i) {
          const uint8_t index = program.index(window)[i];
          if (!(index & LineProgram::kTaken)) continue;
          ASSERT_TRUE(line.written >> i & 1);
          const int64_t from = at[kSrc] + program.from[window] + (index & (program.width - 1)) - low;
          ASSERT_GE(from, 0);
          ASSERT_LT(from, static_cast<int64_t>(src.size()));
          // A window lies within the source as a whole.
          ASSERT_GE(at[kSrc] + program.from[window] - low, 0);
          ASSERT_LE(at[kSrc] + program.from[window] - low + program.width, static_cast<int64_t>(src.size()));
          dst[static_cast<std::size_t>(at[kDst] + line.dst + i)] = src[static_cast<std::size_t>(from)];
        }
      }
    }
  };
  Axes loops = plan.loops.loops;
  loops.push_back(plan.loops.cols[0]);
  const auto nest = [&](auto&& self, std::size_t depth, Offsets at) -> void {
    if (depth < loops.size()) {
      for (int64_t i = 0; i < loops[depth].extent; ++i) {
        self(self, depth + 1, at);
        for (std::size_t k : {kSrc, kDst}) at[k] += loops[depth].stride[k];
      }
      return;
    }
    for (int64_t row = 0; row < plan.loops.row_count; row += program.steps) {
      const int64_t first = std::min(row, plan.loops.row_count - program.steps);
      unit({at[kSrc] + first * plan.loops.rows[0].stride[kSrc], at[kDst] + first * plan.loops.rows[0].stride[kDst], 0});
    }
  };
  nest(nest, 0, plan.loops.offset);
}

// Random boxes of dense sides: what the program's words say is the permutation, and windows stay within the source.
TEST(LineProgram, RandomBoxes) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  int planned = 0;
  for (int i = 0; i < 400; ++i) {
    const auto axes = static_cast<std::size_t>(2 + below(4));
    const int64_t element = int64_t{1} << below(4);
    std::vector<std::size_t> order(axes);
    std::vector<int64_t> extent(axes);
    for (std::size_t a = 0; a < axes; ++a) order[a] = a, extent[a] = 1 + below(a < 2 ? 40 : 7);
    std::ranges::shuffle(order, random);
    Box box;
    for (std::size_t a = 0; a < axes; ++a) box.axes.push_back({});
    int64_t src = element, dst = element;
    for (std::size_t a = 0; a < axes; ++a) {
      box.axes[a].extent = extent[a];
      box.axes[a].stride[kSrc] = src;
      src *= extent[a];
    }
    for (const std::size_t a : order) {
      box.axes[a].stride[kDst] = dst;
      dst *= extent[a];
    }
    simplify(box);
    const auto plan = plan_line_program(box, element, below(2) ? kWide : kNarrow);
    if (!plan) continue;
    ++planned;
    std::vector<int64_t> from(static_cast<std::size_t>(src)), to(from.size(), -1), expected(from.size(), -1);
    for (std::size_t b = 0; b < from.size(); ++b) from[b] = static_cast<int64_t>(b);
    run_by_words(*plan, from, 0, to);
    if (HasFatalFailure()) return;
    const auto nest = [&](auto&& self, std::size_t a, int64_t s, int64_t d) -> void {
      if (a == box.axes.size()) {
        for (int64_t b = 0; b < element; ++b) expected[static_cast<std::size_t>(d + b)] = s + b;
        return;
      }
      for (int64_t k = 0; k < box.axes[a].extent; ++k)
        self(self, a + 1, s + k * box.axes[a].stride[kSrc], d + k * box.axes[a].stride[kDst]);
    };
    nest(nest, 0, box.offset[kSrc], box.offset[kDst]);
    ASSERT_EQ(to, expected) << i;
  }
  EXPECT_GT(planned, 100);
}

}  // namespace
}  // namespace relayout
