// Indices of maxima: a table of constants has the place of each element of each window, by which elements are gathered
// and the place of the largest one is looked up.
#include <algorithm>
#include <limits>

#include "relayout/graph/onnx/spatial_window.h"

namespace relayout::graph::importing {
namespace {

/// For each window along spatial dim d and each element of its kernel, a place. In place of the padding stands the
/// first element of the window that lies in the source: repeated elements do not change which of the largest is the
/// first.
std::vector<int64_t> places_along(const SpatialWindow& window, int d, int64_t extent, int64_t windows) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t begin = i * window.strides[d] - window.pads_begin[d];
    const int64_t first = begin + ceil_div(std::max<int64_t>(-begin, 0), window.dilations[d]) * window.dilations[d];
    for (int64_t k = 0; k < window.kernel[d]; ++k) {
      const int64_t place = begin + k * window.dilations[d];
      // A window in padding alone has no defined result.
      out.push_back(place >= 0 && place < extent ? place : first < extent ? first : 0);
    }
  }
  return out;
}

/// Sums of the places along each dim times its stride, by window and then by element of the kernel.
std::vector<int64_t> places(const std::vector<std::vector<int64_t>>& along, const Dims& windows, const Dims& kernel,
                            const Dims& strides) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < elements_of(windows); ++i) {
    for (int64_t k = 0; k < elements_of(kernel); ++k) {
      int64_t place = 0, window_rest = i, kernel_rest = k;
      for (int d = windows.size() - 1; d >= 0; --d) {
        const int64_t at = window_rest % windows[d] * kernel[d] + kernel_rest % kernel[d];
        place += along[static_cast<std::size_t>(d)][static_cast<std::size_t>(at)] * strides[d];
        window_rest /= windows[d];
        kernel_rest /= kernel[d];
      }
      out.push_back(place);
    }
  }
  return out;
}

/// 0, step, 2 * step, ... in these dims.
Value progression(Op& op, const Dims& dims, int64_t step) {
  charge(op.model, DType::s64, dims);
  std::vector<int64_t> values(static_cast<std::size_t>(elements_of(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i) * step;
  return integer_constant(dims, values);
}

Dims spatial(const Dims& dims) { return dims_of(std::span(dims.begin(), dims.end()).subspan(2)); }

Dims column_strides(const Dims& dims) {
  Dims out;
  int64_t stride = 1;
  for (const int64_t extent : dims) {
    out.push_back(stride);
    stride *= extent;
  }
  return out;
}

}  // namespace

Value indices_of_maxima(Op& op, const Value& src, const SpatialWindow& window, const Dims& dims, bool by_columns) {
  const Dims extents = spatial(src.dims), windows = spatial(dims);
  const int64_t plane = elements_of(extents), count = elements_of(windows), size = elements_of(window.kernel);
  charge(op.model, DType::s64, {count, size});
  std::vector<std::vector<int64_t>> along;
  for (int d = 0; d < extents.size(); ++d) along.push_back(places_along(window, d, extents[d], windows[d]));
  const std::vector<int64_t> rows = places(along, windows, window.kernel, row_major_strides(extents));
  Value numbers = reshape(op, src, {dims[0], dims[1], plane});
  if (is_floating(src.dtype)) {
    const Value least = scalar(-std::numeric_limits<double>::infinity(), src.dtype);
    numbers = select(op, binary(op, numbers, numbers, BinaryAlgorithm::eq), numbers, least);
  }
  const Value elements =
      reshape(op, gather(op, numbers, integer_constant({count * size}, rows), 2), {dims[0], dims[1], count, size});
  const Value best =
      op.add(Kind::array, ArrayAttributes{.operation = ArrayOperation::arg_max, .axis = 3}, {elements}, DType::s64);
  const Value at =
      binary(op, reshape(op, best, {dims[0], dims[1], count}), progression(op, {count}, size), BinaryAlgorithm::add);
  charge(op.model, DType::s64, {count, size});
  const std::vector<int64_t> named = by_columns ? places(along, windows, window.kernel, column_strides(extents)) : rows;
  const Value place = gather(op, integer_constant({count * size}, named), at, 0);
  const Value whole = binary(op, place, progression(op, {dims[0], dims[1], 1}, plane), BinaryAlgorithm::add);
  return reshape(op, whole, dims);
}

}  // namespace relayout::graph::importing
