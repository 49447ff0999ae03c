// Searches the destination part by part, and computes windows by their definition: see least_windows.h.
#include "relayout/execute/own/least_windows.h"

#include <cmath>
#include <limits>

#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/values.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {
namespace {

/// The least finite number of a type, with which the library begins.
float least_of(DType dtype) {
  if (dtype == DType::bf16) return -0x1.fep127f;
  return dtype == DType::f32 ? std::numeric_limits<float>::lowest() : -65504;
}

}  // namespace

bool LeastWindows::concern(const graph::Graph& graph, const graph::Node& node) {
  if (node.kind != graph::Kind::pooling || !node.forward()) return false;
  const DType dtype = graph.tensor(node.dst[0]).dtype;
  return node.as<graph::PoolingAttributes>().algorithm == graph::PoolingAlgorithm::max && is_floating(dtype) &&
         bits(dtype) <= 32;
}

LeastWindows::LeastWindows(const graph::Graph& graph, const graph::Node& node, const Layout& src, const Layout& dst)
    : dtype_(graph.tensor(node.dst[0]).dtype),
      src_(src),
      dst_(dst),
      window_(filled(node.as<graph::PoolingAttributes>(), src.dims())) {}

void LeastWindows::run(const void* src, void* dst) const {
  if (dst_.empty()) return;
  const float least = least_of(dtype_);
  const auto at_most = [=](const float* values, int64_t n) { return vector_lanes().any_at_most(values, n, least); };
  if (!any_in_span(dtype_, dst, dst_, at_most)) return;
  const int64_t size = bits(dtype_) / 8;
  Dims at;
  for (int64_t offset = dst_.offset_range().first; offset < dst_.span(); ++offset) {
    std::byte* to = static_cast<std::byte*>(dst) + offset * size;
    if (dst_.inverse(offset, &at) != Slot::element || !(read_value(dtype_, to) <= least)) continue;
    write_value(dtype_, value_of(static_cast<const std::byte*>(src), at), to);
  }
}

float LeastWindows::value_of(const std::byte* src, const Dims& at) const {
  float best = std::numeric_limits<float>::quiet_NaN();
  const int spatial = src_.ndims() - 2;
  Dims tap(spatial, 0);
  for (bool more = true; more;) {
    Dims from = at;
    bool inside = true;
    for (int d = 0; d < spatial; ++d) {
      from[d + 2] = at[d + 2] * window_.strides[d] - window_.pads_begin[d] + tap[d] * window_.dilations[d];
      inside = inside && from[d + 2] >= 0 && from[d + 2] < src_.dim(d + 2);
    }
    float value = best;
    if (inside) value = read_value(dtype_, src + src_.offset(from) * (bits(dtype_) / 8));
    if (std::isnan(best) || value > best) best = value;
    more = false;
    for (int d = spatial - 1; d >= 0 && !more; --d) {
      more = ++tap[d] < window_.kernel[d];
      if (!more) tap[d] = 0;
    }
  }
  return best;
}

}  // namespace relayout::execute
