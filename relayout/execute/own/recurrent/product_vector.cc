// The product by Highway, compiled for each instruction set that the reorders have, and the choice among them.
//
// A tile of the result stays in registers while `inner` runs: four rows of two vectors, or of fewer rows so many
// vectors that the sums do not wait for each other. The rows of b are read as they lie; b is not packed, because a
// recurrent cell multiplies by it once for each time and rows are few.
#include "relayout/cpu/isa.h"
#include "relayout/cpu/kernels/simd_avx3_targets.h"
#include "relayout/execute/own/recurrent/product.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/execute/own/recurrent/product_vector.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace relayout::execute {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Adds to a tile of Rows rows and Vectors vectors at column c of the rows from r on.
template <int Rows, int Vectors>
HWY_INLINE void tile(const MatrixProduct& p, int64_t r, int64_t c) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[Rows][Vectors];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j) sums[i][j] = hn::LoadU(d, p.out + (r + i) * p.out_row + c + j * lanes);
  }
  const float* a = p.a + r * p.a_row;
  const float* b = p.b + c;
  for (int64_t k = 0; k < p.inner; ++k, b += p.b_row) {
    V row[Vectors];
    for (int j = 0; j < Vectors; ++j) row[j] = hn::LoadU(d, b + j * lanes);
    for (int i = 0; i < Rows; ++i) {
      const V factor = hn::Set(d, a[i * p.a_row + k]);
      for (int j = 0; j < Vectors; ++j) sums[i][j] = hn::MulAdd(factor, row[j], sums[i][j]);
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j) hn::StoreU(sums[i][j], d, p.out + (r + i) * p.out_row + c + j * lanes);
  }
}

/// All columns of Rows rows: tiles, then single vectors, then single sums.
template <int Rows, int Vectors>
void some_rows(const MatrixProduct& p, int64_t r) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t c = 0;
  for (; c + Vectors * lanes <= p.columns; c += Vectors * lanes) tile<Rows, Vectors>(p, r, c);
  for (; c + lanes <= p.columns; c += lanes) tile<Rows, 1>(p, r, c);
  if (c == p.columns) return;
  MatrixProduct rest = p;
  rest.a += r * p.a_row;
  rest.b += c;
  rest.out += r * p.out_row + c;
  rest.rows = Rows;
  rest.columns -= c;
  plain_product(rest);
}

void product(const MatrixProduct& p) {
  int64_t r = 0;
  for (; r + 4 <= p.rows; r += 4) some_rows<4, 2>(p, r);
  if (p.rows - r == 3) some_rows<3, 3>(p, r);
  if (p.rows - r == 2) some_rows<2, 4>(p, r);
  if (p.rows - r == 1) some_rows<1, 8>(p, r);
}

}  // namespace HWY_NAMESPACE
}  // namespace relayout::execute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace relayout::execute {

// As of the elementwise functions (lanes_vector.cc), each target is named.
ProductFunction product_function() {
  [[maybe_unused]] const std::string_view isa = cpu::isa();
#if HWY_TARGETS & HWY_AVX3
  if (isa.starts_with("avx512")) return N_AVX3::product;
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa == "avx2") return N_AVX2::product;
#endif
#if HWY_TARGETS & HWY_SSE4
  if (isa == "sse4") return N_SSE4::product;
#endif
#if HWY_TARGETS & HWY_NEON
  if (isa == "neon") return N_NEON::product;
#endif
  return plain_product;
}

}  // namespace relayout::execute
#endif
