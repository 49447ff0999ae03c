// Searches weights part by part, and destinations by their indices: see padded_taps.h.
#include "relayout/execute/own/padded_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/values.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {
namespace {

/// Where a kernel's point lies in the source along a spatial dim, for the first element of the destination.
int64_t first_of(const graph::ConvolutionAttributes& a, int d, int64_t point) {
  return point * a.dilations[d] - a.pads_begin[d];
}

bool steps(Dims& at, const Dims& extents, int from) {
  for (int d = extents.size() - 1; d >= from; --d) {
    if (++at[d] < extents[d]) return true;
    at[d] = 0;
  }
  return false;
}

bool is_narrow_float(DType dtype) { return is_floating(dtype) && bits(dtype) >= 8 && bits(dtype) <= 32; }

}  // namespace

bool PaddedTaps::concern(const graph::Graph& graph, const graph::Node& node) {
  if (node.kind != graph::Kind::convolution || node.pass != graph::Pass::forward_inference) return false;
  const graph::Tensor &src = graph.tensor(node.src[0]), &weights = graph.tensor(node.src[1]),
                      &dst = graph.tensor(node.dst[0]);
  if (!is_narrow_float(weights.dtype) || !is_narrow_float(dst.dtype)) return false;
  const int spatial = src.dims.size() - 2;
  const auto a = graph::filled(node.as<graph::ConvolutionAttributes>(), spatial);
  for (int d = 0; d < spatial; ++d) {
    const int64_t kernel = weights.dims[weights.dims.size() - spatial + d];
    const int64_t last = (dst.dims[d + 2] - 1) * a.strides[d] + first_of(a, d, kernel - 1);
    if (first_of(a, d, 0) < 0 || last >= src.dims[d + 2]) return true;
  }
  return false;
}

PaddedTaps::PaddedTaps(const graph::Graph& graph, const graph::Node& node, const Layout& weights, const Layout& dst)
    : constant_(graph.tensor(node.src[1]).constant()),
      weights_dtype_(graph.tensor(node.src[1]).dtype),
      dtype_(graph.tensor(node.dst[0]).dtype),
      src_(graph.tensor(node.src[0]).dims),
      weights_(constant_ ? Layout::contiguous(graph.tensor(node.src[1]).dims) : weights),
      dst_(dst),
      window_(graph::filled(node.as<graph::ConvolutionAttributes>(), src_.size() - 2)) {
  if (constant_) constant_taps_ = found_in(graph.tensor(node.src[1]).data->data());
}

std::vector<PaddedTaps::Tap> PaddedTaps::found_in(const void* weights) const {
  std::vector<Tap> out;
  if (weights_.empty()) return out;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool any = any_in_span(weights_dtype_, weights, weights_, [](const float* values, int64_t n) {
    return !vector_lanes().all_below(values, n, kInfinity) || vector_lanes().any_at_most(values, n, -kInfinity);
  });
  if (!any) return out;
  const Dims extents = weights_.dims();
  const int spatial = src_.size() - 2, first = extents.size() - spatial;
  Dims at(extents.size(), 0);
  do {
    const auto* from = static_cast<const std::byte*>(weights) + weights_.offset(at) * (bits(weights_dtype_) / 8);
    if (std::isfinite(read_value(weights_dtype_, from))) continue;
    Tap tap{first == 3 ? at[0] * extents[1] + at[1] : at[0], {}};
    for (int d = first; d < extents.size(); ++d) tap.point.push_back(at[d]);
    if (std::ranges::find(out, tap) == out.end()) out.push_back(tap);
  } while (steps(at, extents, 0));
  return out;
}

void PaddedTaps::run(const Tap& tap, void* dst) const {
  const Dims extents = dst_.dims();
  Dims at(extents.size(), 0);
  at[1] = tap.channel;
  do {
    for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
      bool inside = true;
      for (int d = 0; d < tap.point.size(); ++d) {
        const int64_t index = at[d + 2] * window_.strides[d] + first_of(window_, d, tap.point[d]);
        inside = inside && index >= 0 && index < src_[d + 2];
      }
      if (inside) break;
      write_value(dtype_, std::numeric_limits<float>::quiet_NaN(),
                  static_cast<std::byte*>(dst) + dst_.offset(at) * (bits(dtype_) / 8));
    }
    at[0] = 0;
  } while (steps(at, extents, 2));
}

void PaddedTaps::run(const void* weights, void* dst) const {
  if (dst_.empty()) return;
  const std::vector<Tap> found = constant_ ? std::vector<Tap>() : found_in(weights);
  for (const Tap& tap : constant_ ? constant_taps_ : found) run(tap, dst);
}

}  // namespace relayout::execute
