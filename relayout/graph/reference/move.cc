// The reference of kinds that move data and compute nothing: reorder, reshape, transpose, slice, broadcast, pad.
#include <algorithm>
#include <limits>

#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {

void reorder(const Evaluation& e) {
  const auto& a = e.node.as<ReorderAttributes>();
  const DType from = e.graph.tensor(e.node.src[0]).dtype, to = e.graph.tensor(e.node.dst[0]).dtype;
  // If f32 holds all values of the source type, a 32-bit integer type saturates at the largest f32 that it holds
  // (docs/conversions.md).
  const bool by_f32 = is_floating(from) ? from != DType::f64 : bits(from) <= 16;
  const bool bounded = by_f32 && is_integer(to) && bits(to) == 32;
  const double high = to == DType::s32 ? 2147483520.0 : 4294967040.0;
  for (int64_t i = 0; i < count(e.dst_dims(0)); ++i) {
    const double scaled = e.in(0)[i] * a.scale;
    const double value = a.shift == 0 ? scaled : scaled + a.shift;  // -0 + 0 is 0
    e.out(0)[i] = bounded && value > high ? high : value;
  }
}

void reshape(const Evaluation& e) { e.dst[0] = *e.src[0]; }

void transpose(const Evaluation& e) {
  const std::vector<int>& order = e.node.as<TransposeAttributes>().order;
  const Dims strides = strides_of(e.src_dims(0));
  Dims from;
  for (int d : order) from.push_back(strides[d]);
  walk(e.dst_dims(0), from, Dims(from.size(), 0), [&](int64_t i, int64_t at, int64_t) { e.out(0)[i] = e.in(0)[at]; });
}

void slice(const Evaluation& e) {
  const auto& a = e.node.as<SliceAttributes>();
  Dims strides = strides_of(e.src_dims(0));
  int64_t start = 0;
  for (int d = 0; d < strides.size(); ++d) {
    start += entry(a.starts, d, 0) * strides[d];
    strides[d] *= entry(a.steps, d, 1);
  }
  walk(e.dst_dims(0), strides, Dims(strides.size(), 0),
       [&](int64_t i, int64_t at, int64_t) { e.out(0)[i] = e.in(0)[start + at]; });
}

void broadcast(const Evaluation& e) {
  const Dims& dims = e.dst_dims(0);
  walk(dims, broadcast_strides(e.src_dims(0), dims), Dims(dims.size(), 0),
       [&](int64_t i, int64_t at, int64_t) { e.out(0)[i] = e.in(0)[at]; });
}

namespace {

/// The index in the source from which index i of a padded dim takes its value; -1 if it takes the constant.
int64_t padded_from(PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == PadMode::constant || extent == 0) return -1;
  if (mode == PadMode::edge || extent == 1) return std::clamp<int64_t>(i, 0, extent - 1);
  // Mirrored at the first and the last element, the indices repeat after one walk to the end and back.
  const int64_t period = 2 * (extent - 1);
  const int64_t place = (i % period + period) % period;
  return place < extent ? place : period - place;
}

}  // namespace

void pad(const Evaluation& e) {
  const auto& a = e.node.as<PadAttributes>();
  const Dims &src = e.src_dims(0), &dst = e.dst_dims(0);
  const Dims from = strides_of(src), to = strides_of(dst);
  for (int64_t i = 0; i < count(dst); ++i) {
    int64_t at = 0;
    for (int d = 0; d < dst.size() && at >= 0; ++d) {
      const int64_t index = padded_from(a.mode, i / to[d] % dst[d] - entry(a.begin, d, 0), src[d]);
      at = index < 0 ? -1 : at + index * from[d];
    }
    e.out(0)[i] = at < 0 ? a.value : e.in(0)[at];
  }
}

}  // namespace relayout::graph::reference
