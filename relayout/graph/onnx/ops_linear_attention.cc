// ONNX's LinearAttention: a state that each step decays, corrects and adds to, step by step, in f32.
//
// Letters of dims: B batch, H heads of keys, T steps, K numbers of a key, V of a value.
#include <array>
#include <cmath>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

struct LinearAttention {
  Op& op;
  int64_t heads, readers;
  bool decays, corrects;
  double scale;

  Value times(const Value& a, const Value& b) const { return binary(op, a, b, BinaryAlgorithm::mul); }
  Value product(const Value& a, const Value& b) const { return op.add(Kind::matmul, MatmulAttributes{}, {a, b}); }

  /// A source of dims B T N*D as B N T D, in f32.
  Value unpacked(const Value& value, int64_t count) const {
    const Value wide = cast(op, value, DType::f32);
    if (wide.rank() != 3 || count < 1 || wide.dims[2] % count != 0) {
      op.corrupt("a source of dims " + join(wide.dims, "x") + " for " + std::to_string(count) + " heads");
    }
    return transpose(op, reshape(op, wide, {wide.dims[0], wide.dims[1], count, wide.dims[2] / count}), {0, 2, 1, 3});
  }
  /// Step t of B N T D, as B N 1 D.
  Value at(const Value& value, int64_t t) const {
    SliceAttributes range{Dims(4, 0), value.dims, Dims(4, 1)};
    range.starts[2] = t;
    range.stops[2] = t + 1;
    return slice(op, value, range);
  }
  Value turned(const Value& value) const { return transpose(op, value, {0, 1, 3, 2}); }

  /// The state for all heads that read it.
  Value for_readers(const Value& state) const {
    if (readers == heads) return state;
    const Dims& d = state.dims;
    const Value split = reshape(op, state, {d[0], d[1], 1, d[2], d[3]});
    return reshape(op, broadcast(op, split, {d[0], d[1], readers / heads, d[2], d[3]}), {d[0], readers, d[2], d[3]});
  }

  void run() const {
    const DType dtype = op.input(0).dtype;
    const Value query = unpacked(op.input(0), readers), key = unpacked(op.input(1), heads),
                value = unpacked(op.input(2), heads);
    const int64_t batch = query.dims[0], steps = query.dims[2], keys = key.dims[3], values = value.dims[3];
    const double factor = scale == 0 ? 1 / std::sqrt(static_cast<double>(query.dims[3])) : scale;
    Value decay, beta;
    if (decays) decay = eltwise(op, unpacked(op.input(4), heads), EltwiseAlgorithm::exp);
    if (corrects) beta = unpacked(op.input(5), op.input(5).dims.back() == 1 ? 1 : heads);
    Value state = op.has(3) ? cast(op, op.input(3), DType::f32)
                            : broadcast(op, scalar(0, DType::f32), {batch, heads, keys, values});
    constexpr int64_t kNodesOfAStep = 16;
    count_steps(op, *checked_mul(std::min(steps, op.model.options.max_nodes), kNodesOfAStep));
    std::vector<Value> out;
    for (int64_t t = 0; t < steps; ++t) {
      if (decays) state = times(state, turned(at(decay, t)));
      Value added = at(value, t);
      const Value now = at(key, t);
      if (corrects) added = times(binary(op, added, product(now, state), BinaryAlgorithm::sub), at(beta, t));
      state = binary(op, state, product(turned(now), added), BinaryAlgorithm::add);
      out.push_back(multiplied(op, product(at(query, t), for_readers(state)), factor));
    }
    if (out.empty()) throw NotExpressible{"no steps"};
    const Value all = transpose(op, concat(op, out, 2), {0, 2, 1, 3});
    op.set(0, cast(op, reshape(op, all, {batch, steps, readers * values}), dtype));
    if (op.wanted(1)) op.set(1, cast(op, state, op.has(3) ? op.input(3).dtype : dtype));
  }
};

void linear_attention(Op& op) {
  const std::string rule = op.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    op.corrupt("update_rule " + in_quotes(rule));
  }
  const int64_t heads = op.integer("kv_num_heads", 0), readers = op.integer("q_num_heads", 0);
  if (heads < 1 || readers < 1 || readers % heads != 0) op.corrupt(std::to_string(readers) + " heads of queries");
  LinearAttention{op, heads, readers, rule.starts_with("gated"), rule.ends_with("delta"), op.number("scale", 0)}.run();
}

}  // namespace

std::span<const Operator> linear_attention_operators() {
  static constexpr std::array<Operator, 1> kOperators = {
      {{"LinearAttention", linear_attention, "chunk_size kv_num_heads q_num_heads scale update_rule"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
