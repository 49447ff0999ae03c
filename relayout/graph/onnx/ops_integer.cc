// ONNX operators that multiply 8-bit integers with zero points: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.
// Sums of products are computed in f32 where that holds each of them, else in s32.
#include <array>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// f32 holds all whole numbers up to this one.
constexpr int64_t kExact = int64_t{1} << 24;

/// The source less its zero point, if it has one. Of several zero points each belongs to an index of dim d.
Value less_zero(Op& op, int source, int zero, int d, DType dtype) {
  const Value value = cast(op, op.input(source), dtype);
  if (!op.has(zero)) return value;
  Value point = cast(op, op.input(zero), dtype);
  const int64_t count = elements_of(point.dims);
  if (count == 1) {
    point = reshape(op, point, {});
  } else if (point.rank() == 1) {
    Dims dims(value.rank(), 1);
    if (value.rank() == 0 || value.dims[d] != count) op.corrupt("a zero point of " + join(point.dims, "x"));
    dims[d] = count;
    point = reshape(op, point, dims);
  }
  return binary(op, value, point, BinaryAlgorithm::sub);
}

/// Whether sums of that many products of 8-bit integers, each less a zero point, may go beyond what f32 holds.
bool is_large(int64_t products) { return products > kExact / (255 * 255); }

/// The product of two matrices in batches, as whole numbers in f32 or s32.
Value product_of(Op& op, int a, int a_zero, int b, int b_zero) {
  const Value &first = op.input(a), &second = op.input(b);
  if (first.rank() < 2 || second.rank() < 2) throw NotExpressible{"a vector as a source"};
  const DType dtype = is_large(first.dims[first.rank() - 1]) ? DType::s32 : DType::f32;
  const Value left = less_zero(op, a, a_zero, first.rank() - 2, dtype),
              right = less_zero(op, b, b_zero, second.rank() - 1, dtype);
  const int rank = std::max(left.rank(), right.rank());
  return op.add(Kind::matmul, MatmulAttributes{}, {with_rank(op, left, rank), with_rank(op, right, rank)});
}

void mat_mul_integer(Op& op) { op.set(0, cast(op, product_of(op, 0, 2, 1, 3), DType::s32)); }

/// The number by the scales a * b / y, plus the zero point of y, as that zero point's type.
Value requantized(Op& op, const Value& sum, const Value& scale, int zero) {
  Value out = binary(op, cast(op, sum, DType::f32), scale, BinaryAlgorithm::mul);
  out = eltwise(op, out, EltwiseAlgorithm::round);
  const Value point = reshape(op, op.input(zero), {});
  out = binary(op, out, cast(op, point, DType::f32), BinaryAlgorithm::add);
  return op.add(Kind::reorder, ReorderAttributes{.dtype = point.dtype}, {out});
}

/// The scale of a source: one number, or one for each index of a dim that is followed by `behind` others.
Value scale_of(Op& op, int source, int behind) {
  const Value scale = cast(op, op.input(source), DType::f32);
  if (elements_of(scale.dims) == 1) return reshape(op, scale, {});
  if (scale.rank() != 1) return scale;
  Dims dims(behind + 1, 1);
  dims[0] = scale.dims[0];
  return reshape(op, scale, dims);
}

Value joint_scale(Op& op, const Value& a, const Value& b, const Value& y) {
  return binary(op, binary(op, a, b, BinaryAlgorithm::mul), y, BinaryAlgorithm::div);
}

void quantized_mat_mul(Op& op) {
  const Value sum = product_of(op, 0, 2, 3, 5);
  op.set(0, requantized(op, sum, joint_scale(op, scale_of(op, 1, 1), scale_of(op, 4, 0), scale_of(op, 6, 0)), 7));
}

/// A convolution of source 0 and weights, both as f32 less their zero points.
Value convolution_of(Op& op, int zero, int weights, int weights_zero, const Value& bias) {
  const Dims& dims = op.input(weights).dims;
  if (dims.size() < 3) op.corrupt("weights of dims " + join(dims, "x"));
  if (is_large(elements_of(dims) / std::max<int64_t>(dims[0], 1))) {
    throw NotExpressible{"sums of more than " + std::to_string(kExact / (255 * 255)) +
                         " products, which f32 does not hold"};
  }
  return convolve(op, less_zero(op, 0, zero, 1, DType::f32), less_zero(op, weights, weights_zero, 0, DType::f32), bias);
}

void conv_integer(Op& op) { op.set(0, cast(op, convolution_of(op, 2, 1, 3, {}), DType::s32)); }

void quantized_conv(Op& op) {
  const Value bias = op.has(8) ? cast(op, op.input(8), DType::f32) : Value{};
  const Value sum = convolution_of(op, 2, 3, 5, bias);
  const int spatial = sum.rank() - 2;
  const Value scale = joint_scale(op, scale_of(op, 1, 0), scale_of(op, 4, spatial), scale_of(op, 6, 0));
  op.set(0, requantized(op, sum, scale, 7));
}

}  // namespace

std::span<const Operator> integer_operators() {
  static constexpr std::array<Operator, 4> kOperators = {
      {{"MatMulInteger", mat_mul_integer},
       {"QLinearMatMul", quantized_mat_mul},
       {"ConvInteger", conv_integer, "auto_pad dilations group kernel_shape pads strides"},
       {"QLinearConv", quantized_conv, "auto_pad dilations group kernel_shape pads strides"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
