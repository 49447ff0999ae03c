// The reference of convolution and deconvolution, forward and backward.
//
// All six are one relation between three tensors. A convolution takes a large image to a small one:
//
//     small[n][g][o][p] <- large[n][g][i][p * stride - pad + k * dilation] * weights[g][o][i][k]
//
// and each pass is a sum over all such triples into one of the three. A deconvolution has large and small exchanged,
// and the channels in its weights with them.
#include <algorithm>
#include <cmath>

#include "relayout/core/error.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// One spatial dim. Images of fewer than three spatial dims have leading dims of one point.
struct Spatial {
  int64_t small = 1, large = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;

  /// The points of the small image that meet the large one at kernel point k: first..last-1.
  std::pair<int64_t, int64_t> range(int64_t k) const {
    const int64_t at = k * dilation - pad;
    const int64_t first = at < 0 ? ceil_div(-at, stride) : 0;
    const int64_t last = at < large ? std::min(small, ceil_div(large - at, stride)) : 0;
    return {first, std::max(first, last)};
  }
};

struct Geometry {
  int64_t batch = 1, groups = 1;
  int64_t small_channels = 1, large_channels = 1;  // in one group
  int64_t small_weight = 1, large_weight = 1;      // strides of the channels in the weights
  Spatial d, h, w;

  int64_t small_plane() const { return d.small * h.small * w.small; }
  int64_t large_plane() const { return d.large * h.large * w.large; }
  int64_t kernel() const { return d.kernel * h.kernel * w.kernel; }
};

/// Where a row of products lies: the offsets of the first one's operands in the three tensors. Small points are
/// neighbours, large points lie w.stride apart, and all have the same weight.
struct ProductRow {
  int64_t small, large, weight, length;
};

/// Calls f for each row of products of one small channel and one large channel.
template <typename F>
void each_row_of_plane(const Geometry& g, ProductRow base, F&& f) {
  for (int64_t kd = 0; kd < g.d.kernel; ++kd) {
    const auto [d_first, d_last] = g.d.range(kd);
    for (int64_t d = d_first; d < d_last; ++d) {
      const int64_t large_d = d * g.d.stride - g.d.pad + kd * g.d.dilation;
      for (int64_t kh = 0; kh < g.h.kernel; ++kh) {
        const auto [h_first, h_last] = g.h.range(kh);
        for (int64_t h = h_first; h < h_last; ++h) {
          const int64_t large_h = h * g.h.stride - g.h.pad + kh * g.h.dilation;
          for (int64_t kw = 0; kw < g.w.kernel; ++kw) {
            const auto [w_first, w_last] = g.w.range(kw);
            if (w_first >= w_last) continue;
            const int64_t large_w = w_first * g.w.stride - g.w.pad + kw * g.w.dilation;
            f(ProductRow{base.small + (d * g.h.small + h) * g.w.small + w_first,
                         base.large + (large_d * g.h.large + large_h) * g.w.large + large_w,
                         base.weight + (kd * g.h.kernel + kh) * g.w.kernel + kw, w_last - w_first});
          }
        }
      }
    }
  }
}

template <typename F>
void each_row(const Geometry& g, F&& f) {
  const int64_t group_weights = g.small_channels * g.large_channels * g.kernel();
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      for (int64_t s = 0; s < g.small_channels; ++s) {
        for (int64_t l = 0; l < g.large_channels; ++l) {
          const int64_t small = (n * g.groups + group) * g.small_channels + s;
          const int64_t large = (n * g.groups + group) * g.large_channels + l;
          const int64_t weight = group * group_weights + s * g.small_weight + l * g.large_weight;
          each_row_of_plane(g, {small * g.small_plane(), large * g.large_plane(), weight, 0}, f);
        }
      }
    }
  }
}

/// If the kernel is one point and moves in steps of one, the spatial dims are joined to one long row.
void merge_points(Geometry& g) {
  const auto point = [](const Spatial& s) {
    return s.kernel == 1 && s.stride == 1 && s.pad == 0 && s.small == s.large;
  };
  if (!point(g.d) || !point(g.h) || !point(g.w)) return;
  g.w.small = g.w.large = g.small_plane();
  g.d = g.h = Spatial{};
}

/// `deconvolution` says that the outer channels of the weights are those of the large image, not of the small one.
Geometry geometry(const ConvolutionAttributes& a, const Dims& small, const Dims& large, const Dims& weights,
                  bool deconvolution) {
  const int spatial = small.size() - 2;
  if (spatial > 3) {
    throw Error(ErrorCode::unsupported, "reference: convolution over " + std::to_string(spatial) + " spatial dims",
                "dims", join(small, "x"), "3 spatial dims");
  }
  Geometry g;
  g.batch = small[0];
  g.groups = a.groups;
  g.small_channels = small[1] / a.groups;
  g.large_channels = large[1] / a.groups;
  Spatial* const dims[] = {&g.d, &g.h, &g.w};
  for (int i = 0; i < spatial; ++i) {
    *dims[3 - spatial + i] = {small[2 + i],
                              large[2 + i],
                              weights[weights.size() - spatial + i],
                              entry(a.strides, i, 1),
                              entry(a.dilations, i, 1),
                              entry(a.pads_begin, i, 0)};
  }
  g.small_weight = deconvolution ? g.kernel() : g.kernel() * g.large_channels;
  g.large_weight = deconvolution ? g.kernel() * g.small_channels : g.kernel();
  merge_points(g);
  return g;
}

void add_to_small(const Geometry& g, const double* large, const double* weights, double* small) {
  const int64_t step = g.w.stride;
  each_row(g, [&](const ProductRow& row) {
    double* to = small + row.small;
    const double* from = large + row.large;
    const double weight = weights[row.weight];
    if (step == 1) {
      for (int64_t i = 0; i < row.length; ++i) to[i] += weight * from[i];
    } else {
      for (int64_t i = 0; i < row.length; ++i) to[i] += weight * from[i * step];
    }
  });
}

/// The padding of the large image is zeros, and a weight of infinity or NaN times zero is NaN.
void add_padding(const Geometry& g, const double* weights, double* small) {
  const auto meets = [](const Spatial& s, int64_t k, int64_t at) {
    const auto [first, last] = s.range(k);
    return at >= first && at < last;
  };
  const int64_t kernel = g.kernel(), plane = g.small_plane();
  for (int64_t w = 0; w < g.groups * g.small_channels * g.large_channels * kernel; ++w) {
    if (std::isfinite(weights[w])) continue;
    const int64_t k = w % kernel, channel = w / (kernel * g.large_channels);
    for (int64_t i = 0; i < plane; ++i) {
      if (meets(g.d, k / (g.h.kernel * g.w.kernel), i / (g.h.small * g.w.small)) &&
          meets(g.h, k / g.w.kernel % g.h.kernel, i / g.w.small % g.h.small) &&
          meets(g.w, k % g.w.kernel, i % g.w.small)) {
        continue;
      }
      for (int64_t n = 0; n < g.batch; ++n) {
        small[(n * g.groups * g.small_channels + channel) * plane + i] += weights[w] * 0;
      }
    }
  }
}

void add_to_large(const Geometry& g, const double* small, const double* weights, double* large) {
  const int64_t step = g.w.stride;
  each_row(g, [&](const ProductRow& row) {
    double* to = large + row.large;
    const double* from = small + row.small;
    const double weight = weights[row.weight];
    if (step == 1) {
      for (int64_t i = 0; i < row.length; ++i) to[i] += weight * from[i];
    } else {
      for (int64_t i = 0; i < row.length; ++i) to[i * step] += weight * from[i];
    }
  });
}

void add_to_weights(const Geometry& g, const double* small, const double* large, double* weights) {
  each_row(g, [&](const ProductRow& row) {
    double sum = 0;
    for (int64_t i = 0; i < row.length; ++i) sum += small[row.small + i] * large[row.large + i * g.w.stride];
    weights[row.weight] += sum;
  });
}

/// dst[n][c][...] += bias[c].
void add_bias(const Dims& dims, const double* bias, double* dst) {
  const auto [batch, channels, plane] = lanes(dims, 1);
  for (int64_t i = 0; i < batch * channels * plane; ++i) dst[i] += bias[i / plane % channels];
}

void add_to_bias(const Dims& dims, const double* diff_dst, double* diff_bias) {
  const auto [batch, channels, plane] = lanes(dims, 1);
  for (int64_t i = 0; i < batch * channels * plane; ++i) diff_bias[i / plane % channels] += diff_dst[i];
}

}  // namespace

void convolution(const Evaluation& e) {
  const auto& a = e.node.as<ConvolutionAttributes>();
  if (e.node.forward()) {
    const Geometry g = geometry(a, e.dst_dims(0), e.src_dims(0), e.src_dims(1), false);
    std::vector<double> src;  // less what stands for zero
    if (a.src_zero_point != 0) {
      const auto from_zero = [&](double value) { return value - static_cast<double>(a.src_zero_point); };
      std::transform(e.in(0), e.in(0) + count(e.src_dims(0)), std::back_inserter(src), from_zero);
    }
    add_to_small(g, src.empty() ? e.in(0) : src.data(), e.in(1), e.out(0));
    add_padding(g, e.in(1), e.out(0));
    if (e.has_src(2)) add_bias(e.dst_dims(0), e.in(2), e.out(0));
  } else if (e.node.pass == Pass::backward_data) {
    add_to_large(geometry(a, e.src_dims(0), e.dst_dims(0), e.src_dims(1), false), e.in(0), e.in(1), e.out(0));
  } else {
    add_to_weights(geometry(a, e.src_dims(1), e.src_dims(0), e.dst_dims(0), false), e.in(1), e.in(0), e.out(0));
    if (e.has_dst(1)) add_to_bias(e.src_dims(1), e.in(1), e.out(1));
  }
}

void deconvolution(const Evaluation& e) {
  const auto& a = e.node.as<ConvolutionAttributes>();
  if (e.node.forward()) {
    add_to_large(geometry(a, e.src_dims(0), e.dst_dims(0), e.src_dims(1), true), e.in(0), e.in(1), e.out(0));
    if (e.has_src(2)) add_bias(e.dst_dims(0), e.in(2), e.out(0));
  } else if (e.node.pass == Pass::backward_data) {
    add_to_small(geometry(a, e.dst_dims(0), e.src_dims(0), e.src_dims(1), true), e.in(0), e.in(1), e.out(0));
  } else {
    add_to_weights(geometry(a, e.src_dims(0), e.src_dims(1), e.dst_dims(0), true), e.in(0), e.in(1), e.out(0));
    if (e.has_dst(1)) add_to_bias(e.src_dims(1), e.in(1), e.out(1));
  }
}

}  // namespace relayout::graph::reference
