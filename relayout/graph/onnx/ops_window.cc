// ONNX operators that slide a window: convolutions and pooling, with their ways of saying what is padded.
#include <array>

#include "relayout/graph/onnx/spatial_window.h"

namespace relayout::graph::importing {
namespace {

/// The largest kernel, stride, dilation or pad, and the largest spatial extent. Sums and products of these fit 64 bits.
constexpr int64_t kMostEntry = int64_t{1} << 20, kMostExtent = int64_t{1} << 40;

Dims list_of(const Op& op, std::string_view attribute, int count, int64_t otherwise, int64_t least) {
  const auto given = op.integers(attribute);
  if (!given) return Dims(count, otherwise);
  if (given->size() != static_cast<std::size_t>(count)) {
    op.corrupt("attribute \"" + std::string(attribute) + "\" has " + std::to_string(given->size()) + " entries, not " +
               std::to_string(count));
  }
  for (const int64_t value : *given) {
    if (value < least || value > kMostEntry) {
      op.corrupt("attribute \"" + std::string(attribute) + "\" has the entry " + std::to_string(value));
    }
  }
  return dims_of(*given);
}

/// How many places of the source the window spans, including those that dilation skips.
int64_t reach(const SpatialWindow& window, int d) { return (window.kernel[d] - 1) * window.dilations[d] + 1; }

int64_t spatial_extent(const Op& op, const Value& src, int d) {
  const int64_t extent = src.dims[d + 2];
  if (extent > kMostExtent) op.corrupt("a window over a dim of " + std::to_string(extent));
  return extent;
}

void check_source(const Op& op, const Value& src) {
  if (src.rank() < 3) op.corrupt("a source of dims " + join(src.dims, "x"));
  if (src.rank() > 5) throw NotExpressible{"more than 3 spatial dims"};
}

/// Halves are rounded towards 0, as ONNX Runtime does for negative ones.
void split_padding(int64_t total, bool more_at_end, int64_t* begin, int64_t* end) {
  *begin = (more_at_end ? total : total + 1) / 2;
  *end = total - *begin;
}

bool is_same(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

/// The strides, dilations and pads of a node whose kernel has these extents. If `cuts`, pads may be negative: where
/// auto_pad is SAME and a stride is longer than the kernel, as many elements are left out at both ends.
SpatialWindow window_of(const Op& op, const Value& src, const Dims& kernel, bool cuts = false) {
  const int count = kernel.size();
  SpatialWindow window{.kernel = kernel,
                       .strides = list_of(op, "strides", count, 1, 1),
                       .dilations = list_of(op, "dilations", count, 1, 1)};
  const std::string auto_pad = op.text("auto_pad", "NOTSET");
  const Dims pads = list_of(op, "pads", 2 * count, 0, 0);
  for (int d = 0; d < count; ++d) {
    int64_t begin = 0, end = 0;
    if (is_same(auto_pad)) {
      const int64_t extent = spatial_extent(op, src, d);
      const int64_t out = ceil_div(extent, window.strides[d]);
      const int64_t total = (out - 1) * window.strides[d] + reach(window, d) - extent;
      if (total > 0 || cuts) split_padding(total, auto_pad == "SAME_UPPER", &begin, &end);
    } else if (auto_pad == "NOTSET" || auto_pad.empty()) {
      begin = pads[d];
      end = pads[d + count];
    } else if (auto_pad != "VALID") {
      op.corrupt("auto_pad \"" + escaped(auto_pad) + "\"");
    }
    window.pads_begin.push_back(begin);
    window.pads_end.push_back(end);
  }
  return window;
}

ConvolutionAttributes attributes_of(const SpatialWindow& window, int64_t groups) {
  return {.strides = window.strides,
          .dilations = window.dilations,
          .pads_begin = window.pads_begin,
          .pads_end = window.pads_end,
          .groups = groups};
}

int64_t groups_of(const Op& op, int64_t channels) {
  const int64_t groups = op.integer("group", 1);
  if (groups < 1 || channels % groups != 0) {
    op.corrupt(std::to_string(groups) + " groups of " + std::to_string(channels) + " channels");
  }
  return groups;
}

/// The kernel's extents: the spatial dims of the weights. An attribute kernel_shape must agree with them.
Dims kernel_of(const Op& op, const Value& src, const Value& weights) {
  check_source(op, src);
  if (weights.rank() != src.rank()) op.corrupt("weights of dims " + join(weights.dims, "x"));
  Dims kernel;
  for (int d = 2; d < weights.rank(); ++d) {
    if (weights.dims[d] < 1 || weights.dims[d] > kMostEntry) {
      op.corrupt("weights of dims " + join(weights.dims, "x"));
    }
    kernel.push_back(weights.dims[d]);
  }
  if (const auto given = op.integers("kernel_shape"); given && !(dims_of(*given) == kernel)) {
    op.corrupt("kernel_shape " + join(*given, "x") + " and weights of dims " + join(weights.dims, "x"));
  }
  return kernel;
}

}  // namespace

Value convolve(Op& op, const Value& src, const Value& weights, const Value& bias) {
  const Dims kernel = kernel_of(op, src, weights);
  const int64_t groups = groups_of(op, weights.dims[0]);
  const SpatialWindow window = window_of(op, src, kernel);
  Value grouped = weights;
  if (groups > 1) {
    Dims dims = weights.dims;
    dims[0] /= groups;
    dims.insert(0, groups);
    grouped = reshape(op, weights, dims);
  }
  return op.add(Kind::convolution, attributes_of(window, groups), {src, grouped, bias});
}

namespace {

void conv(Op& op) { op.set(0, convolve(op, op.input(0), op.input(1), op.has(2) ? op.input(2) : Value{})); }

/// Sets the pads so that the destination has the spatial extents `output_shape` or, with auto_pad SAME, those of the
/// source times the strides.
/// What the kernel does not reach is added to the padding at the end.
void fit_output(const Op& op, const Value& src, Dims& padding, SpatialWindow* window) {
  const auto given = op.integers("output_shape");
  const std::string auto_pad = op.text("auto_pad", "NOTSET");
  if (!given && !is_same(auto_pad)) return;
  const int count = window->kernel.size();
  if (given && given->size() < static_cast<std::size_t>(count)) op.corrupt("output_shape " + join(*given, "x"));
  for (int d = 0; d < count; ++d) {
    const int64_t extent = spatial_extent(op, src, d);
    const int64_t wish =
        given ? (*given)[given->size() - static_cast<std::size_t>(count - d)] : extent * window->strides[d];
    const int64_t full = (extent - 1) * window->strides[d] + padding[d] + reach(*window, d);
    if (wish < 1 || wish > kMostExtent) op.corrupt("an output_shape of " + std::to_string(wish));
    padding[d] += std::max<int64_t>(wish - full, 0);
    split_padding(std::max<int64_t>(full - wish, 0), auto_pad == "SAME_UPPER", &window->pads_begin[d],
                  &window->pads_end[d]);
  }
}

void conv_transpose(Op& op) {
  const Value &src = op.input(0), &weights = op.input(1);
  const Dims kernel = kernel_of(op, src, weights);
  const int64_t groups = groups_of(op, weights.dims[0]);
  Dims padding = list_of(op, "output_padding", kernel.size(), 0, 0);
  SpatialWindow window = window_of(op, src, kernel);
  fit_output(op, src, padding, &window);
  // The weights go from ONNX's I O/G spatial to [G] O/G I/G spatial.
  Dims dims = weights.dims;
  std::vector<int> order = {1, 0};
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(0, groups);
    order = {0, 2, 1};
  }
  while (static_cast<int>(order.size()) < dims.size()) order.push_back(static_cast<int>(order.size()));
  const Value turned = transpose(op, reshape(op, weights, dims), order);
  ConvolutionAttributes attributes = attributes_of(window, groups);
  attributes.output_padding = padding;
  const Value* bias = op.optional(2);
  op.set(0, op.add(Kind::deconvolution, attributes, {src, turned, bias ? *bias : Value{}}));
}

SpatialWindow pooling_window(const Op& op) {
  const Value& src = op.input(0);
  check_source(op, src);
  if (!op.find("kernel_shape")) op.corrupt("kernel_shape is missing");
  return window_of(op, src, list_of(op, "kernel_shape", src.rank() - 2, 1, 1), true);
}

/// The source without the elements that negative pads leave out; these pads become 0.
Value without_cuts(Op& op, const Value& src, SpatialWindow* window) {
  SliceAttributes kept{.starts = Dims(src.rank(), 0), .stops = src.dims, .steps = Dims(src.rank(), 1)};
  for (int d = 0; d < window->kernel.size(); ++d) {
    kept.starts[d + 2] = -std::min<int64_t>(window->pads_begin[d], 0);
    kept.stops[d + 2] += std::min<int64_t>(window->pads_end[d], 0);
    window->pads_begin[d] = std::max<int64_t>(window->pads_begin[d], 0);
    window->pads_end[d] = std::max<int64_t>(window->pads_end[d], 0);
  }
  return slice(op, src, kept);
}

/// Whether a last window reaches beyond the padded source, as one may with ceil_mode; the padding at the end becomes as
/// long as the windows need. A window that would lie wholly in the padding at the end is left out. ONNX's inference of
/// dims and ONNX Runtime round quotients towards 0, also negative ones, so that a window which is longer than the
/// padded source is one window of what there is, if a stride is longer than what it lacks.
bool reaches_out(const Op& op, const Value& src, bool ceil_mode, SpatialWindow* window) {
  bool any = false;
  for (int d = 0; d < window->kernel.size(); ++d) {
    const int64_t extent = spatial_extent(op, src, d), stride = window->strides[d];
    const int64_t room = extent + window->pads_begin[d] + window->pads_end[d] - reach(*window, d);
    int64_t last = (room + (ceil_mode ? stride - 1 : 0)) / stride;
    if (room < 0 && last < 0) {
      op.corrupt("a window of " + std::to_string(reach(*window, d)) + " over " + std::to_string(extent));
    }
    if (room >= 0 && !ceil_mode) continue;
    if (last * stride >= extent + window->pads_begin[d]) --last;
    const int64_t extra = last * stride - room;
    window->pads_end[d] = std::max<int64_t>(window->pads_end[d] + extra, 0);
    any = any || extra > 0;
  }
  return any;
}

Value pooled(Op& op, const Value& src, const SpatialWindow& window, PoolingAlgorithm algorithm) {
  return op.add(Kind::pooling,
                PoolingAttributes{.algorithm = algorithm,
                                  .kernel = window.kernel,
                                  .strides = window.strides,
                                  .dilations = window.dilations,
                                  .pads_begin = window.pads_begin,
                                  .pads_end = window.pads_end},
                {src});
}

/// By how much an average over whole windows is too small where it must not count what ceil_mode adds to the padding:
/// for each place, the kernel's size divided by the number of its elements within the source and the padding
/// that the model has.
Value uncounted_factor(Op& op, const Value& src, const Value& dst, const SpatialWindow& window, const Dims& pads_end) {
  Value out;
  for (int d = 0; d < window.kernel.size(); ++d) {
    const int64_t end = src.dims[d + 2] + window.pads_begin[d] + pads_end[d];
    charge(op.model, DType::f64, {dst.dims[d + 2]});
    std::vector<double> factors;
    for (int64_t place = 0; place < dst.dims[d + 2]; ++place) {
      const int64_t room = end - place * window.strides[d];
      const int64_t counted =
          std::clamp<int64_t>(ceil_div(std::max<int64_t>(room, 0), window.dilations[d]), 0, window.kernel[d]);
      factors.push_back(static_cast<double>(window.kernel[d]) / static_cast<double>(std::max<int64_t>(counted, 1)));
    }
    Dims dims(dst.rank(), 1);
    dims[d + 2] = dst.dims[d + 2];
    const Value own = number_constant(dims, factors, src.dtype);
    out = d == 0 ? own : binary(op, out, own, BinaryAlgorithm::mul);
  }
  return out;
}

void pool(Op& op, PoolingAlgorithm algorithm) {
  SpatialWindow window = pooling_window(op);
  const SpatialWindow uncut = window;
  const Value src = without_cuts(op, op.input(0), &window);
  const Dims pads_end = window.pads_end;
  const bool sticks_out = reaches_out(op, src, op.integer("ceil_mode", 0) != 0, &window);
  Value out = pooled(op, src, window, algorithm);
  if (sticks_out && algorithm == PoolingAlgorithm::average_include_padding) {
    out = binary(op, out, uncounted_factor(op, src, out, window, pads_end), BinaryAlgorithm::mul);
  }
  op.set(0, out);
  if (!op.wanted(1)) return;
  op.set(1, indices_of_maxima(op, op.input(0), uncut, out.dims, op.integer("storage_order", 0) != 0));
}

/// The sum of the p-th powers of magnitudes in a window, to the power of 1 / p.
void lp_pool(Op& op) {
  const auto p = static_cast<double>(op.integer("p", 2));
  SpatialWindow window = pooling_window(op);
  const Value src = without_cuts(op, op.input(0), &window);
  reaches_out(op, src, op.integer("ceil_mode", 0) != 0, &window);
  const Value magnitudes = eltwise(op, src, EltwiseAlgorithm::abs);
  const Value powers = p == 1 ? magnitudes : eltwise(op, magnitudes, EltwiseAlgorithm::pow, 1, p);
  const Value mean = pooled(op, powers, window, PoolingAlgorithm::average_include_padding);
  const Value sum = multiplied(op, mean, static_cast<double>(elements_of(window.kernel)));
  op.set(0, p == 1 ? sum : eltwise(op, sum, EltwiseAlgorithm::pow, 1, 1 / p));
}

void max_pool(Op& op) { pool(op, PoolingAlgorithm::max); }

void average_pool(Op& op) {
  pool(op, op.integer("count_include_pad", 0) != 0 ? PoolingAlgorithm::average_include_padding
                                                   : PoolingAlgorithm::average_exclude_padding);
}

void global_pool(Op& op, PoolingAlgorithm algorithm) {
  const Value& src = op.input(0);
  if (src.rank() < 3) op.corrupt("a source of dims " + join(src.dims, "x"));
  Dims dims(src.rank(), 1);
  dims[0] = src.dims[0];
  dims[1] = src.dims[1];
  op.set(0, reshape(op, op.add(Kind::pooling, PoolingAttributes{.algorithm = algorithm}, {few_dims(op, src)}), dims));
}

void global_average_pool(Op& op) { global_pool(op, PoolingAlgorithm::average_exclude_padding); }
void global_max_pool(Op& op) { global_pool(op, PoolingAlgorithm::max); }

}  // namespace

std::span<const Operator> window_operators() {
  static constexpr std::array<Operator, 7> kOperators = {
      {{"Conv", conv, "auto_pad dilations group kernel_shape pads strides"},
       {"ConvTranspose", conv_transpose,
        "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
       {"MaxPool", max_pool, "auto_pad ceil_mode:10- dilations:10- kernel_shape pads storage_order:8- strides"},
       {"AveragePool", average_pool,
        "auto_pad ceil_mode:10- count_include_pad dilations:19- kernel_shape pads strides"},
       {"LpPool", lp_pool, "auto_pad ceil_mode:18- dilations:18- kernel_shape p pads strides"},
       {"GlobalAveragePool", global_average_pool},
       {"GlobalMaxPool", global_max_pool}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
