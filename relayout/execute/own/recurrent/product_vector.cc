// The product by Highway, compiled for each instruction set that the reorders have, and the choice among them.
//
// Of many rows a tile of the result stays in registers while a panel of b, copied to lie together, is gone through. Of
// few rows each row of b is read once, as it lies: there the time is that of reading b.
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

/// A piece of b that all rows are multiplied by: so many rows of two vectors, one behind the other. It stays in the
/// first-level cache, and its rows are not in as many pages.
constexpr int64_t kDepth = 128;
constexpr int kVectors = 2;
struct Panel {
  alignas(64) float values[kDepth * kVectors * HWY_LANES(float)];
  int64_t depth;
};

/// Adds the product of Rows rows of a, from column k on, by a panel to columns c and following of out.
template <int Rows>
HWY_INLINE void tile(const MatrixProduct& p, const Panel& panel, int64_t r, int64_t k, int64_t c) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[Rows][kVectors];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::LoadU(d, p.out + (r + i) * p.out_row + c + j * lanes);
  }
  const float* a = p.a + r * p.a_row + k;
  const float* b = panel.values;
  for (int64_t i_k = 0; i_k < panel.depth; ++i_k, b += kVectors * lanes) {
    V row[kVectors];
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, b + j * lanes);
    for (int i = 0; i < Rows; ++i) {
      const V factor = hn::Set(d, a[i * p.a_row + i_k]);
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, row[j], sums[i][j]);
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sums[i][j], d, p.out + (r + i) * p.out_row + c + j * lanes);
  }
}

/// Columns c and following, two vectors of them.
void panel_columns(const MatrixProduct& p, int64_t c) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Panel panel;
  for (int64_t k = 0; k < p.inner; k += kDepth) {
    panel.depth = p.inner - k < kDepth ? p.inner - k : kDepth;
    for (int64_t i = 0; i < panel.depth; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        hn::Store(hn::LoadU(d, p.b + (k + i) * p.b_row + c + j * lanes), d,
                  panel.values + (i * kVectors + j) * lanes);
      }
    }
    int64_t r = 0;
    for (; r + 6 <= p.rows; r += 6) tile<6>(p, panel, r, k, c);
    for (; r + 2 <= p.rows; r += 2) tile<2>(p, panel, r, k, c);
    if (r < p.rows) tile<1>(p, panel, r, k, c);
  }
}

/// One row: rows of b one behind the other, eight at a time, so that each is read from its start to its end.
void one_row(const MatrixProduct& p, int64_t r, int64_t columns) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* a = p.a + r * p.a_row;
  float* out = p.out + r * p.out_row;
  constexpr int kRows = 8;
  int64_t k = 0;
  for (; k + kRows <= p.inner; k += kRows) {
    const float* b = p.b + k * p.b_row;
    V factor[kRows];
    for (int i = 0; i < kRows; ++i) factor[i] = hn::Set(d, a[k + i]);
    for (int64_t c = 0; c < columns; c += lanes) {
      // Two sums, so that products do not wait for each other.
      V even = hn::LoadU(d, out + c), odd = hn::Zero(d);
      for (int i = 0; i < kRows; i += 2) {
        even = hn::MulAdd(factor[i], hn::LoadU(d, b + i * p.b_row + c), even);
        odd = hn::MulAdd(factor[i + 1], hn::LoadU(d, b + (i + 1) * p.b_row + c), odd);
      }
      hn::StoreU(hn::Add(even, odd), d, out + c);
    }
  }
  for (; k < p.inner; ++k) {
    const V factor = hn::Set(d, a[k]);
    const float* b = p.b + k * p.b_row;
    for (int64_t c = 0; c < columns; c += lanes)
      hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, b + c), hn::LoadU(d, out + c)), d, out + c);
  }
}

void product(const MatrixProduct& p) {
  constexpr int64_t kFewRows = 3;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  const int64_t step = p.rows <= kFewRows ? lanes : kVectors * lanes, columns = p.columns / step * step;
  if (p.rows <= kFewRows) {
    for (int64_t r = 0; r < p.rows; ++r) one_row(p, r, columns);
  } else {
    for (int64_t c = 0; c < columns; c += step) panel_columns(p, c);
  }
  if (columns == p.columns) return;
  MatrixProduct rest = p;
  rest.b += columns;
  rest.out += columns;
  rest.columns -= columns;
  plain_product(rest);
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
