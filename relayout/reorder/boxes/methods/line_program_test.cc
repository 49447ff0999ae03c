// Which boxes are done by line programs, and what a program says: it is run here as its words say, without a kernel.
#include "relayout/reorder/boxes/methods/line_program.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/reorder/plan.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/refine/axes.h"
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
}

// All boxes of a reorder are one program, which also writes the padding, if that is zero.
TEST(LineProgram, SeveralBoxesWithTheirPadding) {
  const auto plan_of = [](const char* src, const char* dst, const Dims& dims, const Padding& padding = {}) {
    Attributes attributes;
    attributes.padding = padding;
    return Plan::make(desc(src, dims, DType::u8), desc(dst, dims, DType::u8), attributes, kWide);
  };
  for (const auto& [src, dst, dims] : {std::tuple{"nChw6c", "nChw16c", Dims{128, 41, 1, 2}},  // blocks do not nest
                                       {"nCw16c", "nCw5c", {277, 163, 31}},
                                       {"ncw", "nCw16c", {145, 5, 6}},     // one box and padding
                                       {"nCw16c", "nwc", {99, 19, 9}}}) {  // blocks of 16 channels and of 3
    const Plan plan = plan_of(src, dst, dims);
    ASSERT_EQ(plan.data().boxes().size(), 1u) << plan.explain();
    const auto* lines = plan.data().boxes()[0].as<ProgrammedLines>();
    ASSERT_TRUE(lines) << plan.explain();
    EXPECT_TRUE(plan.data().fills().empty());
    EXPECT_EQ(lines->written, plan.dst().layout.padded_elements());
    EXPECT_EQ(plan.cost().bytes_written, lines->written);
  }
  // Padding of another value is filled afterwards, and kept padding not at all. Its blocks of 5 have no gaps.
  for (const Padding& padding : {Padding::of(1), Padding::keep()}) {
    const Plan plan = plan_of("nCw16c", "nCw5c", {277, 160, 31}, padding);
    const Plan padded = plan_of("ncw", "nCw16c", {145, 5, 6}, padding);
    const auto* lines = plan.data().boxes()[0].as<ProgrammedLines>();
    ASSERT_TRUE(lines) << plan.explain();
    EXPECT_FALSE(lines->program->fills);
    EXPECT_EQ(padded.data().fills().empty(), padding.kind == Padding::Kind::keep);
    for (const BoxPlan& box : padded.data().boxes())
      EXPECT_FALSE(box.as<ProgrammedLines>() && box.as<ProgrammedLines>()->program->fills);
  }
}

// Gaps of the destination are not written: stores are masked, which only 64 bytes can be.
TEST(LineProgram, GapsAreMasked) {
  const Box box{{0, 0, 0}, {{2000, {3, 4, 0}, -1}, {3, {-1, 1, 0}, -1}}};
  const auto plan = plan_line_program(box, 1, {kWide});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->method.program->masked);
  for (const LineProgram::Line& line : plan->method.program->lines) {
    for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(line.written >> i & 1, (line.dst + i) % 4 != 3) << line.dst + i;
  }
  EXPECT_FALSE(plan_line_program(box, 1, {kNarrow}));
}

/// What run_by_words() writes as a byte of padding.
constexpr int64_t kPadded = -2;

/// Runs a plan by the words of its program, and checks that each window lies within the source.
void run_by_words(const Planned<ProgrammedLines>& plan, const std::vector<int64_t>& src, int64_t low,
                  std::vector<int64_t>& dst) {
  const LineProgram& program = *plan.method.program;
  const auto unit = [&](Offsets at) {
    std::size_t window = 0;
    for (const LineProgram::Line& line : program.lines) {
      for (int64_t i = 0; i < program.width && program.fills; ++i) {
        if (line.written >> i & 1) dst[static_cast<std::size_t>(at[kDst] + line.dst + i)] = kPadded;
      }
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
  loops.push_back(plan.loops.along_dst.axes[0]);
  const auto nest = [&](auto&& self, std::size_t depth, Offsets at) -> void {
    if (depth < loops.size()) {
      for (int64_t i = 0; i < loops[depth].extent; ++i) {
        self(self, depth + 1, at);
        for (std::size_t k : {kSrc, kDst}) at[k] += loops[depth].stride[k];
      }
      return;
    }
    for (int64_t row = 0; row < plan.loops.along_src.count; row += program.steps) {
      const int64_t first = std::min(row, plan.loops.along_src.count - program.steps);
      unit({at[kSrc] + first * plan.loops.along_src.axes[0].stride[kSrc],
            at[kDst] + first * plan.loops.along_src.axes[0].stride[kDst], 0});
    }
  };
  nest(nest, 0, plan.loops.offset);
}

/// A tag of `rank` dims in any order, most with a block.
std::string random_tag(std::mt19937& random, int rank) {
  std::string letters = std::string("abcd").substr(0, static_cast<std::size_t>(rank));
  std::ranges::shuffle(letters, random);
  if (random() % 4 == 0) return letters;
  char& blocked = letters[random() % letters.size()];
  const char block = blocked;
  blocked = static_cast<char>(blocked - 'a' + 'A');
  return letters + std::to_string(2 + random() % 15) + block;
}

// Random blocked layouts, tails and padding, as one program: each byte of the destination is the right byte of the
// source or padding, and windows stay within the source.
TEST(LineProgram, RandomTails) {
  std::mt19937 random(19);
  int planned = 0, padded = 0;
  for (int i = 0; i < 1000; ++i) {
    const int rank = 2 + static_cast<int>(random() % 3);
    Dims dims;
    for (int d = 0; d < rank; ++d) dims.push_back(1 + static_cast<int64_t>(random() % (d == 0 ? 40 : 20)));
    const DType type = std::array{DType::u8, DType::s16, DType::f32, DType::f64}[random() % 4];
    const std::string from = random_tag(random, rank), to = random_tag(random, rank);
    const TensorDesc src = desc(from, dims, type), dst = desc(to, dims, type);
    const Plan plan = Plan::make(src, dst, {}, random() % 3 ? kWide : kNarrow, {.way = Tuning::Way::lines});
    const auto boxes = plan.data().boxes();
    const auto* lines = boxes[0].as<ProgrammedLines>();
    if (boxes.size() > 1 || !lines || !plan.data().fills().empty()) continue;
    SCOPED_TRACE(from + " -> " + to + " " + join(dims) + " " + std::string(name(type)));
    ++planned;
    padded += lines->program->fills && dst.layout.padded();
    const int64_t element = bits(type) / 8;
    std::vector<int64_t> bytes(static_cast<std::size_t>(src.span_bytes()));
    for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<int64_t>(b);
    std::vector<int64_t> made(static_cast<std::size_t>(dst.span_bytes()), -1), expected(made.size(), kPadded);
    run_by_words({boxes[0], *lines}, bytes, 0, made);
    if (HasFatalFailure()) return;
    Dims index(rank, 0);
    for (int64_t n = 0; n < src.layout.elements(); ++n) {
      for (int64_t b = 0; b < element; ++b)
        expected[static_cast<std::size_t>(dst.layout.offset(index) * element + b)] =
            src.layout.offset(index) * element + b;
      for (int d = rank - 1; d >= 0 && ++index[d] == dims[d]; --d) index[d] = 0;
    }
    ASSERT_EQ(made, expected) << plan.explain();
  }
  EXPECT_GT(planned, 100);
  EXPECT_GT(padded, 50);
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
    const auto plan = plan_line_program(box, element, {below(2) ? kWide : kNarrow});
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
