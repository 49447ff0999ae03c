// ONNX operators that make constants or read dims. Exporters compute shapes with them.
#include <array>
#include <cmath>
#include <numbers>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

void constant(Op& op) {
  using ::onnx::AttributeProto;
  if (const AttributeProto* value = op.find("value")) {
    if (!value->has_t()) op.corrupt("value is no tensor");
    return op.set(0, constant_of(op.model, value->t(), op.node.output_size() > 0 ? op.node.output(0) : op.name));
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
  if (const auto* given = op.find("value")) value = constant_of(op.model, given->t(), op.name);
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

/// A matrix of ones on diagonal k, like the source.
void eye_like(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() != 2) op.corrupt("a source of dims " + join(src.dims, "x"));
  const int64_t k = op.integer("k", 0);
  const DType dtype = op.find("dtype") == nullptr
                          ? src.dtype
                          : dtype_of(static_cast<int>(op.integer("dtype", 0)), "onnx: node " + in_quotes(op.name));
  charge(op.model, DType::f64, src.dims);
  std::vector<double> values(static_cast<std::size_t>(elements_of(src.dims)), 0);
  for (int64_t row = 0; row < (values.empty() ? 0 : src.dims[0]); ++row) {
    if (k > -src.dims[0] && k < src.dims[1] && row + k >= 0 && row + k < src.dims[1])
      values[static_cast<std::size_t>(row * src.dims[1] + row + k)] = 1;
  }
  op.set(0, number_constant(src.dims, values, dtype));
}

/// The coefficients of a window: sum of a_i cos(2 pi i n / N) with alternating signs.
void cosine_window(Op& op, const std::vector<double>& coefficients) {
  const std::vector<int64_t> size = op.integers_of(0);
  if (size.size() != 1 || size[0] < 0) op.corrupt("a size of " + join(size));
  const DType dtype = dtype_of(static_cast<int>(op.integer("output_datatype", 1)), "onnx: node " + in_quotes(op.name));
  charge(op.model, DType::f64, {size[0]});
  const double period = static_cast<double>(op.integer("periodic", 1) != 0 ? size[0] : size[0] - 1);
  std::vector<double> values;
  for (int64_t n = 0; n < size[0]; ++n) {
    double sum = 0;
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) * static_cast<double>(n) / period;
      sum += (i % 2 == 0 ? 1 : -1) * coefficients[i] * std::cos(angle);
    }
    values.push_back(sum);
  }
  op.set(0, number_constant({size[0]}, values, dtype));
}

void hann(Op& op) { cosine_window(op, {0.5, 0.5}); }
void hamming(Op& op) { cosine_window(op, {25.0 / 46, 21.0 / 46}); }
void blackman(Op& op) { cosine_window(op, {0.42, 0.5, 0.08}); }

/// A tensor is what an optional value holds; where it is left out, there is none.
void optional_element(Op& op) { op.set(0, op.input(0)); }
void has_element(Op& op) { op.set(0, integer_constant({}, std::array{int64_t{op.has(0)}}, DType::boolean)); }

constexpr auto kConstantOperators = std::to_array<Operator>({
    {"Constant", constant,
     "sparse_value:11- value value_float:12- value_floats:12- value_int:12- value_ints:12- value_string:12- "
     "value_strings:12-"},
    {"ConstantOfShape", constant_of_shape, "value"},
    {"Shape", shape, "end:15- start:15-"},
    {"Size", size},
    {"Range", range, "stash_type:27-"},
    {"OptionalGetElement", optional_element},
    {"OptionalHasElement", has_element},
    {"EyeLike", eye_like, "dtype k"},
    {"HannWindow", hann, "output_datatype periodic"},
    {"HammingWindow", hamming, "output_datatype periodic"},
    {"BlackmanWindow", blackman, "output_datatype periodic"},
});

}  // namespace

std::span<const Operator> constant_operators() { return kConstantOperators; }

}  // namespace relayout::graph::importing
