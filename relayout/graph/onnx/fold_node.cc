// Folding of any node: where all sources are constants of few elements, the reference computes the destinations at
// import. So operators that are made of several nodes need no code of their own for constants, and shapes that are
// computed by them are known. What may be large is left to the graph, whose passes fold it later.
#include "relayout/graph/onnx/importer.h"
#include "relayout/graph/passes/simplify.h"

namespace relayout::graph::importing {
namespace {

/// Constants of more elements are left to the graph.
constexpr int64_t kFewConstants = int64_t{1} << 16;

bool is_absent(const Value& value) { return value.id == kNone && !value.constant(); }

bool are_few_constants(const std::vector<Value>& src) {
  int64_t all = 0;
  bool any = false;
  for (const Value& value : src) {
    if (is_absent(value)) continue;
    if (!value.constant() || elements_of(value.dims) > kFewConstants) return false;
    any = true;
    all += elements_of(value.dims);
  }
  return any && all <= kFewConstants;
}

}  // namespace

std::optional<std::vector<Value>> fold_node(Op& op, Kind kind, const NodeAttributes& attributes,
                                            const std::vector<Value>& src, int dsts, std::optional<DType> dtype) {
  if (kind == Kind::barrier || kind == Kind::rnn || kind == Kind::convolution || kind == Kind::deconvolution ||
      !are_few_constants(src)) {
    return std::nullopt;
  }
  Graph graph;
  graph.pass = op.model.graph.pass;
  std::vector<TensorId> sources;
  for (const Value& value : src) {
    sources.push_back(is_absent(value) ? kNone : graph.constant("", value.dims, value.dtype, value.data));
  }
  const std::vector<TensorId> made =
      graph.add({.name = op.name, .kind = kind, .pass = graph.pass, .attributes = attributes, .src = sources}, dsts);
  int64_t all = 0;
  for (const TensorId id : made) all += elements_of(graph.tensor(id).dims);
  if (all > kFewConstants) return std::nullopt;
  if (dtype) graph.tensor(made.front()).dtype = *dtype;
  // Folded it is only if float64, in which that is done, holds every value.
  fold_constants(graph);
  std::vector<Value> out;
  for (const TensorId id : made) {
    const Tensor& tensor = graph.tensor(id);
    if (!tensor.constant()) return std::nullopt;
    charge(op.model, tensor.dtype, tensor.dims);
    out.push_back({.dims = tensor.dims, .dtype = tensor.dtype, .data = tensor.data});
  }
  return out;
}

}  // namespace relayout::graph::importing
