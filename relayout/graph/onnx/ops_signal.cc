// ONNX operators of signals and images that are products with constant matrices, or moves to constant places: DFT,
// AffineGrid, Col2Im, CenterCropPad.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// A discrete Fourier transform as a real matrix from `read` numbers with `read_parts` parts (real, imaginary) to
/// `made` numbers with `made_parts`.
struct FourierForm {
  int64_t length, read, made, read_parts, made_parts;
  bool inverse, half;
};

/// Entry (n, part) -> (k, part): e^(-+ 2 pi i n k / length), of which an inverse has the length-th part. Half a
/// spectrum stands for a whole one, whose other half is conjugate.
std::vector<double> fourier_matrix(const FourierForm& f) {
  std::vector<double> out;
  for (int64_t n = 0; n < f.read; ++n) {
    const bool twice = f.inverse && f.half && n != 0 && 2 * n != f.length;
    const double scale = (f.inverse ? 1 / static_cast<double>(f.length) : 1) * (twice ? 2 : 1);
    for (int64_t part = 0; part < f.read_parts; ++part) {
      for (int64_t k = 0; k < f.made; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(n * k % f.length) /
                             static_cast<double>(f.length) * (f.inverse ? 1 : -1);
        // (a + ib) (cos + i sin)
        for (int64_t to = 0; to < f.made_parts; ++to) {
          const double value = part == to ? std::cos(angle) : part == 0 ? std::sin(angle) : -std::sin(angle);
          out.push_back(scale * value);
        }
      }
    }
  }
  return out;
}

void dft(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 2) op.corrupt("a source of dims " + join(src.dims, "x"));
  const bool by_source = op.model.opset >= 20;
  int64_t given = by_source ? -2 : op.integer("axis", 1);
  if (by_source && op.has(2)) given = op.integers_of(2).at(0);
  const int axis = op.axis(given, src.rank()), last = src.rank() - 1;
  const bool inverse = op.integer("inverse", 0) != 0, half = op.integer("onesided", 0) != 0;
  if (axis == last || src.dims[last] < 1 || src.dims[last] > 2) op.corrupt("a source of " + join(src.dims, "x"));
  int64_t length = half && inverse ? 2 * (src.dims[axis] - 1) : src.dims[axis];
  if (op.has(1)) length = op.integers_of(1).at(0);
  const int64_t most = int64_t{1} << 15;
  if (length < 1 || length > most || src.dims[axis] > most)
    throw NotExpressible{"a length of " + std::to_string(length)};
  const int64_t spectrum = length / 2 + 1;
  const FourierForm form{.length = length,
                         .read = std::min(src.dims[axis], half && inverse ? spectrum : length),
                         .made = half && !inverse ? spectrum : length,
                         .read_parts = src.dims[last],
                         .made_parts = half && inverse ? 1 : 2,
                         .inverse = inverse,
                         .half = half};
  SliceAttributes range{Dims(src.rank(), 0), src.dims, Dims(src.rank(), 1)};
  range.stops[axis] = form.read;
  std::vector<int> order;
  for (int d = 0; d < last; ++d) {
    if (d != axis) order.push_back(d);
  }
  order.push_back(axis);
  order.push_back(last);
  const Value turned = transpose(op, slice(op, src, range), order);
  const Dims sides{form.read * form.read_parts, form.made * form.made_parts};
  charge(op.model, DType::f64, sides);
  const Value matrix = number_constant(sides, fourier_matrix(form), src.dtype);
  const Value rows = reshape(op, turned, {elements_of(turned.dims) / std::max<int64_t>(sides[0], 1), sides[0]});
  const Value product = op.add(Kind::matmul, MatmulAttributes{}, {rows, matrix});
  Dims dims = turned.dims;
  dims[last - 1] = form.made;
  dims[last] = form.made_parts;
  std::vector<int> back(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) back[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
  op.set(0, transpose(op, reshape(op, product, dims), back));
}

/// The positions of a grid, from -1 to 1, by a matrix for each image.
void affine_grid(Op& op) {
  const std::vector<int64_t> size = op.integers_of(1);
  const auto spatial = static_cast<int>(size.size()) - 2;
  const Value& theta = op.input(0);
  if (spatial < 2 || spatial > 3 || theta.dims != Dims{size[0], spatial, spatial + 1}) {
    op.corrupt("matrices of " + join(theta.dims, "x") + " for " + join(size, "x"));
  }
  const bool corners = op.integer("align_corners", 0) != 0;
  Dims extents;
  for (int d = 0; d < spatial; ++d) extents.push_back(size[static_cast<std::size_t>(d) + 2]);
  const int64_t points = elements_of(extents);
  charge(op.model, DType::f64, {points, spatial + 1});
  std::vector<double> positions;
  for (int64_t p = 0; p < points; ++p) {
    // The last dim comes first in a position, and 1 at the end.
    int64_t rest = p;
    for (int d = spatial - 1; d >= 0; --d) {
      const auto n = static_cast<double>(extents[d]), i = static_cast<double>(rest % extents[d]);
      rest /= extents[d];
      positions.push_back(corners ? (n == 1 ? 0 : 2 * i / (n - 1) - 1) : (2 * i + 1) / n - 1);
    }
    positions.push_back(1);
  }
  const Value base = number_constant({1, points, spatial + 1}, positions, theta.dtype);
  const Value grid = op.add(Kind::matmul, MatmulAttributes{}, {base, transpose(op, theta, {0, 2, 1})});
  Dims dims = extents;
  dims.insert(0, size[0]);
  dims.push_back(spatial);
  op.set(0, reshape(op, grid, dims));
}

/// Sums of blocks that overlap: each of them goes to its place, or where it lies in the padding to a place that is cut
/// off again.
void col2im(Op& op) {
  const Value& src = op.input(0);
  const auto bounded = [&](const std::vector<int64_t>& list, int64_t least, int64_t most) {
    for (const int64_t entry : list) {
      if (entry < least || entry > most) op.corrupt("the entry " + std::to_string(entry));
    }
    return dims_of(list);
  };
  constexpr int64_t kMost = int64_t{1} << 20;
  const Dims image = bounded(op.integers_of(1), 1, kMost), block = bounded(op.integers_of(2), 1, kMost);
  const int spatial = image.size();
  const auto list = [&](std::string_view attribute, int count, int64_t otherwise) {
    const auto given = op.integers(attribute);
    if (given && static_cast<int>(given->size()) != count) op.corrupt(std::string(attribute) + " " + join(*given));
    return given ? bounded(*given, otherwise, kMost) : Dims(count, otherwise);
  };
  const Dims dilations = list("dilations", spatial, 1), strides = list("strides", spatial, 1),
             pads = list("pads", 2 * spatial, 0);
  const int64_t size = elements_of(block), pixels = elements_of(image);
  if (src.rank() != 3 || block.size() != spatial || size < 1 || src.dims[1] % size != 0) {
    op.corrupt("a source of " + join(src.dims, "x") + " in blocks of " + join(block, "x"));
  }
  Dims places;
  for (int d = 0; d < spatial; ++d) {
    const int64_t reach = dilations[d] * (block[d] - 1) + 1;
    places.push_back((image[d] + pads[d] + pads[d + spatial] - reach) / strides[d] + 1);
  }
  if (src.dims[2] != elements_of(places)) op.corrupt("a source of " + join(src.dims, "x"));
  const int64_t rows = elements_of({src.dims[0], src.dims[1] / size}), count = elements_of({size, src.dims[2]});
  charge(op.model, DType::s64, {rows, count});
  std::vector<int64_t> targets;
  for (int64_t i = 0; i < count; ++i) {
    int64_t in_block = i / src.dims[2], place = i % src.dims[2], at = 0, step = 1;
    for (int d = spatial - 1; d >= 0; --d) {
      const int64_t index = place % places[d] * strides[d] + in_block % block[d] * dilations[d] - pads[d];
      place /= places[d];
      in_block /= block[d];
      at = index < 0 || index >= image[d] || at < 0 ? -1 : at + index * step;
      step *= image[d];
    }
    targets.push_back(at < 0 ? pixels : at);
  }
  const Value indices = broadcast(op, integer_constant({1, count}, targets), {rows, count});
  const Value sums = op.add(
      Kind::array,
      ArrayAttributes{.operation = ArrayOperation::scatter_elements, .axis = 1, .scatter = ScatterAlgorithm::add},
      {broadcast(op, scalar(0, src.dtype), {rows, pixels + 1}), indices, reshape(op, src, {rows, count})});
  Dims dims = image;
  dims.insert(0, src.dims[1] / size);
  dims.insert(0, src.dims[0]);
  op.set(0, reshape(op, slice(op, sums, {{0, 0}, {rows, pixels}, {1, 1}}), dims));
}

/// The middle of the source, or the source in the middle of zeros, by dim.
void center_crop_pad(Op& op) {
  const Value& src = op.input(0);
  const std::vector<int64_t> shape = op.integers_of(1);
  std::vector<int64_t> axes(static_cast<std::size_t>(src.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  axes = op.integers("axes").value_or(axes);
  if (shape.size() != axes.size()) op.corrupt("a shape of " + join(shape));
  SliceAttributes range{Dims(src.rank(), 0), src.dims, Dims(src.rank(), 1)};
  PadAttributes pads{.begin = Dims(src.rank(), 0), .end = Dims(src.rank(), 0)};
  bool any = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int d = op.axis(axes[i], src.rank());
    const int64_t extent = src.dims[d], wish = shape[i];
    if (wish < 0 || wish > (int64_t{1} << 40)) op.corrupt("a shape of " + join(shape));
    if (wish < extent) {
      range.starts[d] = (extent - wish) / 2;
      range.stops[d] = range.starts[d] + wish;
    } else {
      pads.begin[d] = (wish - extent) / 2;
      pads.end[d] = wish - extent - pads.begin[d];
      any = any || wish > extent;
    }
  }
  const Value cut = slice(op, src, range);
  op.set(0, any ? op.add(Kind::pad, pads, {cut}) : cut);
}

}  // namespace

std::span<const Operator> signal_operators() {
  static constexpr std::array<Operator, 4> kOperators = {{{"DFT", dft, "axis:17-19 inverse onesided"},
                                                          {"AffineGrid", affine_grid, "align_corners"},
                                                          {"Col2Im", col2im, "dilations pads strides"},
                                                          {"CenterCropPad", center_crop_pad, "axes"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
