// Kinds that compute each element from those at the same index of their sources; shuffle and reduction.
#include <algorithm>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

Specs as_first(const Operands& of) { return {{of.src(0).dims, of.src(0).dtype}}; }

/// The dims of a result of two sources, of which dims of extent 1 repeat.
Dims broadcast_dims(const Operands& of) {
  const Dims &a = of.src(0).dims, &b = of.src(1).dims;
  of.expect_rank(1, "b", a.size(), a.size());
  Dims out;
  for (int d = 0; d < a.size(); ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) {
      refuse(of.node, "b", join(b), "dim " + std::to_string(d) + " of 1 or " + std::to_string(a[d]));
    }
    out.push_back(a[d] == 1 ? b[d] : a[d]);
  }
  return out;
}

}  // namespace

Specs infer_eltwise(const Operands& of) { return as_first(of); }

Specs infer_prelu(const Operands& of) {
  const Dims &src = of.src(0).dims, &weights = of.src(1).dims;
  of.expect_rank(1, "weights", src.size(), src.size());
  for (int d = 0; d < src.size(); ++d) {
    if (weights[d] != 1 && weights[d] != src[d]) {
      refuse(of.node, "weights", join(weights), "dim " + std::to_string(d) + " of 1 or " + std::to_string(src[d]));
    }
  }
  return as_first(of);
}

Specs infer_shuffle(const Operands& of) {
  const ShuffleAttributes& a = of.node.as<ShuffleAttributes>();
  const Dims& dims = of.src(0).dims;
  const int64_t extent = dims[checked_axis(of.node, "axis", a.axis, dims.size())];
  if (a.groups < 1 || extent % a.groups != 0) {
    refuse(of.node, "groups", std::to_string(a.groups), "a divisor of the extent " + std::to_string(extent));
  }
  return as_first(of);
}

Specs infer_reduction(const Operands& of) {
  Dims dims = of.src(0).dims;
  std::vector<int> seen;
  for (int given : of.node.as<ReductionAttributes>().axes) {
    const int axis = checked_axis(of.node, "axes", given, dims.size());
    if (std::find(seen.begin(), seen.end(), axis) != seen.end()) {
      refuse(of.node, "axes", std::to_string(given) + " twice", "each axis once");
    }
    seen.push_back(axis);
    dims[axis] = 1;
  }
  return {{dims, of.src(0).dtype}};
}

Specs infer_sum(const Operands& of) {
  for (int i = 1; i < of.count(); ++i) of.expect_dims(i, "src " + std::to_string(i), of.src(0).dims);
  const auto scales = of.node.as<SumAttributes>().scales.size();
  if (scales != 0 && scales != of.node.src.size()) {
    refuse(of.node, "scales", std::to_string(scales) + " entries", std::to_string(of.count()) + ", or none");
  }
  return as_first(of);
}

Specs infer_binary(const Operands& of) { return {{broadcast_dims(of), of.src(0).dtype}}; }

Specs infer_reorder(const Operands& of) { return {{of.src(0).dims, of.node.as<ReorderAttributes>().dtype}}; }

}  // namespace relayout::graph
