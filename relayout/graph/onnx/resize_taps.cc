// Positions and weights of ONNX's Resize, by its specification and reference.
#include "relayout/graph/onnx/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace relayout::graph::importing {
namespace {

/// The position in the source of element i of the destination.
double position_of(const ResizeExtents& e, const ResizeForm& form, int64_t i) {
  const auto x = static_cast<double>(i), src = static_cast<double>(e.src);
  const double dst = e.scale * src;
  if (form.coordinates == "align_corners") return dst == 1 ? 0 : x * (src - 1) / (dst - 1);
  if (form.coordinates == "asymmetric") return x / e.scale;
  if (form.coordinates == "tf_crop_and_resize") {
    const double shown = (e.roi_end - e.roi_start) * (src - 1);
    return (dst == 1 ? shown / 2 : x * shown / (dst - 1)) + e.roi_start * (src - 1);
  }
  if (form.coordinates == "pytorch_half_pixel" && dst == 1) return -0.5;
  const double half_pixel = (x + 0.5) / e.scale - 0.5;
  if (form.coordinates != "half_pixel_symmetric") return half_pixel;
  return src / 2 * (1 - static_cast<double>(e.dst) / dst) + half_pixel;
}

double cubic_kernel(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

struct ResizeTaps {
  int64_t first;
  std::vector<double> weights;
};

int64_t nearest_of(double at, const std::string& rounding) {
  const double below = std::floor(at), part = at - below;
  const bool up = rounding == "ceil"                ? part > 0
                  : rounding == "round_prefer_ceil" ? part >= 0.5
                                                    : rounding != "floor" && part > 0.5;
  return static_cast<int64_t>(below) + (up ? 1 : 0);
}

ResizeTaps taps_at(double at, const ResizeForm& form, double scale) {
  if (form.mode == "nearest") return {nearest_of(at, form.rounding), {1}};
  const bool cubic = form.mode == "cubic";
  // A smaller destination reads proportionally more of the source where antialias is asked for.
  const double shrink = form.antialias ? std::min(scale, 1.0) : 1;
  const auto below = static_cast<int64_t>(std::floor(at));
  const double reach = (cubic ? 2 : 1) / shrink;
  const auto start = static_cast<int64_t>(std::floor(-reach)) + 1;
  ResizeTaps out{below + start, {}};
  for (int64_t k = start; k <= 1 - start; ++k) {
    const double distance = (static_cast<double>(below + k) - at) * shrink;
    out.weights.push_back(cubic ? cubic_kernel(distance, form.cubic_a) : std::max(0.0, 1 - std::fabs(distance)));
  }
  return out;
}

/// All taps of a dim: `each` for every element of the destination.
struct AllTaps {
  int64_t each = 1;
  std::vector<int64_t> indices{};
  std::vector<double> weights{};
};

/// Lets the taps of one element that have no weight share another's element and weight, by halves, so that the sum does
/// not change: 0 times infinity would be NaN.
void share_weight(std::span<int64_t> indices, std::span<double> weights) {
  const auto most = std::ranges::max_element(weights, {}, [](double weight) { return std::abs(weight); });
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] != 0) continue;
    weights[k] = *most /= 2;
    indices[k] = indices[static_cast<std::size_t>(most - weights.begin())];
  }
}

AllTaps all_taps(const ResizeExtents& e, const ResizeForm& form, std::vector<int64_t>& outside) {
  AllTaps out;
  for (int64_t i = 0; i < e.dst; ++i) {
    // What lies next to an element's own position but for rounding is at it.
    const double exact = position_of(e, form, i), own = std::round(exact);
    const double at = std::fabs(exact - own) < 1e-9 * std::max(1.0, std::fabs(own)) ? own : exact;
    const bool crops = form.coordinates == "tf_crop_and_resize";
    outside.push_back(crops && (at < 0 || at > static_cast<double>(e.src - 1)));
    ResizeTaps taps =
        taps_at(std::clamp(at, -4.0 * static_cast<double>(e.src), 4.0 * static_cast<double>(e.src)), form, e.scale);
    out.each = static_cast<int64_t>(taps.weights.size());
    double sum = 0;
    for (std::size_t k = 0; k < taps.weights.size(); ++k) {
      const int64_t index = taps.first + static_cast<int64_t>(k);
      if (form.exclude_outside && (index < 0 || index >= e.src)) taps.weights[k] = 0;
      sum += taps.weights[k];
      out.indices.push_back(std::clamp<int64_t>(index, 0, e.src - 1));
    }
    for (const double weight : taps.weights) out.weights.push_back(sum == 0 ? 0 : weight / sum);
    const std::size_t first = out.weights.size() - taps.weights.size();
    share_weight(std::span(out.indices).subspan(first), std::span(out.weights).subspan(first));
  }
  return out;
}

}  // namespace

Value resize_dim(Op& op, const Value& src, int d, const ResizeExtents& extents, const ResizeForm& form,
                 std::vector<int64_t>& outside) {
  if (extents.src < 1) op.corrupt("a resize of " + join(src.dims, "x"));
  // With antialias the number of taps is in proportion to what a smaller destination leaves out.
  const double shrink = form.antialias ? std::min(extents.scale, 1.0) : 1;
  charge(op.model, DType::f64, {extents.dst, static_cast<int64_t>(std::min(4 / shrink + 2, 1e15))});
  const AllTaps taps = all_taps(extents, form, outside);
  const auto count = static_cast<int64_t>(taps.indices.size());
  charge(op.model, DType::f64, {count});
  const Value picked = gather(op, src, integer_constant({count}, taps.indices), d);
  if (form.mode == "nearest") return picked;
  Dims split = picked.dims, weights(src.rank() + 1, 1), out = src.dims;
  split[d] = extents.dst;
  split.insert(d + 1, taps.each);
  weights[d] = extents.dst;
  weights[d + 1] = taps.each;
  out[d] = extents.dst;
  const Value weighted =
      binary(op, reshape(op, picked, split), number_constant(weights, taps.weights, src.dtype), BinaryAlgorithm::mul);
  return reshape(op, reduce(op, weighted, ReductionAlgorithm::sum, {d + 1}), out);
}

}  // namespace relayout::graph::importing
