// Runs of one piece: the reference's bytes for pieces and runs of any size, at any address, on every instruction set,
// through the cache and past it.
#include <gtest/gtest.h>

#include <string>

#include "relayout/core/format.h"
#include "relayout/reorder/plan.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/streamed.h"

namespace relayout::cpu {
namespace {

using test::desc;
using Expected = test::StreamedExpected;

TensorDesc of_strides(const Dims& dims, const Dims& strides, DType type) {
  return TensorDesc(Layout::strided(dims, strides), type);
}

bool repeats(const Plan& plan) { return plan.explain().find(": repeat ") != std::string::npos; }

/// Runs a reorder on every instruction set, at addresses within lines and within elements.
void expect(const TensorDesc& src, const TensorDesc& dst) {
  SCOPED_TRACE(test::describe(src, dst));
  const Expected expected(src, dst);
  for (const Plan& plan : {Plan::make(src, dst), Plan::make(src, dst, {}, {}, test::kAlways)}) {
    for (const std::string_view isa : available_isas()) {
      const test::ScopedIsa scope(isa);
      for (const int64_t past : {0, 16, 20, 33}) {
        expected.expect_of(plan, past, {1, 3});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(RepeatedRuns, OfElementsOfAllSizes) {
  for (const DType type : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    const int64_t size = bits(type) / 8;
    for (const int64_t bytes : {48, 64, 72, 120, 256, 264, 520, 1000, 4096}) {
      const int64_t n = bytes / size;
      // A column of a larger matrix into rows that follow each other, and that have a gap between them.
      const TensorDesc src = of_strides({9, n}, {5, 0}, type);
      for (const int64_t row : {n, n + 3, n + 64 / size}) {
        const TensorDesc dst = of_strides({9, n}, {row, 1}, type);
        EXPECT_EQ(repeats(Plan::make(src, dst)), bytes >= 64) << bytes;
        expect(src, dst);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(RepeatedRuns, OfPiecesOfSeveralElements) {
  for (const DType type : {DType::u8, DType::bf16, DType::f32}) {
    for (const int64_t elements : {2, 3, 4, 5, 12, 16}) {
      for (const int64_t times : {43, 200, 1301}) {
        const TensorDesc src = of_strides({4, times, elements}, {elements + 1, 0, 1}, type);
        const TensorDesc dst = of_strides({4, times, elements}, {times * elements + 1, elements, 1}, type);
        expect(src, dst);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Planes of one value, in both directions; one value everywhere; a run that is longer than a block.
TEST(RepeatedRuns, OfSeveralAxes) {
  const Dims dims{3, 5, 9, 31};
  for (const DType type : {DType::u8, DType::f32}) {
    for (const Dims& strides : {Dims{5, 1, 0, 0}, Dims{-5, 1, 0, 0}, Dims{0, 1, 0, 0}, Dims{45, 9, 1, 0},
                                Dims{0, 0, 0, 0}, Dims{0, 0, 1, 0}}) {
      const TensorDesc src(Layout::strided(dims, strides, strides[0] < 0 ? 10 : 0), type);
      for (const char* to : {"abcd", "acdb", "bacd", "dcba", "aBcd8b", "abcD16d", "ABcd4b2a"})
        expect(src, desc(to, dims, type));
      if (HasFatalFailure()) return;
    }
  }
  const int64_t n = 300'001;
  expect(of_strides({2, n}, {1, 0}, DType::f32), of_strides({2, n}, {n, 1}, DType::f32));
  expect(of_strides({0, 5000}, {1, 0}, DType::f32), of_strides({0, 5000}, {5000, 1}, DType::f32));
}

// Values that are converted are repeated on the way.
TEST(RepeatedRuns, OfConvertedValues) {
  for (const auto& [from, to] : {std::pair(DType::u8, DType::f32), std::pair(DType::f32, DType::u8),
                                 std::pair(DType::s8, DType::f16), std::pair(DType::u4, DType::u4)}) {
    for (const int64_t n : {64, 200, 1111})
      expect(of_strides({20, n}, {3, 0}, from), of_strides({20, n}, {n + 2, 1}, to));
  }
}

}  // namespace
}  // namespace relayout::cpu
