// The reference's backward passes against central differences of its forward ones, on small random cases in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "relayout/graph/reference/reference.h"
#include "tests/support/nodes.h"

namespace relayout::graph {
namespace {

using test::Nodes;
using test::random_values;

/// A backward node, and for each of its destinations the tensor of which it is the gradient.
struct Backward {
  Node node;
  std::vector<TensorId> of;
};

class ReferenceGradient : public testing::Test {
 protected:
  /// Prints how many gradients were checked.
  void TearDown() override {
    std::printf("%lld derivatives of %d cases\n", static_cast<long long>(derivatives_), cases_);
    RecordProperty("derivatives", static_cast<int>(derivatives_));
    EXPECT_GT(derivatives_, 0);
  }

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

  /// The loss is the sum of each destination times its gradient `diff`.
  static double loss(Nodes& nodes, const Node& forward, const std::vector<TensorId>& diff) {
    const std::vector<Values> dst = nodes.run(forward);
    double out = 0;
    for (std::size_t k = 0; k < dst.size(); ++k) {
      if (k >= diff.size() || diff[k] == kNone) continue;
      const Values& weights = nodes.values[static_cast<std::size_t>(diff[k])];
      for (std::size_t i = 0; i < dst[k].size(); ++i) out += dst[k][i] * weights[i];
    }
    return out;
  }

  void check(Nodes& nodes, const Node& forward, const std::vector<TensorId>& diff,
             const std::vector<Backward>& backward) {
    constexpr double kStep = 1e-5;
    nodes.run(forward);
    for (const Backward& b : backward) {
      const std::vector<Values> got = nodes.run(b.node, forward.src);
      for (std::size_t k = 0; k < b.of.size(); ++k) {
        if (b.node.dst[k] == kNone) continue;
        for (std::size_t i = 0; i < got[k].size(); ++i) {
          double& x = nodes.values[static_cast<std::size_t>(b.of[k])][i];
          const double at = x;
          x = at + kStep;
          const double above = loss(nodes, forward, diff);
          x = at - kStep;
          const double below = loss(nodes, forward, diff);
          x = at;
          const double want = (above - below) / (2 * kStep);
          ASSERT_NEAR(got[k][i], want, 1e-7 * (1 + std::fabs(want)))
              << name(forward.kind) << " case " << cases_ << ", " << name(b.node.pass) << " dst " << k << " element "
              << i;
          ++derivatives_;
        }
      }
    }
    ++cases_;
  }

  /// Checks a kind with one source, whose backward pass reads diff_dst alone.
  void check_linear(Kind kind, const NodeAttributes& attributes, const Dims& src, const Dims& dst) {
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), dd = nodes.random(dst, rng_);
    const Node forward = nodes.node(kind, attributes, {x}, {dst});
    check(nodes, forward, {dd}, {{nodes.node(kind, attributes, {dd}, {src}, Pass::backward_data), {x}}});
  }

  std::mt19937 rng_{7};
  int64_t derivatives_ = 0;
  int cases_ = 0;
};

TEST_F(ReferenceGradient, ConvolutionAndDeconvolution) {
  for (int i = 0; i < 90; ++i) {
    const int spatial = 1 + i % 3;
    const int64_t groups = pick(1, 3), in = groups * pick(1, 2), out = groups * pick(1, 3), batch = pick(1, 2);
    ConvolutionAttributes a{.groups = groups};
    Dims small{batch, out}, large{batch, in}, kernel;
    for (int d = 0; d < spatial; ++d) {
      const int64_t k = pick(1, 3), stride = pick(1, 3), dilation = pick(1, 2), begin = pick(0, 1), end = pick(0, 1);
      const int64_t reach = (k - 1) * dilation + 1, points = pick(1, 3);
      // The stride leaves `rest` elements over. For a deconvolution they are the output padding.
      const int64_t rest = pick(0, stride - 1), size = (points - 1) * stride + reach + rest - begin - end;
      if (size < 1) {
        a.pads_begin.push_back(0);
        a.pads_end.push_back(0);
      } else {
        a.pads_begin.push_back(begin);
        a.pads_end.push_back(end);
      }
      a.strides.push_back(stride);
      a.dilations.push_back(dilation);
      a.output_padding.push_back(rest);
      small.push_back(points);
      large.push_back(size < 1 ? size + begin + end : size);
      kernel.push_back(k);
    }
    const auto weights_dims = [&](int64_t o, int64_t c) {
      Dims dims = groups > 1 ? Dims{groups, o / groups, c / groups} : Dims{o, c};
      for (int64_t k : kernel) dims.push_back(k);
      return dims;
    };
    for (const Kind kind : {Kind::convolution, Kind::deconvolution}) {
      const bool convolution = kind == Kind::convolution;
      const Dims &src = convolution ? large : small, &dst = convolution ? small : large;
      const Dims weights = weights_dims(dst[1], src[1]), bias{dst[1]};
      Nodes nodes;
      const TensorId x = nodes.random(src, rng_), w = nodes.random(weights, rng_), b = nodes.random(bias, rng_),
                     dd = nodes.random(dst, rng_);
      const Node forward = nodes.node(kind, a, {x, w, b}, {dst});
      check(nodes, forward, {dd},
            {{nodes.node(kind, a, {dd, w}, {src}, Pass::backward_data), {x}},
             {nodes.node(kind, a, {x, dd}, {weights, bias}, Pass::backward_weights), {w, b}}});
    }
  }
}

TEST_F(ReferenceGradient, InnerProduct) {
  for (int i = 0; i < 20; ++i) {
    Dims src{pick(1, 3), pick(1, 5)};
    if (i % 2 == 0) {
      src.push_back(pick(1, 3));
      src.push_back(pick(1, 3));
    }
    Dims weights = src;
    weights[0] = pick(1, 5);
    const Dims dst{src[0], weights[0]}, bias{weights[0]};
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), w = nodes.random(weights, rng_), b = nodes.random(bias, rng_),
                   dd = nodes.random(dst, rng_);
    const InnerProductAttributes a;
    const Node forward = nodes.node(Kind::inner_product, a, {x, w, b}, {dst});
    check(nodes, forward, {dd},
          {{nodes.node(Kind::inner_product, a, {dd, w}, {src}, Pass::backward_data), {x}},
           {nodes.node(Kind::inner_product, a, {x, dd}, {weights, bias}, Pass::backward_weights), {w, b}}});
  }
}

TEST_F(ReferenceGradient, Pooling) {
  for (int i = 0; i < 90; ++i) {
    const int spatial = 1 + i % 3;
    PoolingAttributes a{.algorithm = static_cast<PoolingAlgorithm>(i / 3 % 3)};
    Dims src{pick(1, 2), pick(1, 3)}, dst = src;
    for (int d = 0; d < spatial; ++d) {
      const int64_t k = pick(2, 3), stride = pick(1, 2), dilation = pick(1, 2), pad = pick(0, 1), points = pick(1, 3);
      a.kernel.push_back(k);
      a.strides.push_back(stride);
      a.dilations.push_back(dilation);
      a.pads_begin.push_back(pad);
      a.pads_end.push_back(0);
      src.push_back((points - 1) * stride + (k - 1) * dilation + 1 - pad);
      dst.push_back(points);
    }
    if (i % 10 == 9) {  // global
      a = PoolingAttributes{.algorithm = a.algorithm};
      for (int d = 2; d < dst.size(); ++d) dst[d] = 1;
    }
    check_linear(Kind::pooling, a, src, dst);
  }
}

TEST_F(ReferenceGradient, Resampling) {
  for (int c = 0; c < 4; ++c) {
    for (int i = 0; i < 24; ++i) {
      const int spatial = 1 + i % 3;
      ResamplingAttributes a{.algorithm = i < 12 ? ResamplingAlgorithm::linear : ResamplingAlgorithm::nearest,
                             .coordinates = static_cast<ResamplingCoordinates>(c),
                             .rounding = static_cast<ResamplingRounding>(i % 4)};
      Dims src{pick(1, 2), pick(1, 3)}, dst = src;
      for (int d = 0; d < spatial; ++d) {
        src.push_back(pick(1, 4));
        dst.push_back(pick(1, 5));
        a.sizes.push_back(dst.back());
      }
      check_linear(Kind::resampling, a, src, dst);
    }
  }
}

TEST_F(ReferenceGradient, Shuffle) {
  for (int i = 0; i < 12; ++i) {
    const int64_t groups = pick(1, 4);
    Dims dims{pick(1, 2), pick(1, 3), pick(1, 3), pick(1, 3)};
    const int axis = i % 4;
    dims[axis] = groups * pick(1, 3);
    check_linear(Kind::shuffle, ShuffleAttributes{axis, groups}, dims, dims);
  }
}

TEST_F(ReferenceGradient, Normalizations) {
  for (int i = 0; i < 40; ++i) {
    const bool batch = i % 2 == 0;
    const Kind kind = batch ? Kind::batch_normalization : Kind::layer_normalization;
    const Dims src = i % 4 < 2 ? Dims{2, pick(1, 5), pick(2, 3)} : Dims{pick(2, 3), pick(1, 3), pick(2, 3), pick(2, 3)};
    const NormalizationAttributes a{.epsilon = 1e-3, .axis = batch ? -1 : static_cast<int>(pick(1, src.size() - 1))};
    Dims groups{src[1]}, parameters{src[1]};
    if (!batch) {
      groups = Dims(std::span(src.begin(), static_cast<std::size_t>(a.axis)));
      parameters = Dims{1};
      for (int d = a.axis; d < src.size(); ++d) parameters[0] *= src[d];
    }
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), dd = nodes.random(src, rng_);
    const TensorId scale = i % 3 == 0 ? kNone : nodes.random(parameters, rng_);
    const TensorId shift = i % 3 == 1 ? kNone : nodes.random(parameters, rng_);
    const Node forward = nodes.node(kind, a, {x, scale, shift}, {src, groups, groups});
    Node backward = nodes.node(kind, a, {x, scale, forward.dst[1], forward.dst[2], dd}, {src, parameters, parameters},
                               Pass::backward);
    if (scale == kNone) backward.dst[1] = kNone;
    if (shift == kNone) backward.dst[2] = kNone;
    check(nodes, forward, {dd}, {{backward, {x, scale, shift}}});
  }
}

TEST_F(ReferenceGradient, Lrn) {
  for (int i = 0; i < 24; ++i) {
    Dims src{pick(1, 2), pick(1, 6), pick(1, 4), pick(1, 4)};
    if (i % 4 == 3) src.pop_back();
    const LrnAttributes a{.within_channel = i % 2 == 0, .size = pick(1, 5), .alpha = 0.7, .beta = 0.75, .k = 1.5};
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), dd = nodes.random(src, rng_);
    const Node forward = nodes.node(Kind::lrn, a, {x}, {src});
    check(nodes, forward, {dd}, {{nodes.node(Kind::lrn, a, {x, dd}, {src}, Pass::backward_data), {x}}});
  }
}

TEST_F(ReferenceGradient, EveryEltwise) {
  using A = EltwiseAlgorithm;
  int algorithms = 0;
  for (int i = 0; i < kEltwiseCount; ++i) {
    EltwiseAttributes a{static_cast<A>(i), 0.3, 0};
    if (a.algorithm == A::round || (a.algorithm >= A::sign && a.algorithm <= A::atanh)) continue;  // forward only
    const bool positive =
        a.algorithm == A::sqrt || a.algorithm == A::sqrt_dst || a.algorithm == A::log || a.algorithm == A::pow;
    if (a.algorithm == A::pow) a.beta = 1.7;
    if (a.algorithm == A::linear || a.algorithm == A::hardsigmoid) a.beta = 0.4;
    if (a.algorithm == A::clip || a.algorithm == A::clip_v2 || a.algorithm == A::clip_v2_dst) a.alpha = -2, a.beta = 1;
    if (a.algorithm == A::bounded_relu) a.alpha = 2;
    Nodes nodes;
    const Dims dims{2, 3, 5, 7};
    const TensorId x = nodes.random(dims, rng_, positive ? 0.1 : -5, 5), dd = nodes.random(dims, rng_);
    const Node forward = nodes.node(Kind::eltwise, a, {x}, {dims});
    const TensorId saved = a.algorithm >= A::relu_dst ? forward.dst[0] : x;
    check(nodes, forward, {dd}, {{nodes.node(Kind::eltwise, a, {saved, dd}, {dims}, Pass::backward_data), {x}}});
    ++algorithms;
  }
  EXPECT_EQ(algorithms, 30);
}

TEST_F(ReferenceGradient, Prelu) {
  for (int i = 0; i < 16; ++i) {
    const Dims src{pick(1, 2), pick(1, 4), pick(1, 3), pick(1, 3)};
    Dims weights = src;
    for (int d = 0; d < 4; ++d) {
      if (i >> d & 1) weights[d] = 1;
    }
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), w = nodes.random(weights, rng_), dd = nodes.random(src, rng_);
    const Node forward = nodes.node(Kind::prelu, PreluAttributes{}, {x, w}, {src});
    check(nodes, forward, {dd},
          {{nodes.node(Kind::prelu, PreluAttributes{}, {x, w, dd}, {src, weights}, Pass::backward), {x, w}}});
  }
}

TEST_F(ReferenceGradient, Softmax) {
  for (int i = 0; i < 16; ++i) {
    const Dims src{pick(1, 3), pick(1, 5), pick(1, 3), pick(1, 3)};
    const SoftmaxAttributes a{i % 4, i % 8 >= 4};
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), dd = nodes.random(src, rng_);
    const Node forward = nodes.node(Kind::softmax, a, {x}, {src});
    check(nodes, forward, {dd},
          {{nodes.node(Kind::softmax, a, {forward.dst[0], dd}, {src}, Pass::backward_data), {x}}});
  }
}

TEST_F(ReferenceGradient, EveryRnnCellAndDirection) {
  for (int i = 0; i < 7 * 4 * 4; ++i) {
    const bool projected = i >= 6 * 4 * 4;  // after all cells without a projection
    const RnnAttributes a{projected ? RnnCell::lstm : static_cast<RnnCell>(i % 6),
                          static_cast<RnnDirection>(projected ? i % 4 : i / 6 % 4)};
    const bool lstm = a.cell == RnnCell::lstm, all = projected ? i % 3 != 0 : i / 24 != 3;
    const int64_t d = a.direction >= RnnDirection::bidirectional_concat ? 2 : 1,
                  layers = 1 + (projected ? i / 4 : i / 24) % 2;
    const int64_t gates = lstm ? 4 : a.cell >= RnnCell::gru ? 3 : 1, n = pick(1, 2), o = pick(1, 3), time = pick(1, 3);
    const int64_t given = projected ? pick(1, 4) : o;  // channels of the results
    const Dims src{time, n, layers > 1 ? given : pick(1, 3)}, state{layers, d, n, given}, cell_state{layers, d, n, o};
    const Dims dst{time, n, a.direction == RnnDirection::bidirectional_concat ? 2 * given : given};
    const Dims weights_layer{layers, d, src[2], gates, o}, weights_iter{layers, d, given, gates, o};
    const Dims projection{layers, d, o, given};
    const Dims bias{layers, d, a.cell == RnnCell::lbr_gru ? 4 : gates, o};
    Nodes nodes;
    const TensorId x = nodes.random(src, rng_), h = all ? nodes.random(state, rng_) : kNone,
                   c = all && lstm ? nodes.random(cell_state, rng_) : kNone, w = nodes.random(weights_layer, rng_),
                   u = nodes.random(weights_iter, rng_), b = all ? nodes.random(bias, rng_) : kNone,
                   p = projected ? nodes.random(projection, rng_) : kNone;
    const TensorId dd = nodes.random(dst, rng_), dh = all ? nodes.random(state, rng_) : kNone,
                   dc = all && lstm ? nodes.random(cell_state, rng_) : kNone;
    const Node forward = nodes.node(Kind::rnn, a, {x, h, c, w, u, b, p}, {dst, state, cell_state});
    Node backward = nodes.node(Kind::rnn, a, forward.src,
                               {src, state, cell_state, weights_layer, weights_iter, bias, projection}, Pass::backward);
    for (TensorId t : {forward.dst[0], forward.dst[1], forward.dst[2], dd, dh, dc}) backward.src.push_back(t);
    for (std::size_t k = 0; k < 7; ++k) {
      if (forward.src[k] == kNone) backward.dst[k] = kNone;
    }
    check(nodes, forward, {dd, dh, dc}, {{backward, forward.src}});
  }
}

}  // namespace
}  // namespace relayout::graph
