// What the families of the reference share, and the refusal of operators that are not known. See evaluation.h.
#include "relayout/graph/reference/evaluation.h"

#include <functional>
#include <numeric>

#include "relayout/core/error.h"

namespace relayout::graph::reference {

int64_t count(const Dims& dims) { return count(dims, 0, dims.size()); }

int64_t count(const Dims& dims, int first, int last) {
  return std::accumulate(dims.begin() + first, dims.begin() + last, int64_t{1}, std::multiplies<>());
}

Dims strides_of(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (int d = dims.size() - 2; d >= 0; --d) out[d] = out[d + 1] * dims[d + 1];
  return out;
}

Dims broadcast_strides(const Dims& dims, const Dims& onto) {
  const Dims own = strides_of(dims);
  Dims out(onto.size(), 0);
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] > 1) out[onto.size() - dims.size() + d] = own[d];
  }
  return out;
}

int64_t entry(const Dims& list, int d, int64_t otherwise) { return list.empty() ? otherwise : list[d]; }

Lanes lanes(const Dims& dims, int axis) {
  const int d = axis < 0 ? axis + dims.size() : axis;
  return lanes(dims, d, d + 1);
}

Lanes lanes(const Dims& dims, int first, int last) {
  return {count(dims, 0, first), count(dims, first, last), count(dims, last, dims.size())};
}

void barrier(const Evaluation& e) {
  const std::string operation = escaped(e.node.as<BarrierAttributes>().operation);
  throw Error(ErrorCode::unsupported, "reference: node " + escaped(e.node.name) + ": unknown operator " + operation,
              "operation", operation, "an operator that the importer knows");
}

}  // namespace relayout::graph::reference
