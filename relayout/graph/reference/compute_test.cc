// The reference: convolution, deconvolution, matmul, inner product and rnn, forward, by hand and by definition.
#include <gtest/gtest.h>

#include <cmath>

#include "relayout/graph/reference/reference.h"
#include "tests/support/nodes.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::counting_values;
using test::expect_near;
using test::Nodes;
using test::run;

TEST(Reference, Convolution) {
  // 3 x 3 counted row by row, a kernel of 2 x 2 with a bias: 1 + 2*2 + 3*4 + 4*5 + 10.
  const std::pair<Dims, Values> x{{1, 1, 3, 3}, counting_values(9)}, w{{1, 1, 2, 2}, {1, 2, 3, 4}}, b{{1}, {10}};
  expect_near(run(Kind::convolution, ConvolutionAttributes{}, {x, w, b}, {1, 1, 2, 2}), {47, 57, 77, 87});
  // A stride of 2 and a pad of 1 before: the windows begin at -1 and 1.
  expect_near(
      run(Kind::convolution, ConvolutionAttributes{.strides = {2, 2}, .pads_begin = {1, 1}}, {x, w}, {1, 1, 2, 2}),
      {1 * 4, 2 * 3 + 3 * 4, 4 * 2 + 7 * 4, 5 * 1 + 6 * 2 + 8 * 3 + 9 * 4});
}

TEST(Reference, PaddingTimesInfinityIsNaN) {
  // A kernel of 3 whose last weight is infinity, for the second of two channels: its last window ends in padding.
  const double infinity = std::numeric_limits<double>::infinity();
  const std::pair<Dims, Values> x{{1, 1, 3}, {1, 2, 3}}, w{{2, 1, 3}, {1, 1, 1, 1, 1, infinity}};
  const Values y = run(Kind::convolution, ConvolutionAttributes{.pads_begin = {1}, .pads_end = {1}}, {x, w}, {1, 2, 3});
  EXPECT_EQ(Values(y.begin(), y.end() - 1), (Values{3, 6, 5, infinity, infinity}));
  EXPECT_TRUE(std::isnan(y.back()));
}

TEST(Reference, ConvolutionGroupsAndDilation) {
  // Two groups of one channel, kernel 2 with a dilation of 2: y = x0 + 10 * x2.
  const std::pair<Dims, Values> x{{1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}, w{{2, 1, 1, 2}, {1, 10, 2, 20}};
  expect_near(run(Kind::convolution, ConvolutionAttributes{.dilations = {2}, .groups = 2}, {x, w}, {1, 2, 2}),
              {31, 42, 150, 172});
}

TEST(Reference, Deconvolution) {
  // Each source element writes the kernel, a stride of 2 apart; the overlap adds up.
  const std::pair<Dims, Values> x{{1, 1, 2}, {1, 2}}, w{{1, 1, 3}, {1, 10, 100}}, b{{1}, {1000}};
  expect_near(
      run(Kind::deconvolution, ConvolutionAttributes{.strides = {2}, .output_padding = {1}}, {x, w, b}, {1, 1, 6}),
      {1001, 1010, 1102, 1020, 1200, 1000});
  // Weights are O I: two channels out of one.
  const std::pair<Dims, Values> two{{2, 1, 1}, {3, 5}};
  expect_near(run(Kind::deconvolution, ConvolutionAttributes{}, {x, two}, {1, 2, 2}), {3, 6, 5, 10});
}

TEST(Reference, MatmulAndInnerProduct) {
  const std::pair<Dims, Values> a{{2, 1, 2}, {1, 2, 3, 4}}, b{{1, 2, 3}, counting_values(6)}, bias{{3}, {10, 20, 30}};
  expect_near(run(Kind::matmul, MatmulAttributes{}, {a, b}, {2, 1, 3}), {9, 12, 15, 19, 26, 33});
  expect_near(run(Kind::matmul, MatmulAttributes{}, {a, b, bias}, {2, 1, 3}), {19, 32, 45, 29, 46, 63});
  const std::pair<Dims, Values> x{{1, 2, 1, 1}, {1, 2}}, w{{3, 2, 1, 1}, counting_values(6)};
  expect_near(run(Kind::inner_product, InnerProductAttributes{}, {x, w, bias}, {1, 3}), {15, 31, 47});
}

/// Convolution by its definition: each element of the destination is one sum over channels and kernel.
Values convolution_by_definition(const ConvolutionAttributes& a, const Dims& src, const Dims& weights, const Dims& dst,
                                 const Values& x, const Values& w) {
  const int spatial = src.size() - 2, first = weights.size() - spatial;
  const int64_t o_per_group = dst[1] / a.groups, i_per_group = src[1] / a.groups;
  Dims kernel{i_per_group};
  for (int d = 0; d < spatial; ++d) kernel.push_back(weights[first + d]);
  const Layout x_at = Layout::contiguous(src), dst_at = Layout::contiguous(dst);
  Values out(static_cast<std::size_t>(dst_at.elements()), 0);
  test::each_index(dst, [&](const Dims& p) {
    int64_t tap = p[1] * checked_product(kernel).value();
    test::each_index(kernel, [&](const Dims& k) {
      Dims from{p[0], p[1] / o_per_group * i_per_group + k[0]};
      bool inside = true;
      for (int d = 0; d < spatial; ++d) {
        from.push_back(p[2 + d] * a.strides[d] - a.pads_begin[d] + k[1 + d] * a.dilations[d]);
        inside = inside && from[2 + d] >= 0 && from[2 + d] < src[2 + d];
      }
      const double weight = w[static_cast<std::size_t>(tap++)];
      if (inside)
        out[static_cast<std::size_t>(dst_at.offset(p))] += weight * x[static_cast<std::size_t>(x_at.offset(from))];
    });
  });
  return out;
}

TEST(Reference, ConvolutionIsItsDefinition) {
  std::mt19937 rng(11);
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  for (int i = 0; i < 120; ++i) {
    ConvolutionAttributes a;
    a.groups = pick(1, 3);
    const int64_t in = pick(1, 3), out = pick(1, 3);
    Dims src{pick(1, 2), in * a.groups}, dst{src[0], out * a.groups};
    Dims weights = a.groups > 1 ? Dims{a.groups, out, in} : Dims{out, in};
    const bool point = i % 4 == 0;  // a kernel of one point
    for (int d = 0; d < 1 + i % 3; ++d) {
      const int64_t k = point ? 1 : pick(1, 3), stride = point ? 1 : pick(1, 3), dilation = pick(1, 2);
      const int64_t begin = point ? 0 : pick(0, 3), end = point ? 0 : pick(0, 3), reach = (k - 1) * dilation + 1;
      const int64_t extent = std::max<int64_t>(pick(1, 6), reach - begin - end);
      src.push_back(extent);
      weights.push_back(k);
      dst.push_back((extent + begin + end - reach) / stride + 1);
      a.strides.push_back(stride);
      a.dilations.push_back(dilation);
      a.pads_begin.push_back(begin);
      a.pads_end.push_back(end);
    }
    Nodes nodes;
    const TensorId x = nodes.random(src, rng), w = nodes.random(weights, rng);
    const Values got = nodes.run(Kind::convolution, a, {x, w}, {dst})[0];
    const auto values = [&](TensorId t) { return nodes.values[static_cast<std::size_t>(t)]; };
    expect_near(got, convolution_by_definition(a, src, weights, dst, values(x), values(w)));
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Reference, LstmGates) {
  // One step, weights 0: the gates are the biases i, f, c, o.
  Nodes nodes;
  const TensorId x = nodes.given({1, 1, 1}, {0.5}), h = nodes.given({1, 1, 1, 1}, {0.3}),
                 c = nodes.given({1, 1, 1, 1}, {0.7}), w = nodes.given({1, 1, 1, 4, 1}, {0, 0, 0, 0}),
                 b = nodes.given({1, 1, 4, 1}, {0.1, 0.2, 0.3, 0.4});
  const Dims state{1, 1, 1, 1};
  const auto out = nodes.run(Kind::rnn, RnnAttributes{RnnCell::lstm}, {x, h, c, w, w, b}, {{1, 1, 1}, state, state});
  const double cell = sigmoid(0.2) * 0.7 + sigmoid(0.1) * std::tanh(0.3), hidden = sigmoid(0.4) * std::tanh(cell);
  expect_near(out[0], {hidden});
  expect_near(out[1], {hidden});
  expect_near(out[2], {cell});
}

TEST(Reference, ProjectedLstmByHand) {
  // Two steps of a cell with one channel, projected to two: only the projection is read by the gates of the next step.
  Nodes nodes;
  const TensorId x = nodes.given({2, 1, 1}, {0.5, -0.25}), h = nodes.given({1, 1, 1, 2}, {0.3, -0.6}),
                 c = nodes.given({1, 1, 1, 1}, {0.7}), w = nodes.given({1, 1, 1, 4, 1}, {0.1, -0.2, 0.3, 0.4}),
                 u = nodes.given({1, 1, 2, 4, 1}, {0.5, 0.6, -0.7, 0.8, -0.9, 1.0, 1.1, -1.2}),
                 b = nodes.given({1, 1, 4, 1}, {0.01, 0.02, 0.03, 0.04}), p = nodes.given({1, 1, 1, 2}, {2, -0.5});
  const auto out = nodes.run(Kind::rnn, RnnAttributes{RnnCell::lstm}, {x, h, c, w, u, b, p},
                             {{2, 1, 2}, {1, 1, 1, 2}, {1, 1, 1, 1}});
  double cell = 0.7, first = 0.3, second = -0.6;
  Values results;
  for (const double in : {0.5, -0.25}) {
    const double input = sigmoid(0.1 * in + 0.5 * first - 0.9 * second + 0.01);
    const double forget = sigmoid(-0.2 * in + 0.6 * first + 1.0 * second + 0.02);
    const double candidate = std::tanh(0.3 * in - 0.7 * first + 1.1 * second + 0.03);
    const double output = sigmoid(0.4 * in + 0.8 * first - 1.2 * second + 0.04);
    cell = forget * cell + input * candidate;
    first = 2 * output * std::tanh(cell);
    second = -0.5 * output * std::tanh(cell);
    results.insert(results.end(), {first, second});
  }
  expect_near(out[0], results);
  expect_near(out[1], {first, second});
  expect_near(out[2], {cell});
}

TEST(Reference, GruGates) {
  // Gates u, r, o; recurrent weights 0, 0, 2 tell the two cells apart.
  const std::pair<Dims, Values> x{{1, 1, 1}, {0.5}}, h{{1, 1, 1, 1}, {0.3}}, w{{1, 1, 1, 3, 1}, {1, -1, 0.5}},
      r{{1, 1, 1, 3, 1}, {0, 0, 2}}, b{{1, 1, 3, 1}, {0.1, 0.2, 0.3}}, lbr{{1, 1, 4, 1}, {0.1, 0.2, 0.3, 0.4}};
  const double update = sigmoid(0.5 + 0.1), reset = sigmoid(-0.5 + 0.2);
  const auto hidden = [&](double candidate) { return update * 0.3 + (1 - update) * std::tanh(candidate); };
  Nodes nodes;
  const auto cell = [&](RnnCell kind, const std::pair<Dims, Values>& bias) {
    std::vector<TensorId> src;
    for (const auto& [dims, values] : {x, h}) src.push_back(nodes.given(dims, values));
    src.push_back(kNone);
    for (const auto& [dims, values] : {w, r, bias}) src.push_back(nodes.given(dims, values));
    return nodes.run(Kind::rnn, RnnAttributes{kind}, src, {{1, 1, 1}})[0];
  };
  expect_near(cell(RnnCell::gru, b), {hidden(0.25 + 2 * reset * 0.3 + 0.3)});
  expect_near(cell(RnnCell::lbr_gru, lbr), {hidden(0.25 + 0.3 + reset * (2 * 0.3 + 0.4))});
}

TEST(Reference, RnnDirectionsAndLayers) {
  // h(t) = relu(x(t) + h(t - 1)): running sums, from either end.
  const auto net = [](RnnDirection direction, int64_t layers, const Dims& dst) {
    const int64_t d = direction >= RnnDirection::bidirectional_concat ? 2 : 1;
    const Dims weights{layers, d, 1, 1, 1};
    Nodes nodes;
    const TensorId x = nodes.given({3, 1, 1}, {1, 2, 4});
    const TensorId w = nodes.given(weights, Values(static_cast<std::size_t>(layers * d), 1));
    return nodes.run(Kind::rnn, RnnAttributes{RnnCell::vanilla_relu, direction}, {x, kNone, kNone, w, w},
                     {dst, {layers, d, 1, 1}});
  };
  expect_near(net(RnnDirection::left_to_right, 1, {3, 1, 1})[0], {1, 3, 7});
  expect_near(net(RnnDirection::right_to_left, 1, {3, 1, 1})[0], {7, 6, 4});
  expect_near(net(RnnDirection::right_to_left, 1, {3, 1, 1})[1], {7});
  expect_near(net(RnnDirection::bidirectional_concat, 1, {3, 1, 2})[0], {1, 7, 3, 6, 7, 4});
  expect_near(net(RnnDirection::bidirectional_sum, 1, {3, 1, 1})[0], {8, 9, 11});
  // Each direction is a stack of its own: sums of sums.
  expect_near(net(RnnDirection::bidirectional_concat, 2, {3, 1, 2})[0], {1, 17, 4, 10, 11, 4});
  expect_near(net(RnnDirection::bidirectional_concat, 2, {3, 1, 2})[1], {7, 7, 11, 17});
}

}  // namespace
}  // namespace relayout::graph
