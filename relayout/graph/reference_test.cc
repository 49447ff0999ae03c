// The reference: values worked out by hand, forward, for every kind.
#include "relayout/graph/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/nodes.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::code_of;
using test::Nodes;

void expect_near(const Values& got, const Values& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

/// 1, 2, 3 ...
Values counting(int64_t count) {
  Values out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

/// One node with one destination over f64 sources of given dims and values.
Values run(Kind kind, NodeAttributes attributes, const std::vector<std::pair<Dims, Values>>& src, const Dims& dst,
           Pass pass = Pass::forward_training, DType dtype = DType::f64) {
  Nodes nodes;
  std::vector<TensorId> ids;
  for (const auto& [dims, values] : src) ids.push_back(nodes.given(dims, values));
  return nodes.run(kind, std::move(attributes), ids, {dst}, pass, dtype)[0];
}

TEST(Reference, Convolution) {
  // 3 x 3 counted row by row, a kernel of 2 x 2 with a bias: 1 + 2*2 + 3*4 + 4*5 + 10.
  const std::pair<Dims, Values> x{{1, 1, 3, 3}, counting(9)}, w{{1, 1, 2, 2}, {1, 2, 3, 4}}, b{{1}, {10}};
  expect_near(run(Kind::convolution, ConvolutionAttributes{}, {x, w, b}, {1, 1, 2, 2}), {47, 57, 77, 87});
  // A stride of 2 and a pad of 1 before: the windows begin at -1 and 1.
  expect_near(
      run(Kind::convolution, ConvolutionAttributes{.strides = {2, 2}, .pads_begin = {1, 1}}, {x, w}, {1, 1, 2, 2}),
      {1 * 4, 2 * 3 + 3 * 4, 4 * 2 + 7 * 4, 5 * 1 + 6 * 2 + 8 * 3 + 9 * 4});
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
  const std::pair<Dims, Values> a{{2, 1, 2}, {1, 2, 3, 4}}, b{{1, 2, 3}, counting(6)}, bias{{3}, {10, 20, 30}};
  expect_near(run(Kind::matmul, MatmulAttributes{}, {a, b}, {2, 1, 3}), {9, 12, 15, 19, 26, 33});
  expect_near(run(Kind::matmul, MatmulAttributes{}, {a, b, bias}, {2, 1, 3}), {19, 32, 45, 29, 46, 63});
  const std::pair<Dims, Values> x{{1, 2, 1, 1}, {1, 2}}, w{{3, 2, 1, 1}, counting(6)};
  expect_near(run(Kind::inner_product, InnerProductAttributes{}, {x, w, bias}, {1, 3}), {15, 31, 47});
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

TEST(Reference, Pooling) {
  const std::pair<Dims, Values> x{{1, 1, 2, 3}, {1, 5, 2, 4, 3, 6}};
  PoolingAttributes a{.kernel = {2, 2}, .pads_begin = {0, 1}};
  expect_near(run(Kind::pooling, a, {x}, {1, 1, 1, 3}), {4, 5, 6});
  a.algorithm = PoolingAlgorithm::average_include_padding;
  expect_near(run(Kind::pooling, a, {x}, {1, 1, 1, 3}), {5.0 / 4, 13.0 / 4, 16.0 / 4});
  a.algorithm = PoolingAlgorithm::average_exclude_padding;
  expect_near(run(Kind::pooling, a, {x}, {1, 1, 1, 3}), {5.0 / 2, 13.0 / 4, 16.0 / 4});
  expect_near(run(Kind::pooling, PoolingAttributes{}, {x}, {1, 1, 1, 1}), {6});
  expect_near(run(Kind::pooling, PoolingAttributes{.kernel = {1, 2}, .dilations = {1, 2}}, {x}, {1, 1, 2, 1}), {2, 6});
}

TEST(Reference, Normalizations) {
  // Channel 0 holds 1, 3: mean 2, biased variance 1; channel 1 holds 2, 6: 4 and 4.
  Nodes nodes;
  const TensorId x = nodes.given({2, 2, 1, 1}, {1, 2, 3, 6}), scale = nodes.given({2}, {1, 10}),
                 shift = nodes.given({2}, {0, 1}), mean = nodes.given({2}, {0, 0}), one = nodes.given({2}, {1, 4});
  const auto out = nodes.run(Kind::batch_normalization, NormalizationAttributes{.epsilon = 0}, {x, scale, shift},
                             {{2, 2, 1, 1}, {2}, {2}});
  expect_near(out[0], {-1, -9, 1, 11});
  expect_near(out[1], {2, 4});
  expect_near(out[2], {1, 4});
  expect_near(nodes.run(Kind::batch_normalization, NormalizationAttributes{.epsilon = 0}, {x, kNone, kNone, mean, one},
                        {{2, 2, 1, 1}}, Pass::forward_inference)[0],
              {1, 1, 3, 3});
  expect_near(run(Kind::layer_normalization, NormalizationAttributes{.epsilon = 0},
                  {{{2, 2}, {1, 3, 2, 6}}, {{2}, {1, 10}}, {{2}, {0, 1}}}, {2, 2}),
              {-1, 11, -1, 11});
}

TEST(Reference, Lrn) {
  const std::pair<Dims, Values> x{{1, 3, 1, 2}, {1, 0, 2, 0, 3, 0}};
  const LrnAttributes a{.size = 3, .alpha = 3, .beta = 1, .k = 2};
  expect_near(run(Kind::lrn, a, {x}, {1, 3, 1, 2}), {1.0 / 7, 0, 2.0 / 16, 0, 3.0 / 15, 0});
  const LrnAttributes within{.within_channel = true, .size = 3, .alpha = 9, .beta = 1, .k = 2};
  expect_near(run(Kind::lrn, within, {{{1, 1, 2, 2}, {1, 2, 3, 4}}}, {1, 1, 2, 2}),
              {1.0 / 32, 2.0 / 32, 3.0 / 32, 4.0 / 32});
}

TEST(Reference, PreluBinarySum) {
  const std::pair<Dims, Values> x{{1, 2, 2}, {-1, 2, -3, 4}}, w{{1, 2, 1}, {0.5, 10}};
  expect_near(run(Kind::prelu, PreluAttributes{}, {x, w}, {1, 2, 2}), {-0.5, 2, -30, 4});
  const auto binary = [&](BinaryAlgorithm a) { return run(Kind::binary, BinaryAttributes{a}, {x, w}, {1, 2, 2}); };
  expect_near(binary(BinaryAlgorithm::add), {-0.5, 2.5, 7, 14});
  expect_near(binary(BinaryAlgorithm::sub), {-1.5, 1.5, -13, -6});
  expect_near(binary(BinaryAlgorithm::mul), {-0.5, 1, -30, 40});
  expect_near(binary(BinaryAlgorithm::div), {-2, 4, -0.3, 0.4});
  expect_near(binary(BinaryAlgorithm::max), {0.5, 2, 10, 10});
  expect_near(binary(BinaryAlgorithm::min), {-1, 0.5, -3, 4});
  expect_near(binary(BinaryAlgorithm::ge), {0, 1, 0, 0});
  expect_near(binary(BinaryAlgorithm::gt), {0, 1, 0, 0});
  expect_near(binary(BinaryAlgorithm::le), {1, 0, 1, 1});
  expect_near(binary(BinaryAlgorithm::lt), {1, 0, 1, 1});
  expect_near(binary(BinaryAlgorithm::eq), {0, 0, 0, 0});
  expect_near(binary(BinaryAlgorithm::ne), {1, 1, 1, 1});
  expect_near(run(Kind::sum, SumAttributes{{2, -1}}, {x, x}, {1, 2, 2}), {-1, 2, -3, 4});
}

TEST(Reference, SoftmaxShuffleReduction) {
  const double e = std::exp(1);
  const std::pair<Dims, Values> x{{1, 2, 2}, {0, 1000, 1, 1001}};
  expect_near(run(Kind::softmax, SoftmaxAttributes{}, {x}, {1, 2, 2}),
              {1 / (1 + e), 1 / (1 + e), e / (1 + e), e / (1 + e)});
  expect_near(run(Kind::softmax, SoftmaxAttributes{.axis = 2, .log = true}, {x}, {1, 2, 2}), {-1000, 0, -1000, 0});
  expect_near(run(Kind::shuffle, ShuffleAttributes{.groups = 2}, {{{1, 6}, counting(6)}}, {1, 6}), {1, 4, 2, 5, 3, 6});
  const std::pair<Dims, Values> y{{2, 3}, {1, -2, 3, -4, 5, 6}};
  const auto reduce = [&](ReductionAlgorithm a) {
    return run(Kind::reduction, ReductionAttributes{a, {1}}, {y}, {2, 1});
  };
  expect_near(reduce(ReductionAlgorithm::max), {3, 6});
  expect_near(reduce(ReductionAlgorithm::min), {-2, -4});
  expect_near(reduce(ReductionAlgorithm::sum), {2, 7});
  expect_near(reduce(ReductionAlgorithm::mul), {-6, -120});
  expect_near(reduce(ReductionAlgorithm::mean), {2.0 / 3, 7.0 / 3});
  expect_near(reduce(ReductionAlgorithm::norm_l1), {6, 15});
  expect_near(reduce(ReductionAlgorithm::norm_l2), {std::sqrt(14), std::sqrt(77)});
}

TEST(Reference, Resampling) {
  const std::pair<Dims, Values> two{{1, 1, 2}, {0, 8}}, four{{1, 1, 4}, {0, 8, 16, 24}};
  using C = ResamplingCoordinates;
  using R = ResamplingRounding;
  const auto resample = [&](const std::pair<Dims, Values>& x, int64_t size, C c, std::optional<R> nearest = {}) {
    const ResamplingAttributes a{
        nearest ? ResamplingAlgorithm::nearest : ResamplingAlgorithm::linear, {size}, c, nearest.value_or(R::half_up)};
    return run(Kind::resampling, a, {x}, {1, 1, size});
  };
  expect_near(resample(two, 4, C::half_pixel), {0, 2, 6, 8});
  expect_near(resample(two, 3, C::align_corners), {0, 4, 8});
  expect_near(resample(two, 4, C::asymmetric), {0, 4, 8, 8});
  expect_near(resample(four, 1, C::half_pixel), {12});
  expect_near(resample(four, 1, C::pytorch_half_pixel), {0});
  // Places 0.5 and 2.5 are ties.
  expect_near(resample(four, 2, C::half_pixel, R::half_up), {8, 24});
  expect_near(resample(four, 2, C::half_pixel, R::half_down), {0, 16});
  expect_near(resample(four, 2, C::half_pixel, R::floor), {0, 16});
  expect_near(resample(four, 2, C::half_pixel, R::ceil), {8, 24});
  expect_near(run(Kind::resampling, ResamplingAttributes{ResamplingAlgorithm::linear, {1, 2}, C::half_pixel},
                  {{{1, 1, 2, 2}, {1, 2, 3, 4}}}, {1, 1, 1, 2}),
              {2, 3});
}

TEST(Reference, Movement) {
  const std::pair<Dims, Values> x{{2, 3}, counting(6)};
  expect_near(run(Kind::concat, ConcatAttributes{}, {x, {{2, 1}, {7, 8}}}, {2, 4}), {1, 2, 3, 7, 4, 5, 6, 8});
  expect_near(run(Kind::reshape, ReshapeAttributes{{3, 2}}, {x}, {3, 2}), counting(6));
  expect_near(run(Kind::transpose, TransposeAttributes{{1, 0}}, {x}, {3, 2}), {1, 4, 2, 5, 3, 6});
  expect_near(run(Kind::slice, SliceAttributes{{1, 2}, {2, -1}, {1, -1}}, {x}, {1, 3}), {6, 5, 4});
  expect_near(run(Kind::broadcast, BroadcastAttributes{{2, 2}}, {{{2, 1}, {1, 2}}}, {2, 2}), {1, 1, 2, 2});
  const auto pad = [&](PadMode mode) {
    return run(Kind::pad, PadAttributes{{0, 2}, {0, 1}, mode, 9}, {{{1, 3}, {1, 2, 3}}}, {1, 6});
  };
  expect_near(pad(PadMode::constant), {9, 9, 1, 2, 3, 9});
  expect_near(pad(PadMode::edge), {1, 1, 1, 2, 3, 3});
  expect_near(pad(PadMode::reflect), {3, 2, 1, 2, 3, 2});
  expect_near(run(Kind::gather, GatherAttributes{1}, {x, {{2}, {-1, 0}}}, {2, 2}), {3, 1, 6, 4});
  EXPECT_EQ(code_of([&] {
              run(Kind::gather, GatherAttributes{1}, {x, {{1}, {3}}}, {2, 1});
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { run(Kind::barrier, BarrierAttributes{"Foo"}, {x}, {2, 3}); }), ErrorCode::unsupported);
}

TEST(Reference, StoresInTheDestinationsType) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto reorder = [&](DType dtype, const Values& values) {
    const Dims dims{static_cast<int64_t>(values.size())};
    return run(Kind::reorder, ReorderAttributes{dtype}, {{dims, values}}, dims, Pass::forward_inference, dtype);
  };
  expect_near(reorder(DType::s8, {-200, 2.5, 3.5, 127.6, nan}), {-128, 2, 4, 127, 0}, 0);
  expect_near(reorder(DType::u8, {-1, 255.4, 256}), {0, 255, 255}, 0);
  expect_near(reorder(DType::s32, {1e20, -1e20}), {2147483647, -2147483648.0}, 0);
  expect_near(reorder(DType::bf16, {1 + 1.0 / 256, 1 + 3.0 / 256}), {1, 1 + 4.0 / 256}, 0);
  expect_near(reorder(DType::f16, {2049, 2051}), {2048, 2052}, 0);
  expect_near(reorder(DType::f32, {1 + 0x1p-25}), {1}, 0);
  expect_near(reorder(DType::boolean, {0, -0.5}), {0, 1}, 0);
  expect_near(reorder(DType::s4, {-9, 7, 8}), {-8, 7, 7}, 0);
  // From f32 the bound is the largest f32.
  Nodes nodes;
  const TensorId x = nodes.given({1}, {1e20}, DType::f32);
  expect_near(
      nodes.run(Kind::reorder, ReorderAttributes{DType::s32}, {x}, {{1}}, Pass::forward_inference, DType::s32)[0],
      {2147483520}, 0);
}

TEST(Reference, StoreAndLoadAreInverse) {
  int types = 0;
  for (DType dtype : all_dtypes()) {
    const Values values = dtype == DType::boolean ? Values{0, 1, 1} : Values{0, 1, 3};
    const std::vector<std::byte> bytes = store(values, dtype);
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), bytes_for(dtype, 3).value()) << name(dtype);
    EXPECT_EQ(load(bytes, dtype, 3), values) << name(dtype);
    EXPECT_EQ(code_of([&] { load(bytes, dtype, 5); }), ErrorCode::invalid_argument) << name(dtype);
    ++types;
  }
  EXPECT_EQ(types, kDTypeCount);
}

TEST(Reference, RunsAGraph) {
  Graph g;
  const auto tensor = [&](Tensor t) {
    g.tensors.push_back(std::move(t));
    return static_cast<TensorId>(g.tensors.size()) - 1;
  };
  const auto two = std::make_shared<const std::vector<std::byte>>(store(Values{2, 3}, DType::bf16));
  const TensorId x = tensor({"x", {2}}), w = tensor({"w", {2}, DType::bf16, {}, two}), y = tensor({"y", {2}}),
                 z = tensor({"z", {2}});
  g.nodes.push_back(
      {"mul", Kind::binary, Pass::forward_inference, BinaryAttributes{BinaryAlgorithm::mul}, {x, w}, {y}});
  g.nodes.push_back({"add", Kind::sum, Pass::forward_inference, SumAttributes{}, {y, w, y}, {z}});
  g.inputs = {x};
  g.outputs = {z, y};
  const std::vector<Values> out = evaluate(g, std::vector<Values>{{1, 10}});
  expect_near(out[0], {6, 63});
  expect_near(out[1], {2, 30});
  EXPECT_EQ(code_of([&] { evaluate(g, std::vector<Values>{}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { evaluate(g, std::vector<Values>{{1, 2, 3}}); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace relayout::graph
