// The ONNX operators Resize and Upsample: which coordinates and rounding they mean in each opset.
#include <algorithm>
#include <array>
#include <cmath>

#include "relayout/graph/onnx/resize_taps.h"

namespace relayout::graph::importing {
namespace {

ResamplingCoordinates coordinates_of(const std::string& mode) {
  if (mode == "half_pixel") return ResamplingCoordinates::half_pixel;
  if (mode == "pytorch_half_pixel") return ResamplingCoordinates::pytorch_half_pixel;
  return mode == "align_corners" ? ResamplingCoordinates::align_corners : ResamplingCoordinates::asymmetric;
}

ResamplingRounding rounding_of(const std::string& mode) {
  if (mode == "round_prefer_floor") return ResamplingRounding::half_down;
  if (mode == "round_prefer_ceil") return ResamplingRounding::half_up;
  return mode == "floor" ? ResamplingRounding::floor : ResamplingRounding::ceil;
}

std::string one_of(const Op& op, std::string_view attribute, std::string_view otherwise,
                   const std::vector<std::string>& known) {
  const std::string text = op.text(attribute, otherwise);
  if (std::ranges::find(known, text) == known.end()) op.corrupt(std::string(attribute) + " " + in_quotes(text));
  return text;
}

ResizeForm form_of(const Op& op) {
  ResizeForm out{.mode = one_of(op, "mode", "nearest", {"nearest", "linear", "bilinear", "cubic"})};
  if (out.mode == "bilinear") out.mode = "linear";
  if (op.model.opset < 11) return {.mode = out.mode, .coordinates = "asymmetric", .rounding = "floor"};
  out.coordinates = one_of(op, "coordinate_transformation_mode", "half_pixel",
                           {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                            "tf_crop_and_resize"});
  out.rounding =
      one_of(op, "nearest_mode", "round_prefer_floor", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  out.cubic_a = op.number("cubic_coeff_a", -0.75);
  out.extrapolated = op.number("extrapolation_value", 0);
  out.antialias = op.integer("antialias", 0) != 0 && out.mode != "nearest";
  out.exclude_outside = op.integer("exclude_outside", 0) != 0;
  return out;
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

struct ResizeSizes {
  Dims dims;
  std::vector<double> scales;
};

/// The dims that scales give, rounded down.
ResizeSizes scaled_sizes(const Op& op, const Dims& src, const std::vector<double>& given) {
  ResizeSizes out{.scales = by_axis(op, given, std::vector(static_cast<std::size_t>(src.size()), 1.0))};
  for (int d = 0; d < src.size(); ++d) {
    double& scale = out.scales[static_cast<std::size_t>(d)];
    const double exact = static_cast<double>(src[d]) * scale;
    if (!(scale > 0) || !(exact < 1e15)) op.corrupt("a scale of " + std::to_string(scale));
    // Scales are f32, so 6 times 1/3 is only nearly 2.
    const bool whole = std::abs(exact - std::round(exact)) <= 1e-5 * std::max(1.0, exact);
    out.dims.push_back(static_cast<int64_t>(whole ? std::round(exact) : std::floor(exact)));
    if (whole && src[d] > 0) scale = static_cast<double>(out.dims[d]) / static_cast<double>(src[d]);
  }
  return out;
}

/// The dims that sizes give. keep_aspect_ratio_policy takes one scale for all dims that are resized.
ResizeSizes sized(const Op& op, const Dims& src) {
  const std::vector<int64_t> own(src.begin(), src.end());
  std::vector<int64_t> sizes = by_axis(op, op.integers_of(3), own);
  // If the sizes begin with the file's batch, the batch that replaced it is meant.
  if (!sizes.empty() && sizes[0] == op.model.file_batch && src[0] == op.model.batch) sizes[0] = src[0];
  ResizeSizes out{.scales = std::vector(sizes.size(), 1.0)};
  for (int d = 0; d < src.size(); ++d) {
    const int64_t size = sizes[static_cast<std::size_t>(d)];
    if (size < 0) op.corrupt("sizes " + join(sizes));
    out.dims.push_back(size);
    if (src[d] > 0) out.scales[static_cast<std::size_t>(d)] = static_cast<double>(size) / static_cast<double>(src[d]);
  }
  const std::string policy =
      one_of(op, "keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
  if (policy == "stretch") return out;
  std::vector<int64_t> axes;
  for (int d = 0; d < src.size(); ++d) axes.push_back(d);
  axes = op.integers("axes").value_or(axes);
  double scale = out.scales[static_cast<std::size_t>(op.axis(axes.at(0), src.size()))];
  for (const int64_t axis : axes) {
    const double one = out.scales[static_cast<std::size_t>(op.axis(axis, src.size()))];
    scale = policy == "not_larger" ? std::min(scale, one) : std::max(scale, one);
  }
  for (const int64_t axis : axes) {
    const int d = op.axis(axis, src.size());
    out.scales[static_cast<std::size_t>(d)] = scale;
    out.dims[d] = static_cast<int64_t>(std::floor(static_cast<double>(src[d]) * scale + 0.5));
  }
  return out;
}

/// Whether the graph's resampling has this form.
bool is_resampling(const Value& src, const ResizeSizes& to, const ResizeForm& form) {
  if (src.rank() < 3 || src.rank() > 5 || to.dims[0] != src.dims[0] || to.dims[1] != src.dims[1]) return false;
  for (int d = 0; d < src.rank(); ++d) {
    const double scale = to.scales[static_cast<std::size_t>(d)];
    if (src.dims[d] < 1 || scale != static_cast<double>(to.dims[d]) / static_cast<double>(src.dims[d])) return false;
  }
  return form.mode != "cubic" && !form.antialias && !form.exclude_outside && form.coordinates != "tf_crop_and_resize" &&
         form.coordinates != "half_pixel_symmetric";
}

/// One dim after the other, in f32 if the source has integers.
Value by_taps(Op& op, const Value& src, const ResizeSizes& to, const ResizeForm& form) {
  const bool crops = form.coordinates == "tf_crop_and_resize";
  std::vector<double> roi(2 * static_cast<std::size_t>(src.rank()), 0);
  std::fill(roi.begin() + src.rank(), roi.end(), 1);
  if (crops) {
    const std::vector<double> given = op.numbers_of(1);
    const auto axes = op.integers("axes");
    const std::size_t count = given.size() / 2;
    if (count != (axes ? axes->size() : roi.size() / 2)) op.corrupt("roi of " + std::to_string(given.size()));
    for (std::size_t i = 0; i < count; ++i) {
      const auto d = axes ? static_cast<std::size_t>(op.axis((*axes)[i], src.rank())) : i;
      roi[d] = given[i];
      roi[d + roi.size() / 2] = given[i + count];
    }
  }
  const bool exact = is_floating(src.dtype) || form.mode == "nearest";
  Value out = exact ? src : cast(op, src, DType::f32), outside = scalar(0, DType::boolean);
  for (int d = 0; d < src.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const ResizeExtents extents{src.dims[d], to.dims[d], to.scales[at], roi[at], roi[at + roi.size() / 2]};
    const bool whole = extents.roi_start == 0 && extents.roi_end == 1;
    if (extents.src == extents.dst && extents.scale == 1 && whole) continue;
    std::vector<int64_t> beyond;
    out = resize_dim(op, out, d, extents, form, beyond);
    if (std::ranges::count(beyond, 1) == 0) continue;
    Dims dims(src.rank(), 1);
    dims[d] = extents.dst;
    outside = binary(op, outside, integer_constant(dims, beyond, DType::boolean), BinaryAlgorithm::logical_or);
  }
  if (outside.rank() > 0) out = select(op, outside, scalar(form.extrapolated, out.dtype), out);
  return cast(op, out, src.dtype);
}

void resize_to(Op& op, const ResizeSizes& to) {
  const Value& src = op.input(0);
  const ResizeForm form = form_of(op);
  if (to.dims == src.dims && form.coordinates != "tf_crop_and_resize") return op.set(0, src);
  if (!is_resampling(src, to, form)) return op.set(0, by_taps(op, src, to, form));
  op.set(0, op.add(Kind::resampling,
                   ResamplingAttributes{
                       .algorithm = form.mode == "nearest" ? ResamplingAlgorithm::nearest : ResamplingAlgorithm::linear,
                       .sizes = Dims(std::span<const int64_t>(to.dims).subspan(2)),
                       .coordinates = coordinates_of(form.coordinates),
                       .rounding = rounding_of(form.rounding)},
                   {src}));
}

void upsample(Op& op) {
  resize_to(op, scaled_sizes(op, op.input(0).dims, op.inputs() > 1 ? op.numbers_of(1) : op.numbers("scales")));
}

void resize(Op& op) {
  if (op.model.opset < 11) return upsample(op);
  const Dims& src = op.input(0).dims;
  resize_to(op, op.has(3) ? sized(op, src) : scaled_sizes(op, src, op.numbers_of(2)));
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
