// Kinds that move elements and compute nothing: concat, reshape, transpose, slice, broadcast, pad, gather; and
// barriers.
#include <algorithm>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

void expect_entries(const Node& node, std::string_view operand, const Dims& list, int count) {
  if (list.size() != count) refuse(node, operand, join(list), std::to_string(count) + " entries");
}

int64_t slice_extent(const Node& node, const SliceAttributes& a, int d, int64_t extent) {
  const int64_t start = a.starts[d], stop = a.stops[d], step = a.steps[d];
  const bool forward = step > 0 && 0 <= start && start <= stop && stop <= extent;
  const bool backward = step < 0 && -1 <= stop && stop <= start && start < extent;
  if (!forward && !backward) {
    refuse(node, "range of dim " + std::to_string(d),
           std::to_string(start) + ":" + std::to_string(stop) + ":" + std::to_string(step),
           "0 <= start <= stop <= " + std::to_string(extent) + ", or -1 <= stop <= start < " + std::to_string(extent) +
               " with a negative step");
  }
  const Wide step_size = forward ? Wide{step} : -Wide{step}, length = forward ? stop - start : start - stop;
  return static_cast<int64_t>((length + step_size - 1) / step_size);
}

}  // namespace

Specs infer_concat(const Operands& of) {
  const Tensor& first = of.src(0);
  const int axis = checked_axis(of.node, "axis", of.node.as<ConcatAttributes>().axis, first.dims.size());
  Dims out = first.dims;
  for (int i = 1; i < of.count(); ++i) {
    const std::string operand = "src " + std::to_string(i);
    const Tensor& src = of.src(i);
    of.expect_rank(i, operand, out.size(), out.size());
    Dims expected = first.dims;
    expected[axis] = src.dims[axis];
    of.expect_dims(i, operand, expected);
    if (src.dtype != first.dtype) {
      refuse(of.node, operand, std::string(name(src.dtype)), std::string(name(first.dtype)) + " as the first source");
    }
    out[axis] = fitting(of.node, "extent of dst along the axis", Wide{out[axis]} + src.dims[axis], 0);
  }
  return {{out, first.dtype}};
}

Specs infer_reshape(const Operands& of) {
  const Tensor& src = of.src(0);
  const Dims& dims = of.node.as<ReshapeAttributes>().dims;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t extent) { return extent < 0; })) {
    refuse(of.node, "dims", join(dims), "extents of 0 or more");
  }
  if (checked_product(dims) != checked_product(src.dims)) {
    refuse(of.node, "dims", dims.empty() ? "a scalar" : join(dims),
           "as many elements as the source's " + join(src.dims));
  }
  return {{dims, src.dtype}};
}

Specs infer_transpose(const Operands& of) {
  const Tensor& src = of.src(0);
  const std::vector<int>& order = of.node.as<TransposeAttributes>().order;
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool each_once = static_cast<int>(order.size()) == src.dims.size();
  for (std::size_t i = 0; i < sorted.size(); ++i) each_once = each_once && sorted[i] == static_cast<int>(i);
  if (!each_once) {
    std::string shown;
    for (int d : order) shown += (shown.empty() ? "" : ",") + std::to_string(d);
    refuse(of.node, "order", shown, "each of " + std::to_string(src.dims.size()) + " dims once, from 0");
  }
  Dims out;
  for (int d : order) out.push_back(src.dims[d]);
  return {{out, src.dtype}};
}

Specs infer_slice(const Operands& of) {
  const Tensor& src = of.src(0);
  const SliceAttributes& a = of.node.as<SliceAttributes>();
  expect_entries(of.node, "starts", a.starts, src.dims.size());
  expect_entries(of.node, "stops", a.stops, src.dims.size());
  expect_entries(of.node, "steps", a.steps, src.dims.size());
  Dims out;
  for (int d = 0; d < src.dims.size(); ++d) out.push_back(slice_extent(of.node, a, d, src.dims[d]));
  return {{out, src.dtype}};
}

Specs infer_broadcast(const Operands& of) {
  const Tensor& src = of.src(0);
  const Dims& dims = of.node.as<BroadcastAttributes>().dims;
  const int added = dims.size() - src.dims.size();
  bool fits = added >= 0;
  for (int d = 0; d < dims.size() && fits; ++d) {
    fits = dims[d] >= 0 && (d < added || src.dims[d - added] == dims[d] || src.dims[d - added] == 1);
  }
  if (!fits) refuse(of.node, "dims", join(dims), "dims to which " + join(src.dims) + " repeats");
  return {{dims, src.dtype}};
}

Specs infer_pad(const Operands& of) {
  const Tensor& src = of.src(0);
  const PadAttributes& a = of.node.as<PadAttributes>();
  expect_entries(of.node, "begin", a.begin, src.dims.size());
  expect_entries(of.node, "end", a.end, src.dims.size());
  Dims out;
  for (int d = 0; d < src.dims.size(); ++d) {
    const std::string operand = "padding of dim " + std::to_string(d);
    const std::string value = std::to_string(a.begin[d]) + "," + std::to_string(a.end[d]);
    const int64_t extent = src.dims[d], most = std::max(a.begin[d], a.end[d]);
    if (a.begin[d] < 0 || a.end[d] < 0) refuse(of.node, operand, value, "0 or more");
    if (most > 0 && a.mode == PadMode::edge && extent == 0) refuse(of.node, operand, value, "0, as the dim is empty");
    if (most > 0 && a.mode == PadMode::reflect && most >= extent) {
      refuse(of.node, operand, value, "less than the extent " + std::to_string(extent));
    }
    out.push_back(fitting(of.node, "extent of dim " + std::to_string(d), Wide{extent} + a.begin[d] + a.end[d], 0));
  }
  return {{out, src.dtype}};
}

Specs infer_gather(const Operands& of) {
  const Tensor &data = of.src(0), &indices = of.src(1);
  const int axis = checked_axis(of.node, "axis", of.node.as<GatherAttributes>().axis, data.dims.size());
  if (indices.dtype != DType::s32 && indices.dtype != DType::s64) {
    refuse(of.node, "indices", std::string(name(indices.dtype)), "s32 or s64");
  }
  const int rank = data.dims.size() - 1 + indices.dims.size();
  if (rank > kMaxDims) {
    refuse(of.node, "rank of dst", std::to_string(rank), "at most " + std::to_string(kMaxDims));
  }
  Dims out;
  for (int d = 0; d < data.dims.size(); ++d) {
    if (d != axis) out.push_back(data.dims[d]);
    for (int k = 0; d == axis && k < indices.dims.size(); ++k) out.push_back(indices.dims[k]);
  }
  return {{out, data.dtype}};
}

Specs infer_barrier(const Operands& of) {
  const BarrierAttributes& a = of.node.as<BarrierAttributes>();
  if (static_cast<int>(a.dims.size()) < std::max(of.dsts, 1)) {
    refuse(of.node, "dims of '" + escaped(a.operation) + "'",
           "known for " + std::to_string(a.dims.size()) + " destinations", std::to_string(std::max(of.dsts, 1)));
  }
  Specs out;
  for (const Dims& dims : a.dims) {
    if (std::any_of(dims.begin(), dims.end(), [](int64_t extent) { return extent < 0; })) {
      refuse(of.node, "dims of '" + escaped(a.operation) + "'", join(dims), "extents of 0 or more");
    }
    out.push_back({dims, of.has(0) ? of.src(0).dtype : DType::f32});
  }
  return out;
}

}  // namespace relayout::graph
