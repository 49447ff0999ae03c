// The reference of grid_sample: each element of the destination is a sum over all elements of an image, each times the
// weight that its place has for the position, one factor a spatial dim.
#include <cmath>

#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// The kernel of cubic convolution with -0.75 (Keys 1981).
double cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double x = std::fabs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  return 0;
}

/// A position mirrored at both borders until it lies between them.
double mirrored(double at, double low, double high) {
  if (high <= low) return low;
  const double length = high - low;
  double rest = std::fmod(at - low, 2 * length);
  if (rest < 0) rest += 2 * length;
  return low + (rest > length ? 2 * length - rest : rest);
}

struct GridDim {
  int64_t extent;
  const ArrayAttributes& a;

  double low() const { return a.align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(extent) + (a.align_corners ? -1 : -0.5); }
  double pixel(double at) const {
    const auto n = static_cast<double>(extent);
    return a.align_corners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
  }

  /// The index of the source that stands for place p; -1 for a zero.
  int64_t source(double p) const {
    const auto last = static_cast<double>(extent - 1);
    if (a.padding == GridPadding::reflection && (p < low() || p > high())) p = mirrored(p, low(), high());
    if (a.padding == GridPadding::border) p = std::min(std::max(p, 0.0), last);
    return p >= 0 && p <= last ? static_cast<int64_t>(std::nearbyint(p)) : -1;
  }

  /// Calls f(index, weight) for each place whose value counts at a position; index is -1 where it is a zero.
  template <typename F>
  void places(double given, F&& f) const {
    double at = pixel(given);
    const bool nearest = a.interpolation == GridInterpolation::nearest;
    if (!std::isfinite(at)) return f(int64_t{-1}, 0.0);
    if (nearest) at = std::nearbyint(at);
    if (at < low() || at > high()) {
      if (a.padding == GridPadding::border) at = std::min(std::max(at, 0.0), static_cast<double>(extent - 1));
      if (a.padding == GridPadding::reflection) at = mirrored(at, low(), high());
    }
    if (nearest) return f(source(std::nearbyint(at)), 1.0);
    const bool cubic = a.interpolation == GridInterpolation::cubic;
    const double first = std::floor(at);
    for (int k = cubic ? -1 : 0; k <= (cubic ? 2 : 1); ++k) {
      const double place = first + k;
      f(source(place), cubic ? cubic_weight(at - place) : 1 - std::fabs(at - place));
    }
  }
};

double sampled(const double* image, const Dims& dims, int d, const double* position, const ArrayAttributes& a) {
  if (d == dims.size()) return *image;
  const int64_t below = count(dims, d + 1, dims.size());
  double sum = 0;
  // The last number of a position is that of the first spatial dim.
  GridDim{dims[d], a}.places(position[dims.size() - 1 - d], [&](int64_t index, double weight) {
    if (index >= 0) sum += weight * sampled(image + index * below, dims, d + 1, position, a);
  });
  return sum;
}

}  // namespace

void grid_sample(const Evaluation& e) {
  const Dims &src = e.src_dims(0), &dst = e.dst_dims(0);
  const int64_t image = count(src, 2, src.size()), points = count(dst, 2, dst.size());
  const int spatial = src.size() - 2;
  for (int64_t n = 0; n < src[0]; ++n) {
    for (int64_t c = 0; c < src[1]; ++c) {
      for (int64_t p = 0; p < points; ++p) {
        const double* position = e.in(1) + (n * points + p) * spatial;
        e.out(0)[(n * src[1] + c) * points + p] =
            sampled(e.in(0) + (n * src[1] + c) * image, src, 2, position, e.node.as<ArrayAttributes>());
      }
    }
  }
}

}  // namespace relayout::graph::reference
