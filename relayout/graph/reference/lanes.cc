// The reference of kinds that work along dims: softmax, shuffle, reduction, concat, gather.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>

#include "relayout/core/error.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// Calls f(offset, step, length) for each line of a tensor along dim `axis`.
template <typename F>
void each_line(const Dims& dims, int axis, F&& f) {
  const auto [outer, middle, inner] = lanes(dims, axis);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) f(o * middle * inner + i, inner, middle);
  }
}

}  // namespace

void softmax(const Evaluation& e) {
  const auto& a = e.node.as<SoftmaxAttributes>();
  each_line(e.dst_dims(0), a.axis, [&](int64_t at, int64_t step, int64_t length) {
    double* out = e.out(0) + at;
    if (e.node.forward()) {
      const double* src = e.in(0) + at;
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i = 0; i < length; ++i) max = std::max(max, src[i * step]);
      for (int64_t i = 0; i < length; ++i) sum += std::exp(src[i * step] - max);
      for (int64_t i = 0; i < length; ++i) {
        const double s = src[i * step] - max;
        out[i * step] = a.log ? s - std::log(sum) : std::exp(s) / sum;
      }
      const auto masked = [&](int64_t i) { return src[i * step] == -std::numeric_limits<double>::infinity(); };
      if (!a.masked_rows_give_zero || !std::ranges::all_of(std::views::iota(int64_t{0}, length), masked)) return;
      for (int64_t i = 0; i < length; ++i) out[i * step] = 0;
      return;
    }
    const double *dst = e.in(0) + at, *diff_dst = e.in(1) + at;
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += diff_dst[i * step] * (a.log ? 1 : dst[i * step]);
    for (int64_t i = 0; i < length; ++i) {
      const double d = dst[i * step], dd = diff_dst[i * step];
      out[i * step] = a.log ? dd - std::exp(d) * sum : d * (dd - sum);
    }
  });
}

void shuffle(const Evaluation& e) {
  const auto& a = e.node.as<ShuffleAttributes>();
  // Forward, index group * rest + r goes to r * groups + group; the backward pass is the inverse.
  each_line(e.dst_dims(0), a.axis, [&](int64_t at, int64_t step, int64_t length) {
    const int64_t rest = length / a.groups;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t shuffled = i % rest * a.groups + i / rest;
      const int64_t from = e.node.forward() ? i : shuffled, to = e.node.forward() ? shuffled : i;
      e.out(0)[at + to * step] = e.in(0)[at + from * step];
    }
  });
}

void reduction(const Evaluation& e) {
  using R = ReductionAlgorithm;
  const R algorithm = e.node.as<ReductionAttributes>().algorithm;
  const Dims &src = e.src_dims(0), &dst = e.dst_dims(0);
  Values& out = e.dst[0];
  const double infinity = std::numeric_limits<double>::infinity();
  std::fill(out.begin(), out.end(),
            algorithm == R::max   ? -infinity
            : algorithm == R::min ? infinity
            : algorithm == R::mul ? 1
                                  : 0);
  walk(src, broadcast_strides(dst, src), Dims(src.size(), 0), [&](int64_t i, int64_t at, int64_t) {
    double& d = out[static_cast<std::size_t>(at)];
    const double s = e.in(0)[i];
    switch (algorithm) {
      case R::max: d = std::isnan(d) || d > s ? d : s; break;  // a NaN stays one
      case R::min: d = std::isnan(d) || d < s ? d : s; break;
      case R::sum:
      case R::mean: d += s; break;
      case R::mul: d *= s; break;
      case R::norm_l1: d += std::fabs(s); break;
      case R::norm_l2: d += s * s; break;
    }
  });
  const double each = static_cast<double>(count(src)) / static_cast<double>(std::max<int64_t>(count(dst), 1));
  for (double& d : out) {
    if (algorithm == R::mean) d /= each;
    if (algorithm == R::norm_l2) d = std::sqrt(d);
  }
}

void concat(const Evaluation& e) {
  const int axis = e.node.as<ConcatAttributes>().axis;
  const Lanes to = lanes(e.dst_dims(0), axis);
  int64_t before = 0;
  for (std::size_t s = 0; s < e.src.size(); ++s) {
    const Lanes from = lanes(e.src_dims(s), axis);
    const int64_t run = from.middle * from.inner;
    for (int64_t o = 0; o < from.outer; ++o) {
      std::copy_n(e.in(s) + o * run, run, e.out(0) + (o * to.middle + before) * to.inner);
    }
    before += from.middle;
  }
}

void gather(const Evaluation& e) {
  const auto [outer, middle, inner] = lanes(e.src_dims(0), e.node.as<GatherAttributes>().axis);
  const int64_t picks = count(e.src_dims(1));
  for (int64_t p = 0; p < picks; ++p) {
    const double index = e.in(1)[p];
    const double extent = static_cast<double>(middle);
    if (!(index >= -extent && index < extent)) {
      throw Error(ErrorCode::invalid_argument,
                  "reference: node " + escaped(e.node.name) + ": index " + std::to_string(index) +
                      " is outside an extent of " + std::to_string(middle),
                  "indices[" + std::to_string(p) + "]", std::to_string(index), std::to_string(middle));
    }
    const auto at = static_cast<int64_t>(index < 0 ? index + extent : index);
    for (int64_t o = 0; o < outer; ++o) {
      std::copy_n(e.in(0) + (o * middle + at) * inner, inner, e.out(0) + (o * picks + p) * inner);
    }
  }
}

}  // namespace relayout::graph::reference
