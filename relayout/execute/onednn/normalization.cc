// Batch and layer normalization, softmax.
#include "relayout/execute/onednn/descriptor.h"
#include "relayout/execute/onednn/primitive.h"
#include "relayout/interop/onednn_desc.h"

namespace relayout::execute {

using graph::NormalizationAttributes;
using graph::Pass;

namespace {

/// Whether there are a scale and a shift: as sources 1 and 2 or, backward, as the scale and a gradient of the shift.
dnnl::normalization_flags scale_and_shift(const Request& r) {
  using Flags = dnnl::normalization_flags;
  Flags flags = Flags::none;
  if (r.has_src(1)) flags |= Flags::use_scale;
  if (r.node.forward() ? r.has_src(2) : r.has_dst(2)) flags |= Flags::use_shift;
  return flags;
}

dnnl::prop_kind backward_prop(const Request& r) {
  return r.has_dst(1) || r.has_dst(2) ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data;
}

/// Whether all operands but the data are f32. The library takes no descriptors of them, and reads whatever is there as
/// f32.
bool parameters_are_f32(const Request& r) {
  const std::size_t data = r.node.forward() ? r.node.src.size() : 4;  // backward, the gradient of the data comes last
  for (std::size_t i = 1; i < r.node.src.size(); ++i) {
    if (i != data && r.has_src(i) && r.graph.tensor(r.node.src[i]).dtype != DType::f32) return false;
  }
  for (std::size_t i = 1; i < r.node.dst.size(); ++i) {
    if (r.has_dst(i) && r.graph.tensor(r.node.dst[i]).dtype != DType::f32) return false;
  }
  return true;
}

/// The descriptor of means and variances: row-major over all dims of the data but the last.
std::optional<dnnl::memory::desc> statistics_of(const dnnl::memory::desc& data) {
  const std::optional<onednn::BlockedDesc> fields = onednn::fields_of(data);
  if (!fields) return std::nullopt;
  const Dims dims(std::span(fields->dims).first(static_cast<std::size_t>(fields->ndims - 1)));
  return descriptor(Layout::contiguous(dims), DType::f32);
}

}  // namespace

Found create_batch_normalization(const Request& r) {
  if (!parameters_are_f32(r)) return {};
  const auto epsilon = static_cast<float>(r.node.as<NormalizationAttributes>().epsilon);
  dnnl::normalization_flags flags = scale_and_shift(r);
  if (r.node.forward()) {
    if (r.node.pass == Pass::forward_inference) flags |= dnnl::normalization_flags::use_global_stats;
    return make<dnnl::batch_normalization_forward>(r.maker, r.prop(), DataPair{r.src(0), r.dst(0)}, epsilon, flags);
  }
  return make_backward<dnnl::batch_normalization_backward, dnnl::batch_normalization_forward>(
      r.maker, backward_prop(r), DataPair{r.dst(0), r.src(4)}, r.src(0), epsilon, flags);
}

Found create_layer_normalization(const Request& r) {
  if (!parameters_are_f32(r)) return {};
  const auto epsilon = static_cast<float>(r.node.as<NormalizationAttributes>().epsilon);
  const dnnl::normalization_flags flags = scale_and_shift(r);
  if (r.node.forward()) {
    // The library gives the statistics only in training.
    const dnnl::prop_kind prop = r.has_dst(1) ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const std::optional<dnnl::memory::desc> statistics = statistics_of(r.src(0));
    if (!statistics) return {};
    return make<dnnl::layer_normalization_forward>(r.maker, prop, DataPair{r.src(0), r.dst(0)}, *statistics, epsilon,
                                                   flags);
  }
  return make_backward<dnnl::layer_normalization_backward, dnnl::layer_normalization_forward>(
      r.maker, backward_prop(r), DataPair{r.dst(0), r.src(4)}, r.src(0), r.src(2), epsilon, flags);
}

Found create_softmax(const Request& r) {
  const auto& a = r.node.as<graph::SoftmaxAttributes>();
  const dnnl::algorithm algorithm = a.log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const int axis = a.axis < 0 ? a.axis + r.src_dims(0).size() : a.axis;
  if (r.node.forward()) return make<SoftmaxForward>(r.maker, r.prop(), algorithm, r.src(0), r.dst(0), axis);
  return make_backward<SoftmaxBackward, SoftmaxForward>(r.maker, algorithm, r.dst(0), r.src(1), r.src(0), axis);
}

}  // namespace relayout::execute
