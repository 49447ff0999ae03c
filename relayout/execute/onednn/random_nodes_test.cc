// Shapes and attributes of random nodes: see random_nodes.h.
#include "relayout/execute/onednn/random_nodes.h"

#include <numeric>
#include <sstream>

#include "relayout/graph/ops.h"

namespace relayout::execute {

using namespace graph;

namespace {

/// N C and one to three spatial dims.
Dims data_dims(Random& random, int64_t channels = 0) {
  Dims dims{random.between(1, 3), channels > 0 ? channels : random.of<int64_t>({1, 3, 8, 16, 17, 19, 32})};
  const auto spatial = random.of({1, 2, 2, 2, 3});
  for (int d = 0; d < spatial; ++d) dims.push_back(random.between(1, spatial == 3 ? 4 : 6));
  return dims;
}

/// A source tensor.
TensorId source(RandomNode& out, const Dims& dims, DType dtype = DType::f32) {
  return out.graph.input("", dims, dtype);
}

/// What random_node() adds: the attributes, the sources of the forward pass and how many destinations it has.
struct Draft {
  NodeAttributes attributes;
  std::vector<TensorId> src;
  int dsts = 0;
};

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
  const TensorId bias = random.one_in(2) ? source(out, {to * a.groups}, is_integer(dtype) ? DType::f32 : dtype) : kNone;
  return {a, {source(out, src, dtype), source(out, weights, weights_type(dtype)), bias}};
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
  const TensorId bias = random.one_in(2) ? source(out, {n}, is_integer(dtype) ? DType::f32 : dtype) : kNone;
  return {MatmulAttributes{}, {source(out, a, dtype), source(out, b, weights_type(dtype)), bias}};
}

Draft inner_product(RandomNode& out, Random& random, DType dtype) {
  Dims src = random.one_in(2) ? Dims{random.between(1, 9), random.between(1, 70)} : data_dims(random);
  Dims weights = src;
  weights[0] = random.of<int64_t>({1, 7, 16, 33});
  out.options.terms = static_cast<double>(*checked_product(weights)) + 10;
  const TensorId bias = random.one_in(2) ? source(out, {weights[0]}, is_integer(dtype) ? DType::f32 : dtype) : kNone;
  return {InnerProductAttributes{}, {source(out, src, dtype), source(out, weights, weights_type(dtype)), bias}};
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
  const int64_t in = layers > 1 ? channels : random.of<int64_t>({4, 16, 17});
  const Dims state{layers, directions, batch, channels};
  const bool with_state = random.one_in(2), lstm = a.cell == RnnCell::lstm;
  out.options.terms = 100;
  out.options.relative = 2e-5;
  out.options.low = -0.5, out.options.high = 0.5;
  Draft draft{a,
              {source(out, {times, batch, in}), with_state ? source(out, state) : kNone,
               lstm && (with_state ? !random.one_in(4) : random.one_in(4)) ? source(out, state) : kNone,
               source(out, {layers, directions, in, gates, channels}),
               source(out, {layers, directions, channels, gates, channels}),
               random.one_in(2) ? source(out, {layers, directions, biases, channels}) : kNone}};
  draft.dsts = lstm ? random.of({1, 2, 3}) : random.of({1, 2});
  return draft;
}

Draft pooling(RandomNode& out, Random& random, DType dtype) {
  PoolingAttributes a;
  a.algorithm = static_cast<PoolingAlgorithm>(random.between(0, 2));
  const Dims src = data_dims(random);
  out.options.terms = 60;
  if (random.one_in(4)) return {a, {source(out, src, dtype)}};  // global
  for (int d = 2; d < src.size(); ++d) {
    const int64_t kernel = random.between(1, std::min<int64_t>(3, src[d]));
    a.kernel.push_back(kernel);
    a.strides.push_back(random.between(1, 2));
    a.dilations.push_back(kernel == 2 && src[d] > 2 && random.one_in(4) ? 2 : 1);
    a.pads_begin.push_back(random.between(0, kernel - 1));
    a.pads_end.push_back(random.between(0, (kernel - 1) / 2));
  }
  return {a, {source(out, src, dtype)}};
}

Draft batch_normalization(RandomNode& out, Random& random, Pass pass) {
  const Dims src = data_dims(random);
  auto vector = [&](bool there) { return there ? source(out, {src[1]}) : kNone; };
  NormalizationAttributes a{.epsilon = random.of({1e-5, 0.1})};
  out.options.terms = 500;
  out.options.relative = 1e-4;
  const bool scale = random.one_in(2), shift = random.one_in(2);
  Draft draft{a, {source(out, src), vector(scale), vector(shift)}};
  if (pass != Pass::forward_inference) return draft;
  draft.src.push_back(vector(true));
  draft.src.push_back(vector(true));
  out.options.ranges[4] = {0.1, 2};
  return draft;
}

Draft layer_normalization(RandomNode& out, Random& random, Pass pass) {
  const Dims src = data_dims(random);
  const int axis = random.one_in(3) ? static_cast<int>(random.between(1, src.size() - 1)) : src.size() - 1;
  int64_t extent = 1;
  for (int d = axis; d < src.size(); ++d) extent *= src[d];
  auto vector = [&](bool there) { return there ? source(out, {extent}) : kNone; };
  NormalizationAttributes a{.epsilon = random.of({1e-2, 0.1}), .axis = axis};
  out.options.terms = 500;
  out.options.relative = 1e-4;
  Draft draft{a, {source(out, src), vector(random.one_in(2)), vector(random.one_in(2))}};
  draft.dsts = pass != Pass::forward_inference || random.one_in(3) ? 3 : 1;
  return draft;
}

Draft eltwise(RandomNode& out, Random& random, DType dtype, bool backward) {
  EltwiseAttributes a;
  a.algorithm = static_cast<EltwiseAlgorithm>(random.between(0, kEltwiseCount - 1));
  a.alpha = random.of({0.0, 0.25, 0.5});
  a.beta = a.alpha + random.of({0.25, 0.5});
  using A = EltwiseAlgorithm;
  if (backward && a.algorithm == A::round) a.algorithm = A::relu;  // which has a derivative
  if (a.algorithm == A::sqrt || a.algorithm == A::log || a.algorithm == A::pow || a.algorithm == A::sqrt_dst) {
    out.options.low = 0.1;
  } else {
    out.options.low = -2;
  }
  out.options.high = 2;
  out.options.relative = 1e-4;
  if (a.algorithm == A::bounded_relu) a.alpha = 0.7;
  if (a.algorithm == A::swish) a.alpha = 1.5;
  return {a, {source(out, data_dims(random), dtype)}};
}

Draft prelu(RandomNode& out, Random& random) {
  const Dims src = data_dims(random);
  Dims weights(src.size(), 1);
  if (!random.one_in(4)) weights[1] = src[1];
  if (random.one_in(4)) weights = src;
  out.options.terms = 300;
  return {PreluAttributes{}, {source(out, src), source(out, weights)}};
}

Draft shuffle(RandomNode& out, Random& random) {
  const int64_t groups = random.of<int64_t>({1, 2, 3, 4});
  const Dims src = data_dims(random, groups * random.of<int64_t>({1, 3, 8, 16}));
  return {ShuffleAttributes{.axis = 1, .groups = groups}, {source(out, src)}};
}

Draft softmax(RandomNode& out, Random& random) {
  const Dims src = random.one_in(3) ? Dims{random.between(1, 5), random.between(1, 40)} : data_dims(random);
  out.options.relative = 1e-4;
  const int axis = random.one_in(2) ? 1 : static_cast<int>(random.between(0, src.size() - 1));
  return {SoftmaxAttributes{.axis = axis, .log = random.one_in(3)}, {source(out, src)}};
}

Draft resampling(RandomNode& out, Random& random) {
  const Dims src = data_dims(random);
  ResamplingAttributes a;
  a.algorithm = random.one_in(2) ? ResamplingAlgorithm::nearest : ResamplingAlgorithm::linear;
  if (!random.one_in(3)) {
    a.coordinates = static_cast<ResamplingCoordinates>(random.between(0, 3));
    a.rounding = static_cast<ResamplingRounding>(random.between(0, 3));
  }
  for (int d = 2; d < src.size(); ++d) a.sizes.push_back(random.between(1, 9));
  out.options.terms = 60;
  return {a, {source(out, src)}};
}

Draft reduction(RandomNode& out, Random& random) {
  const Dims src = data_dims(random);
  ReductionAttributes a;
  a.algorithm = static_cast<ReductionAlgorithm>(random.between(0, 6));
  if (random.one_in(2)) {
    for (int d = 2; d < src.size(); ++d) a.axes.push_back(d);
  } else {
    a.axes = {static_cast<int>(random.between(0, src.size() - 1))};
  }
  out.options.terms = 500;
  out.options.low = 0.5;
  out.options.high = 1.5;
  return {a, {source(out, src)}};
}

Draft concat(RandomNode& out, Random& random, DType dtype) {
  Dims src = data_dims(random);
  const int axis = random.one_in(4) ? static_cast<int>(random.between(0, src.size() - 1)) : 1;
  Draft draft{ConcatAttributes{axis}, {}};
  for (int64_t parts = random.between(1, 4); parts > 0; --parts) {
    src[axis] = axis == 1 ? random.of<int64_t>({1, 5, 8, 16, 19}) : random.between(1, 4);
    draft.src.push_back(source(out, src, dtype));
  }
  return draft;
}

Draft sum(RandomNode& out, Random& random) {
  const Dims src = data_dims(random);
  SumAttributes a;
  Draft draft{a, {}};
  for (int64_t parts = random.between(1, 3); parts > 0; --parts) {
    draft.src.push_back(source(out, src));
    a.scales.push_back(random.of({1.0, 0.5, -2.0}));
  }
  if (random.one_in(2)) draft.attributes = a;
  return draft;
}

Draft binary(RandomNode& out, Random& random) {
  const Dims dst = data_dims(random);
  Dims a = dst, b = dst;
  if (random.one_in(2)) b = Dims(dst.size(), 1);
  if (b != dst && random.one_in(2)) b[1] = dst[1];
  if (random.one_in(4)) std::swap(a, b);
  out.options.low = 0.5;
  out.options.high = 2;
  const TensorId first = source(out, a);
  // Comparisons of equal values too.
  return {BinaryAttributes{static_cast<BinaryAlgorithm>(random.between(0, 11))},
          {first, a == b && random.one_in(3) ? first : source(out, b)}};
}

Draft reorder(RandomNode& out, Random& random) {
  ReorderAttributes a;
  const DType from = random.of({DType::f32, DType::u8, DType::s8, DType::bf16});
  a.dtype = random.of({DType::f32, DType::u8, DType::s32, DType::bf16});
  if (random.one_in(2)) a.scale = random.of({0.5, 1.0 / 128});
  if (random.one_in(2)) a.shift = a.dtype == DType::f32 ? random.of({-1.0, 0.3}) : is_integer(a.dtype) ? 3 : 0;
  out.options.high = 20;
  return {a, {source(out, data_dims(random), from)}};
}

Draft reshape(RandomNode& out, Random& random, DType dtype) {
  const Dims src = data_dims(random);
  Dims dims;
  switch (random.between(0, 3)) {
    case 0: dims = {src[0], *checked_product(src) / src[0]}; break;
    case 1: dims = {*checked_product(src)}; break;
    case 2:
      dims = src;
      dims.insert(1, 1);
      break;
    default: dims = {src[0], src[1]}; dims.push_back(*checked_product(src) / src[0] / src[1]);
  }
  return {ReshapeAttributes{dims}, {source(out, src, dtype)}};
}

Draft transpose(RandomNode& out, Random& random, DType dtype) {
  const Dims src = data_dims(random);
  TransposeAttributes a;
  a.order.resize(static_cast<std::size_t>(src.size()));
  std::iota(a.order.begin(), a.order.end(), 0);
  for (int d = src.size() - 1; d > 0; --d) {
    std::swap(a.order[static_cast<std::size_t>(d)], a.order[static_cast<std::size_t>(random.between(0, d))]);
  }
  return {a, {source(out, src, dtype)}};
}

Draft slice(RandomNode& out, Random& random, DType dtype) {
  const Dims src = data_dims(random);
  SliceAttributes a;
  for (int d = 0; d < src.size(); ++d) {
    const int64_t step = random.one_in(3) ? random.of<int64_t>({2, -1, -2, 3}) : 1;
    const int64_t low = random.one_in(2) ? 0 : random.between(0, src[d] - 1), high = random.between(low + 1, src[d]);
    a.starts.push_back(step > 0 ? low : high - 1);
    a.stops.push_back(step > 0 ? high : low - 1);
    a.steps.push_back(step);
  }
  return {a, {source(out, src, dtype)}};
}

Draft broadcast(RandomNode& out, Random& random, DType dtype) {
  Dims dst = data_dims(random), src = dst;
  for (int64_t& extent : src) {
    if (random.one_in(2)) extent = 1;
  }
  return {BroadcastAttributes{dst}, {source(out, src, dtype)}};
}

Draft pad(RandomNode& out, Random& random, DType dtype) {
  const Dims src = data_dims(random);
  PadAttributes a;
  a.mode = static_cast<PadMode>(random.between(0, 2));
  a.value = random.of({0.0, 3.0});
  for (int d = 0; d < src.size(); ++d) {
    const bool pads = d >= 2 || random.one_in(4);
    const int64_t most = a.mode == PadMode::reflect ? std::min<int64_t>(src[d] - 1, 2) : 2;
    a.begin.push_back(pads ? random.between(0, most) : 0);
    a.end.push_back(pads ? random.between(0, most) : 0);
  }
  return {a, {source(out, src, dtype)}};
}

Draft gather(RandomNode& out, Random& random, DType dtype) {
  const Dims data = data_dims(random);
  const int axis = static_cast<int>(random.between(0, data.size() - 1));
  const Dims indices = random.one_in(2) ? Dims{random.between(1, 6)} : Dims{2, random.between(1, 3)};
  Values values;
  for (int64_t i = 0; i < *checked_product(indices); ++i) {
    values.push_back(static_cast<double>(random.between(-data[axis], data[axis] - 1)));
  }
  out.options.given[1] = values;
  return {GatherAttributes{axis},
          {source(out, data, dtype), source(out, indices, random.of({DType::s32, DType::s64}))}};
}

Draft draft_of(RandomNode& out, Random& random, Kind kind, Pass pass, DType dtype) {
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
              {source(out, data_dims(random))}};
    case Kind::eltwise: return eltwise(out, random, dtype, pass == Pass::backward_data);
    case Kind::prelu: return prelu(out, random);
    case Kind::shuffle: return shuffle(out, random);
    case Kind::softmax: return softmax(out, random);
    case Kind::resampling: return resampling(out, random);
    case Kind::reduction: return reduction(out, random);
    case Kind::concat: return concat(out, random, dtype);
    case Kind::sum: return sum(out, random);
    case Kind::binary: return binary(out, random);
    case Kind::reorder: return reorder(out, random);
    case Kind::reshape: return reshape(out, random, dtype);
    case Kind::transpose: return transpose(out, random, dtype);
    case Kind::slice: return slice(out, random, dtype);
    case Kind::broadcast: return broadcast(out, random, dtype);
    case Kind::pad: return pad(out, random, dtype);
    case Kind::gather: return gather(out, random, dtype);
    case Kind::barrier: break;
  }
  return {};
}

std::vector<std::string> words_of(std::string_view list) {
  std::istringstream in{std::string(list)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    std::erase_if(word, [](char c) { return c == '[' || c == ']'; });
    words.push_back(word);
  }
  return words;
}

/// The operand of a node by its name in the signature of its pass, or kNone.
TensorId operand_called(const Node& node, const std::string& word) {
  const Signature s = signature(node.kind, node.pass);
  const std::vector<std::string> src = words_of(s.src), dst = words_of(s.dst);
  for (std::size_t i = 0; i < std::min(src.size(), node.src.size()); ++i) {
    if (src[i] == word) return node.src[i];
  }
  for (std::size_t i = 0; i < std::min(dst.size(), node.dst.size()); ++i) {
    if (dst[i] == word) return node.dst[i];
  }
  return kNone;
}

/// The backward node of the last one, with new inputs as the gradients of its destinations.
void add_backward(RandomNode& out, Random& random, Pass pass) {
  const Node forward = out.graph.nodes.back();
  const Signature s = signature(forward.kind, pass);
  Node node{.kind = forward.kind, .pass = pass, .attributes = forward.attributes, .hint = out.id};
  const bool by_dst =
      forward.kind == Kind::eltwise && forward.as<EltwiseAttributes>().algorithm >= EltwiseAlgorithm::relu_dst;
  for (const std::string& word : words_of(s.src)) {
    const bool is_gradient = word.starts_with("diff_");
    // Of a recurrent cell's several results only some may count.
    if (word.starts_with("diff_dst_iter") && random.one_in(3)) {
      node.src.push_back(kNone);
      continue;
    }
    const TensorId of = operand_called(forward, is_gradient ? word.substr(5) : by_dst ? "dst" : word);
    if (!is_gradient || of == kNone) {
      node.src.push_back(of);
    } else {
      const Tensor tensor = out.graph.tensor(of);
      node.src.push_back(source(out, tensor.dims, tensor.dtype));
    }
  }
  out.graph.add(std::move(node), static_cast<int>(words_of(s.dst).size()));
  out.id = static_cast<NodeId>(out.graph.nodes.size()) - 1;
}

}  // namespace

RandomNode random_node(Random& random, Kind kind, Pass pass, DType dtype) {
  RandomNode out;
  const Draft draft = draft_of(out, random, kind, pass, dtype);
  const bool forward = pass == Pass::forward_inference || pass == Pass::forward_training;
  Node node{
      .kind = kind, .pass = forward ? pass : Pass::forward_training, .attributes = draft.attributes, .src = draft.src};
  out.graph.add(node, draft.dsts);
  out.id = static_cast<NodeId>(out.graph.nodes.size()) - 1;
  if (!forward) add_backward(out, random, pass);
  return out;
}

}  // namespace relayout::execute
