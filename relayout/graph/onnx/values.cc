// ONNX values: operations on what is either a tensor of the graph (they add a node) or a constant (they compute).
#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

struct ShuffleOfChannels {
  TensorId src;
  ShuffleAttributes attributes;
};

/// Returns the channel shuffle of which a reshape of `value` to `dims` is the last step. Its steps are a reshape that
/// splits a dim of a tensor of these dims in two, a transpose that swaps the two, and this reshape.
std::optional<ShuffleOfChannels> shuffle_of(const Import& model, const Value& value, const Dims& dims) {
  if (value.rank() != dims.size() + 1) return std::nullopt;
  const Graph& graph = model.graph;
  const Node* swap = maker(model, value.id, Kind::transpose);
  const Node* split = swap == nullptr ? nullptr : maker(model, swap->src[0], Kind::reshape);
  if (split == nullptr || graph.tensor(split->src[0]).dims != dims) return std::nullopt;
  const Dims& parts = graph.tensor(split->dst[0]).dims;
  const std::vector<int>& order = swap->as<TransposeAttributes>().order;
  int axis = 0;
  while (axis < parts.size() && order[static_cast<std::size_t>(axis)] == axis) ++axis;
  if (axis + 1 >= parts.size()) return std::nullopt;
  for (int d = 0; d < parts.size(); ++d) {
    const int from = d == axis ? axis + 1 : d == axis + 1 ? axis : d;
    if (order[static_cast<std::size_t>(d)] != from) return std::nullopt;
    if (d < axis && parts[d] != dims[d]) return std::nullopt;
    if (d > axis + 1 && parts[d] != dims[d - 1]) return std::nullopt;
  }
  return ShuffleOfChannels{split->src[0], {.axis = axis, .groups = parts[axis]}};
}

}  // namespace

Value reshape(Op& op, const Value& value, const Dims& dims) {
  if (elements_of(dims) != elements_of(value.dims)) {
    op.corrupt(join(value.dims, "x") + " has not as many elements as " + join(dims, "x"));
  }
  if (value.dims == dims) return value;
  if (value.constant()) {
    Value out = value;
    out.dims = dims;
    return out;
  }
  if (const auto shuffle = shuffle_of(op.model, value, dims)) {
    const Tensor& src = op.model.graph.tensor(shuffle->src);
    return op.add(Kind::shuffle, shuffle->attributes, {{.id = shuffle->src, .dims = src.dims, .dtype = src.dtype}});
  }
  return op.add(Kind::reshape, ReshapeAttributes{dims}, {value});
}

Value few_dims(Op& op, const Value& value) {
  return value.rank() <= 5 ? value : reshape(op, value, joined(value.dims, 2));
}

Value with_rank(Op& op, const Value& value, int rank) {
  Dims dims = value.dims;
  while (dims.size() < rank) dims.insert(0, 1);
  return reshape(op, value, dims);
}

Value transpose(Op& op, const Value& value, std::vector<int> order) {
  if (std::is_sorted(order.begin(), order.end())) return value;
  if (!value.constant()) return op.add(Kind::transpose, TransposeAttributes{std::move(order)}, {value});
  const Dims strides = row_major_strides(value.dims);
  Dims dims, moved;
  for (const int d : order) {
    dims.push_back(value.dims[d]);
    moved.push_back(strides[d]);
  }
  return strided_copy(op.model, value, dims, moved, 0);
}

Value slice(Op& op, const Value& value, const SliceAttributes& range) {
  Dims dims, strides;
  const Dims own = value.constant() ? row_major_strides(value.dims) : Dims(value.rank(), 0);
  int64_t offset = 0;
  bool whole = true;
  for (int d = 0; d < value.rank(); ++d) {
    const int64_t step = range.steps[d];
    const int64_t distance = step > 0 ? range.stops[d] - range.starts[d] : range.starts[d] - range.stops[d];
    // The least int64 has no positive counterpart, so the step's magnitude is unsigned.
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const auto count =
        distance <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(distance) + stride - 1) / stride);
    whole = whole && step == 1 && count == value.dims[d];
    dims.push_back(count);
    strides.push_back(count > 1 ? own[d] * step : 0);
    offset += count > 0 ? own[d] * range.starts[d] : 0;
  }
  if (whole) return value;
  if (value.constant()) return strided_copy(op.model, value, dims, strides, elements_of(dims) == 0 ? 0 : offset);
  return op.add(Kind::slice, range, {value});
}

Value concat(Op& op, const std::vector<Value>& values, int axis) {
  if (values.size() == 1) return values.front();
  Dims dims = values.front().dims;
  bool constant = true;
  dims[axis] = 0;
  for (const Value& value : values) {
    Dims others = value.dims;
    if (others.size() == dims.size()) others[axis] = dims[axis];
    const auto sum = others == dims ? checked_add(dims[axis], value.dims[axis]) : std::nullopt;
    if (!sum || value.dtype != values.front().dtype) {
      op.corrupt("parts " + join(values.front().dims, "x") + " and " + join(value.dims, "x") + " of a concat");
    }
    dims[axis] = *sum;
    constant = constant && value.constant();
  }
  if (constant) return concat_constants(op.model, values, axis, dims);
  return op.add(Kind::concat, ConcatAttributes{axis}, values);
}

Value broadcast(Op& op, const Value& value, const Dims& dims) {
  const Value src = with_rank(op, value, dims.size());
  if (src.dims == dims) return src;
  Dims strides = src.constant() ? row_major_strides(src.dims) : Dims(dims.size(), 0);
  for (int d = 0; d < dims.size(); ++d) {
    if (src.dims[d] == dims[d]) continue;
    if (src.dims[d] != 1) op.corrupt(join(value.dims, "x") + " cannot repeat to " + join(dims, "x"));
    strides[d] = 0;
  }
  if (src.constant()) return strided_copy(op.model, src, dims, strides, 0);
  return op.add(Kind::broadcast, BroadcastAttributes{dims}, {src});
}

Value gather(Op& op, const Value& data, const Value& indices, int axis) {
  if (indices.dtype != DType::s64 && indices.dtype != DType::s32) {
    op.corrupt("indices of type " + std::string(name(indices.dtype)));
  }
  Dims dims;
  for (int d = 0; d < axis; ++d) dims.push_back(data.dims[d]);
  for (const int64_t dim : indices.dims) dims.push_back(dim);
  for (int d = axis + 1; d < data.rank(); ++d) dims.push_back(data.dims[d]);
  if (indices.constant() && data.constant()) return gather_constant(op, data, indices, axis, dims);
  if (!indices.constant() || elements_of(indices.dims) != 1) {
    return op.add(Kind::gather, GatherAttributes{axis}, {data, indices});
  }
  // A gather by one constant index is a view.
  const int64_t extent = data.dims[axis];
  int64_t index = integers_of(indices).front();
  if (index < -extent || index >= extent) {
    op.corrupt("index " + std::to_string(index) + " of a dim of " + std::to_string(extent));
  }
  if (index < 0) index += extent;
  SliceAttributes range{Dims(data.rank(), 0), data.dims, Dims(data.rank(), 1)};
  range.starts[axis] = index;
  range.stops[axis] = index + 1;
  return reshape(op, slice(op, data, range), dims);
}

Value linear(Op& op, const Value& value, double alpha, double beta) {
  if (alpha == 1 && beta == 0) return value;
  return op.add(Kind::eltwise, EltwiseAttributes{EltwiseAlgorithm::linear, alpha, beta}, {value});
}

Value multiplied(Op& op, const Value& value, double factor) { return linear(op, value, factor, -0.0); }

Dims broadcast_dims(const Op& op, const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (int d = 1; d <= dims.size(); ++d) {
    const int64_t x = d <= a.size() ? a[a.size() - d] : 1;
    const int64_t y = d <= b.size() ? b[b.size() - d] : 1;
    if (x != y && x != 1 && y != 1) op.corrupt(join(a, "x") + " and " + join(b, "x") + " do not fit together");
    dims[dims.size() - d] = x == 1 ? y : x;
  }
  return dims;
}

Value binary(Op& op, const Value& a, const Value& b, BinaryAlgorithm algorithm) {
  using B = BinaryAlgorithm;
  const int rank = broadcast_dims(op, a.dims, b.dims).size();
  const bool truth =
      (algorithm >= B::ge && algorithm <= B::ne) || (algorithm >= B::logical_and && algorithm <= B::logical_xor);
  const std::vector<Value> src = {with_rank(op, a, rank), with_rank(op, b, rank)};
  if (truth) return op.add(Kind::binary, BinaryAttributes{algorithm}, src, DType::boolean);
  return op.add(Kind::binary, BinaryAttributes{algorithm}, src);
}

Value eltwise(Op& op, const Value& value, EltwiseAlgorithm algorithm, double alpha, double beta) {
  using A = EltwiseAlgorithm;
  const EltwiseAttributes attributes{algorithm, alpha, beta};
  const bool truth = algorithm == A::is_nan || algorithm == A::is_infinite || algorithm == A::logical_not;
  return truth ? op.add(Kind::eltwise, attributes, {value}, DType::boolean)
               : op.add(Kind::eltwise, attributes, {value});
}

Value select(Op& op, const Value& condition, const Value& a, const Value& b) {
  const int rank = broadcast_dims(op, broadcast_dims(op, condition.dims, a.dims), b.dims).size();
  return op.add(Kind::array, ArrayAttributes{.operation = ArrayOperation::select},
                {with_rank(op, condition, rank), with_rank(op, a, rank), with_rank(op, b, rank)});
}

Value reduce(Op& op, const Value& value, ReductionAlgorithm algorithm, std::vector<int> axes) {
  if (value.rank() == 0) return value;
  return op.add(Kind::reduction, ReductionAttributes{algorithm, std::move(axes)}, {value});
}

Value scalar(double number, DType dtype) { return number_constant({}, std::array{number}, dtype); }

}  // namespace relayout::graph::importing
