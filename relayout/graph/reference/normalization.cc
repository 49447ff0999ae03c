// The reference of batch and layer normalization and of LRN.
//
// Batch and layer normalization share their code. Elements fall into groups: a channel over batch and space, or the
// last dims of one sample. Each group has a mean and a biased variance. Scale and shift belong to a channel, or to a
// place in the group.
#include <algorithm>
#include <cmath>

#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// Which group element i belongs to, and which scale and shift apply to it.
struct NormalizationGroups {
  int64_t elements, groups, parameters;
  int64_t group_step, parameter_step;

  int64_t group(int64_t i) const { return i / group_step % groups; }
  int64_t parameter(int64_t i) const { return i / parameter_step % parameters; }
  double size() const { return static_cast<double>(elements / groups); }
};

NormalizationGroups by_channel(const Dims& dims) {
  const auto [batch, channels, plane] = lanes(dims, 1);
  return {batch * channels * plane, channels, channels, plane, plane};
}

NormalizationGroups by_sample(const Dims& dims, int axis) {
  const int first = axis < 0 ? axis + dims.size() : axis;
  const auto [samples, size, inner] = lanes(dims, first, dims.size());
  return {samples * size, samples, size, size, inner};
}

struct Statistics {
  Values mean, variance;
};

Statistics statistics(const NormalizationGroups& g, const double* src) {
  Statistics out{Values(static_cast<std::size_t>(g.groups), 0), Values(static_cast<std::size_t>(g.groups), 0)};
  const auto at = [](Values& values, int64_t i) -> double& { return values[static_cast<std::size_t>(i)]; };
  // Divided last, so that the mean of equal numbers is that number: differences that are 0 give NaN with an infinite
  // scale.
  for (int64_t i = 0; i < g.elements; ++i) at(out.mean, g.group(i)) += src[i];
  for (double& mean : out.mean) mean /= g.size();
  for (int64_t i = 0; i < g.elements; ++i) {
    const double difference = src[i] - at(out.mean, g.group(i));
    at(out.variance, g.group(i)) += difference * difference;
  }
  for (double& variance : out.variance) variance /= g.size();
  return out;
}

double inverse_deviation(const double* variance, int64_t group, double epsilon) {
  return 1 / std::sqrt(variance[group] + epsilon);
}

void normalize(const Evaluation& e, const NormalizationGroups& g, const double* mean, const double* variance) {
  const double epsilon = e.node.as<NormalizationAttributes>().epsilon;
  const double *scale = e.in(1), *shift = e.in(2);
  for (int64_t i = 0; i < g.elements; ++i) {
    const int64_t group = g.group(i), parameter = g.parameter(i);
    const double normal = (e.in(0)[i] - mean[group]) * inverse_deviation(variance, group, epsilon);
    e.out(0)[i] = normal * (scale ? scale[parameter] : 1) + (shift ? shift[parameter] : 0);
  }
}

void normalize_with_own_statistics(const Evaluation& e, const NormalizationGroups& g) {
  const Statistics s = statistics(g, e.in(0));
  normalize(e, g, s.mean.data(), s.variance.data());
  if (e.has_dst(1)) e.dst[1] = s.mean;
  if (e.has_dst(2)) e.dst[2] = s.variance;
}

/// With x the normalized value, y the gradient of the result times scale, and mean() over a group: diff_src = (y -
/// mean(y) - x mean(x y)) / deviation.
void normalize_backward(const Evaluation& e, const NormalizationGroups& g) {
  const double epsilon = e.node.as<NormalizationAttributes>().epsilon;
  const double *src = e.in(0), *scale = e.in(1), *mean = e.in(2), *variance = e.in(3), *diff_dst = e.in(4);
  const auto normal = [&](int64_t i) {
    return (src[i] - mean[g.group(i)]) * inverse_deviation(variance, g.group(i), epsilon);
  };
  const auto scaled = [&](int64_t i) { return diff_dst[i] * (scale ? scale[g.parameter(i)] : 1); };
  Values means(static_cast<std::size_t>(g.groups), 0), projections(means);
  for (int64_t i = 0; i < g.elements; ++i) {
    means[static_cast<std::size_t>(g.group(i))] += scaled(i) / g.size();
    projections[static_cast<std::size_t>(g.group(i))] += normal(i) * scaled(i) / g.size();
    if (e.has_dst(1)) e.out(1)[g.parameter(i)] += diff_dst[i] * normal(i);
    if (e.has_dst(2)) e.out(2)[g.parameter(i)] += diff_dst[i];
  }
  for (int64_t i = 0; e.has_dst(0) && i < g.elements; ++i) {
    const auto group = static_cast<std::size_t>(g.group(i));
    e.out(0)[i] =
        (scaled(i) - means[group] - normal(i) * projections[group]) * inverse_deviation(variance, g.group(i), epsilon);
  }
}

}  // namespace

void batch_normalization(const Evaluation& e) {
  const NormalizationGroups g = by_channel(e.src_dims(0));
  if (e.node.pass == Pass::forward_inference) {
    normalize(e, g, e.in(3), e.in(4));
  } else if (e.node.forward()) {
    normalize_with_own_statistics(e, g);
  } else {
    normalize_backward(e, g);
  }
}

void layer_normalization(const Evaluation& e) {
  const NormalizationGroups g = by_sample(e.src_dims(0), e.node.as<NormalizationAttributes>().axis);
  if (e.node.forward()) {
    normalize_with_own_statistics(e, g);
  } else {
    normalize_backward(e, g);
  }
}

namespace {

/// Calls f(i, j) for every element i and every j whose square counts in the sum for i.
template <typename F>
void each_neighbour(const Dims& dims, const LrnAttributes& a, F&& f) {
  const int64_t half = (a.size - 1) / 2;
  const Dims strides = strides_of(dims);
  const Dims none(dims.size(), 0);
  Dims reach = none;  // how far away a neighbour may be, in either direction
  for (int d = 1; d < dims.size(); ++d) reach[d] = a.within_channel == (d > 1) ? half : 0;
  walk(dims, none, none, [&](int64_t i, int64_t, int64_t) {
    Dims extents = none;
    int64_t first = i;
    for (int d = 0; d < dims.size(); ++d) {
      const int64_t at = i / strides[d] % dims[d];
      const int64_t low = std::max<int64_t>(at - reach[d], 0), high = std::min(at + reach[d], dims[d] - 1);
      extents[d] = high - low + 1;
      first -= (at - low) * strides[d];
    }
    walk(extents, strides, none, [&](int64_t, int64_t offset, int64_t) { f(i, first + offset); });
  });
}

}  // namespace

void lrn(const Evaluation& e) {
  const auto& a = e.node.as<LrnAttributes>();
  const Dims& dims = e.src_dims(0);
  const double* src = e.in(0);
  const double summands =
      a.within_channel ? std::pow(static_cast<double>(a.size), dims.size() - 2) : static_cast<double>(a.size);
  const double factor = a.alpha / summands;
  Values omega(e.src[0]->size(), a.k);
  each_neighbour(dims, a,
                 [&](int64_t i, int64_t j) { omega[static_cast<std::size_t>(i)] += factor * src[j] * src[j]; });
  const auto power = [&](int64_t i, double exponent) { return std::pow(omega[static_cast<std::size_t>(i)], exponent); };
  if (e.node.forward()) {
    for (int64_t i = 0; i < count(dims); ++i) e.out(0)[i] = src[i] * power(i, -a.beta);
    return;
  }
  const double* diff_dst = e.in(1);
  for (int64_t i = 0; i < count(dims); ++i) e.out(0)[i] = diff_dst[i] * power(i, -a.beta);
  Values through(omega.size());  // gradient with respect to omega(i), times 2 factor
  for (int64_t i = 0; i < count(dims); ++i) {
    through[static_cast<std::size_t>(i)] = -2 * factor * a.beta * diff_dst[i] * src[i] * power(i, -a.beta - 1);
  }
  each_neighbour(dims, a, [&](int64_t i, int64_t j) { e.out(0)[j] += src[j] * through[static_cast<std::size_t>(i)]; });
}

}  // namespace relayout::graph::reference
