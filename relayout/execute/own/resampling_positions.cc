// Positions of resampling, as ONNX defines them, in exact fractions: see resampling_positions.h.
#include "relayout/execute/own/resampling_positions.h"

#include <algorithm>

namespace relayout::execute {

using graph::ResamplingAlgorithm;
using graph::ResamplingCoordinates;
using graph::ResamplingRounding;

namespace {

struct Fraction {
  int64_t numerator, denominator;  // denominator > 0

  int64_t floor() const { return numerator >= 0 ? numerator / denominator : -ceil_div(-numerator, denominator); }
  int64_t ceil() const { return -Fraction{-numerator, denominator}.floor(); }
  Fraction plus_half(int64_t sign) const { return {2 * numerator + sign * denominator, 2 * denominator}; }
};

Fraction position(ResamplingCoordinates coordinates, int64_t i, int64_t src, int64_t dst) {
  switch (coordinates) {
    case ResamplingCoordinates::align_corners: return dst > 1 ? Fraction{i * (src - 1), dst - 1} : Fraction{0, 1};
    case ResamplingCoordinates::asymmetric: return {i * src, dst};
    case ResamplingCoordinates::pytorch_half_pixel:
      if (dst == 1) return {0, 1};
      break;
    case ResamplingCoordinates::half_pixel: break;
  }
  return {(2 * i + 1) * src - dst, 2 * dst};
}

int64_t nearest(ResamplingRounding rounding, const Fraction& at) {
  switch (rounding) {
    case ResamplingRounding::half_down: return at.plus_half(-1).ceil();
    case ResamplingRounding::floor: return at.floor();
    case ResamplingRounding::ceil: return at.ceil();
    case ResamplingRounding::half_up: break;
  }
  return at.plus_half(1).floor();
}

}  // namespace

Taps taps(const graph::ResamplingAttributes& attributes, int64_t i, int64_t src, int64_t dst) {
  const Fraction at = position(attributes.coordinates, i, src, dst);
  auto inside = [src](int64_t index) { return std::clamp<int64_t>(index, 0, src - 1); };
  if (attributes.algorithm == ResamplingAlgorithm::nearest) {
    const int64_t index = inside(nearest(attributes.rounding, at));
    return {{index, index}, {1, 0}};
  }
  const int64_t low = at.floor();
  const auto part = static_cast<float>(static_cast<double>(at.numerator - low * at.denominator) /
                                       static_cast<double>(at.denominator));
  Taps out{{inside(low), inside(low + 1)}, {1 - part, part}};
  if (out.index[0] == out.index[1] || part == 0) out = {{out.index[0], out.index[0]}, {1, 0}};
  return out;
}

}  // namespace relayout::execute
