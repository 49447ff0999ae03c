// Block scale factors by the layout of their tiles: see scales.h.
#include "relayout/interop/scales.h"

#include <algorithm>

#include "relayout/core/format.h"

namespace relayout::scales {
namespace {

constexpr KindRow kKinds[] = {
    {Kind::mxfp8, "mxfp8", 32, "f8_e8m0", "f8_e4m3 or f8_e5m2", "CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0"},
    {Kind::nvfp4, "nvfp4", 16, "f8_e4m3", "f4_e2m1", "CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3"},
};

void check(int64_t value, int64_t end, const std::string& what) {
  if (value >= 0 && value < end) return;
  throw Error(ErrorCode::invalid_argument,
              "scales: " + what + " " + std::to_string(value) + " is outside 0.." + std::to_string(end - 1), what,
              std::to_string(value), std::to_string(end - 1));
}

}  // namespace

const KindRow& row_of(Kind kind) { return *std::ranges::find(kKinds, kind, &KindRow::kind); }

Factors factors_of(Kind kind, int64_t rows, int64_t columns) {
  for (const auto& [value, what] : {std::pair(rows, "rows"), std::pair(columns, "columns")}) {
    if (value < 0)
      throw Error(ErrorCode::invalid_argument, std::string("scales: ") + what + " is " + std::to_string(value), what,
                  std::to_string(value), "0 or more");
  }
  Factors out{kind, rows, columns, {}, 0};
  out.layout = Format::parse("scales:128x4").bind({rows, ceil_div(columns, row_of(kind).block)});
  out.bytes = out.layout.span();
  return out;
}

int64_t offset(const Factors& factors, int64_t row, int64_t column) {
  check(row, factors.rows, "row");
  check(column, factors.columns, "column");
  return factors.layout.offset({row, column / row_of(factors.kind).block});
}

Place place_of(const Factors& factors, int64_t byte) {
  Place out;
  Dims index;
  out.slot = factors.layout.inverse(byte, &index);
  if (out.slot != Slot::element) return out;
  const int64_t block = row_of(factors.kind).block;
  out.row = index[0];
  out.first_column = index[1] * block;
  out.last_column = std::min(out.first_column + block, factors.columns) - 1;
  return out;
}

}  // namespace relayout::scales
