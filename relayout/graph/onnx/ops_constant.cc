// ONNX operators that make constants or read dims. Exporters compute shapes with them.
#include <array>
#include <cmath>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

void constant(Op& op) {
  using ::onnx::AttributeProto;
  if (const AttributeProto* value = op.find("value")) {
    if (!value->has_t()) op.corrupt("value is no tensor");
    return op.set(0, constant_of(value->t(), op.node.output_size() > 0 ? op.node.output(0) : op.name));
  }
  if (op.find("value_float") != nullptr) {
    return op.set(0, number_constant({}, std::array{op.number("value_float", 0)}));
  }
  if (op.find("value_floats") != nullptr) {
    const std::vector<double> values = op.numbers("value_floats");
    return op.set(0, number_constant({static_cast<int64_t>(values.size())}, values));
  }
  if (op.find("value_int") != nullptr) {
    return op.set(0, integer_constant({}, std::array{op.integer("value_int", 0)}));
  }
  if (const auto values = op.integers("value_ints")) {
    return op.set(0, integer_constant({static_cast<int64_t>(values->size())}, *values));
  }
  throw Error(ErrorCode::unsupported, "onnx: constant \"" + escaped(op.name) + "\" is sparse, or of text");
}

void constant_of_shape(Op& op) {
  const std::vector<int64_t> shape = op.integers_of(0);
  Value value = number_constant({1}, std::array{0.0});
  if (const auto* given = op.find("value")) value = constant_of(given->t(), op.name);
  if (elements_of(value.dims) != 1) op.corrupt("a value of dims " + join(value.dims, "x"));
  for (const int64_t dim : shape) {
    if (dim < 0) op.corrupt("a shape of " + join(shape));
  }
  value.name.clear();
  op.set(0, broadcast(op, reshape(op, value, {}), dims_of(shape)));
}

void shape(Op& op) {
  const Value& src = op.input(0);
  // Negative bounds count from the end; bounds beyond the dims are cut.
  const auto bounded = [&](int64_t at) {
    return static_cast<int>(std::clamp<int64_t>(at < 0 ? at + src.rank() : at, 0, src.rank()));
  };
  const int first = bounded(op.integer("start", 0)), last = bounded(op.integer("end", src.rank()));
  std::vector<int64_t> dims;
  for (int d = first; d < last; ++d) dims.push_back(src.dims[d]);
  op.set(0, integer_constant({static_cast<int64_t>(dims.size())}, dims));
}

void size(Op& op) { op.set(0, integer_constant({}, std::array{elements_of(op.input(0).dims)})); }

void range(Op& op) {
  std::array<double, 3> bounds{};
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> value = op.numbers_of(i);
    if (value.size() != 1) op.corrupt("a bound of " + std::to_string(value.size()) + " numbers");
    bounds[static_cast<std::size_t>(i)] = value.front();
  }
  const auto [start, limit, delta] = bounds;
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count < 9e15)) op.corrupt("a range of " + std::to_string(count) + " numbers");
  const Dims dims{static_cast<int64_t>(count)};
  const DType dtype = op.input(0).dtype;
  charge(op.model, DType::f64, dims);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
  op.set(0, number_constant(dims, values, dtype));
}

/// Casts integers to wider integers and to floating types. Casts that ONNX truncates or wraps are refused at run time,
/// because the graph's reorder saturates.
void cast_to(Op& op, DType dtype) {
  const Value& src = op.input(0);
  if (dtype == src.dtype) return op.set(0, src);
  // The graph's reorder turns values that are too large into infinity or NaN. ONNX saturates them unless told not to.
  if (bits(dtype) == 8 && is_floating(dtype) && op.integer("saturate", 1) != 0) {
    throw NotExpressible{"a cast to " + std::string(name(dtype)) + " with saturation"};
  }
  if (src.constant()) {
    charge(op.model, dtype, src.dims);
    Value out = is_floating(src.dtype) || dtype == DType::boolean ? number_constant(src.dims, numbers_of(src), dtype)
                                                                  : integer_constant(src.dims, integers_of(src), dtype);
    out.name = src.name;
    return op.set(0, out);
  }
  const bool widened = is_floating(dtype) || (is_integer(dtype) && src.dtype == DType::boolean) ||
                       (is_integer(dtype) && is_integer(src.dtype) && bits(dtype) > bits(src.dtype) &&
                        (kind(src.dtype) == DTypeKind::unsigned_integer || kind(dtype) == kind(src.dtype)));
  if (!widened) {
    throw NotExpressible{"a cast of " + std::string(name(src.dtype)) + " to " + std::string(name(dtype))};
  }
  op.set(0, op.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {src}));
}

void cast(Op& op) {
  cast_to(op, dtype_of(static_cast<int>(op.integer("to", 0)), "onnx: node \"" + escaped(op.name) + "\""));
}

void cast_like(Op& op) { cast_to(op, op.input(1).dtype); }

void logical_not(Op& op) {
  const Value& src = op.input(0);
  if (!src.constant()) throw NotExpressible{"its source is no constant"};
  std::vector<int64_t> values = integers_of(src);
  for (int64_t& value : values) value = value == 0;
  op.set(0, integer_constant(src.dims, values, DType::boolean));
}

template <double (*function)(double)>
void rounded(Op& op) {
  const Value& src = op.input(0);
  if (!src.constant()) throw NotExpressible{"its source is no constant"};
  std::vector<double> values = numbers_of(src);
  charge(op.model, src.dtype, src.dims);
  for (double& value : values) value = function(value);
  op.set(0, number_constant(src.dims, values, src.dtype));
}

double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }

/// Where between constants, with which exporters choose between dims.
void where(Op& op) {
  const Value &condition = op.input(0), &yes = op.input(1), &no = op.input(2);
  if (!condition.constant() || !yes.constant() || !no.constant()) throw NotExpressible{"its sources are no constants"};
  const Dims dims = broadcast_dims(op, broadcast_dims(op, condition.dims, yes.dims), no.dims);
  const std::vector<int64_t> choice = integers_of(broadcast(op, condition, dims));
  if (is_floating(yes.dtype)) {
    std::vector<double> values = numbers_of(broadcast(op, yes, dims));
    const std::vector<double> others = numbers_of(broadcast(op, no, dims));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = choice[i] != 0 ? values[i] : others[i];
    return op.set(0, number_constant(dims, values, yes.dtype));
  }
  std::vector<int64_t> values = integers_of(broadcast(op, yes, dims));
  const std::vector<int64_t> others = integers_of(broadcast(op, no, dims));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = choice[i] != 0 ? values[i] : others[i];
  op.set(0, integer_constant(dims, values, yes.dtype));
}

constexpr auto kConstantOperators = std::to_array<Operator>({
    {"Constant", constant,
     "sparse_value:11- value value_float:12- value_floats:12- value_int:12- value_ints:12- value_string:12- "
     "value_strings:12-"},
    {"ConstantOfShape", constant_of_shape, "value"},
    {"Shape", shape, "end:15- start:15-"},
    {"Size", size},
    {"Range", range, "stash_type:27-"},
    {"Cast", cast, "round_mode:24- saturate:19- to"},
    {"CastLike", cast_like, "round_mode:24- saturate:19-"},
    {"Not", logical_not},
    {"Floor", rounded<floor_of>},
    {"Ceil", rounded<ceil_of>},
    {"Where", where},
});

}  // namespace

std::span<const Operator> constant_operators() { return kConstantOperators; }

}  // namespace relayout::graph::importing
