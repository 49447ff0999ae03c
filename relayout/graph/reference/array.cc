// The reference of operations on row-major arrays (ArrayOperation): each as attributes.h describes it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "relayout/core/error.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

const ArrayAttributes& attributes_of(const Evaluation& e) { return e.node.as<ArrayAttributes>(); }

/// The index that element `i` of the indices means in a dim of that extent.
int64_t index_of(const Evaluation& e, int64_t i, int64_t extent) {
  const auto given = static_cast<int64_t>(e.in(1)[i]);
  if (given < -extent || given >= extent) {
    throw Error(ErrorCode::invalid_argument,
                "reference: node " + escaped(e.node.name) + ": index " + std::to_string(given) +
                    " is outside an extent of " + std::to_string(extent),
                "indices[" + std::to_string(i) + "]", std::to_string(given), std::to_string(extent));
  }
  return given < 0 ? given + extent : given;
}

void select(const Evaluation& e) {
  const Dims& dims = e.dst_dims(0);
  Values condition(static_cast<std::size_t>(count(dims)));
  const Dims none(dims.size(), 0);
  walk(dims, broadcast_strides(e.src_dims(0), dims), none,
       [&](int64_t i, int64_t at, int64_t) { condition[static_cast<std::size_t>(i)] = e.in(0)[at]; });
  walk(dims, broadcast_strides(e.src_dims(1), dims), broadcast_strides(e.src_dims(2), dims),
       [&](int64_t i, int64_t a, int64_t b) {
         e.out(0)[i] = condition[static_cast<std::size_t>(i)] != 0 ? e.in(1)[a] : e.in(2)[b];
       });
}

/// Calls f(line, at) for each line along the axis, where at(k) is the offset of its element k.
template <typename F>
void each_array_line(const Dims& dims, int axis, F&& f) {
  const auto [outer, middle, inner] = lanes(dims, axis);
  const int64_t extent = middle, step = inner;
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t first = line / step * extent * step + line % step;
    f(line, [=](int64_t k) { return first + k * step; });
  }
}

void arg(const Evaluation& e) {
  const ArrayAttributes& a = attributes_of(e);
  const bool largest = a.operation == ArrayOperation::arg_max;
  const int64_t extent = e.src_dims(0)[a.axis];
  each_array_line(e.src_dims(0), a.axis, [&](int64_t line, auto at) {
    const auto value = [&](int64_t k) { return e.in(0)[at(k)]; };
    // Whether element k takes the place of the best so far, which stands before it in the order of the search.
    const auto better = [&](int64_t k, int64_t best) {
      if (std::isnan(value(best))) return false;
      return std::isnan(value(k)) || (largest ? value(k) > value(best) : value(k) < value(best));
    };
    int64_t best = a.reverse ? extent - 1 : 0;
    for (int64_t i = 1; i < extent; ++i) {
      const int64_t k = a.reverse ? extent - 1 - i : i;
      if (better(k, best)) best = k;
    }
    e.out(0)[line] = static_cast<double>(best);
  });
}

void top_k(const Evaluation& e) {
  const ArrayAttributes& a = attributes_of(e);
  const int64_t extent = e.src_dims(0)[a.axis];
  const int64_t inner = lanes(e.src_dims(0), a.axis).inner;
  each_array_line(e.src_dims(0), a.axis, [&](int64_t line, auto at) {
    std::vector<int64_t> order(static_cast<std::size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    // Ascending, a NaN behind all numbers.
    const auto before = [&](int64_t x, int64_t y) {
      const double p = e.in(0)[at(x)], q = e.in(0)[at(y)];
      return std::isnan(q) ? !std::isnan(p) : p < q;
    };
    std::ranges::stable_sort(order, [&](int64_t x, int64_t y) { return a.reverse ? before(x, y) : before(y, x); });
    for (int64_t k = 0; k < a.count; ++k) {
      const int64_t to = line / inner * a.count * inner + k * inner + line % inner;
      e.out(0)[to] = e.in(0)[at(order[static_cast<std::size_t>(k)])];
      e.out(1)[to] = static_cast<double>(order[static_cast<std::size_t>(k)]);
    }
  });
}

/// Calls f(i, at) for each index i, counted row-major, of the indices along the axis: `at` is the offset in the data
/// that it means.
template <typename F>
void each_along_axis(const Evaluation& e, F&& f) {
  const int axis = attributes_of(e).axis;
  const Dims& data = e.src_dims(0);
  const Dims own = strides_of(e.src_dims(1));
  Dims strides = strides_of(data);
  const int64_t step = strides[axis];
  strides[axis] = 0;
  walk(e.src_dims(1), strides, own,
       [&](int64_t i, int64_t at, int64_t) { f(i, at + index_of(e, i, data[axis]) * step); });
}

/// Calls f(n, at, size) for each slice that the indices mean: the n-th, of `size` elements from offset `at` of the
/// data.
template <typename F>
void each_slice(const Evaluation& e, int64_t batch, F&& f) {
  const Dims &data = e.src_dims(0), &indices = e.src_dims(1);
  const Dims strides = strides_of(data);
  const int64_t depth = indices[indices.size() - 1];
  const int64_t picks = count(indices, 0, indices.size() - 1);
  const int64_t batches = count(data, 0, static_cast<int>(batch));
  const int64_t size = count(data, static_cast<int>(batch + depth), data.size());
  const int64_t batch_step = batch == 0 ? 0 : strides[static_cast<int>(batch) - 1];
  for (int64_t n = 0; n < picks; ++n) {
    int64_t at = n / (picks / batches) * batch_step;
    for (int64_t d = 0; d < depth; ++d) {
      const int dim = static_cast<int>(batch + d);
      at += index_of(e, n * depth + d, data[dim]) * strides[dim];
    }
    f(n, at, size);
  }
}

double combined(ScatterAlgorithm algorithm, double old, double update) {
  switch (algorithm) {
    case ScatterAlgorithm::replace: return update;
    case ScatterAlgorithm::add: return old + update;
    case ScatterAlgorithm::mul: return old * update;
    case ScatterAlgorithm::max: return std::isnan(old) || old > update ? old : update;
    case ScatterAlgorithm::min: return std::isnan(old) || old < update ? old : update;
  }
  return update;
}

void gather_elements(const Evaluation& e) {
  each_along_axis(e, [&](int64_t i, int64_t at) { e.out(0)[i] = e.in(0)[at]; });
}

void gather_nd(const Evaluation& e) {
  each_slice(e, attributes_of(e).count,
             [&](int64_t n, int64_t at, int64_t size) { std::copy_n(e.in(0) + at, size, e.out(0) + n * size); });
}

void scatter_elements(const Evaluation& e) {
  e.dst[0] = *e.src[0];
  each_along_axis(
      e, [&](int64_t i, int64_t at) { e.out(0)[at] = combined(attributes_of(e).scatter, e.out(0)[at], e.in(2)[i]); });
}

void scatter_nd(const Evaluation& e) {
  e.dst[0] = *e.src[0];
  each_slice(e, 0, [&](int64_t n, int64_t at, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      e.out(0)[at + i] = combined(attributes_of(e).scatter, e.out(0)[at + i], e.in(2)[n * size + i]);
    }
  });
}

void cumulative(const Evaluation& e) {
  const ArrayAttributes& a = attributes_of(e);
  const int64_t extent = e.src_dims(0)[a.axis];
  const bool product = a.scatter == ScatterAlgorithm::mul;
  each_array_line(e.src_dims(0), a.axis, [&](int64_t, auto at) {
    double so_far = product ? 1 : 0;
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t here = at(a.reverse ? extent - 1 - i : i);
      const double value = e.in(0)[here];
      const double with = product ? so_far * value : so_far + value;
      e.out(0)[here] = a.exclusive ? so_far : with;
      so_far = with;
    }
  });
}

void bit_cast(const Evaluation& e) {
  const DType from = e.graph.tensor(e.node.src[0]).dtype, to = attributes_of(e).dtype;
  e.dst[0] = load(store(*e.src[0], from), to, count(e.dst_dims(0)));
}

void wrap(const Evaluation& e) {
  const DType to = attributes_of(e).dtype;
  const double range = std::ldexp(1.0, bits(to));
  const double most = kind(to) == DTypeKind::signed_integer ? range / 2 : range;
  for (int64_t i = 0; i < count(e.dst_dims(0)); ++i) {
    const double rest = e.in(0)[i] - std::floor(e.in(0)[i] / range) * range;
    e.out(0)[i] = rest >= most ? rest - range : rest;
  }
}

}  // namespace

void array(const Evaluation& e) {
  switch (attributes_of(e).operation) {
    case ArrayOperation::select: return select(e);
    case ArrayOperation::arg_max:
    case ArrayOperation::arg_min: return arg(e);
    case ArrayOperation::top_k: return top_k(e);
    case ArrayOperation::gather_elements: return gather_elements(e);
    case ArrayOperation::gather_nd: return gather_nd(e);
    case ArrayOperation::scatter_elements: return scatter_elements(e);
    case ArrayOperation::scatter_nd: return scatter_nd(e);
    case ArrayOperation::cumulative: return cumulative(e);
    case ArrayOperation::bit_cast: return bit_cast(e);
    case ArrayOperation::wrap: return wrap(e);
    case ArrayOperation::grid_sample: return grid_sample(e);
  }
}

}  // namespace relayout::graph::reference
