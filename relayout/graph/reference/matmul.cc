// The reference of matmul and inner product.
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// dst (m x n) += a (m x k) * b (k x n).
void multiply(int64_t m, int64_t k, int64_t n, const double* a, const double* b, double* dst) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const double factor = a[i * k + j];
      for (int64_t x = 0; x < n; ++x) dst[i * n + x] += factor * b[j * n + x];
    }
  }
}

/// dst (m x n) += a (m x k) * transposed b (n x k). Four sums are independent, so the processor can overlap them.
void multiply_by_transposed(int64_t m, int64_t k, int64_t n, const double* a, const double* b, double* dst) {
  for (int64_t x = 0; x < n; ++x) {
    for (int64_t i = 0; i < m; ++i) {
      double sums[4] = {0, 0, 0, 0};
      for (int64_t j = 0; j < k; ++j) sums[j % 4] += a[i * k + j] * b[x * k + j];
      dst[i * n + x] += sums[0] + sums[1] + sums[2] + sums[3];
    }
  }
}

/// dst (k x n) += transposed a (m x k) * b (m x n).
void multiply_transposed(int64_t m, int64_t k, int64_t n, const double* a, const double* b, double* dst) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const double factor = a[i * k + j];
      for (int64_t x = 0; x < n; ++x) dst[j * n + x] += factor * b[i * n + x];
    }
  }
}

/// All dims but the last two.
Dims batch_of(const Dims& dims) { return Dims(std::span(dims.data(), static_cast<std::size_t>(dims.size() - 2))); }

/// Strides of a's batch dims over the batch dims of the destination, counted in matrices.
Dims batch_strides(const Dims& a, const Dims& dst) { return broadcast_strides(batch_of(a), batch_of(dst)); }

}  // namespace

void matmul(const Evaluation& e) {
  const Dims &a = e.src_dims(0), &b = e.src_dims(1), &dst = e.dst_dims(0);
  const int64_t m = dst[dst.size() - 2], n = dst[dst.size() - 1], k = a[a.size() - 1];
  walk(batch_of(dst), batch_strides(a, dst), batch_strides(b, dst), [&](int64_t i, int64_t at_a, int64_t at_b) {
    multiply(m, k, n, e.in(0) + at_a * m * k, e.in(1) + at_b * k * n, e.out(0) + i * m * n);
  });
  if (!e.has_src(2)) return;
  const Dims none(dst.size(), 0);
  walk(dst, broadcast_strides(e.src_dims(2), dst), none,
       [&](int64_t i, int64_t at_bias, int64_t) { e.out(0)[i] += e.in(2)[at_bias]; });
}

void inner_product(const Evaluation& e) {
  // Weights O x K, source N x K, destination N x O.
  const Dims& weights = e.node.pass == Pass::backward_weights ? e.dst_dims(0) : e.src_dims(1);
  const int64_t o = weights[0], k = count(weights, 1, weights.size()), n = e.src_dims(0)[0];
  if (e.node.forward()) {
    multiply_by_transposed(n, k, o, e.in(0), e.in(1), e.out(0));
    for (int64_t i = 0; e.has_src(2) && i < n * o; ++i) e.out(0)[i] += e.in(2)[i % o];
  } else if (e.node.pass == Pass::backward_data) {
    multiply(n, o, k, e.in(0), e.in(1), e.out(0));
  } else {
    multiply_transposed(n, o, k, e.in(1), e.in(0), e.out(0));
    for (int64_t i = 0; e.has_dst(1) && i < n * o; ++i) e.out(1)[i % o] += e.in(1)[i];
  }
}

}  // namespace relayout::graph::reference
