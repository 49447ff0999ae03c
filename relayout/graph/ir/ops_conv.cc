// Convolution, deconvolution, matmul and inner product: products of a source and weights, summed over channels.
#include <algorithm>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// The type of a sum of products; refuses pairs that no kind multiplies.
DType product_type(const Operands& of, std::string_view weights) {
  const DType a = of.src(0).dtype, b = of.src(1).dtype;
  if (is_byte(a) && is_byte(b)) return DType::f32;
  if (!is_floating(a) || a != b) {
    refuse(of.node, weights, std::string(name(b)) + " with a source of " + std::string(name(a)),
           "the floating type of the source, or 8-bit integers for both");
  }
  return a;
}

void check_bias(const Operands& of, int64_t channels) {
  of.expect_dims(2, "bias", {channels});
  if (of.has(2) && !is_floating(of.src(2).dtype) && of.src(2).dtype != DType::s32) {
    refuse(of.node, "bias", std::string(name(of.src(2).dtype)), "a floating type or s32");
  }
}

/// Refuses a zero point that the source's type does not hold.
void check_zero_point(const Operands& of, int64_t zero_point) {
  if (!is_zero_point(of.src(0).dtype, static_cast<double>(zero_point))) {
    refuse(of.node, "src_zero_point", std::to_string(zero_point), "0, or a value of a source of 8-bit integers");
  }
}

ConvolutionAttributes filled_convolution(const Node& node, const ConvolutionAttributes& attributes, int spatial_dims) {
  ConvolutionAttributes out = attributes;
  out.strides = filled_list(node, "strides", attributes.strides, spatial_dims, 1, 1);
  out.dilations = filled_list(node, "dilations", attributes.dilations, spatial_dims, 1, 1);
  out.pads_begin = filled_list(node, "pads_begin", attributes.pads_begin, spatial_dims, 0, 0);
  out.pads_end = filled_list(node, "pads_end", attributes.pads_end, spatial_dims, 0, 0);
  out.output_padding = filled_list(node, "output_padding", attributes.output_padding, spatial_dims, 0, 0);
  return out;
}

/// The parts of weights: G O/G I/G spatial, G only where there are groups.
struct ConvolutionWeights {
  int64_t dst_channels = 0;
  Dims kernel{};
};

ConvolutionWeights checked_weights(const Operands& of, int64_t groups) {
  of.expect_rank(0, "src", 3, 5);
  const Dims& src = of.src(0).dims;
  if (groups < 1 || src[1] % groups != 0) {
    refuse(of.node, "groups", std::to_string(groups),
           "a divisor of the source's " + std::to_string(src[1]) + " channels");
  }
  const int grouped = groups > 1 ? 1 : 0;
  of.expect_rank(1, "weights", src.size() + grouped, src.size() + grouped);
  const Dims& weights = of.src(1).dims;
  if (grouped != 0 && weights[0] != groups) {
    refuse(of.node, "weights", join(weights), std::to_string(groups) + " groups in dim 0");
  }
  if (weights[grouped + 1] != src[1] / groups) {
    refuse(of.node, "weights", join(weights),
           std::to_string(src[1] / groups) + " source channels in dim " + std::to_string(grouped + 1));
  }
  ConvolutionWeights out;
  out.dst_channels = fitting(of.node, "channels of dst", Wide{groups} * weights[grouped], 0);
  for (int d = grouped + 2; d < weights.size(); ++d) out.kernel.push_back(weights[d]);
  check_bias(of, out.dst_channels);
  return out;
}

}  // namespace

ConvolutionAttributes filled(const ConvolutionAttributes& attributes, int spatial_dims) {
  return filled_convolution(Node{.name = {}, .kind = Kind::convolution, .attributes = attributes}, attributes,
                            spatial_dims);
}

int64_t src_zero_point(const Node& node) {
  return node.kind == Kind::convolution ? node.as<ConvolutionAttributes>().src_zero_point : 0;
}

Specs infer_convolution(const Operands& of) {
  const DType dtype = product_type(of, "weights");
  const auto& given = of.node.as<ConvolutionAttributes>();
  const ConvolutionWeights weights = checked_weights(of, given.groups);
  const ConvolutionAttributes a = filled_convolution(of.node, given, weights.kernel.size());
  check_zero_point(of, a.src_zero_point);
  if (std::any_of(a.output_padding.begin(), a.output_padding.end(), [](int64_t p) { return p != 0; })) {
    refuse(of.node, "output_padding", join(a.output_padding), "none, as it is for deconvolution");
  }
  Dims out{of.src(0).dims[0], weights.dst_channels};
  for (int d = 0; d < weights.kernel.size(); ++d) {
    const int64_t pads = fitting(of.node, "pads", Wide{a.pads_begin[d]} + a.pads_end[d], 0);
    out.push_back(
        window_places(of.node, d, of.src(0).dims[d + 2], weights.kernel[d], a.strides[d], a.dilations[d], pads));
  }
  return {{out, dtype}};
}

Specs infer_deconvolution(const Operands& of) {
  const DType dtype = product_type(of, "weights");
  const auto& given = of.node.as<ConvolutionAttributes>();
  const ConvolutionWeights weights = checked_weights(of, given.groups);
  const ConvolutionAttributes a = filled_convolution(of.node, given, weights.kernel.size());
  if (a.src_zero_point != 0) {
    refuse(of.node, "src_zero_point", std::to_string(a.src_zero_point), "0, as for every deconvolution");
  }
  Dims out{of.src(0).dims[0], weights.dst_channels};
  for (int d = 0; d < weights.kernel.size(); ++d) {
    const std::string where = " of spatial dim " + std::to_string(d);
    if (weights.kernel[d] < 1) refuse(of.node, "kernel" + where, std::to_string(weights.kernel[d]), "1 or more");
    const Wide reach = Wide{weights.kernel[d] - 1} * a.dilations[d] + 1;
    const Wide whole = (Wide{of.src(0).dims[d + 2]} - 1) * a.strides[d] + reach;
    out.push_back(
        fitting(of.node, "extent of dst" + where, whole - a.pads_begin[d] - a.pads_end[d] + a.output_padding[d], 1));
  }
  return {{out, dtype}};
}

Specs infer_matmul(const Operands& of) {
  of.expect_rank(0, "a", 2, kMaxDims);
  const Dims &a = of.src(0).dims, &b = of.src(1).dims;
  const int rank = a.size();
  of.expect_rank(1, "b", rank, rank);
  if (b[rank - 2] != a[rank - 1]) {
    refuse(of.node, "b", join(b), std::to_string(a[rank - 1]) + " rows, as a has " + join(a));
  }
  Dims out;
  for (int d = 0; d < rank - 2; ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) {
      refuse(of.node, "b", join(b), "dim " + std::to_string(d) + " of 1 or " + std::to_string(a[d]));
    }
    out.push_back(a[d] == 1 ? b[d] : a[d]);
  }
  out.push_back(a[rank - 2]);
  out.push_back(b[rank - 1]);
  check_bias(of, b[rank - 1]);
  return {{out, product_type(of, "b")}};
}

Specs infer_inner_product(const Operands& of) {
  of.expect_rank(0, "src", 2, 5);
  const Dims &src = of.src(0).dims, &weights = of.src(1).dims;
  of.expect_rank(1, "weights", src.size(), src.size());
  if (!std::equal(src.begin() + 1, src.end(), weights.begin() + 1)) {
    Dims expected = src;
    expected[0] = weights[0];
    refuse(of.node, "weights", join(weights), join(expected));
  }
  check_bias(of, weights[0]);
  return {{{src[0], weights[0]}, product_type(of, "weights")}};
}

}  // namespace relayout::graph
