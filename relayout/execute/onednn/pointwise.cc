// Primitives that compute each element from those at the same index: eltwise, prelu, binary, sum. Also concat, shuffle
// and reduction, which need as little code.
#include "relayout/execute/onednn/primitive.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::ReductionAlgorithm;

std::optional<Eltwise> eltwise_of(const graph::EltwiseAttributes& a) {
  using From = EltwiseAlgorithm;
  using To = dnnl::algorithm;
  const auto alpha = static_cast<float>(a.alpha), beta = static_cast<float>(a.beta);
  switch (a.algorithm) {
    case From::relu: return Eltwise{To::eltwise_relu, alpha};
    case From::tanh: return Eltwise{To::eltwise_tanh};
    case From::elu: return Eltwise{To::eltwise_elu, alpha};
    case From::square: return Eltwise{To::eltwise_square};
    case From::abs: return Eltwise{To::eltwise_abs};
    case From::sqrt: return Eltwise{To::eltwise_sqrt};
    case From::linear: return Eltwise{To::eltwise_linear, alpha, beta};
    case From::logistic: return Eltwise{To::eltwise_logistic};
    case From::exp: return Eltwise{To::eltwise_exp};
    case From::gelu_tanh: return Eltwise{To::eltwise_gelu_tanh};
    case From::gelu_erf: return Eltwise{To::eltwise_gelu_erf};
    case From::swish: return Eltwise{To::eltwise_swish, alpha};
    case From::log: return Eltwise{To::eltwise_log};
    case From::clip: return Eltwise{To::eltwise_clip, alpha, beta};
    case From::clip_v2: return Eltwise{To::eltwise_clip_v2, alpha, beta};
    case From::pow: return Eltwise{To::eltwise_pow, alpha, beta};
    case From::round: return Eltwise{To::eltwise_round};
    case From::mish: return Eltwise{To::eltwise_mish};
    case From::relu_dst: return Eltwise{To::eltwise_relu_use_dst_for_bwd, alpha};
    case From::tanh_dst: return Eltwise{To::eltwise_tanh_use_dst_for_bwd};
    case From::elu_dst: return Eltwise{To::eltwise_elu_use_dst_for_bwd, alpha};
    case From::sqrt_dst: return Eltwise{To::eltwise_sqrt_use_dst_for_bwd};
    case From::logistic_dst: return Eltwise{To::eltwise_logistic_use_dst_for_bwd};
    case From::exp_dst: return Eltwise{To::eltwise_exp_use_dst_for_bwd};
    case From::clip_v2_dst: return Eltwise{To::eltwise_clip_v2_use_dst_for_bwd, alpha, beta};
    default: return eltwise_by_version(a);
  }
}

dnnl::algorithm binary_algorithm(BinaryAlgorithm algorithm) {
  static constexpr dnnl::algorithm kAlgorithms[] = {
      dnnl::algorithm::binary_add, dnnl::algorithm::binary_sub, dnnl::algorithm::binary_mul,
      dnnl::algorithm::binary_div, dnnl::algorithm::binary_max, dnnl::algorithm::binary_min,
      dnnl::algorithm::binary_ge,  dnnl::algorithm::binary_gt,  dnnl::algorithm::binary_le,
      dnnl::algorithm::binary_lt,  dnnl::algorithm::binary_eq,  dnnl::algorithm::binary_ne};
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

namespace {

dnnl::algorithm reduction_algorithm(ReductionAlgorithm algorithm) {
  static constexpr dnnl::algorithm kAlgorithms[] = {dnnl::algorithm::reduction_max,
                                                    dnnl::algorithm::reduction_min,
                                                    dnnl::algorithm::reduction_sum,
                                                    dnnl::algorithm::reduction_mul,
                                                    dnnl::algorithm::reduction_mean,
                                                    dnnl::algorithm::reduction_norm_lp_power_p_sum,  // p = 1
                                                    dnnl::algorithm::reduction_norm_lp_sum};         // p = 2
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

}  // namespace

Found create_eltwise(const Request& r) {
  const auto& a = r.node.as<graph::EltwiseAttributes>();
  const std::optional<Eltwise> e = eltwise_of(a);
  if (!e) return {};
  if (r.node.forward()) {
    return make<dnnl::eltwise_forward>(r.maker, r.prop(), e->algorithm, DataPair{r.src(0), r.dst(0)}, e->alpha,
                                       e->beta);
  }
  return make_backward<dnnl::eltwise_backward, dnnl::eltwise_forward>(
      r.maker, e->algorithm, DataPair{r.dst(0), r.src(1)}, r.src(0), e->alpha, e->beta);
}

Found create_prelu(const Request& r) {
  if (r.node.forward()) return make_prelu(r.maker, r.prop(), r.src(0), r.src(1), r.dst(0));
  return make_prelu_backward(r.maker, r.src(0), r.src(1), {r.dst(0), r.src(2)}, r.dst(1));
}

Found create_shuffle(const Request& r) {
  const auto& a = r.node.as<graph::ShuffleAttributes>();
  const Dims& dims = r.src_dims(0);
  const int axis = a.axis < 0 ? a.axis + dims.size() : a.axis;
  // oneDNN takes the number of channels in a group, not the number of groups.
  const auto group_size = static_cast<int>(dims[axis] / a.groups);
  if (r.node.forward()) {
    return make<dnnl::shuffle_forward>(r.maker, r.prop(), DataPair{r.src(0), r.dst(0)}, axis, group_size);
  }
  return make_backward<dnnl::shuffle_backward, dnnl::shuffle_forward>(r.maker, DataPair{r.dst(0), r.src(0)}, axis,
                                                                      group_size);
}

Found create_reduction(const Request& r) {
  const ReductionAlgorithm algorithm = r.node.as<graph::ReductionAttributes>().algorithm;
  // Over no elements the library's maximum is the least finite number instead of minus infinity, and its minimum
  // likewise.
  const bool extreme = algorithm == ReductionAlgorithm::max || algorithm == ReductionAlgorithm::min;
  if (extreme && checked_product(r.src_dims(0)) == 0) return {};
  const float p = algorithm == ReductionAlgorithm::norm_l2 ? 2.0f : 1.0f;
  if (r.src_dims(0) == r.dst_dims(0)) {
    // The library has no reduction over no dims. A norm is then the absolute value; all other reductions change
    // nothing.
    const bool norm = algorithm == ReductionAlgorithm::norm_l1 || algorithm == ReductionAlgorithm::norm_l2;
    return make<dnnl::eltwise_forward>(r.maker, r.prop(),
                                       norm ? dnnl::algorithm::eltwise_abs : dnnl::algorithm::eltwise_linear,
                                       DataPair{r.src(0), r.dst(0)}, 1.0f, 0.0f);
  }
  return make<dnnl::reduction>(r.maker, reduction_algorithm(algorithm), r.src(0), r.dst(0), p, 0.0f);
}

Found create_binary(const Request& r) {
  const BinaryAlgorithm algorithm = r.node.as<graph::BinaryAttributes>().algorithm;
  // The library divides integers as floating numbers and rounds the quotient; it has none from pow on.
  const bool integers = !is_floating(r.graph.tensor(r.node.src[0]).dtype);
  if (algorithm >= BinaryAlgorithm::pow || (algorithm == BinaryAlgorithm::div && integers)) return {};
  return make<dnnl::binary>(r.maker, binary_algorithm(algorithm), r.src(0), r.src(1), r.dst(0));
}

Found create_concat(const Request& r) {
  const int axis = r.node.as<graph::ConcatAttributes>().axis;
  return make_concat(r.maker, r.dst(0), axis < 0 ? axis + r.dst_dims(0).size() : axis, r.descs.src);
}

Found create_sum(const Request& r) {
  std::vector<float> scales(r.node.src.size(), 1.0f);
  const std::vector<double>& given = r.node.as<graph::SumAttributes>().scales;
  for (std::size_t i = 0; i < given.size(); ++i) scales[i] = static_cast<float>(given[i]);
  return make_sum(r.maker, r.dst(0), scales, r.descs.src);
}

}  // namespace relayout::execute
