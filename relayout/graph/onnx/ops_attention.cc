// ONNX's Attention, RotaryEmbedding and RMSNormalization as products, additions and softmax.
//
// Letters of dims: B batch, H heads, S steps of the queries, T steps of the keys, D numbers of a head.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Heads of dims B H S D, from B S H*D if there are three dims.
Value heads_of(Op& op, const Value& value, std::string_view attribute) {
  if (value.rank() == 4) return value;
  const int64_t heads = op.integer(attribute, 0);
  if (value.rank() != 3 || heads < 1 || value.dims[2] % heads != 0) {
    op.corrupt(std::string(attribute) + " " + std::to_string(heads) + " for " + join(value.dims, "x"));
  }
  const Dims dims{value.dims[0], value.dims[1], heads, value.dims[2] / heads};
  return transpose(op, reshape(op, value, dims), {0, 2, 1, 3});
}

/// Each head repeated so often that there are `heads`.
Value repeated_heads(Op& op, const Value& value, int64_t heads) {
  const int64_t own = value.dims[1];
  if (own == heads) return value;
  if (own < 1 || heads % own != 0) op.corrupt(std::to_string(heads) + " heads for " + std::to_string(own));
  Dims split = value.dims, repeated = value.dims, whole = value.dims;
  split.insert(2, 1);
  repeated.insert(2, heads / own);
  whole[1] = heads;
  return reshape(op, broadcast(op, reshape(op, value, split), repeated), whole);
}

/// 0, 1, ... count - 1 as dims count x 1, or 1 x count.
Value steps(Op& op, int64_t count, bool as_rows) {
  charge(op.model, DType::s64, {count});
  std::vector<int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return integer_constant(as_rows ? Dims{count, 1} : Dims{1, count}, values);
}

/// 0 where the condition holds, else minus infinity.
Value as_bias(Op& op, const Value& allowed, DType dtype) {
  return select(op, allowed, scalar(0, dtype), scalar(kMinusInfinity, dtype));
}

/// What is added to the products before softmax; nothing where nothing is.
struct AttentionBias {
  Op& op;
  DType dtype;
  std::optional<Value> sum{};

  void add(const Value& part) { sum = sum ? binary(op, *sum, part, BinaryAlgorithm::add) : part; }
  void allow(const Value& condition) { add(as_bias(op, condition, dtype)); }
};

/// The mask of source 3, filled up to T keys with what masks them.
void add_mask(AttentionBias& bias, int64_t keys) {
  Op& op = bias.op;
  if (!op.has(3)) return;
  Value mask = op.input(3);
  const int64_t missing = mask.rank() == 0 ? 0 : keys - mask.dims[mask.rank() - 1];
  if (mask.dtype == DType::boolean) mask = as_bias(op, mask, bias.dtype);
  if (missing > 0) {
    PadAttributes pad{.begin = Dims(mask.rank(), 0), .end = Dims(mask.rank(), 0), .value = kMinusInfinity};
    pad.end[mask.rank() - 1] = missing;
    mask = op.add(Kind::pad, pad, {mask});
  }
  bias.add(mask);
}

/// Masks by position: key j is seen from query i if j <= i + offset, and if it lies in the window around i + offset.
void add_positions(AttentionBias& bias, int64_t queries, int64_t keys, const Value& offset) {
  Op& op = bias.op;
  const int64_t left = op.integer("left_window_size", -1), right = op.integer("right_window_size", -1);
  const bool causal = op.integer("is_causal", 0) != 0;
  if (!causal && left < 0 && right < 0) return;
  const Value place = binary(op, steps(op, queries, true), offset, BinaryAlgorithm::add);
  const Value ahead = binary(op, steps(op, keys, false), place, BinaryAlgorithm::sub);
  const auto at_most = [&](int64_t most) {
    bias.allow(binary(op, ahead, integer_constant({}, std::array{most}), BinaryAlgorithm::le));
  };
  if (causal) at_most(0);
  if (right >= 0) at_most(right);
  if (left >= 0) bias.allow(binary(op, ahead, integer_constant({}, std::array{-left}), BinaryAlgorithm::ge));
}

AttentionBias attention_bias(Op& op, DType dtype, int64_t queries, int64_t keys, int64_t past) {
  AttentionBias bias{op, dtype};
  add_mask(bias, keys);
  Value offset = integer_constant({}, std::array{past});
  if (op.has(6)) {
    // The lengths of the sequences, whose last query stands at the last key.
    const Value& lengths = op.input(6);
    const Value each = reshape(op, cast(op, lengths, DType::s64), {elements_of(lengths.dims), 1, 1, 1});
    offset = binary(op, each, integer_constant({}, std::array{queries}), BinaryAlgorithm::sub);
    add_positions(bias, queries, keys, offset);
    bias.allow(binary(op, steps(op, keys, false), each, BinaryAlgorithm::lt));
  } else {
    add_positions(bias, queries, keys, offset);
  }
  return bias;
}

/// Rows that the bias masks altogether are 0 whatever the scores are: infinity and NaN among these make NaN of them.
Value without_masked_rows(Op& op, const Value& weights, const std::optional<Value>& bias) {
  if (!bias) return weights;
  Value rows = *bias;
  if (rows.rank() == 0) rows = reshape(op, rows, {1});
  const Value largest = reduce(op, rows, ReductionAlgorithm::max, {rows.rank() - 1});
  const Value masked = binary(op, largest, scalar(kMinusInfinity, rows.dtype), BinaryAlgorithm::eq);
  if (masked.constant() && std::ranges::count(integers_of(masked), 1) == 0) return weights;
  return select(op, masked, scalar(0, weights.dtype), weights);
}

Value product(Op& op, const Value& a, const Value& b) { return op.add(Kind::matmul, MatmulAttributes{}, {a, b}); }

void attention(Op& op) {
  const bool flat = op.input(0).rank() == 3;
  const Value query = heads_of(op, op.input(0), "q_num_heads");
  Value key = heads_of(op, op.input(1), "kv_num_heads"), value = heads_of(op, op.input(2), "kv_num_heads");
  const int64_t past = op.has(4) ? op.input(4).dims[2] : 0;
  if (op.has(4)) key = concat(op, {op.input(4), key}, 2);
  if (op.has(5)) value = concat(op, {op.input(5), value}, 2);
  if (op.wanted(1)) op.set(1, key);
  if (op.wanted(2)) op.set(2, value);
  const int64_t heads = query.dims[1], queries = query.dims[2], keys = key.dims[2];
  const double scale = op.number("scale", 1 / std::sqrt(static_cast<double>(query.dims[3])));
  const AttentionBias bias = attention_bias(op, query.dtype, queries, keys, past);
  // Both sides are scaled by the root, so that products of 16 bits do not overflow.
  const Value turned = transpose(op, repeated_heads(op, key, heads), {0, 1, 3, 2});
  const Value scores = product(op, multiplied(op, query, std::sqrt(scale)), multiplied(op, turned, std::sqrt(scale)));
  const double cap = op.number("softcap", 0);
  Value logits = scores;
  if (cap > 0) logits = multiplied(op, eltwise(op, multiplied(op, scores, 1 / cap), EltwiseAlgorithm::tanh), cap);
  const Value capped = logits;
  if (bias.sum) logits = binary(op, logits, *bias.sum, BinaryAlgorithm::add);
  const int64_t precision = op.integer("softmax_precision", 0);
  Value rows = logits;
  if (precision != 0) rows = cast(op, rows, dtype_of(static_cast<int>(precision), "onnx: node " + in_quotes(op.name)));
  // Where scores are minus infinity for all keys of a query, its row gives 0, as in ONNX's reference. The function of
  // ONNX's schema gives NaN, and ONNX Runtime the first key's value.
  const SoftmaxAttributes along_keys{.axis = 3, .masked_rows_give_zero = true};
  Value weights = op.add(Kind::softmax, along_keys, {rows});
  weights = cast(op, without_masked_rows(op, weights, bias.sum), query.dtype);
  const Value out = product(op, weights, repeated_heads(op, value, heads));
  op.set(0, flat ? reshape(op, transpose(op, out, {0, 2, 1, 3}), {out.dims[0], queries, heads * out.dims[3]}) : out);
  if (!op.wanted(3)) return;
  const std::array<Value, 4> modes = {scores, capped, logits, weights};
  const int64_t mode = op.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) op.corrupt("qk_matmul_output_mode " + std::to_string(mode));
  op.set(3, modes[static_cast<std::size_t>(mode)]);
}

/// Every `step`-th number of the last dim from `start` up to `stop`.
Value last_dim(Op& op, const Value& value, int64_t start, int64_t stop, int64_t step = 1) {
  SliceAttributes range{Dims(value.rank(), 0), value.dims, Dims(value.rank(), 1)};
  range.starts[value.rank() - 1] = start;
  range.stops[value.rank() - 1] = stop;
  range.steps[value.rank() - 1] = step;
  return slice(op, value, range);
}

/// The cosines or sines of each step, for all heads: B 1 S D/2.
Value angles_of(Op& op, int source, int64_t half) {
  Value table = op.input(source);
  if (op.has(3)) table = gather(op, table, op.input(3), 0);
  if (table.rank() != 3 || table.dims[2] != half) op.corrupt("a cache of dims " + join(op.input(source).dims, "x"));
  return reshape(op, table, {table.dims[0], 1, table.dims[1], half});
}

void rotary_embedding(Op& op) {
  const Value& src = op.input(0);
  const Value heads = heads_of(op, src, "num_heads");
  const int64_t size = heads.dims[3], given = op.integer("rotary_embedding_dim", 0);
  const int64_t rotated = given == 0 ? size : given, half = rotated / 2;
  if (rotated < 0 || rotated > size || rotated % 2 != 0) op.corrupt("rotary_embedding_dim " + std::to_string(given));
  const bool interleaved = op.integer("interleaved", 0) != 0;
  const Value cosine = angles_of(op, 1, half), sine = angles_of(op, 2, half);
  const Value a = interleaved ? last_dim(op, heads, 0, rotated, 2) : last_dim(op, heads, 0, half);
  const Value b = interleaved ? last_dim(op, heads, 1, rotated, 2) : last_dim(op, heads, half, rotated);
  const auto times = [&](const Value& x, const Value& y) { return binary(op, x, y, BinaryAlgorithm::mul); };
  const Value real = binary(op, times(a, cosine), times(b, sine), BinaryAlgorithm::sub);
  const Value imaginary = binary(op, times(a, sine), times(b, cosine), BinaryAlgorithm::add);
  Dims pairs = real.dims, whole = heads.dims;
  pairs.push_back(1);
  whole[3] = rotated;
  Value out = interleaved ? reshape(op, concat(op, {reshape(op, real, pairs), reshape(op, imaginary, pairs)}, 4), whole)
                          : concat(op, {real, imaginary}, 3);
  if (rotated < size) out = concat(op, {out, last_dim(op, heads, rotated, size)}, 3);
  op.set(0, src.rank() == 3 ? reshape(op, transpose(op, out, {0, 2, 1, 3}), src.dims) : out);
}

/// The source divided by the root of the mean of its squares over the dims from `axis` on, times a scale.
void rms_normalization(Op& op) {
  const Value& src = op.input(0);
  const DType stash = dtype_of(static_cast<int>(op.integer("stash_type", 1)), "onnx: node " + in_quotes(op.name));
  std::vector<int> axes;
  for (int d = op.axis(op.integer("axis", -1), src.rank()); d < src.rank(); ++d) axes.push_back(d);
  const Value wide = cast(op, src, src.dtype == DType::f64 ? DType::f64 : stash);
  const Value mean = reduce(op, eltwise(op, wide, EltwiseAlgorithm::square), ReductionAlgorithm::mean, axes);
  const Value root = eltwise(op, linear(op, mean, 1, op.number("epsilon", 1e-5)), EltwiseAlgorithm::sqrt);
  const Value normal = cast(op, binary(op, wide, root, BinaryAlgorithm::div), src.dtype);
  if (broadcast_dims(op, src.dims, op.input(1).dims) != src.dims) {
    op.corrupt("a scale of dims " + join(op.input(1).dims, "x") + " for " + join(src.dims, "x"));
  }
  op.set(0, binary(op, normal, op.input(1), BinaryAlgorithm::mul));
}

/// A depthwise convolution over the last dim that reads what came before, and what the next call has to read.
void causal_conv(Op& op) {
  const Value &src = op.input(0), &weights = op.input(1);
  if (src.rank() != 3 || weights.rank() != 3 || weights.dims[2] < 1) {
    op.corrupt("sources of " + join(src.dims, "x") + " and " + join(weights.dims, "x"));
  }
  const int64_t batch = src.dims[0], channels = src.dims[1], reach = weights.dims[2] - 1;
  const Value past = op.has(3) ? op.input(3) : broadcast(op, scalar(0, src.dtype), {batch, channels, reach});
  const Value whole = reach == 0 ? src : concat(op, {past, src}, 2);
  const Value grouped = channels == 1 ? weights : reshape(op, weights, {channels, 1, 1, reach + 1});
  Value out = op.add(Kind::convolution, ConvolutionAttributes{.groups = channels},
                     {whole, grouped, op.has(2) ? op.input(2) : Value{}});
  const std::string activation = op.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    out = eltwise(op, out, EltwiseAlgorithm::swish, 1);
  else if (activation != "none")
    op.corrupt("activation " + in_quotes(activation));
  op.set(0, out);
  if (op.wanted(1)) op.set(1, last_dim(op, whole, whole.dims[2] - reach, whole.dims[2]));
}

}  // namespace

std::span<const Operator> attention_operators() {
  static constexpr std::array<Operator, 4> kOperators = {
      {{"Attention", attention,
        "is_causal kv_num_heads left_window_size:25- q_num_heads qk_matmul_output_mode right_window_size:25- scale "
        "softcap softmax_precision"},
       {"RotaryEmbedding", rotary_embedding, "interleaved num_heads rotary_embedding_dim"},
       {"RMSNormalization", rms_normalization, "axis epsilon stash_type"},
       {"CausalConvWithState", causal_conv, "activation"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
