// Pooling and resampling: the kinds that change spatial extents without weights.
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

PoolingAttributes filled_pooling(const Node& node, const PoolingAttributes& attributes, const Dims& src_dims) {
  const int spatial = src_dims.size() - 2;
  PoolingAttributes out = attributes;
  if (attributes.kernel.empty()) {
    for (int d = 0; d < spatial; ++d) out.kernel.push_back(src_dims[d + 2]);
  }
  out.kernel = filled_list(node, "kernel", out.kernel, spatial, 1, 1);
  out.strides = filled_list(node, "strides", attributes.strides, spatial, 1, 1);
  out.dilations = filled_list(node, "dilations", attributes.dilations, spatial, 1, 1);
  out.pads_begin = filled_list(node, "pads_begin", attributes.pads_begin, spatial, 0, 0);
  out.pads_end = filled_list(node, "pads_end", attributes.pads_end, spatial, 0, 0);
  return out;
}

/// Refuses windows that lie wholly in the padding: without elements there is no maximum and no average.
void check_windows(const Node& node, const PoolingAttributes& a, int d, int64_t extent, int64_t places) {
  const int64_t reach = (a.kernel[d] - 1) * a.dilations[d];
  const Wide last = (Wide{places} - 1) * a.strides[d] - a.pads_begin[d];
  if (reach < a.pads_begin[d] || last >= extent) {
    refuse(node, "pads of spatial dim " + std::to_string(d),
           std::to_string(a.pads_begin[d]) + "," + std::to_string(a.pads_end[d]),
           "ones that leave no window wholly in the padding");
  }
}

}  // namespace

PoolingAttributes filled(const PoolingAttributes& attributes, const Dims& src_dims) {
  return filled_pooling(Node{.name = {}, .kind = Kind::pooling, .attributes = attributes}, attributes, src_dims);
}

Specs infer_pooling(const Operands& of) {
  of.expect_rank(0, "src", 3, 5);
  const Tensor& src = of.src(0);
  const PoolingAttributes a = filled_pooling(of.node, of.node.as<PoolingAttributes>(), src.dims);
  Dims out{src.dims[0], src.dims[1]};
  for (int d = 0; d < a.kernel.size(); ++d) {
    const int64_t pads = fitting(of.node, "pads", Wide{a.pads_begin[d]} + a.pads_end[d], 0);
    const int64_t extent = src.dims[d + 2];
    out.push_back(window_places(of.node, d, extent, a.kernel[d], a.strides[d], a.dilations[d], pads));
    if (a.algorithm != PoolingAlgorithm::average_include_padding) check_windows(of.node, a, d, extent, out.back());
  }
  return {{out, src.dtype}};
}

Specs infer_resampling(const Operands& of) {
  of.expect_rank(0, "src", 3, 5);
  const Tensor& src = of.src(0);
  const Dims& sizes = of.node.as<ResamplingAttributes>().sizes;
  if (sizes.size() != src.dims.size() - 2) {
    refuse(of.node, "sizes", join(sizes), std::to_string(src.dims.size() - 2) + " entries");
  }
  Dims out{src.dims[0], src.dims[1]};
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 1) refuse(of.node, "sizes", join(sizes), "entries of 1 or more");
    if (src.dims[d + 2] < 1) refuse(of.node, "src", join(src.dims), "spatial extents of 1 or more");
    out.push_back(sizes[d]);
  }
  return {{out, src.dtype}};
}

}  // namespace relayout::graph
