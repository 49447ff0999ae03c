// Random nodes that compute each result from many elements: see random_drafts.h.
#include "tests/support/random_drafts.h"

namespace relayout::execute {

using namespace graph;

namespace {

DType weights_type(DType dtype) { return is_integer(dtype) ? DType::s8 : dtype; }

Draft convolution(RandomNode& out, Random& random, bool transposed, DType dtype) {
  const int spatial = random.of({1, 2, 2, 2, 3});
  const bool depthwise = random.one_in(4);
  ConvolutionAttributes a;
  a.groups = depthwise ? random.of<int64_t>({5, 16, 17}) : random.of<int64_t>({1, 1, 1, 2});
  const int64_t in = depthwise ? 1 : random.of<int64_t>({3, 8, 16, 17});
  const int64_t to = depthwise ? 1 : random.of<int64_t>({5, 8, 16, 33});
  Dims src{random.between(1, 2), in * a.groups}, weights{to, in};
  for (int d = 0; d < spatial; ++d) {
    const int64_t kernel = random.between(1, 3);
    a.strides.push_back(random.between(1, 2));
    a.dilations.push_back(random.one_in(4) ? 2 : 1);
    a.pads_begin.push_back(random.between(0, kernel - 1));
    a.pads_end.push_back(random.between(0, kernel - 1));
    if (transposed) a.output_padding.push_back(random.between(0, a.strides[d] - 1));
    src.push_back(random.between(5, 7));
    weights.push_back(kernel);
  }
  if (a.groups > 1) weights.insert(0, a.groups);
  out.options.terms = static_cast<double>(in * 27 * 8);
  const TensorId bias =
      random.one_in(2) ? random_source(out, {to * a.groups}, is_integer(dtype) ? DType::f32 : dtype) : kNone;
  return {a, {random_source(out, src, dtype), random_source(out, weights, weights_type(dtype)), bias}};
}

Draft matmul(RandomNode& out, Random& random, DType dtype) {
  const int64_t m = random.between(1, 20), k = random.between(1, 40), n = random.between(1, 35);
  Dims a, b;
  for (int64_t batch = random.between(0, 2); batch > 0; --batch) {
    const int64_t extent = random.between(1, 4);
    a.push_back(random.one_in(4) ? 1 : extent);
    b.push_back(random.one_in(4) ? 1 : extent);
  }
  a.push_back(m), a.push_back(k), b.push_back(k), b.push_back(n);
  out.options.terms = static_cast<double>(k);
  const TensorId bias = random.one_in(2) ? random_source(out, {n}, is_integer(dtype) ? DType::f32 : dtype) : kNone;
  return {MatmulAttributes{}, {random_source(out, a, dtype), random_source(out, b, weights_type(dtype)), bias}};
}

Draft inner_product(RandomNode& out, Random& random, DType dtype) {
  Dims src = random.one_in(2) ? Dims{random.between(1, 9), random.between(1, 70)} : random_data_dims(random);
  Dims weights = src;
  weights[0] = random.of<int64_t>({1, 7, 16, 33});
  out.options.terms = static_cast<double>(*checked_product(weights)) + 10;
  const TensorId bias =
      random.one_in(2) ? random_source(out, {weights[0]}, is_integer(dtype) ? DType::f32 : dtype) : kNone;
  return {InnerProductAttributes{},
          {random_source(out, src, dtype), random_source(out, weights, weights_type(dtype)), bias}};
}

Draft rnn(RandomNode& out, Random& random) {
  RnnAttributes a;
  a.cell = static_cast<RnnCell>(random.between(0, 5));
  a.direction = static_cast<RnnDirection>(random.between(0, 3));
  const int64_t gates = a.cell == RnnCell::lstm ? 4 : a.cell >= RnnCell::gru ? 3 : 1;
  const int64_t biases = gates + (a.cell == RnnCell::lbr_gru);
  const int64_t directions = a.direction >= RnnDirection::bidirectional_concat ? 2 : 1;
  const int64_t times = random.between(1, 4), batch = random.between(1, 3),
                channels = random.of<int64_t>({1, 3, 8, 16, 17});
  const int64_t layers = random.of<int64_t>({1, 1, 2});
  const bool with_state = random.one_in(2), lstm = a.cell == RnnCell::lstm, projected = lstm && random.one_in(2);
  const int64_t given = projected ? random.of<int64_t>({2, 8, 16, 19}) : channels;  // of the results
  const int64_t in = layers > 1 ? given : random.of<int64_t>({4, 16, 17});
  const Dims state{layers, directions, batch, given}, cell_state{layers, directions, batch, channels};
  out.options.terms = 100;
  out.options.relative = 2e-5;
  out.options.low = -0.5, out.options.high = 0.5;
  Draft draft{a,
              {random_source(out, {times, batch, in}), with_state ? random_source(out, state) : kNone,
               lstm && (with_state ? !random.one_in(4) : random.one_in(4)) ? random_source(out, cell_state) : kNone,
               random_source(out, {layers, directions, in, gates, channels}),
               random_source(out, {layers, directions, given, gates, channels}),
               random.one_in(2) ? random_source(out, {layers, directions, biases, channels}) : kNone,
               projected ? random_source(out, {layers, directions, channels, given}) : kNone}};
  draft.dsts = lstm ? random.of({1, 2, 3}) : random.of({1, 2});
  return draft;
}

/// Adds the extents of a window along a dim; it may be longer than the source, and have an element in each place.
void add_window(Random& random, PoolingAttributes& a, int64_t extent) {
  for (;;) {
    const int64_t kernel = random.between(1, 4), dilation = random.one_in(3) ? random.between(1, 4) : 1;
    const int64_t reach = (kernel - 1) * dilation + 1, stride = random.between(1, 3);
    const int64_t begin = random.between(0, reach - 1), end = random.between(0, reach - 1);
    bool fits = extent + begin + end >= reach;
    for (int64_t first = -begin; fits && first + reach <= extent + end; first += stride) {
      fits = false;
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t at = first + k * dilation;
        fits = fits || (at >= 0 && at < extent);
      }
    }
    if (!fits) continue;
    a.kernel.push_back(kernel);
    a.strides.push_back(stride);
    a.dilations.push_back(dilation);
    a.pads_begin.push_back(begin);
    a.pads_end.push_back(end);
    return;
  }
}

Draft pooling(RandomNode& out, Random& random, DType dtype) {
  PoolingAttributes a;
  a.algorithm = static_cast<PoolingAlgorithm>(random.between(0, 2));
  const Dims src = random_data_dims(random);
  out.options.terms = 60;
  if (random.one_in(4)) return {a, {random_source(out, src, dtype)}};  // global
  for (int d = 2; d < src.size(); ++d) add_window(random, a, src[d]);
  return {a, {random_source(out, src, dtype)}};
}

Draft batch_normalization(RandomNode& out, Random& random, Pass pass) {
  const Dims src = random_data_dims(random);
  auto vector = [&](bool there) { return there ? random_source(out, {src[1]}) : kNone; };
  NormalizationAttributes a{.epsilon = random.of({1e-5, 0.1})};
  out.options.terms = 500;
  out.options.relative = 1e-4;
  const bool scale = random.one_in(2), shift = random.one_in(2);
  Draft draft{a, {random_source(out, src), vector(scale), vector(shift)}};
  if (pass != Pass::forward_inference) return draft;
  draft.src.push_back(vector(true));
  draft.src.push_back(vector(true));
  out.options.ranges[4] = {0.1, 2};
  return draft;
}

Draft layer_normalization(RandomNode& out, Random& random, Pass pass) {
  const Dims src = random_data_dims(random);
  const int axis = random.one_in(3) ? static_cast<int>(random.between(1, src.size() - 1)) : src.size() - 1;
  int64_t extent = 1;
  for (int d = axis; d < src.size(); ++d) extent *= src[d];
  auto vector = [&](bool there) { return there ? random_source(out, {extent}) : kNone; };
  NormalizationAttributes a{.epsilon = random.of({1e-2, 0.1}), .axis = axis};
  out.options.terms = 500;
  out.options.relative = 1e-4;
  Draft draft{a, {random_source(out, src), vector(random.one_in(2)), vector(random.one_in(2))}};
  draft.dsts = pass != Pass::forward_inference || random.one_in(3) ? 3 : 1;
  return draft;
}

}  // namespace

Draft compute_draft(RandomNode& out, Random& random, Kind kind, Pass pass, DType dtype) {
  switch (kind) {
    case Kind::convolution: return convolution(out, random, false, dtype);
    case Kind::deconvolution: return convolution(out, random, true, dtype);
    case Kind::matmul: return matmul(out, random, dtype);
    case Kind::inner_product: return inner_product(out, random, dtype);
    case Kind::rnn: return rnn(out, random);
    case Kind::pooling: return pooling(out, random, dtype);
    case Kind::batch_normalization: return batch_normalization(out, random, pass);
    case Kind::layer_normalization: return layer_normalization(out, random, pass);
    case Kind::lrn:
      out.options.terms = 100;
      return {LrnAttributes{.within_channel = random.one_in(3), .size = random.of<int64_t>({3, 5}), .alpha = 0.1},
              {random_source(out, random_data_dims(random))}};
    default: return {};
  }
}

}  // namespace relayout::execute
