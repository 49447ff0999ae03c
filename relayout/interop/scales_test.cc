// Scale factors against a loop of three lines: every element, every byte.
#include "relayout/interop/scales.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using scales::Kind;
using test::code_of;

/// Walks the tiles in memory order: what each byte holds, (row, factor of the row).
std::map<std::pair<int64_t, int64_t>, int64_t> by_loop(int64_t rows, int64_t factors) {
  std::map<std::pair<int64_t, int64_t>, int64_t> out;
  int64_t byte = 0;
  for (int64_t m = 0; m < rows; m += 128) {
    for (int64_t k = 0; k < factors; k += 4)
      for (int64_t i = 0; i < 512; ++i) out[{m + i / 16 + i % 16 / 4 * 32, k + i % 4}] = byte++;
  }
  return out;
}

TEST(Scales, EveryElementAndEveryByte) {
  for (const Kind kind : {Kind::mxfp8, Kind::nvfp4}) {
    const int64_t block = scales::row_of(kind).block;
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{256, 64},
                                        {130, 5},
                                        {256, 64 * block},
                                        {130, 5 * block - 3},
                                        {1, 1},
                                        {128, 4 * block},
                                        {33, 9 * block + 1}}) {
      const scales::Factors factors = scales::factors_of(kind, rows, columns);
      const auto expected = by_loop(rows, ceil_div(columns, block));
      EXPECT_EQ(factors.bytes, static_cast<int64_t>(expected.size()));
      EXPECT_EQ(factors.bytes, ceil_div(rows, 128) * 128 * ceil_div(columns, 4 * block) * 4);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) ASSERT_EQ(scales::offset(factors, r, c), expected.at({r, c / block}));
      }
      for (const auto& [factor, byte] : expected) {
        const scales::Place place = scales::place_of(factors, byte);
        const bool inside = factor.first < rows && factor.second * block < columns;
        ASSERT_EQ(place.slot, inside ? Slot::element : Slot::padding);
        if (!inside) continue;
        ASSERT_EQ(place.row, factor.first);
        ASSERT_EQ(place.first_column, factor.second * block);
        ASSERT_EQ(place.last_column, std::min(factor.second * block + block, columns) - 1);
      }
      EXPECT_EQ(scales::place_of(factors, factors.bytes).slot, Slot::gap);
      EXPECT_EQ(scales::place_of(factors, -1).slot, Slot::gap);
    }
  }
}

TEST(Scales, TheExampleOfTheHeader) {
  const scales::Factors factors = scales::factors_of(Kind::mxfp8, 256, 2048);
  EXPECT_EQ(factors.layout.dims(), (Dims{256, 64}));
  EXPECT_EQ(factors.bytes, 16384);
  EXPECT_EQ(scales::offset(factors, 130, 40), 16 * 512 + 2 * 16 + 1);
  EXPECT_EQ(scales::row_of(Kind::nvfp4).cublas_mode, "CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3");
}

TEST(Scales, Refusals) {
  const scales::Factors factors = scales::factors_of(Kind::nvfp4, 3, 40);
  EXPECT_EQ(code_of([&] { scales::offset(factors, 3, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { scales::offset(factors, 0, 40); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { scales::offset(factors, -1, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { scales::factors_of(Kind::nvfp4, -3, 40); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { scales::factors_of(Kind::nvfp4, int64_t{1} << 40, int64_t{1} << 40); }), ErrorCode::overflow);
  EXPECT_EQ(scales::factors_of(Kind::nvfp4, 0, 40).bytes, 0);
}

}  // namespace
}  // namespace relayout
