// The reference: values worked out by hand, forward, for memory-bound kinds and movement; types, and whole graphs.
#include "relayout/graph/reference/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "relayout/graph/passes/backward.h"
#include "tests/support/nodes.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::code_of;
using test::counting_values;
using test::expect_near;
using test::Nodes;
using test::run;

/// Functions that a test of their own has.
constexpr std::size_t kFurtherFunctions = 18;

struct EltwiseRow {
  EltwiseAlgorithm algorithm;
  double at_minus_two_and_a_half, at_half, at_one_and_three_quarters;
};

void check_rows(std::span<const EltwiseRow> rows) {
  for (const EltwiseRow& row : rows) {
    const Values got = run(Kind::eltwise, EltwiseAttributes{row.algorithm, 0.3, 0.8}, {{{3}, {-2.5, 0.5, 1.75}}}, {3});
    const double wanted[] = {row.at_minus_two_and_a_half, row.at_half, row.at_one_and_three_quarters};
    for (std::size_t i = 0; i < std::size(wanted); ++i) {
      EXPECT_EQ(std::isnan(got[i]), std::isnan(wanted[i])) << name(row.algorithm);
      if (std::isnan(wanted[i])) continue;
      EXPECT_NEAR(got[i], wanted[i], 1e-13) << name(row.algorithm);
    }
  }
}

TEST(Reference, EltwiseValues) {
  using A = EltwiseAlgorithm;
  // alpha is 0.3 and beta 0.8. The expected values were computed from the formulas, without this code.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const EltwiseRow rows[] = {{A::relu, -0.75, 0.5, 1.75},
                             {A::tanh, -0.98661429815143, 0.46211715726001, 0.941375538497287},
                             {A::elu, -0.27537450041283, 0.5, 1.75},
                             {A::square, 6.25, 0.25, 3.0625},
                             {A::abs, 2.5, 0.5, 1.75},
                             {A::sqrt, nan, 0.707106781186548, 1.3228756555323},
                             {A::linear, 0.05, 0.95, 1.325},
                             {A::bounded_relu, 0, 0.3, 0.3},
                             {A::soft_relu, 0.0788897342925496, 0.974076984180107, 1.91022415043809},
                             {A::logistic, 0.0758581800212435, 0.622459331201855, 0.851952801968311},
                             {A::exp, 0.0820849986238988, 1.64872127070013, 5.75460267600573},
                             {A::gelu_tanh, -0.0150842660899986, 0.345714009825144, 1.67979538234125},
                             {A::gelu_erf, -0.0155241633144404, 0.345731230637007, 1.67989647548832},
                             {A::swish, -0.802053252061518, 0.268714922671875, 1.09955332951689},
                             {A::log, nan, -0.693147180559945, 0.559615787935423},
                             {A::clip, 0.3, 0.5, 0.8},
                             {A::clip_v2, 0.3, 0.5, 0.8},
                             {A::pow, nan, 0.172304753249555, 0.46940930434544},
                             {A::round, -2, 0, 2},
                             {A::logsigmoid, -2.57888973429255, -0.474076984180107, -0.160224150438087},
                             {A::mish, -0.196816203906533, 0.375245211304895, 1.6749324241318},
                             {A::hardswish, -0.208333333333333, 0.291666666666667, 1.38541666666667},
                             {A::hardsigmoid, 0.05, 0.95, 1},
                             {A::erf, -0.999593047982555, 0.520499877813047, 0.986671671219182},
                             {A::sign, -1, 1, 1},
                             {A::relu_dst, -0.75, 0.5, 1.75},
                             {A::tanh_dst, -0.98661429815143, 0.46211715726001, 0.941375538497287},
                             {A::elu_dst, -0.27537450041283, 0.5, 1.75},
                             {A::sqrt_dst, nan, 0.707106781186548, 1.3228756555323},
                             {A::logistic_dst, 0.0758581800212435, 0.622459331201855, 0.851952801968311},
                             {A::exp_dst, 0.0820849986238988, 1.64872127070013, 5.75460267600573},
                             {A::clip_v2_dst, 0.3, 0.5, 0.8}};
  check_rows(rows);
  EXPECT_EQ(std::size(rows) + kFurtherFunctions, static_cast<std::size_t>(kEltwiseCount));
}

TEST(Reference, FurtherEltwiseValues) {
  using A = EltwiseAlgorithm;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const EltwiseRow rows[] = {{A::floor, -3, 0, 1},
                             {A::ceil, -2, 1, 2},
                             {A::trunc, -2, 0, 1},
                             {A::is_nan, 0, 0, 0},
                             {A::is_infinite, 0, 0, 0},
                             {A::logical_not, 0, 0, 0},
                             {A::bitwise_not, 1.5, -1.5, -2.75},
                             {A::sin, -0.598472144103957, 0.479425538604203, 0.983985946873937},
                             {A::cos, -0.801143615546934, 0.877582561890373, -0.178246055649492},
                             {A::tan, 0.74702229723866, 0.54630248984379, -5.52037992250933},
                             {A::asin, nan, 0.523598775598299, nan},
                             {A::acos, nan, 1.0471975511966, nan},
                             {A::atan, -1.19028994968253, 0.463647609000806, 1.05165021254837},
                             {A::sinh, -6.05020448103979, 0.521095305493747, 2.79041436627764},
                             {A::cosh, 6.13228947966369, 1.12762596520638, 2.96418830972809},
                             {A::asinh, -1.6472311463711, 0.481211825059603, 1.32589776690114},
                             {A::acosh, nan, nan, 1.15881036042995},
                             {A::atanh, nan, 0.549306144334055, nan}};
  static_assert(std::size(rows) == kFurtherFunctions);
  check_rows(rows);
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

TEST(Reference, TheMeanOfEqualNumbersIsThatNumber) {
  const std::pair<Dims, Values> x{{1, 20}, Values(20, 3)}, scale{{20}, Values(20, INFINITY)};
  const Values out = run(Kind::layer_normalization, NormalizationAttributes{}, {x, scale}, {1, 20});
  EXPECT_TRUE(std::ranges::all_of(out, [](double value) { return std::isnan(value); }));
}

TEST(Reference, SoftmaxShuffleReduction) {
  const double e = std::exp(1);
  const std::pair<Dims, Values> x{{1, 2, 2}, {0, 1000, 1, 1001}};
  expect_near(run(Kind::softmax, SoftmaxAttributes{}, {x}, {1, 2, 2}),
              {1 / (1 + e), 1 / (1 + e), e / (1 + e), e / (1 + e)});
  expect_near(run(Kind::softmax, SoftmaxAttributes{.axis = 2, .log = true}, {x}, {1, 2, 2}), {-1000, 0, -1000, 0});
  expect_near(run(Kind::shuffle, ShuffleAttributes{.groups = 2}, {{{1, 6}, counting_values(6)}}, {1, 6}),
              {1, 4, 2, 5, 3, 6});
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
  // Positions 0.5 and 2.5 are ties.
  expect_near(resample(four, 2, C::half_pixel, R::half_up), {8, 24});
  expect_near(resample(four, 2, C::half_pixel, R::half_down), {0, 16});
  expect_near(resample(four, 2, C::half_pixel, R::floor), {0, 16});
  expect_near(resample(four, 2, C::half_pixel, R::ceil), {8, 24});
  expect_near(run(Kind::resampling, ResamplingAttributes{ResamplingAlgorithm::linear, {1, 2}, C::half_pixel},
                  {{{1, 1, 2, 2}, {1, 2, 3, 4}}}, {1, 1, 1, 2}),
              {2, 3});
}

TEST(Reference, Movement) {
  const std::pair<Dims, Values> x{{2, 3}, counting_values(6)};
  expect_near(run(Kind::concat, ConcatAttributes{}, {x, {{2, 1}, {7, 8}}}, {2, 4}), {1, 2, 3, 7, 4, 5, 6, 8});
  expect_near(run(Kind::reshape, ReshapeAttributes{{3, 2}}, {x}, {3, 2}), counting_values(6));
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
  // For sources of f32, values saturate at the largest f32 that the type holds.
  Nodes nodes;
  const TensorId x = nodes.given({1}, {1e20}, DType::f32);
  expect_near(
      nodes.run(Kind::reorder, ReorderAttributes{DType::s32}, {x}, {{1}}, Pass::forward_inference, DType::s32)[0],
      {2147483520}, 0);
}

TEST(Reference, StoreAndLoadAreInverse) {
  int types = 0;
  for (DType dtype : all_dtypes()) {
    // f8_e8m0 has powers of two, and types of one or two bits hold no 3.
    const Values values = dtype == DType::f8_e8m0                      ? Values{0.5, 1, 4}
                          : dtype == DType::boolean || bits(dtype) < 3 ? Values{0, 1, 1}
                                                                       : Values{0, 1, 3};
    const std::vector<std::byte> bytes = store(values, dtype);
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), bytes_for(dtype, 3).value()) << name(dtype);
    EXPECT_EQ(load(bytes, dtype, 3), values) << name(dtype);
    EXPECT_EQ(code_of([&] { load(bytes, dtype, 9); }), ErrorCode::invalid_argument) << name(dtype);
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
  const EvaluatedSums sums = evaluate_sums(g, std::vector<Values>{{1, -10}});
  expect_near(sums.outputs[0], {6, -57});
  EXPECT_EQ(sums.sums, (std::vector<double>{30 + 3 + 30, 0}));
  EXPECT_EQ(code_of([&] { evaluate(g, std::vector<Values>{}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { evaluate(g, std::vector<Values>{{1, 2, 3}}); }), ErrorCode::invalid_argument);
}

// In x * 1 - 1 with x near 1, what a rounding of the product changes is all that differs from evaluate().
TEST(Reference, RoundsEveryComputedValueAtRandom) {
  Graph g;
  const TensorId x = g.input("x", {64}), one = g.constant("one", {1}, std::vector<float>{1});
  const TensorId y = g.binary(x, one, BinaryAlgorithm::mul);
  g.output(y);
  g.output(g.binary(y, one, BinaryAlgorithm::sub));
  const std::vector<Values> inputs = {Values(64, 1 + 0x1p-10)};
  const std::vector<Values> exact = evaluate(g, inputs), moved = evaluate_rounded(g, inputs, 1);
  EXPECT_EQ(moved, evaluate_rounded(g, inputs, 1));
  EXPECT_NE(moved, evaluate_rounded(g, inputs, 2));
  int up = 0, down = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const double by = moved[0][i] / exact[0][i] - 1;
    EXPECT_LT(std::abs(by), 2.1 * 0x1p-21) << i;  // of the input and of the product
    (by > 0 ? up : down) += by != 0;
    EXPECT_NEAR(moved[1][i], moved[0][i] - 1, 0x1p-30) << i;
  }
  EXPECT_GT(up, 5);
  EXPECT_GT(down, 5);
}

// Gradients before a normalization add up to nothing in each channel: that of a bias right before it, and that of the
// shift of an earlier normalization.
TEST(Reference, SumsOfGradientsThatCancel) {
  std::mt19937 rng(1);
  Graph g;
  g.pass = Pass::forward_training;
  const TensorId x = g.input("x", {3, 4, 5, 5}), w = g.input("w", {6, 4, 1, 1}), b = g.input("b", {6});
  const std::vector<TensorId> first{x, g.input("scale", {4}), g.input("shift", {4})};
  const TensorId y = g.add(Kind::batch_normalization, NormalizationAttributes{}, first)[0];
  const std::vector<TensorId> second{g.convolution(y, w, b), g.input("scale2", {6}), g.input("shift2", {6})};
  const TensorId z = g.add(Kind::batch_normalization, NormalizationAttributes{}, second)[0];
  g.output(g.binary(z, z, BinaryAlgorithm::mul));
  append_backward(g, std::vector<TensorId>{first[2], w, b, second[2]});
  std::vector<Values> inputs;
  for (TensorId t : g.inputs) inputs.push_back(test::random_values(checked_product(g.tensor(t).dims).value(), rng));
  const EvaluatedSums found = evaluate_sums(g, inputs);
  EXPECT_EQ(found.outputs, evaluate(g, inputs));
  ASSERT_EQ(found.outputs.size(), 5u);
  for (const std::size_t i : {1, 2, 3, 4}) {
    double largest = 0;
    for (double v : found.outputs[i]) largest = std::max(largest, std::abs(v));
    const bool cancels = i == 1 || i == 3;
    EXPECT_GT(found.sums[i], 0) << i;
    EXPECT_EQ(largest < 1e-4 * found.sums[i], cancels) << i << ": " << largest << " of " << found.sums[i];
    // The other gradients do not cancel, so the sums of magnitudes are about as large as they are.
    if (!cancels) {
      EXPECT_LT(found.sums[i], 1e3 * largest) << i;
    }
  }
}

}  // namespace
}  // namespace relayout::graph
