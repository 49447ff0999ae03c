// The product by Highway, compiled for each instruction set that the reorders have, and the choice among them.
//
// Of many rows a tile of the result stays in registers while a panel of b, copied to lie together, is gone through. Of
// few rows each row of b is read once, as it lies: of one or two, the time is that of reading b. The last columns,
// fewer than a vector has, are copied to vectors. A transposed b is read along its rows, too.
#include <algorithm>

#include "relayout/cpu/isa.h"
#include "relayout/cpu/kernels/simd_avx3_targets.h"
#include "relayout/execute/own/product/product.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/execute/own/product/product_vector.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace relayout::execute {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// A piece of b that all rows are multiplied by: so many rows of a few vectors, one behind the other. It stays in the
/// first-level cache, and its rows are not in as many pages. With 32 registers, as AVX-512 and NEON have them, a tile
/// has twice as many sums.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr int64_t kDepth = 64;
constexpr int kVectors = kManyRegisters ? 4 : 2;
/// The most rows of a that do without the copy.
constexpr int64_t kFewRows = 32;
struct Panel {
  alignas(64) float values[kDepth * kVectors * HWY_LANES(float)];
  int64_t depth;
};

/// Adds the product of Rows rows of a, from column k on, by a panel to columns c and following of out. The loops are
/// unrolled so that the sums stay in registers.
template <int Rows>
HWY_INLINE void tile(const MatrixProduct& p, const Panel& panel, int64_t r, int64_t k, int64_t c) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[Rows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::LoadU(d, p.out + (r + i) * p.out_row + c + j * lanes);
  }
  const float* a = p.a + r * p.a_row + k;
  const float* b = panel.values;
  for (int64_t i_k = 0; i_k < panel.depth; ++i_k, b += kVectors * lanes) {
    V row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, b + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const V factor = hn::Set(d, a[i * p.a_row + i_k]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, row[j], sums[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sums[i][j], d, p.out + (r + i) * p.out_row + c + j * lanes);
  }
}

/// Columns c and following, as many as a panel has.
void panel_columns(const MatrixProduct& p, int64_t c) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Panel panel;
  for (int64_t k = 0; k < p.inner; k += kDepth) {
    panel.depth = p.inner - k < kDepth ? p.inner - k : kDepth;
    for (int64_t i = 0; i < panel.depth; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        hn::Store(hn::LoadU(d, p.b + (k + i) * p.b_row + c + j * lanes), d, panel.values + (i * kVectors + j) * lanes);
      }
    }
    int64_t r = 0;
    for (; r + 6 <= p.rows; r += 6) tile<6>(p, panel, r, k, c);
    for (; r + 2 <= p.rows; r += 2) tile<2>(p, panel, r, k, c);
    if (r < p.rows) tile<1>(p, panel, r, k, c);
  }
}

/// Rows of b that a few rows of a are multiplied by at once: each row of b is read from its start to its end, once for
/// all rows of a, and only a few are in the first-level cache at a time.
constexpr int kDeep = 4;

/// Adds the product of Rows rows of a by Deep rows of b, from row k on.
template <int Rows, int Deep, bool ahead>
HWY_INLINE void streamed(const MatrixProduct& p, int64_t r, int64_t k, int64_t columns) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float *a = p.a + r * p.a_row + k, *b = p.b + k * p.b_row;
  float* out = p.out + r * p.out_row;
  const int64_t b_row = p.b_row, out_row = p.out_row;  // which no store can change
  V factor[Rows][Deep];
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < Deep; ++j) factor[i][j] = hn::Set(d, a[i * p.a_row + j]);
  }
  for (int64_t c = 0; c < columns; c += lanes) {
    V row[Deep];
#pragma GCC unroll 4
    for (int j = 0; j < Deep; ++j) {
      row[j] = hn::LoadU(d, b + j * b_row + c);
      if constexpr (ahead) __builtin_prefetch(b + (Deep + j) * b_row + c);
    }
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      V sum = hn::LoadU(d, out + i * out_row + c);
#pragma GCC unroll 4
      for (int j = 0; j < Deep; ++j) sum = hn::MulAdd(factor[i][j], row[j], sum);
      hn::StoreU(sum, d, out + i * out_row + c);
    }
  }
}

/// All rows of a by Deep rows of b.
template <int Deep, bool ahead>
HWY_INLINE void streamed_rows(const MatrixProduct& p, int64_t k, int64_t columns) {
  int64_t r = 0;
  if constexpr (kManyRegisters) {  // which hold the factors
    for (; r + 4 <= p.rows; r += 4) streamed<4, Deep, ahead>(p, r, k, columns);
  }
  for (; r + 2 <= p.rows; r += 2) streamed<2, Deep, ahead>(p, r, k, columns);
  if (r < p.rows) streamed<1, Deep, ahead>(p, r, k, columns);
}

template <bool ahead>
void few_rows(const MatrixProduct& p, int64_t columns) {
  int64_t k = 0;
  for (; k + kDeep <= p.inner; k += kDeep) streamed_rows<kDeep, ahead>(p, k, columns);
  for (; k < p.inner; ++k) streamed_rows<1, ahead>(p, k, columns);
}

/// Adds the product of Rows rows of a, from column k on, by the last columns of b, in `panel`, to those of out, which
/// are `count`, from column c on.
template <int Rows>
HWY_INLINE void narrow_tile(const MatrixProduct& p, const Panel& panel, int64_t r, int64_t k, int64_t c,
                            int64_t count) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* a = p.a + r * p.a_row + k;
  V sums[Rows];
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) sums[i] = hn::Zero(d);
  for (int64_t i_k = 0; i_k < panel.depth; ++i_k) {
    const V row = hn::Load(d, panel.values + i_k * lanes);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) sums[i] = hn::MulAdd(hn::Set(d, a[i * p.a_row + i_k]), row, sums[i]);
  }
  for (int i = 0; i < Rows; ++i) {
    alignas(64) float sum[HWY_LANES(float)];
    hn::Store(sums[i], d, sum);
    for (int64_t j = 0; j < count; ++j) p.out[(r + i) * p.out_row + c + j] += sum[j];
  }
}

/// Column c and following, fewer than a vector has: copied to whole vectors, whose other elements are 0.
void last_columns(const MatrixProduct& p, int64_t c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  const int64_t count = p.columns - c;
  Panel panel;
  std::fill_n(panel.values, kDepth * lanes, 0.0f);
  for (int64_t k = 0; k < p.inner; k += kDepth) {
    panel.depth = p.inner - k < kDepth ? p.inner - k : kDepth;
    for (int64_t i = 0; i < panel.depth; ++i) std::copy_n(p.b + (k + i) * p.b_row + c, count, panel.values + i * lanes);
    int64_t r = 0;
    for (; r + 4 <= p.rows; r += 4) narrow_tile<4>(p, panel, r, k, c, count);
    for (; r < p.rows; ++r) narrow_tile<1>(p, panel, r, k, c, count);
  }
}

void product(const MatrixProduct& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t c = 0;
  if (p.rows > kFewRows) {
    for (; c + kVectors * lanes <= p.columns; c += kVectors * lanes) panel_columns(p, c);
  }
  if (const int64_t columns = (p.columns - c) / lanes * lanes; columns > 0) {
    MatrixProduct rest = p;
    rest.b += c;
    rest.out += c;
    p.fetches_ahead ? few_rows<true>(rest, columns) : few_rows<false>(rest, columns);
    c += columns;
  }
  if (c < p.columns) last_columns(p, c);
}

/// Vectors of a row of a transposed b that have sums of their own, so that no addition waits for the one before.
constexpr int kSums = 4;

/// Adds Rows rows of a times column c of a transposed b. One column at a time is one stream from memory.
template <int Rows>
HWY_INLINE void dots(const MatrixProduct& p, int64_t r, int64_t c) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float *a = p.a + r * p.a_row, *b = p.b + c * p.b_row;
  const int64_t a_row = p.a_row;
  V sums[Rows][kSums];
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kSums; ++j) sums[i][j] = hn::Zero(d);
  }
  int64_t k = 0;
  for (; k + kSums * lanes <= p.inner; k += kSums * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < kSums; ++j) {
      const V row = hn::LoadU(d, b + k + j * lanes);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i)
        sums[i][j] = hn::MulAdd(hn::LoadU(d, a + i * a_row + k + j * lanes), row, sums[i][j]);
    }
  }
  for (; k + lanes <= p.inner; k += lanes) {
    const V row = hn::LoadU(d, b + k);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) sums[i][0] = hn::MulAdd(hn::LoadU(d, a + i * a_row + k), row, sums[i][0]);
  }
  for (int i = 0; i < Rows; ++i) {
    const V all = hn::Add(hn::Add(sums[i][0], sums[i][1]), hn::Add(sums[i][2], sums[i][3]));
    float sum = hn::GetLane(hn::SumOfLanes(d, all));
    for (int64_t rest = k; rest < p.inner; ++rest) sum += a[i * a_row + rest] * b[rest];
    p.out[(r + i) * p.out_row + c] += sum;
  }
}

void transposed_product(const MatrixProduct& p) {
  for (int64_t c = 0; c < p.columns; ++c) {
    int64_t r = 0;
    if constexpr (kManyRegisters) {
      for (; r + 4 <= p.rows; r += 4) dots<4>(p, r, c);
    }
    for (; r + 2 <= p.rows; r += 2) dots<2>(p, r, c);
    if (r < p.rows) dots<1>(p, r, c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace relayout::execute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace relayout::execute {

namespace {

struct Products {
  ProductFunction plain = plain_product, transposed = plain_transposed_product;
};

// As of the elementwise functions (lanes_vector.cc), each target is named.
Products products() {
  [[maybe_unused]] const std::string_view isa = cpu::isa();
#if HWY_TARGETS & HWY_AVX3
  if (isa.starts_with("avx512")) return {N_AVX3::product, N_AVX3::transposed_product};
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa == "avx2") return {N_AVX2::product, N_AVX2::transposed_product};
#endif
#if HWY_TARGETS & HWY_SSE4
  if (isa == "sse4") return {N_SSE4::product, N_SSE4::transposed_product};
#endif
#if HWY_TARGETS & HWY_NEON
  if (isa == "neon") return {N_NEON::product, N_NEON::transposed_product};
#endif
  return {};
}

}  // namespace

ProductFunction product_function() { return products().plain; }
ProductFunction transposed_product_function() { return products().transposed; }

}  // namespace relayout::execute
#endif
