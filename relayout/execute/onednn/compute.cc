// Compute-bound primitives: convolution, deconvolution, inner product, matmul.
#include "relayout/execute/onednn/primitive.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::ConvolutionAttributes;
using graph::Pass;

namespace {

/// Makes a convolution or a deconvolution. They differ only in the names of their types and in the algorithm.
template <typename Forward, typename BackwardData, typename BackwardWeights>
Found create_like_convolution(const Request& r, dnnl::algorithm algorithm) {
  // The number of spatial dims is taken from the first operand, which is data in every pass: groups add a dim to
  // weights.
  const ConvolutionAttributes a = filled(r.node.as<ConvolutionAttributes>(), r.src_dims(0).size() - 2);
  const dnnl::memory::dims strides = dims_of(a.strides), dilations = dims_of(a.dilations, -1),
                           begin = dims_of(a.pads_begin), end = dims_of(a.pads_end);
  switch (r.node.pass) {
    case Pass::backward_data:
      return make_backward<BackwardData, Forward>(r.maker, algorithm, r.dst(0), r.src(1), r.src(0), strides, dilations,
                                                  begin, end);
    case Pass::backward_weights:
      return make_backward<BackwardWeights, Forward>(r.maker, algorithm, r.src(0), r.dst(0), r.dst(1), r.src(1),
                                                     strides, dilations, begin, end);
    default:
      return make<Forward>(r.maker, r.prop(), algorithm, r.src(0), r.src(1), r.bias(), r.dst(0), strides, dilations,
                           begin, end);
  }
}

}  // namespace

Found create_convolution(const Request& r) {
  return create_like_convolution<dnnl::convolution_forward, dnnl::convolution_backward_data,
                                 dnnl::convolution_backward_weights>(
      r, r.winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct);
}

Found create_deconvolution(const Request& r) {
  return create_like_convolution<dnnl::deconvolution_forward, dnnl::deconvolution_backward_data,
                                 dnnl::deconvolution_backward_weights>(r, dnnl::algorithm::deconvolution_direct);
}

Found create_inner_product(const Request& r) {
  using dnnl::inner_product_forward;
  switch (r.node.pass) {
    case Pass::backward_data:
      return make_backward<dnnl::inner_product_backward_data, inner_product_forward>(r.maker, r.dst(0), r.src(1),
                                                                                     r.src(0));
    case Pass::backward_weights:
      return make_backward<dnnl::inner_product_backward_weights, inner_product_forward>(r.maker, r.src(0), r.dst(0),
                                                                                        r.dst(1), r.src(1));
    default: return make<inner_product_forward>(r.maker, r.prop(), r.src(0), r.src(1), r.bias(), r.dst(0));
  }
}

Found create_matmul(const Request& r) { return make<dnnl::matmul>(r.maker, r.src(0), r.src(1), r.bias(), r.dst(0)); }

}  // namespace relayout::execute
