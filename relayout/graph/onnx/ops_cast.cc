// ONNX operators that change the type of elements: casts, and quantization to integers and 8-bit floats and back.
#include <array>
#include <cmath>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// The largest number of a floating type of 8 bits.
double largest(DType dtype) { return dtype == DType::f8_e4m3 ? 448 : 57344; }

bool is_small_floating(DType dtype) { return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2; }

/// Whether every integer of type `from` is one of type `to`.
bool holds(DType to, DType from) {
  if (from == DType::boolean) return is_integer(to);
  const bool from_signed = kind(from) == DTypeKind::signed_integer, to_signed = kind(to) == DTypeKind::signed_integer;
  if (from_signed && !to_signed) return false;
  return bits(to) > bits(from) || (bits(to) == bits(from) && from_signed == to_signed);
}

/// The graph's reorder turns values that are too large for 8-bit floats into infinity or NaN. ONNX saturates them
/// unless told not to.
Value saturated(Op& op, const Value& value, DType dtype) {
  if (!is_small_floating(dtype)) return value;
  // Backends differ in what bounds make of a NaN.
  const Value bounded = eltwise(op, value, EltwiseAlgorithm::clip, -largest(dtype), largest(dtype));
  return select(op, eltwise(op, value, EltwiseAlgorithm::is_nan), value, bounded);
}

void cast_to(Op& op, DType dtype) {
  const std::string rounding = op.text("round_mode", "up");
  if (rounding != "up") throw NotExpressible{"round_mode " + in_quotes(rounding)};
  const Value& src = op.input(0);
  op.set(0, cast(op, op.integer("saturate", 1) != 0 ? saturated(op, src, dtype) : src, dtype));
}

DType type_attribute(const Op& op, std::string_view attribute, DType otherwise) {
  const int64_t type = op.integer(attribute, 0);
  return type == 0 ? otherwise : dtype_of(static_cast<int>(type), "onnx: node " + in_quotes(op.name));
}

void plain_cast(Op& op) { cast_to(op, type_attribute(op, "to", DType::f32)); }
void cast_like(Op& op) { cast_to(op, op.input(1).dtype); }

void bit_cast(Op& op) {
  const DType dtype = type_attribute(op, "to", DType::f32);
  if (bits(dtype) != bits(op.input(0).dtype)) throw NotExpressible{"types of different widths"};
  op.set(0, op.add(Kind::array, ArrayAttributes{.operation = ArrayOperation::bit_cast, .dtype = dtype}, {op.input(0)}));
}

/// A scale or zero point, repeated so that it fits the source: one number, one for each index of the axis, or one for
/// each block of `block` elements along it.
Value per_axis(Op& op, const Value& value, const Dims& src, int64_t block) {
  if (elements_of(value.dims) == 1 && value.rank() <= 1) return reshape(op, value, Dims(src.size(), 1));
  const int axis = op.axis(op.integer("axis", 1), src.size());
  if (value.rank() == 1) {
    Dims dims(src.size(), 1);
    if (value.dims[0] != src[axis]) op.corrupt("a scale or zero point of " + join(value.dims, "x"));
    dims[axis] = src[axis];
    return reshape(op, value, dims);
  }
  if (block < 1 || value.rank() != src.size()) op.corrupt("a scale or zero point of " + join(value.dims, "x"));
  Dims split = value.dims, repeated = value.dims, whole = value.dims;
  split.insert(axis + 1, 1);
  repeated.insert(axis + 1, block);
  whole[axis] *= block;
  const Value blocks = reshape(op, broadcast(op, reshape(op, value, split), repeated), whole);
  // The last block may be larger than what is left.
  SliceAttributes kept{Dims(src.size(), 0), src, Dims(src.size(), 1)};
  for (int d = 0; d < src.size(); ++d) {
    if (whole[d] < src[d]) op.corrupt("a scale or zero point of " + join(value.dims, "x"));
  }
  return slice(op, blocks, kept);
}

/// The zero point in the type that is computed in; nothing where there is none.
std::optional<Value> zero_point_of(Op& op, DType dtype) {
  if (!op.has(2)) return std::nullopt;
  return per_axis(op, cast(op, op.input(2), dtype), op.input(0).dims, op.integer("block_size", 0));
}

DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

void dequantize(Op& op) {
  const Value& scale = op.input(1);
  const DType computed = wide(scale.dtype);
  const Value factor = per_axis(op, cast(op, scale, computed), op.input(0).dims, op.integer("block_size", 0));
  const auto zero = zero_point_of(op, computed);
  // Weights of bytes are left as they are, as passes/multiply_bytes.h multiplies them so.
  const DType bytes = op.input(0).dtype;
  op.folds = op.model.graph.pass != Pass::forward_inference || op.input(0).rank() < 2 || !op.input(0).constant() ||
             (bytes != DType::s8 && bytes != DType::u8);
  Value out = cast(op, op.input(0), computed);
  if (zero) out = binary(op, out, *zero, BinaryAlgorithm::sub);
  out = binary(op, out, factor, BinaryAlgorithm::mul);
  op.set(0, cast(op, out, type_attribute(op, "output_dtype", scale.dtype)));
}

/// The number as elements of a quantized type: integers are rounded to nearest even and saturated.
Value quantized(Op& op, const Value& value, DType dtype) {
  if (is_floating(dtype)) return cast(op, saturated(op, value, dtype), dtype);
  return op.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {value});
}

void quantize(Op& op) {
  const Value &src = op.input(0), &scale = op.input(1);
  const DType dtype = op.has(2) ? op.input(2).dtype : type_attribute(op, "output_dtype", DType::u8);
  const DType computed = wide(src.dtype);
  const Value divisor = per_axis(op, cast(op, scale, computed), src.dims, op.integer("block_size", 0));
  Value out = binary(op, cast(op, src, computed), divisor, BinaryAlgorithm::div);
  if (!is_floating(dtype)) out = eltwise(op, out, EltwiseAlgorithm::round);
  if (const auto zero = zero_point_of(op, computed)) out = binary(op, out, *zero, BinaryAlgorithm::add);
  op.set(0, quantized(op, out, dtype));
}

/// x as u8 by a scale and a zero point from its extremes, which include 0.
void quantize_by_extremes(Op& op) {
  const Value& src = op.input(0);
  std::vector<int> axes;
  for (int d = 0; d < src.rank(); ++d) axes.push_back(d);
  const auto extreme = [&](ReductionAlgorithm over, BinaryAlgorithm with) {
    return binary(op, reshape(op, reduce(op, src, over, axes), {}), scalar(0, src.dtype), with);
  };
  const Value high = extreme(ReductionAlgorithm::max, BinaryAlgorithm::max),
              low = extreme(ReductionAlgorithm::min, BinaryAlgorithm::min);
  const Value scale = multiplied(op, binary(op, high, low, BinaryAlgorithm::sub), 1.0 / 255);
  const Value start = multiplied(op, binary(op, low, scale, BinaryAlgorithm::div), -1);
  const Value zero = eltwise(op, eltwise(op, start, EltwiseAlgorithm::clip, 0, 255), EltwiseAlgorithm::round);
  const Value scaled = eltwise(op, binary(op, src, scale, BinaryAlgorithm::div), EltwiseAlgorithm::round);
  op.set(0, quantized(op, binary(op, scaled, zero, BinaryAlgorithm::add), DType::u8));
  op.set(1, scale);
  op.set(2, quantized(op, zero, DType::u8));
}

constexpr auto kCastOperators = std::to_array<Operator>({
    {"Cast", plain_cast, "round_mode:24- saturate:19- to"},
    {"CastLike", cast_like, "round_mode:24- saturate:19-"},
    {"BitCast", bit_cast, "to"},
    {"DequantizeLinear", dequantize, "axis:13- block_size:21- output_dtype:23-"},
    {"QuantizeLinear", quantize, "axis:13- block_size:21- output_dtype:21- precision:23- saturate:19-"},
    {"DynamicQuantizeLinear", quantize_by_extremes},
});

/// The low bits of whole numbers, as many as an integer type of fewer than 8 has.
Value low_bits(Op& op, const Value& value, DType dtype) {
  const Value whole = cast(op, value, DType::s32);
  const auto with = [&](const Value& a, int64_t b, BinaryAlgorithm algorithm) {
    return binary(op, a, integer_constant({}, std::array{b}, DType::s32), algorithm);
  };
  const int64_t values = int64_t{1} << bits(dtype), below = kind(dtype) == DTypeKind::signed_integer ? values / 2 : 0;
  const Value low = with(with(whole, below, BinaryAlgorithm::add), values - 1, BinaryAlgorithm::bitwise_and);
  return op.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {with(low, below, BinaryAlgorithm::sub)});
}

}  // namespace

Value cast(Op& op, const Value& value, DType dtype) {
  const DType from = value.dtype;
  if (from == dtype) return value;
  if (value.constant() && !is_floating(from) && !is_floating(dtype) && bits(from) >= 8 && bits(dtype) >= 8) {
    charge(op.model, dtype, value.dims);
    std::vector<int64_t> values = integers_of(value);
    if (dtype == DType::boolean) {
      for (int64_t& each : values) each = each != 0;
    }
    Value out = integer_constant(value.dims, values, dtype);
    out.name = value.name;
    return out;
  }
  // ONNX rounds up to f8_e8m0 unless told otherwise.
  if (dtype == DType::f8_e8m0) throw NotExpressible{"a cast to FLOAT8E8M0"};
  if (bits(dtype) < 8 && is_integer(dtype)) return low_bits(op, value, dtype);
  const bool plain =
      is_floating(dtype) || dtype == DType::boolean || is_floating(from) || holds(dtype, from) || bits(from) < 8;
  if (!plain) {
    return op.add(Kind::array, ArrayAttributes{.operation = ArrayOperation::wrap, .dtype = dtype}, {value});
  }
  const bool truncates = is_floating(from) && is_integer(dtype);
  const Value whole = truncates ? eltwise(op, value, EltwiseAlgorithm::trunc) : value;
  return op.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {whole});
}

std::span<const Operator> cast_operators() { return kCastOperators; }

}  // namespace relayout::graph::importing
