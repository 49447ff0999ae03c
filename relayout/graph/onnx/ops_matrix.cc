// ONNX operators that multiply matrices: Gemm is an inner product, MatMul a product of batches.
#include <array>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// The value times a factor: computed for a constant of few elements, else by a node.
Value scaled(Op& op, const Value& value, double factor) {
  if (factor == 1) return value;
  const Value by = number_constant({}, std::array{factor}, value.dtype);
  if (const auto folded = fold_binary(op, value, by, "Mul", value.dims)) return *folded;
  return multiplied(op, value, factor);
}

/// Where `rows` is a tensor N C [D] [H] W that was flattened, takes the tensor before the flattening, so that the
/// product can read it in any layout, and gives the weights the dims O C [D] [H] W.
void unflatten(Op& op, Value* rows, Value* weights) {
  const Node* flat = maker(op.model, rows->id, Kind::reshape);
  if (flat == nullptr || !weights->constant()) return;
  const Tensor& src = op.model.graph.tensor(flat->src[0]);
  if (src.dims.size() < 3 || src.dims.size() > 5 || src.dims[0] != rows->dims[0]) return;
  Dims dims = src.dims;
  dims[0] = weights->dims[0];
  if (elements_of(dims) != elements_of(weights->dims)) return;
  *rows = {.id = flat->src[0], .dims = src.dims, .dtype = src.dtype};
  *weights = reshape(op, *weights, dims);
}

void gemm(Op& op) {
  Value a = op.input(0), b = op.input(1);
  if (a.rank() != 2 || b.rank() != 2) op.corrupt("sources of " + join(a.dims, "x") + " and " + join(b.dims, "x"));
  const double alpha = op.number("alpha", 1), beta = op.number("beta", 1);
  if (op.integer("transA", 0) != 0) a = transpose(op, a, {1, 0});
  if (op.integer("transB", 0) == 0) b = transpose(op, b, {1, 0});
  if (a.dims[1] != b.dims[1]) {
    op.corrupt("a product over dims of " + std::to_string(a.dims[1]) + " and " + std::to_string(b.dims[1]));
  }
  const Dims dims = {a.dims[0], b.dims[0]};
  Value bias;
  const Value* given = op.optional(2);
  if (given != nullptr && beta != 0) {
    if (broadcast_dims(op, given->dims, dims) != dims) op.corrupt("a bias of dims " + join(given->dims, "x"));
    bias = scaled(op, *given, beta);
  }
  const bool has_bias = given != nullptr && beta != 0;
  // A bias with one entry a column is an operand of the primitive, if nothing scales the product.
  const bool own = has_bias && alpha == 1 && elements_of(bias.dims) == dims[1] &&
                   (bias.rank() == 0 || bias.dims[bias.rank() - 1] == dims[1]);
  unflatten(op, &a, &b);
  Value out =
      op.add(Kind::inner_product, InnerProductAttributes{}, {a, b, own ? reshape(op, bias, {dims[1]}) : Value{}});
  out = multiplied(op, out, alpha);
  if (has_bias && !own) out = binary(op, out, bias, BinaryAlgorithm::add);
  op.set(0, out);
}

void mat_mul(Op& op) {
  Value a = op.input(0), b = op.input(1);
  if (a.rank() == 0 || b.rank() == 0) op.corrupt("a scalar source");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = reshape(op, a, {1, a.dims[0]});
  if (column) b = reshape(op, b, {b.dims[0], 1});
  const int rank = std::max(a.rank(), b.rank());
  Value out = op.add(Kind::matmul, MatmulAttributes{}, {with_rank(op, a, rank), with_rank(op, b, rank)});
  Dims dims = out.dims;
  if (column) dims.erase(rank - 1);
  if (row) dims.erase(rank - 2);
  op.set(0, reshape(op, out, dims));
}

}  // namespace

std::span<const Operator> matrix_operators() {
  static constexpr std::array<Operator, 2> kOperators = {
      {{"Gemm", gemm, "alpha beta transA transB"}, {"MatMul", mat_mul}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
