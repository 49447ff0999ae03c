// Searches the source part by part, and rows by their indices: see undefined_rows.h.
#include "relayout/execute/own/undefined_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/values.h"

namespace relayout::execute {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

bool UndefinedRows::concern(const graph::Graph& graph, const graph::Node& node) {
  if (node.kind != graph::Kind::softmax || !node.forward()) return false;
  const DType dtype = graph.tensor(node.dst[0]).dtype;
  return is_floating(dtype) && bits(dtype) <= 32;
}

UndefinedRows::UndefinedRows(const graph::Graph& graph, const graph::Node& node, const Layout& src, const Layout& dst)
    : dtype_(graph.tensor(node.dst[0]).dtype),
      axis_(node.as<graph::SoftmaxAttributes>().axis),
      masked_(node.as<graph::SoftmaxAttributes>().masked_rows_give_zero ? 0 : kNan),
      src_(src),
      dst_(dst) {
  if (axis_ < 0) axis_ += src.ndims();
}

template <typename F>
void UndefinedRows::each_row(F&& f) const {
  Dims at(src_.ndims(), 0);
  while (f(at)) {
    int d = src_.ndims() - 1;
    for (; d >= 0; --d) {
      if (d == axis_) continue;
      if (++at[d] < src_.dim(d)) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

float UndefinedRows::value(const void* src, const Dims& at) const {
  return read_value(dtype_, static_cast<const std::byte*>(src) + src_.offset(at) * (bits(dtype_) / 8));
}

bool UndefinedRows::may_be_in(const void* src) const {
  if (src_.empty()) return false;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool found = any_in_span(dtype_, src, src_, [](const float* values, int64_t n) {
    return !vector_lanes().all_below(values, n, kInfinity);
  });
  each_row([&](const Dims& at) { return !(found = found || value(src, at) == -kInfinity); });
  return found;
}

void UndefinedRows::run(const void* src, void* dst) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  each_row([&](Dims at) {
    bool all_least = true, any_largest = false;
    for (int64_t i = 0; i < src_.dim(axis_); ++i) {
      at[axis_] = i;
      const float x = value(src, at);
      any_largest = any_largest || !(x < kInfinity);
      all_least = all_least && x == -kInfinity;
    }
    for (int64_t i = 0; (all_least || any_largest) && i < src_.dim(axis_); ++i) {
      at[axis_] = i;
      write_value(dtype_, all_least ? masked_ : kNan,
                  static_cast<std::byte*>(dst) + dst_.offset(at) * (bits(dtype_) / 8));
    }
    return true;
  });
}

}  // namespace relayout::execute
