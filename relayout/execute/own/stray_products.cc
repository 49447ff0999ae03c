// Searches destinations part by part, and computes elements by the definition of their kind: see stray_products.h.
#include "relayout/execute/own/stray_products.h"

#include <cmath>
#include <limits>

#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/values.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::Kind;

bool StrayProducts::in_pairs(const graph::Graph& graph, const graph::Node& node, std::string_view name) {
  const bool multiplies =
      node.kind == Kind::convolution || node.kind == Kind::deconvolution || node.kind == Kind::matmul;
  if (!multiplies || node.pass != graph::Pass::forward_inference) return false;
  const graph::Tensor& src = graph.tensor(node.src[0]);
  if (src.dtype != DType::bf16 || graph.tensor(node.src[1]).dtype != DType::bf16) return false;
  // A row of a tile of AMX has 64 bytes.
  const int64_t together = name.find("amx") == std::string_view::npos ? 2 : 32;
  if (node.kind == Kind::matmul) return src.dims[src.dims.size() - 1] % together != 0;
  return src.dims[1] / node.as<graph::ConvolutionAttributes>().groups % together != 0;
}

bool StrayProducts::interpolates(const graph::Graph& graph, const graph::Node& node) {
  if (node.kind != Kind::resampling || node.pass != graph::Pass::forward_inference) return false;
  const DType dtype = graph.tensor(node.dst[0]).dtype;
  return node.as<graph::ResamplingAttributes>().algorithm == graph::ResamplingAlgorithm::linear && is_floating(dtype) &&
         bits(dtype) <= 32;
}

StrayProducts::Operand::Operand(const Layout& from, DType type) : dtype(type), layout(from) {
  for (int d = 0; d < layout.ndims(); ++d) {
    std::vector<int64_t>& list = offsets.emplace_back();
    for (int64_t i = 0; i < layout.dim(d); ++i) list.push_back(layout.dim_offset(d, i));
  }
}

float StrayProducts::Operand::value(int64_t offset) const {
  return read_value(dtype, data + (layout.offset0() + offset) * (bits(dtype) / 8));
}

StrayProducts::StrayProducts(const graph::Graph& graph, const graph::Node& node,
                             const std::vector<std::optional<Layout>>& layouts)
    : kind_(node.kind) {
  const auto operand = [&](std::size_t i) { return Operand(*layouts[i], graph.tensor(node.src[i]).dtype); };
  src_ = operand(0);
  dst_ = Operand(*layouts[node.src.size()], graph.tensor(node.dst[0]).dtype);
  if (kind_ == Kind::resampling) {
    for (int d = 2; d < src_.layout.ndims(); ++d) {
      std::vector<Taps>& list = taps_.emplace_back();
      for (int64_t i = 0; i < dst_.layout.dim(d); ++i) {
        list.push_back(taps(node.as<graph::ResamplingAttributes>(), i, src_.layout.dim(d), dst_.layout.dim(d)));
      }
    }
    return;
  }
  const graph::Tensor& weights = graph.tensor(node.src[1]);
  constant_weights_ = weights.data;
  weights_ = constant_weights_ ? Operand(Layout::contiguous(weights.dims), weights.dtype) : operand(1);
  if (node.src.size() > 2 && node.src[2] != graph::kNone) bias_ = operand(2);
  if (kind_ == Kind::matmul) return;
  window_ = graph::filled(node.as<graph::ConvolutionAttributes>(), src_.layout.ndims() - 2);
  grouped_ = weights.dims.size() > src_.layout.ndims();
}

/// Adds up a row times a column, as far as the sum is a number.
float StrayProducts::product(const Operand& src, const Operand& weights, const Dims& at, float sum) const {
  const int rank = at.size();
  const auto of = [](const Operand& operand, int d, int64_t i) {
    const std::vector<int64_t>& list = operand.offsets[static_cast<std::size_t>(d)];
    return list[list.size() == 1 ? 0 : static_cast<std::size_t>(i)];
  };
  int64_t row = of(src, rank - 2, at[rank - 2]), column = of(weights, rank - 1, at[rank - 1]);
  for (int d = 0; d < rank - 2; ++d) {
    row += of(src, d, at[d]);
    column += of(weights, d, at[d]);
  }
  for (int64_t k = 0; k < src.layout.dim(rank - 1) && !std::isnan(sum); ++k) {
    sum += src.value(row + of(src, rank - 1, k)) * weights.value(column + of(weights, rank - 2, k));
  }
  return sum;
}

/// Adds up a window, or what a deconvolution writes to the element, as far as the sum is a number.
float StrayProducts::window(const Operand& src, const Operand& weights, const Dims& at, float sum) const {
  const bool transposed = kind_ == Kind::deconvolution;
  const int spatial = src.layout.ndims() - 2, first = grouped_ ? 1 : 0;
  const auto table = [](const Operand& operand, int d) -> const std::vector<int64_t>& {
    return operand.offsets[static_cast<std::size_t>(d)];
  };
  const int64_t made = weights.layout.dim(first), read = weights.layout.dim(first + 1), group = at[1] / made;
  const int64_t base = (grouped_ ? table(weights, 0)[static_cast<std::size_t>(group)] : 0) +
                       table(weights, first)[static_cast<std::size_t>(at[1] % made)];
  Dims tap(spatial, 0);
  for (bool more = true; more && !std::isnan(sum);) {
    int64_t from = table(src, 0)[static_cast<std::size_t>(at[0])], by = base;
    bool inside = true;
    for (int d = 0; d < spatial && inside; ++d) {
      const int64_t step = tap[d] * window_.dilations[d], pad = window_.pads_begin[d], stride = window_.strides[d];
      const int64_t place = transposed ? at[d + 2] + pad - step : at[d + 2] * stride - pad + step;
      const int64_t index = transposed ? place / stride : place;
      inside = place >= 0 && (!transposed || place % stride == 0) && index < src.layout.dim(d + 2);
      if (!inside) break;
      from += table(src, d + 2)[static_cast<std::size_t>(index)];
      by += table(weights, first + 2 + d)[static_cast<std::size_t>(tap[d])];
    }
    for (int64_t c = 0; inside && c < read && !std::isnan(sum); ++c) {
      sum += src.value(from + table(src, 1)[static_cast<std::size_t>(group * read + c)]) *
             weights.value(by + table(weights, first + 1)[static_cast<std::size_t>(c)]);
    }
    more = false;
    for (int d = spatial - 1; d >= 0 && !more; --d) {
      more = ++tap[d] < weights.layout.dim(first + 2 + d);
      if (!more) tap[d] = 0;
    }
  }
  return sum;
}

/// The sum of the elements around a position that have a weight.
float StrayProducts::interpolated(const Operand& src, const Dims& at) const {
  float sum = 0;
  for (unsigned corner = 0; corner < 1u << taps_.size(); ++corner) {
    int64_t offset = src.layout.dim_offset(0, at[0]) + src.layout.dim_offset(1, at[1]);
    float weight = 1;
    for (std::size_t d = 0; d < taps_.size(); ++d) {
      const Taps& taps = taps_[d][static_cast<std::size_t>(at[static_cast<int>(d) + 2])];
      const std::size_t side = corner >> d & 1;
      weight *= taps.weight[side];
      offset += src.layout.dim_offset(static_cast<int>(d) + 2, taps.index[side]);
    }
    if (weight != 0) sum += weight * src.value(offset);
  }
  return sum;
}

float StrayProducts::value_of(const Operand& src, const Operand& weights, const Operand& bias, const Dims& at) const {
  if (kind_ == Kind::resampling) return interpolated(src, at);
  float sum = 0;
  if (bias.data != nullptr) {
    const int channel = kind_ == Kind::matmul ? at.size() - 1 : 1;
    int64_t offset = 0;
    for (int d = 0; d < bias.layout.ndims(); ++d) {
      const int64_t i = bias.layout.ndims() == 1 ? at[channel] : at[at.size() - bias.layout.ndims() + d];
      offset += bias.layout.dim_offset(d, bias.layout.dim(d) == 1 ? 0 : i);
    }
    sum = bias.value(offset);
  }
  return kind_ == Kind::matmul ? product(src, weights, at, sum) : window(src, weights, at, sum);
}

void StrayProducts::run(std::span<const void* const> src, void* dst) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (dst_.layout.empty()) return;
  const bool any = any_in_span(dst_.dtype, dst, dst_.layout, [](const float* values, int64_t n) {
    return !vector_lanes().all_below(values, n, kInfinity) || vector_lanes().any_at_most(values, n, -kInfinity);
  });
  if (!any) return;
  Operand from = src_, weights = weights_, bias = bias_;
  from.data = static_cast<const std::byte*>(src[0]);
  if (weights.layout.ndims() > 0) {
    weights.data = constant_weights_ ? constant_weights_->data() : static_cast<const std::byte*>(src[1]);
  }
  if (bias.layout.ndims() > 0) bias.data = static_cast<const std::byte*>(src[2]);
  Dims at;
  for (int64_t offset = dst_.layout.offset_range().first; offset < dst_.layout.span(); ++offset) {
    std::byte* to = static_cast<std::byte*>(dst) + offset * (bits(dst_.dtype) / 8);
    if (std::isfinite(read_value(dst_.dtype, to)) || dst_.layout.inverse(offset, &at) != Slot::element) continue;
    write_value(dst_.dtype, value_of(from, weights, bias, at), to);
  }
}

}  // namespace relayout::execute
