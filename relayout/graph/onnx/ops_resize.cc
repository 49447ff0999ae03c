// The ONNX operators Resize and Upsample: which coordinates and rounding they mean in each opset.
#include <array>
#include <cmath>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

ResamplingAlgorithm algorithm_of(const Op& op) {
  const std::string mode = op.text("mode", "nearest");
  if (mode == "nearest") return ResamplingAlgorithm::nearest;
  if (mode == "linear" || mode == "bilinear") return ResamplingAlgorithm::linear;
  throw NotExpressible{"mode \"" + escaped(mode) + "\""};
}

ResamplingCoordinates coordinates_of(const Op& op) {
  const std::string mode = op.text("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return ResamplingCoordinates::half_pixel;
  if (mode == "pytorch_half_pixel") return ResamplingCoordinates::pytorch_half_pixel;
  if (mode == "align_corners") return ResamplingCoordinates::align_corners;
  if (mode == "asymmetric") return ResamplingCoordinates::asymmetric;
  throw NotExpressible{"coordinate_transformation_mode \"" + escaped(mode) + "\""};
}

ResamplingRounding rounding_of(const Op& op) {
  const std::string mode = op.text("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return ResamplingRounding::half_down;
  if (mode == "round_prefer_ceil") return ResamplingRounding::half_up;
  if (mode == "floor") return ResamplingRounding::floor;
  if (mode == "ceil") return ResamplingRounding::ceil;
  op.corrupt("nearest_mode \"" + escaped(mode) + "\"");
}

/// Sizes or scales for every dim: `given` has one for each dim or, if there is an attribute "axes", one for each axis
/// in it. Dims that are not in "axes" keep the value that they have in `otherwise`.
template <typename T>
std::vector<T> by_axis(const Op& op, const std::vector<T>& given, std::vector<T> otherwise) {
  const auto rank = static_cast<int>(otherwise.size());
  const auto axes = op.integers("axes");
  if (given.size() != (axes ? axes->size() : otherwise.size())) {
    op.corrupt(std::to_string(given.size()) + " sizes or scales for " + std::to_string(rank) + " dims");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    otherwise[axes ? static_cast<std::size_t>(op.axis((*axes)[i], rank)) : i] = given[i];
  }
  return otherwise;
}

/// The dims that scales give. Each dim times its scale must be a whole number: ONNX computes places from the
/// scale, this library from the ratio of the extents, and these differ where an extent was rounded down.
Dims scaled_dims(const Op& op, const Dims& src, const std::vector<double>& scales) {
  Dims out;
  for (int d = 0; d < src.size(); ++d) {
    const double scale = scales[static_cast<std::size_t>(d)];
    const double exact = static_cast<double>(src[d]) * scale;
    if (!(scale > 0) || !(exact < 1e15)) op.corrupt("a scale of " + std::to_string(scale));
    // Scales are f32, so 6 times 1/3 is only nearly 2.
    if (std::abs(exact - std::round(exact)) > 1e-5 * std::max(1.0, exact)) {
      throw NotExpressible{"a scale of " + std::to_string(scale) + " that does not give whole extents"};
    }
    out.push_back(static_cast<int64_t>(std::round(exact)));
  }
  return out;
}

void resample(Op& op, const Dims& dims, ResamplingAttributes attributes) {
  const Value& src = op.input(0);
  if (dims == src.dims) return op.set(0, src);
  if (src.rank() < 3 || src.rank() > 5 || dims[0] != src.dims[0] || dims[1] != src.dims[1]) {
    throw NotExpressible{"a resize of " + join(src.dims, "x") + " to " + join(dims, "x")};
  }
  attributes.sizes = Dims(std::span<const int64_t>(dims).subspan(2));
  op.set(0, op.add(Kind::resampling, attributes, {src}));
}

ResamplingAttributes upsampling(const Op& op) {
  return {.algorithm = algorithm_of(op),
          .coordinates = ResamplingCoordinates::asymmetric,
          .rounding = ResamplingRounding::floor};
}

void upsample(Op& op) {
  const Dims& src = op.input(0).dims;
  const std::vector<double> scales = op.inputs() > 1 ? op.numbers_of(1) : op.numbers("scales");
  resample(op, scaled_dims(op, src, by_axis(op, scales, std::vector(static_cast<std::size_t>(src.size()), 1.0))),
           upsampling(op));
}

void resize(Op& op) {
  if (op.model.opset < 11) return upsample(op);
  if (op.integer("antialias", 0) != 0) throw NotExpressible{"antialias"};
  if (op.text("keep_aspect_ratio_policy", "stretch") != "stretch") throw NotExpressible{"keep_aspect_ratio_policy"};
  const Dims& src = op.input(0).dims;
  const ResamplingAttributes attributes{
      .algorithm = algorithm_of(op), .coordinates = coordinates_of(op), .rounding = rounding_of(op)};
  if (op.has(3)) {
    const std::vector<int64_t> own(src.begin(), src.end());
    const std::vector<int64_t> sizes = by_axis(op, op.integers_of(3), own);
    for (const int64_t size : sizes) {
      if (size < 0) op.corrupt("sizes " + join(sizes));
    }
    std::vector<int64_t> out = sizes;
    // If the sizes begin with the file's batch, the batch that replaced it is meant.
    if (!out.empty() && out[0] == op.model.file_batch && src[0] == op.model.batch) out[0] = src[0];
    return resample(op, dims_of(out), attributes);
  }
  resample(op,
           scaled_dims(op, src, by_axis(op, op.numbers_of(2), std::vector(static_cast<std::size_t>(src.size()), 1.0))),
           attributes);
}

}  // namespace

std::span<const Operator> resize_operators() {
  static constexpr std::array<Operator, 2> kOperators = {
      {{"Resize", resize,
        "antialias:18- axes:18- coordinate_transformation_mode:11- cubic_coeff_a:11- exclude_outside:11- "
        "extrapolation_value:11- keep_aspect_ratio_policy:18- mode nearest_mode:11-"},
       {"Upsample", upsample, "mode scales:7-8"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
