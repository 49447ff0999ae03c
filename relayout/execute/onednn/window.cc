// Primitives that compute each element from a window of the source: pooling, resampling, LRN.
#include <algorithm>

#include "relayout/execute/onednn/primitive.h"
#include "relayout/execute/own/resampling_positions.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {
namespace {

dnnl::algorithm pooling_algorithm(graph::PoolingAlgorithm algorithm) {
  switch (algorithm) {
    case graph::PoolingAlgorithm::average_include_padding: return dnnl::algorithm::pooling_avg_include_padding;
    case graph::PoolingAlgorithm::average_exclude_padding: return dnnl::algorithm::pooling_avg_exclude_padding;
    default: return dnnl::algorithm::pooling_max;
  }
}

/// The attributes without what changes no result, by which the library refuses averages without padding, and kernels
/// that know no dilation are left out: the dilation of a kernel of one point, and padding that no window reaches.
graph::PoolingAttributes least_window(const graph::PoolingAttributes& attributes, const Dims& src, const Dims& dst) {
  graph::PoolingAttributes out = filled(attributes, src);
  for (int d = 0; d < out.kernel.size(); ++d) {
    if (out.kernel[d] == 1) out.dilations[d] = 1;
    const int64_t reached = (dst[d + 2] - 1) * out.strides[d] + (out.kernel[d] - 1) * out.dilations[d] + 1;
    out.pads_end[d] = std::clamp<int64_t>(reached - out.pads_begin[d] - src[d + 2], 0, out.pads_end[d]);
  }
  return out;
}

/// Whether these attributes map places of the destination to places of the source as oneDNN does (its default), in
/// every spatial dim of these extents.
bool as_half_pixel(const graph::ResamplingAttributes& attributes, const Dims& src, const Dims& dst) {
  const graph::ResamplingAttributes theirs{.algorithm = attributes.algorithm};
  for (int d = 2; d < src.size(); ++d) {
    for (int64_t i = 0; i < dst[d]; ++i) {
      if (taps(attributes, i, src[d], dst[d]) != taps(theirs, i, src[d], dst[d])) return false;
    }
  }
  return true;
}

}  // namespace

Found create_pooling(const Request& r) {
  const bool forward = r.node.forward();
  const graph::PoolingAttributes a =
      least_window(r.node.as<graph::PoolingAttributes>(), forward ? r.src_dims(0) : r.dst_dims(0),
                   forward ? r.dst_dims(0) : r.src_dims(0));
  const dnnl::algorithm algorithm = pooling_algorithm(a.algorithm);
  const dnnl::memory::dims strides = dims_of(a.strides), kernel = dims_of(a.kernel),
                           dilations = dims_of(a.dilations, -1), begin = dims_of(a.pads_begin),
                           end = dims_of(a.pads_end);
  if (forward) {
    return make<PoolingForward>(r.maker, r.prop(), algorithm, r.src(0), r.dst(0), strides, kernel, dilations, begin,
                                end);
  }
  return make_backward<PoolingBackward, PoolingForward>(r.maker, algorithm, r.dst(0), r.src(0), strides, kernel,
                                                        dilations, begin, end);
}

Found create_resampling(const Request& r) {
  const bool forward = r.node.forward();
  const Dims& src = forward ? r.src_dims(0) : r.dst_dims(0);
  const Dims& dst = forward ? r.dst_dims(0) : r.src_dims(0);
  if (!as_half_pixel(r.node.as<graph::ResamplingAttributes>(), src, dst)) return {};
  const dnnl::algorithm algorithm =
      r.node.as<graph::ResamplingAttributes>().algorithm == graph::ResamplingAlgorithm::nearest
          ? dnnl::algorithm::resampling_nearest
          : dnnl::algorithm::resampling_linear;
  if (forward) return make<dnnl::resampling_forward>(r.maker, r.prop(), algorithm, r.src(0), r.dst(0));
  return make_backward<dnnl::resampling_backward, dnnl::resampling_forward>(r.maker, algorithm, r.dst(0), r.src(0));
}

Found create_lrn(const Request& r) {
  const auto& a = r.node.as<graph::LrnAttributes>();
  const dnnl::algorithm algorithm =
      a.within_channel ? dnnl::algorithm::lrn_within_channel : dnnl::algorithm::lrn_across_channels;
  const auto alpha = static_cast<float>(a.alpha), beta = static_cast<float>(a.beta), k = static_cast<float>(a.k);
  if (r.node.forward()) {
    return make<dnnl::lrn_forward>(r.maker, r.prop(), algorithm, DataPair{r.src(0), r.dst(0)}, a.size, alpha, beta, k);
  }
  return make_lrn_backward(r.maker, algorithm, DataPair{r.dst(0), r.src(1)}, r.src(0), a.size, alpha, beta, k);
}

}  // namespace relayout::execute
