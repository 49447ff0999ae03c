// Evaluation: one node with its operands' values, which each family of the reference computes (private to
// relayout/graph).
//
// A family is a function that fills the destinations of one node, which come as zeros of the right size:
//
//     void pooling(const Evaluation& e);      // reads e.src, adds to or sets e.dst
//
// Everything is row-major float64; rounding to the destinations' types is done for all in one place (reference.cc).
#pragma once

#include <string>

#include "relayout/graph/ir/graph.h"
#include "relayout/graph/reference/values.h"

namespace relayout::graph::reference {

/// One node and its operands.
struct Evaluation {
  const Graph& graph;
  const Node& node;
  std::span<const Values*const> src, hint_src;
  std::vector<Values>& dst;

  bool has_src(std::size_t i) const { return i < src.size() && src[i] != nullptr; }
  bool has_dst(std::size_t i) const { return i < node.dst.size() && node.dst[i] != kNone; }
  /// Values of a source, null where it is absent.
  const double* in(std::size_t i) const { return has_src(i) ? src[i]->data() : nullptr; }
  /// Values of a destination, null where it is absent.
  double* out(std::size_t i) const { return has_dst(i) ? dst[i].data() : nullptr; }
  const Dims& src_dims(std::size_t i) const { return graph.tensor(node.src[i]).dims; }
  const Dims& dst_dims(std::size_t i) const { return graph.tensor(node.dst[i]).dims; }
};

/// The number of elements; 1 for no dims.
int64_t count(const Dims& dims);
/// The product of dims first..last-1.
int64_t count(const Dims& dims, int first, int last);
/// Row-major strides.
Dims strides_of(const Dims& dims);
/// Row-major strides of a tensor of `dims` that is broadcast to `onto`: its dims are the last ones there, and dims that
/// repeat have stride 0.
Dims broadcast_strides(const Dims& dims, const Dims& onto);
/// Entry d of a list of spatial dims, or its default where the list is empty.
int64_t entry(const Dims& list, int d, int64_t otherwise);

/// Calls f(i, a, b) for each index of `dims` in row-major order: i counts them, a and b are the sums of index times
/// stride.
template <typename F>
void walk(const Dims& dims, const Dims& a_strides, const Dims& b_strides, F&& f) {
  const int64_t n = count(dims);
  Dims index(dims.size(), 0);
  int64_t a = 0, b = 0;
  for (int64_t i = 0; i < n; ++i) {
    f(i, a, b);
    for (int d = dims.size() - 1; d >= 0; --d) {
      a += a_strides[d];
      b += b_strides[d];
      if (++index[d] < dims[d]) break;
      a -= index[d] * a_strides[d];
      b -= index[d] * b_strides[d];
      index[d] = 0;
    }
  }
}

/// A tensor seen as outer x middle x inner around its dim `axis` (or dims first..last-1).
struct Lanes {
  int64_t outer, middle, inner;
};
Lanes lanes(const Dims& dims, int axis);
Lanes lanes(const Dims& dims, int first, int last);

/// An elementwise function of s; and its gradient ds, from the gradient dd of its result and from s (for the *_dst
/// functions from the result instead).
double eltwise_forward(const EltwiseAttributes& attributes, double s);
double eltwise_backward(const EltwiseAttributes& attributes, double s, double dd);

void convolution(const Evaluation& e);
void deconvolution(const Evaluation& e);
void matmul(const Evaluation& e);
void inner_product(const Evaluation& e);
void rnn(const Evaluation& e);
void pooling(const Evaluation& e);
void batch_normalization(const Evaluation& e);
void layer_normalization(const Evaluation& e);
void lrn(const Evaluation& e);
void eltwise(const Evaluation& e);
void prelu(const Evaluation& e);
void shuffle(const Evaluation& e);
void softmax(const Evaluation& e);
void resampling(const Evaluation& e);
void reduction(const Evaluation& e);
void concat(const Evaluation& e);
void sum(const Evaluation& e);
void binary(const Evaluation& e);
void reorder(const Evaluation& e);
void reshape(const Evaluation& e);
void transpose(const Evaluation& e);
void slice(const Evaluation& e);
void broadcast(const Evaluation& e);
void pad(const Evaluation& e);
void gather(const Evaluation& e);
void array(const Evaluation& e);
/// ArrayOperation::grid_sample.
void grid_sample(const Evaluation& e);
/// Throws Error{unsupported}.
void barrier(const Evaluation& e);

}  // namespace relayout::graph::reference
