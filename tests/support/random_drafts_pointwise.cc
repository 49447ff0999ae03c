// Random nodes that compute element by element, or that move elements: see random_drafts.h.
#include <numeric>

#include "tests/support/random_drafts.h"

namespace relayout::execute {

using namespace graph;

namespace {

Draft eltwise(RandomNode& out, Random& random, DType dtype, bool backward) {
  EltwiseAttributes a;
  a.algorithm = static_cast<EltwiseAlgorithm>(random.between(0, kEltwiseCount - 1));
  a.alpha = random.of({0.0, 0.25, 0.5});
  a.beta = a.alpha + random.of({0.25, 0.5});
  using A = EltwiseAlgorithm;
  // round and what is from sign to atanh have no derivative. They and erf have kernels for f32 only.
  const bool steps = a.algorithm == A::round || (a.algorithm >= A::sign && a.algorithm <= A::atanh);
  if ((backward && steps) || (dtype != DType::f32 && (steps || a.algorithm == A::erf))) a.algorithm = A::relu;
  if (a.algorithm == A::sqrt || a.algorithm == A::log || a.algorithm == A::pow || a.algorithm == A::sqrt_dst) {
    out.options.low = 0.1;
  } else {
    out.options.low = -2;
  }
  out.options.high = 2;
  out.options.relative = 1e-4;
  if (a.algorithm >= A::asin && a.algorithm <= A::acos) out.options.low = -0.9, out.options.high = 0.9;
  if (a.algorithm == A::acosh) out.options.low = 1.1;
  if (a.algorithm == A::atanh) out.options.low = -0.9, out.options.high = 0.9;
  if (a.algorithm == A::tan) out.options.low = -1, out.options.high = 1;
  if (a.algorithm == A::bounded_relu) a.alpha = 0.7;
  if (a.algorithm == A::swish) a.alpha = 1.5;
  return {a, {random_source(out, random_data_dims(random), dtype)}};
}

Draft prelu(RandomNode& out, Random& random) {
  const Dims src = random_data_dims(random);
  Dims weights(src.size(), 1);
  if (!random.one_in(4)) weights[1] = src[1];
  if (random.one_in(4)) weights = src;
  out.options.terms = 300;
  return {PreluAttributes{}, {random_source(out, src), random_source(out, weights)}};
}

Draft shuffle(RandomNode& out, Random& random) {
  const int64_t groups = random.of<int64_t>({1, 2, 3, 4});
  const Dims src = random_data_dims(random, groups * random.of<int64_t>({1, 3, 8, 16}));
  return {ShuffleAttributes{.axis = 1, .groups = groups}, {random_source(out, src)}};
}

Draft softmax(RandomNode& out, Random& random) {
  const Dims src = random.one_in(3) ? Dims{random.between(1, 5), random.between(1, 40)} : random_data_dims(random);
  out.options.relative = 1e-4;
  const int axis = random.one_in(2) ? 1 : static_cast<int>(random.between(0, src.size() - 1));
  SoftmaxAttributes attributes{.axis = axis, .log = random.one_in(3)};
  attributes.masked_rows_give_zero = !attributes.log && axis % 2 == 0;
  return {attributes, {random_source(out, src)}};
}

Draft resampling(RandomNode& out, Random& random) {
  const Dims src = random_data_dims(random);
  ResamplingAttributes a;
  a.algorithm = random.one_in(2) ? ResamplingAlgorithm::nearest : ResamplingAlgorithm::linear;
  if (!random.one_in(3)) {
    a.coordinates = static_cast<ResamplingCoordinates>(random.between(0, 3));
    a.rounding = static_cast<ResamplingRounding>(random.between(0, 3));
  }
  for (int d = 2; d < src.size(); ++d) a.sizes.push_back(random.between(1, 9));
  out.options.terms = 60;
  return {a, {random_source(out, src)}};
}

Draft reduction(RandomNode& out, Random& random) {
  const Dims src = random_data_dims(random);
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
  return {a, {random_source(out, src)}};
}

Draft concat(RandomNode& out, Random& random, DType dtype) {
  Dims src = random_data_dims(random);
  const int axis = random.one_in(4) ? static_cast<int>(random.between(0, src.size() - 1)) : 1;
  Draft draft{ConcatAttributes{axis}, {}};
  for (int64_t parts = random.between(1, 4); parts > 0; --parts) {
    src[axis] = axis == 1 ? random.of<int64_t>({1, 5, 8, 16, 19}) : random.between(1, 4);
    draft.src.push_back(random_source(out, src, dtype));
  }
  return draft;
}

Draft sum(RandomNode& out, Random& random) {
  const Dims src = random_data_dims(random);
  SumAttributes a;
  Draft draft{a, {}};
  for (int64_t parts = random.between(1, 3); parts > 0; --parts) {
    draft.src.push_back(random_source(out, src));
    a.scales.push_back(random.of({1.0, 0.5, -2.0}));
  }
  if (random.one_in(2)) draft.attributes = a;
  return draft;
}

Draft binary(RandomNode& out, Random& random) {
  const Dims dst = random_data_dims(random);
  Dims a = dst, b = dst;
  if (random.one_in(2)) b = Dims(dst.size(), 1);
  if (b != dst && random.one_in(2)) b[1] = dst[1];
  if (random.one_in(4)) std::swap(a, b);
  out.options.low = 0.5;
  out.options.high = 2;
  const TensorId first = random_source(out, a);
  // Both sources may be the same tensor, so that comparisons meet equal values.
  return {BinaryAttributes{static_cast<BinaryAlgorithm>(random.between(0, 11))},
          {first, a == b && random.one_in(3) ? first : random_source(out, b)}};
}

Draft reorder(RandomNode& out, Random& random) {
  ReorderAttributes a;
  const DType from = random.of({DType::f32, DType::u8, DType::s8, DType::bf16});
  a.dtype = random.of({DType::f32, DType::u8, DType::s32, DType::bf16});
  if (random.one_in(2)) a.scale = random.of({0.5, 1.0 / 128});
  if (random.one_in(2)) a.shift = a.dtype == DType::f32 ? random.of({-1.0, 0.3}) : is_integer(a.dtype) ? 3 : 0;
  out.options.high = 20;
  return {a, {random_source(out, random_data_dims(random), from)}};
}

Draft reshape(RandomNode& out, Random& random, DType dtype) {
  const Dims src = random_data_dims(random);
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
  return {ReshapeAttributes{dims}, {random_source(out, src, dtype)}};
}

Draft transpose(RandomNode& out, Random& random, DType dtype) {
  const Dims src = random_data_dims(random);
  TransposeAttributes a;
  a.order.resize(static_cast<std::size_t>(src.size()));
  std::iota(a.order.begin(), a.order.end(), 0);
  for (int d = src.size() - 1; d > 0; --d) {
    std::swap(a.order[static_cast<std::size_t>(d)], a.order[static_cast<std::size_t>(random.between(0, d))]);
  }
  return {a, {random_source(out, src, dtype)}};
}

Draft slice(RandomNode& out, Random& random, DType dtype) {
  const Dims src = random_data_dims(random);
  SliceAttributes a;
  for (int d = 0; d < src.size(); ++d) {
    const int64_t step = random.one_in(3) ? random.of<int64_t>({2, -1, -2, 3}) : 1;
    const int64_t low = random.one_in(2) ? 0 : random.between(0, src[d] - 1), high = random.between(low + 1, src[d]);
    a.starts.push_back(step > 0 ? low : high - 1);
    a.stops.push_back(step > 0 ? high : low - 1);
    a.steps.push_back(step);
  }
  return {a, {random_source(out, src, dtype)}};
}

Draft broadcast(RandomNode& out, Random& random, DType dtype) {
  Dims dst = random_data_dims(random), src = dst;
  for (int64_t& extent : src) {
    if (random.one_in(2)) extent = 1;
  }
  return {BroadcastAttributes{dst}, {random_source(out, src, dtype)}};
}

Draft pad(RandomNode& out, Random& random, DType dtype) {
  const Dims src = random_data_dims(random);
  PadAttributes a;
  a.mode = static_cast<PadMode>(random.between(0, 2));
  a.value = random.of({0.0, 3.0});
  for (int d = 0; d < src.size(); ++d) {
    const bool pads = d >= 2 || random.one_in(4);
    const int64_t most = a.mode == PadMode::reflect ? std::min<int64_t>(src[d] - 1, 2) : 2;
    a.begin.push_back(pads ? random.between(0, most) : 0);
    a.end.push_back(pads ? random.between(0, most) : 0);
  }
  return {a, {random_source(out, src, dtype)}};
}

Draft gather(RandomNode& out, Random& random, DType dtype) {
  const Dims data = random_data_dims(random);
  const int axis = static_cast<int>(random.between(0, data.size() - 1));
  const Dims indices = random.one_in(2) ? Dims{random.between(1, 6)} : Dims{2, random.between(1, 3)};
  Values values;
  for (int64_t i = 0; i < *checked_product(indices); ++i) {
    values.push_back(static_cast<double>(random.between(-data[axis], data[axis] - 1)));
  }
  out.options.given[1] = values;
  return {GatherAttributes{axis},
          {random_source(out, data, dtype), random_source(out, indices, random.of({DType::s32, DType::s64}))}};
}

}  // namespace

Draft pointwise_draft(RandomNode& out, Random& random, Kind kind, Pass pass, DType dtype) {
  switch (kind) {
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
    default: return {};
  }
}

}  // namespace relayout::execute
