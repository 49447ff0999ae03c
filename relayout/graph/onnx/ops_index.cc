// ONNX operators that move elements to or from where indices say, and those that order or add up elements along a dim.
#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using Operation = ArrayOperation;

int axis_attribute(const Op& op, int64_t otherwise) {
  return op.axis(op.integer("axis", otherwise), op.input(0).rank());
}

void gather_elements(Op& op) {
  op.set(0, op.add(Kind::array, ArrayAttributes{.operation = Operation::gather_elements, .axis = axis_attribute(op, 0)},
                   {op.input(0), op.input(1)}));
}

void gather_nd(Op& op) {
  op.set(0,
         op.add(Kind::array, ArrayAttributes{.operation = Operation::gather_nd, .count = op.integer("batch_dims", 0)},
                {op.input(0), op.input(1)}));
}

ScatterAlgorithm scatter_algorithm(const Op& op) {
  const std::string reduction = op.text("reduction", "none");
  if (reduction == "none") return ScatterAlgorithm::replace;
  if (reduction == "add") return ScatterAlgorithm::add;
  if (reduction == "mul") return ScatterAlgorithm::mul;
  if (reduction == "max") return ScatterAlgorithm::max;
  if (reduction == "min") return ScatterAlgorithm::min;
  op.corrupt("reduction " + in_quotes(reduction));
}

void scatter(Op& op, const ArrayAttributes& attributes) {
  op.set(0, op.add(Kind::array, attributes, {op.input(0), op.input(1), op.input(2)}));
}

void scatter_elements(Op& op) {
  scatter(op,
          {.operation = Operation::scatter_elements, .axis = axis_attribute(op, 0), .scatter = scatter_algorithm(op)});
}

void scatter_nd(Op& op) { scatter(op, {.operation = Operation::scatter_nd, .scatter = scatter_algorithm(op)}); }

/// The value without dim `axis`, which has extent 1.
Value without(Op& op, const Value& value, int axis) {
  Dims dims = value.dims;
  dims.erase(axis);
  return reshape(op, value, dims);
}

template <Operation operation>
void arg(Op& op) {
  const int axis = axis_attribute(op, 0);
  const ArrayAttributes attributes{
      .operation = operation, .axis = axis, .reverse = op.integer("select_last_index", 0) != 0};
  const Value out = op.add(Kind::array, attributes, {op.input(0)});
  op.set(0, op.integer("keepdims", 1) != 0 ? out : without(op, out, axis));
}

void top_k(Op& op) {
  const std::vector<int64_t> count = op.model.opset < 10 ? std::vector{op.integer("k", 0)} : op.integers_of(1);
  if (count.size() != 1) op.corrupt("k of " + std::to_string(count.size()) + " numbers");
  const ArrayAttributes attributes{.operation = Operation::top_k,
                                   .axis = axis_attribute(op, -1),
                                   .count = count[0],
                                   .reverse = op.integer("largest", 1) == 0};
  const std::vector<Value> out = op.add(Kind::array, attributes, {op.input(0)}, 2);
  op.set(0, out[0]);
  op.set(1, out[1]);
}

template <ScatterAlgorithm algorithm>
void cumulative(Op& op) {
  const std::vector<int64_t> axis = op.integers_of(1);
  if (axis.size() != 1) op.corrupt("an axis of " + std::to_string(axis.size()) + " numbers");
  const ArrayAttributes attributes{.operation = Operation::cumulative,
                                   .axis = op.axis(axis[0], op.input(0).rank()),
                                   .reverse = op.integer("reverse", 0) != 0,
                                   .exclusive = op.integer("exclusive", 0) != 0,
                                   .scatter = algorithm};
  op.set(0, op.add(Kind::array, attributes, {op.input(0)}));
}

/// 0, 1, ... count - 1 along dim `axis` of `rank` dims.
Value counted(Op& op, int64_t count, int axis, int rank) {
  charge(op.model, DType::s64, {count});
  std::vector<int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  Dims dims(rank, 1);
  dims[axis] = count;
  return integer_constant(dims, values);
}

/// Zeros above or below diagonal k.
void trilu(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 2) op.corrupt("a source of dims " + join(src.dims, "x"));
  const std::vector<int64_t> k = op.has(1) ? op.integers_of(1) : std::vector<int64_t>{0};
  if (k.size() != 1) op.corrupt("k of " + std::to_string(k.size()) + " numbers");
  const bool upper = op.integer("upper", 1) != 0;
  const Dims dims{src.dims[src.rank() - 2], src.dims[src.rank() - 1]};
  charge(op.model, DType::s64, dims);
  std::vector<int64_t> kept;
  // The difference of two 64-bit numbers may need 65, so k is cut to where it changes nothing any more.
  const int64_t diagonal = std::clamp(k[0], -dims[0] - 1, dims[1] + 1);
  for (int64_t row = 0; row < (elements_of(dims) == 0 ? 0 : dims[0]); ++row) {
    for (int64_t column = 0; column < dims[1]; ++column) {
      kept.push_back(upper ? column - row >= diagonal : column - row <= diagonal);
    }
  }
  op.set(0, select(op, integer_constant(dims, kept, DType::boolean), src, scalar(0, src.dtype)));
}

void one_hot(Op& op) {
  const Value &indices = op.input(0), &values = op.input(2);
  const std::vector<int64_t> depth = op.integers_of(1);
  if (depth.size() != 1 || depth[0] < 0) op.corrupt("a depth of " + join(depth));
  if (values.dims != Dims{2}) op.corrupt("values of dims " + join(values.dims, "x"));
  const int rank = indices.rank() + 1, axis = op.axis(op.integer("axis", -1), rank);
  Dims dims = indices.dims;
  dims.insert(axis, 1);
  Value at = reshape(op, cast(op, indices, DType::s64), dims);
  const Value wrapped = binary(op, at, integer_constant({}, depth), BinaryAlgorithm::add);
  const Value zero = integer_constant({}, std::array{int64_t{0}});
  at = select(op, binary(op, at, zero, BinaryAlgorithm::lt), wrapped, at);
  const Value hit = binary(op, at, counted(op, depth[0], axis, rank), BinaryAlgorithm::eq);
  const auto value = [&](int64_t i) { return reshape(op, slice(op, values, {{i}, {i + 1}, {1}}), {}); };
  op.set(0, select(op, hit, value(1), value(0)));
}

/// 1 at the first largest element along an axis; before opset 13 along all dims from the axis on together.
void hardmax(Op& op) {
  const Value& src = op.input(0);
  int axis = axis_attribute(op, op.model.opset < 13 ? 1 : -1);
  Value rows = src;
  if (op.model.opset < 13) {
    Dims head, tail;
    for (int d = 0; d < src.rank(); ++d) (d < axis ? head : tail).push_back(src.dims[d]);
    rows = reshape(op, src, {elements_of(head), elements_of(tail)});
    axis = 1;
  }
  const Value best = op.add(Kind::array, ArrayAttributes{.operation = Operation::arg_max, .axis = axis}, {rows});
  const Value hit = binary(op, best, counted(op, rows.dims[axis], axis, rows.rank()), BinaryAlgorithm::eq);
  op.set(0, reshape(op, cast(op, hit, src.dtype), src.dims));
}

/// The first elements of each sequence in reverse order: as many as its length says.
void reverse_sequence(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 2) op.corrupt("a source of dims " + join(src.dims, "x"));
  const int batch = op.axis(op.integer("batch_axis", 1), src.rank()),
            time = op.axis(op.integer("time_axis", 0), src.rank());
  if (op.input(1).dims != Dims{src.dims[batch]} || batch == time)
    op.corrupt("lengths of " + join(op.input(1).dims, "x"));
  Dims dims(src.rank(), 1);
  dims[batch] = src.dims[batch];
  const Value lengths = reshape(op, cast(op, op.input(1), DType::s64), dims);
  const Value place = counted(op, src.dims[time], time, src.rank());
  const Value last = binary(op, lengths, integer_constant({}, std::array{int64_t{1}}), BinaryAlgorithm::sub);
  const Value mirrored = binary(op, last, place, BinaryAlgorithm::sub);
  const Value from = select(op, binary(op, place, lengths, BinaryAlgorithm::lt), mirrored, place);
  op.set(0, op.add(Kind::array, ArrayAttributes{.operation = Operation::gather_elements, .axis = time},
                   {src, broadcast(op, from, src.dims)}));
}

/// The numbers of the elements that are not 0, of a constant.
std::vector<int64_t> places_of_true(const Op& op, const Value& condition) {
  if (!condition.constant()) throw NotExpressible{"how many elements it gives is known at run time only"};
  const std::vector<double> values = numbers_of(condition);
  charge(op.model, DType::s64, condition.dims);
  std::vector<int64_t> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

void non_zero(Op& op) {
  const Value& src = op.input(0);
  const std::vector<int64_t> places = places_of_true(op, src);
  const Dims strides = row_major_strides(src.dims);
  std::vector<int64_t> values;
  for (int d = 0; d < src.rank(); ++d) {
    for (const int64_t place : places) values.push_back(place / std::max<int64_t>(strides[d], 1) % src.dims[d]);
  }
  op.set(0, integer_constant({src.rank(), static_cast<int64_t>(places.size())}, values));
}

/// The slices along an axis, or the elements, for which a constant condition is true.
void compress(Op& op) {
  const Value& src = op.input(0);
  const std::vector<int64_t> places = places_of_true(op, op.input(1));
  const Value indices = integer_constant({static_cast<int64_t>(places.size())}, places);
  if (op.find("axis") != nullptr) return op.set(0, gather(op, src, indices, axis_attribute(op, 0)));
  op.set(0, gather(op, reshape(op, src, {elements_of(src.dims)}), indices, 0));
}

/// The cache with an update from where in each batch its index says; round and round if the cache is circular.
void tensor_scatter(Op& op) {
  const Value &cache = op.input(0), &update = op.input(1);
  const int axis = axis_attribute(op, -2);
  const std::string mode = op.text("mode", "linear");
  if (mode != "linear" && mode != "circular") op.corrupt("mode " + in_quotes(mode));
  if (update.rank() != cache.rank() || axis == 0) op.corrupt("an update of dims " + join(update.dims, "x"));
  Value at = counted(op, update.dims[axis], axis, update.rank());
  if (op.has(2)) {
    Dims dims(update.rank(), 1);
    dims[0] = update.dims[0];
    at = binary(op, at, reshape(op, cast(op, op.input(2), DType::s64), dims), BinaryAlgorithm::add);
  }
  const Value extent = integer_constant({}, std::array{cache.dims[axis]});
  if (mode == "circular") at = binary(op, at, extent, BinaryAlgorithm::mod);
  op.set(0, op.add(Kind::array, ArrayAttributes{.operation = Operation::scatter_elements, .axis = axis},
                   {cache, broadcast(op, at, update.dims), update}));
}

GridInterpolation interpolation_of(const Op& op) {
  const std::string mode = op.text("mode", op.model.opset < 20 ? "bilinear" : "linear");
  if (mode == "bilinear" || mode == "linear") return GridInterpolation::linear;
  if (mode == "bicubic" || mode == "cubic") return GridInterpolation::cubic;
  if (mode == "nearest") return GridInterpolation::nearest;
  op.corrupt("mode " + in_quotes(mode));
}

void grid_sample(Op& op) {
  const std::string padding = op.text("padding_mode", "zeros");
  ArrayAttributes attributes{.operation = Operation::grid_sample,
                             .interpolation = interpolation_of(op),
                             .align_corners = op.integer("align_corners", 0) != 0};
  if (padding == "border")
    attributes.padding = GridPadding::border;
  else if (padding == "reflection")
    attributes.padding = GridPadding::reflection;
  else if (padding != "zeros")
    op.corrupt("padding_mode " + in_quotes(padding));
  op.set(0, op.add(Kind::array, attributes, {op.input(0), op.input(1)}));
}

constexpr auto kIndexOperators = std::to_array<Operator>({
    {"GatherElements", gather_elements, "axis"},
    {"GatherND", gather_nd, "batch_dims:12-"},
    {"ScatterElements", scatter_elements, "axis reduction:16-"},
    {"Scatter", scatter_elements, "axis"},
    {"ScatterND", scatter_nd, "reduction:16-"},
    {"ArgMax", arg<Operation::arg_max>, "axis keepdims select_last_index:12-"},
    {"ArgMin", arg<Operation::arg_min>, "axis keepdims select_last_index:12-"},
    {"TopK", top_k, "axis k:7-9 largest:11- sorted:11-"},
    {"CumSum", cumulative<ScatterAlgorithm::add>, "exclusive reverse"},
    {"CumProd", cumulative<ScatterAlgorithm::mul>, "exclusive reverse"},
    {"Trilu", trilu, "upper"},
    {"OneHot", one_hot, "axis"},
    {"Hardmax", hardmax, "axis"},
    {"ReverseSequence", reverse_sequence, "batch_axis time_axis"},
    {"NonZero", non_zero},
    {"Compress", compress, "axis"},
    {"TensorScatter", tensor_scatter, "axis mode"},
    {"GridSample", grid_sample, "align_corners mode padding_mode"},
});

}  // namespace

std::span<const Operator> index_operators() { return kIndexOperators; }

}  // namespace relayout::graph::importing
