// Operations on row-major arrays: the dims and types of what each ArrayOperation takes and gives.
#include <algorithm>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

const ArrayAttributes& attributes_of(const Operands& of) { return of.node.as<ArrayAttributes>(); }

void expect_count(const Operands& of, int count) {
  if (of.count() != count) {
    refuse(of.node, "src", std::to_string(of.count()) + " operands",
           std::to_string(count) + " for " + std::string(name(attributes_of(of).operation)));
  }
}

void expect_indices(const Operands& of, int i) {
  const DType dtype = of.src(i).dtype;
  if (dtype != DType::s32 && dtype != DType::s64) {
    refuse(of.node, "indices", std::string(name(dtype)), "s32 or s64");
  }
}

void expect_type(const Operands& of, int i, std::string_view operand, DType dtype) {
  if (of.src(i).dtype != dtype) {
    refuse(of.node, operand, std::string(name(of.src(i).dtype)), std::string(name(dtype)));
  }
}

int axis_of(const Operands& of) { return checked_axis(of.node, "axis", attributes_of(of).axis, of.src(0).dims.size()); }

Specs select(const Operands& of) {
  expect_count(of, 3);
  const int rank = of.src(0).dims.size();
  expect_type(of, 2, "b", of.src(1).dtype);
  Dims out(rank, 1);
  for (int i = 0; i < 3; ++i) {
    const std::string operand = i == 0 ? "condition" : i == 1 ? "a" : "b";
    of.expect_rank(i, operand, rank, rank);
    for (int d = 0; d < rank; ++d) {
      const int64_t extent = of.src(i).dims[d];
      if (extent != 1 && out[d] != 1 && extent != out[d]) {
        refuse(of.node, operand, join(of.src(i).dims),
               "dim " + std::to_string(d) + " of 1 or " + std::to_string(out[d]));
      }
      if (extent != 1) out[d] = extent;
    }
  }
  return {{out, of.src(1).dtype}};
}

Specs arg(const Operands& of) {
  expect_count(of, 1);
  Dims out = of.src(0).dims;
  int64_t& extent = out[axis_of(of)];
  if (extent == 0) refuse(of.node, "src", join(of.src(0).dims), "an extent of 1 or more along the axis");
  extent = 1;
  return {{out, DType::s64}};
}

Specs top_k(const Operands& of) {
  expect_count(of, 1);
  Dims out = of.src(0).dims;
  const int axis = axis_of(of);
  const int64_t count = attributes_of(of).count;
  if (count < 0 || count > out[axis]) {
    refuse(of.node, "count", std::to_string(count), "0 to " + std::to_string(out[axis]));
  }
  out[axis] = count;
  return {{out, of.src(0).dtype}, {out, DType::s64}};
}

/// Refuses indices along the axis that do not fit the other dims of the data.
void expect_indices_along_axis(const Operands& of) {
  expect_indices(of, 1);
  const Dims &data = of.src(0).dims, &indices = of.src(1).dims;
  of.expect_rank(1, "indices", data.size(), data.size());
  const int axis = axis_of(of);
  for (int d = 0; d < data.size(); ++d) {
    if (d != axis && indices[d] > data[d]) {
      refuse(of.node, "indices", join(indices), "dim " + std::to_string(d) + " of at most " + std::to_string(data[d]));
    }
  }
}

Specs gather_elements(const Operands& of) {
  expect_count(of, 2);
  expect_indices_along_axis(of);
  return {{of.src(1).dims, of.src(0).dtype}};
}

/// The dims of a slice that an index of the last dim of `indices` picks, behind `batch` dims. Refuses indices that do
/// not fit.
Dims slice_dims(const Operands& of, int64_t batch) {
  const Dims &data = of.src(0).dims, &indices = of.src(1).dims;
  of.expect_rank(1, "indices", static_cast<int>(batch) + 1, kMaxDims);
  const int64_t depth = indices[indices.size() - 1];
  if (depth < 0 || batch + depth > data.size()) {
    refuse(of.node, "indices", join(indices),
           "a last dim of at most " + std::to_string(data.size() - batch) + ", as data has " + join(data));
  }
  for (int d = 0; d < batch; ++d) {
    if (indices[d] != data[d]) refuse(of.node, "indices", join(indices), "the first dims of " + join(data));
  }
  Dims out;
  for (auto d = static_cast<int>(batch + depth); d < data.size(); ++d) out.push_back(data[d]);
  return out;
}

/// The dims of all slices that `indices` pick together.
Dims slices_dims(const Operands& of, int64_t batch) {
  const Dims slice = slice_dims(of, batch), &indices = of.src(1).dims;
  if (indices.size() - 1 + slice.size() > kMaxDims) {
    refuse(of.node, "rank of dst", std::to_string(indices.size() - 1 + slice.size()),
           "at most " + std::to_string(kMaxDims));
  }
  Dims out;
  for (int d = 0; d + 1 < indices.size(); ++d) out.push_back(indices[d]);
  for (const int64_t extent : slice) out.push_back(extent);
  return out;
}

Specs gather_nd(const Operands& of) {
  expect_count(of, 2);
  expect_indices(of, 1);
  const int64_t batch = attributes_of(of).count;
  if (batch < 0 || batch >= of.src(0).dims.size()) {
    refuse(of.node, "count", std::to_string(batch), "less than the rank of " + join(of.src(0).dims));
  }
  return {{slices_dims(of, batch), of.src(0).dtype}};
}

Specs scatter(const Operands& of) {
  expect_count(of, 3);
  expect_indices(of, 1);
  const Tensor& data = of.src(0);
  expect_type(of, 2, "updates", data.dtype);
  if (attributes_of(of).operation == ArrayOperation::scatter_elements) {
    of.expect_dims(2, "updates", of.src(1).dims);
    expect_indices_along_axis(of);
  } else {
    of.expect_dims(2, "updates", slices_dims(of, 0));
  }
  return {{data.dims, data.dtype}};
}

Specs cumulative(const Operands& of) {
  expect_count(of, 1);
  axis_of(of);
  const ScatterAlgorithm algorithm = attributes_of(of).scatter;
  if (algorithm != ScatterAlgorithm::add && algorithm != ScatterAlgorithm::mul) {
    refuse(of.node, "scatter", std::to_string(static_cast<int>(algorithm)), "add or mul");
  }
  return {{of.src(0).dims, of.src(0).dtype}};
}

Specs other_type(const Operands& of) {
  expect_count(of, 1);
  const DType from = of.src(0).dtype, to = attributes_of(of).dtype;
  const bool cast = attributes_of(of).operation == ArrayOperation::bit_cast;
  const bool whole = !is_floating(from) && !is_floating(to) && bits(from) >= 8 && bits(to) >= 8;
  if (cast ? bits(from) != bits(to) : !whole) {
    refuse(of.node, "dtype", std::string(name(to)),
           (cast ? "a type as wide as " : "an integer, as for ") + std::string(name(from)));
  }
  return {{of.src(0).dims, to}};
}

Specs grid_sample(const Operands& of) {
  expect_count(of, 2);
  of.expect_rank(0, "src", 3, 5);
  const Dims &src = of.src(0).dims, &grid = of.src(1).dims;
  of.expect_rank(1, "grid", src.size(), src.size());
  const int spatial = src.size() - 2;
  if (!is_floating(of.src(0).dtype)) refuse(of.node, "src", std::string(name(of.src(0).dtype)), "a floating type");
  if (!is_floating(of.src(1).dtype)) refuse(of.node, "grid", std::string(name(of.src(1).dtype)), "a floating type");
  if (grid[0] != src[0] || grid[grid.size() - 1] != spatial) {
    refuse(of.node, "grid", join(grid), std::to_string(src[0]) + " first and " + std::to_string(spatial) + " last");
  }
  Dims out{src[0], src[1]};
  for (int d = 1; d <= spatial; ++d) {
    if (src[d + 1] < 1) refuse(of.node, "src", join(src), "spatial extents of 1 or more");
    out.push_back(grid[d]);
  }
  return {{out, of.src(0).dtype}};
}

}  // namespace

Specs infer_array(const Operands& of) {
  switch (attributes_of(of).operation) {
    case ArrayOperation::select: return select(of);
    case ArrayOperation::arg_max:
    case ArrayOperation::arg_min: return arg(of);
    case ArrayOperation::top_k: return top_k(of);
    case ArrayOperation::gather_elements: return gather_elements(of);
    case ArrayOperation::gather_nd: return gather_nd(of);
    case ArrayOperation::scatter_elements:
    case ArrayOperation::scatter_nd: return scatter(of);
    case ArrayOperation::cumulative: return cumulative(of);
    case ArrayOperation::bit_cast:
    case ArrayOperation::wrap: return other_type(of);
    case ArrayOperation::grid_sample: return grid_sample(of);
  }
  return {};
}

}  // namespace relayout::graph
