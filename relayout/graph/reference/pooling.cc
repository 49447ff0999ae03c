// The reference of pooling and resampling: windows over spatial dims.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "relayout/core/error.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// The last three extents of the dims; 1 for each spatial dim that is missing.
std::array<int64_t, 3> spatial_of(const Dims& dims) {
  if (dims.size() > 5) {
    throw Error(ErrorCode::unsupported, "reference: windows over dims " + join(dims, "x"), "dims", join(dims, "x"),
                "3 spatial dims");
  }
  std::array<int64_t, 3> out = {1, 1, 1};
  for (int d = 2; d < dims.size(); ++d) out[static_cast<std::size_t>(3 - dims.size() + d)] = dims[d];
  return out;
}

/// A list of spatial attributes as three numbers, with `otherwise` for missing dims.
std::array<int64_t, 3> three(const Dims& list, int spatial, int64_t otherwise) {
  std::array<int64_t, 3> out = {otherwise, otherwise, otherwise};
  for (int d = 0; d < spatial; ++d) out[static_cast<std::size_t>(3 - spatial + d)] = entry(list, d, otherwise);
  return out;
}

struct PoolingWindow {
  std::array<int64_t, 3> src, dst, kernel, strides, dilations, pads;

  int64_t kernel_points() const { return kernel[0] * kernel[1] * kernel[2]; }
};

PoolingWindow window(const PoolingAttributes& a, const Dims& src, const Dims& dst) {
  const int spatial = src.size() - 2;
  const std::array<int64_t, 3> whole = spatial_of(src);
  return {whole,
          spatial_of(dst),
          a.kernel.empty() ? whole : three(a.kernel, spatial, 1),
          three(a.strides, spatial, 1),
          three(a.dilations, spatial, 1),
          three(a.pads_begin, spatial, 0)};
}

/// Calls f(offset in the source plane) for each place of one window that lies in the source.
template <typename F>
void each_place(const PoolingWindow& w, const std::array<int64_t, 3>& at, F&& f) {
  std::array<int64_t, 3> start;
  for (std::size_t d = 0; d < 3; ++d) start[d] = at[d] * w.strides[d] - w.pads[d];
  const auto inside = [&](std::size_t d, int64_t k) {
    const int64_t i = start[d] + k * w.dilations[d];
    return i >= 0 && i < w.src[d] ? i : -1;
  };
  for (int64_t kd = 0; kd < w.kernel[0]; ++kd) {
    const int64_t z = inside(0, kd);
    for (int64_t kh = 0; z >= 0 && kh < w.kernel[1]; ++kh) {
      const int64_t y = inside(1, kh);
      for (int64_t kw = 0; y >= 0 && kw < w.kernel[2]; ++kw) {
        const int64_t x = inside(2, kw);
        if (x >= 0) f((z * w.src[1] + y) * w.src[2] + x);
      }
    }
  }
}

/// Calls f(offset of the source's plane, offset in the destination, index in the destination's plane) for each element
/// of the destination.
template <typename F>
void each_point(const Dims& src, const Dims& dst, const std::array<int64_t, 3>& spatial, F&& f) {
  const int64_t src_plane = count(src, 2, src.size());
  int64_t at = 0;
  for (int64_t plane = 0; plane < dst[0] * dst[1]; ++plane) {
    for (int64_t d = 0; d < spatial[0]; ++d) {
      for (int64_t h = 0; h < spatial[1]; ++h) {
        for (int64_t w = 0; w < spatial[2]; ++w) f(plane * src_plane, at++, std::array<int64_t, 3>{d, h, w});
      }
    }
  }
}

/// The offset in the plane of a window's largest value, the first one of equals; -1 if no place of it lies in the
/// source. As in ONNX's reference, windows pass over NaN where they have a number, and a global pooling gives NaN if
/// there is one.
int64_t largest(const PoolingWindow& w, const std::array<int64_t, 3>& at, const double* plane, bool global) {
  int64_t best = -1;
  each_place(w, at, [&](int64_t i) {
    const bool before = best >= 0 && std::isnan(plane[best]), here = std::isnan(plane[i]);
    if (best < 0 || plane[i] > plane[best] || (global ? here && !before : before && !here)) best = i;
  });
  return best;
}

/// The number by which an average is divided.
int64_t divisor(const PoolingAttributes& a, const PoolingWindow& w, const std::array<int64_t, 3>& at) {
  if (a.algorithm == PoolingAlgorithm::average_include_padding) return w.kernel_points();
  int64_t places = 0;
  each_place(w, at, [&](int64_t) { ++places; });
  return places;
}

}  // namespace

void pooling(const Evaluation& e) {
  const auto& a = e.node.as<PoolingAttributes>();
  const bool forward = e.node.forward(), max = a.algorithm == PoolingAlgorithm::max;
  const Dims& src = forward ? e.src_dims(0) : e.dst_dims(0);
  const Dims& dst = forward ? e.dst_dims(0) : e.src_dims(0);
  const PoolingWindow w = window(a, src, dst);
  if (!forward && max && (e.hint_src.empty() || e.hint_src[0] == nullptr)) {
    throw Error(ErrorCode::invalid_argument,
                "reference: node " + escaped(e.node.name) +
                    ": max pooling backward needs "
                    "the forward source",
                "hint_src", "absent", "the source of the hint");
  }
  // Of no elements the largest is NaN, as in ONNX's reference, or the least integer.
  using Limits = std::numeric_limits<double>;
  const double nothing =
      forward && is_floating(e.graph.tensor(e.node.dst[0]).dtype) ? Limits::quiet_NaN() : Limits::lowest();
  each_point(src, dst, w.dst, [&](int64_t plane, int64_t i, const std::array<int64_t, 3>& at) {
    if (max) {
      const double* values = (forward ? e.in(0) : e.hint_src[0]->data()) + plane;
      const int64_t best = largest(w, at, values, a.kernel.empty());
      if (forward) {
        e.out(0)[i] = best < 0 ? nothing : values[best];
      } else if (best >= 0) {
        e.out(0)[plane + best] += e.in(0)[i];
      }
      return;
    }
    const auto n = static_cast<double>(divisor(a, w, at));
    each_place(w, at, [&](int64_t place) {
      if (forward) {
        e.out(0)[i] += e.in(0)[plane + place] / n;
      } else {
        e.out(0)[plane + place] += e.in(0)[i] / n;
      }
    });
  });
}

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

/// A position along one dim of the source, exactly: numerator / denominator.
struct SourcePosition {
  int64_t numerator, denominator;

  int64_t floor() const { return floor_div(numerator, denominator); }
  int64_t ceil() const { return -floor_div(-numerator, denominator); }
  SourcePosition plus_half(int sign) const { return {2 * numerator + sign * denominator, 2 * denominator}; }
};

/// The position among `src` points of index i of `dst` points.
SourcePosition source_position(ResamplingCoordinates coordinates, int64_t i, int64_t src, int64_t dst) {
  switch (coordinates) {
    case ResamplingCoordinates::half_pixel: break;
    case ResamplingCoordinates::pytorch_half_pixel:
      if (dst == 1) return {0, 1};
      break;
    case ResamplingCoordinates::align_corners:
      return dst == 1 ? SourcePosition{0, 1} : SourcePosition{i * (src - 1), dst - 1};
    case ResamplingCoordinates::asymmetric: return {i * src, dst};
  }
  return {(2 * i + 1) * src - dst, 2 * dst};
}

int64_t nearest(ResamplingRounding rounding, const SourcePosition& at) {
  switch (rounding) {
    case ResamplingRounding::half_up: return at.plus_half(1).floor();
    case ResamplingRounding::half_down: return at.plus_half(-1).ceil();
    case ResamplingRounding::floor: return at.floor();
    case ResamplingRounding::ceil: return at.ceil();
  }
  return at.floor();
}

/// The one or two source points from which a destination point is computed along one dim, and their weights.
struct ResamplingTaps {
  std::array<int64_t, 2> index;
  std::array<double, 2> weight;
};

ResamplingTaps taps(const ResamplingAttributes& a, int64_t i, int64_t src, int64_t dst) {
  const SourcePosition at = source_position(a.coordinates, i, src, dst);
  const auto clamped = [&](int64_t index) { return std::clamp<int64_t>(index, 0, src - 1); };
  if (a.algorithm == ResamplingAlgorithm::nearest) {
    const int64_t index = clamped(nearest(a.rounding, at));
    return {{index, index}, {1, 0}};
  }
  const int64_t floor = at.floor();
  const double part = static_cast<double>(at.numerator - floor * at.denominator) / static_cast<double>(at.denominator);
  return {{clamped(floor), clamped(floor + 1)}, {1 - part, part}};
}

}  // namespace

void resampling(const Evaluation& e) {
  const auto& a = e.node.as<ResamplingAttributes>();
  const bool forward = e.node.forward();
  const Dims& src = forward ? e.src_dims(0) : e.dst_dims(0);
  const Dims& dst = forward ? e.dst_dims(0) : e.src_dims(0);
  const std::array<int64_t, 3> from = spatial_of(src), to = spatial_of(dst);
  each_point(src, dst, to, [&](int64_t plane, int64_t i, const std::array<int64_t, 3>& at) {
    std::array<ResamplingTaps, 3> along;
    for (std::size_t d = 0; d < 3; ++d) along[d] = taps(a, at[d], from[d], to[d]);
    for (std::size_t corner = 0; corner < 8; ++corner) {
      const std::size_t pick[] = {corner >> 2, corner >> 1 & 1, corner & 1};
      double weight = 1;
      int64_t offset = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        weight *= along[d].weight[pick[d]];
        offset = offset * from[d] + along[d].index[pick[d]];
      }
      if (weight == 0) continue;
      if (forward) {
        e.out(0)[i] += weight * e.in(0)[plane + offset];
      } else {
        e.out(0)[plane + offset] += weight * e.in(0)[i];
      }
    }
  });
}

}  // namespace relayout::graph::reference
