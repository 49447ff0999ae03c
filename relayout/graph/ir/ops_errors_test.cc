// Refused nodes: each reason once, with the operand that the error names and its code.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "tests/support/ops_cases.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::error_of;

struct Refused {
  Case graph;
  Kind kind;
  NodeAttributes attributes;
  std::string field;
  Pass pass = Pass::forward_inference;
  int dsts = 0;
  ErrorCode code = ErrorCode::invalid_argument;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    const Error error = error_of([&] { shapes(c.graph, c.kind, c.attributes, c.dsts, c.pass); });
    EXPECT_EQ(error.field(), c.field) << error.message();
    EXPECT_EQ(error.code(), c.code) << error.message();
    EXPECT_EQ(error.message().rfind(std::string(name(c.kind)) + " 'n': ", 0), 0u) << error.message();
  }
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
const std::vector<std::optional<Dims>> kConvolved = {{{1, 4, 8}}, {{6, 4, 3}}};

TEST(OpsErrors, WhatAllKindsShare) {
  expect_refused({
      {inputs({{{2}}, {{2}}}), Kind::eltwise, EltwiseAttributes{}, "src"},
      {inputs({kAbsent}), Kind::eltwise, EltwiseAttributes{}, "src"},
      {inputs({}), Kind::sum, SumAttributes{}, "src..."},
      {inputs({{{2}}, kAbsent}), Kind::sum, SumAttributes{}, "src..."},
      {inputs({{{2}}}), Kind::eltwise, SumAttributes{}, "attributes"},
      {inputs({{{2}}}), Kind::eltwise, EltwiseAttributes{}, "dst", Pass::forward_inference, 2},
      {inputs({{{2, 2}}}), Kind::batch_normalization, NormalizationAttributes{}, "dst", Pass::forward_training, 2},
      {inputs({{{kHuge / 4}}}), Kind::broadcast, BroadcastAttributes{{8, kHuge / 4}}, "dst", Pass::forward_inference, 0,
       ErrorCode::overflow},
  });
}

TEST(OpsErrors, Convolutions) {
  const auto with = [](ConvolutionAttributes a) { return a; };
  for (const Kind kind : {Kind::convolution, Kind::deconvolution}) {
    expect_refused({
        {inputs({{{1, 4}}, {{6, 4}}}), kind, ConvolutionAttributes{}, "src"},
        {inputs({{{1, 4, 8}}, {{6, 4}}}), kind, ConvolutionAttributes{}, "weights"},
        {inputs({{{1, 4, 8}}, {{6, 3, 3}}}), kind, ConvolutionAttributes{}, "weights"},
        {inputs({{{1, 4, 8}}, {{3, 6, 2, 3}}}), kind, with({.groups = 2}), "weights"},
        {inputs({{{1, 4, 8}}, {{2, 6, 1, 3}}}), kind, with({.groups = 2}), "weights"},
        {inputs({{{1, 4, 8}}, {{6, 4, 0}}}), kind, ConvolutionAttributes{}, "kernel of spatial dim 0"},
        {inputs({{{1, 4, 8}}, {{6, 4, 3}}, {{5}}}), kind, ConvolutionAttributes{}, "bias"},
        {inputs({{{1, 4, 8}}, {{6, 4, 3}}, {{6, 1}}}), kind, ConvolutionAttributes{}, "bias"},
        {inputs({{{1, 4, 8}}, {{6, 4, 3}}}, DType::s32), kind, ConvolutionAttributes{}, "weights"},
        {inputs({{{1, 4, 8}}, {{6, 4, 3}}, {{6}}}, DType::s8), kind, ConvolutionAttributes{}, "bias"},
        {inputs(kConvolved), kind, with({.groups = 0}), "groups"},
        {inputs(kConvolved), kind, with({.groups = 3}), "groups"},
        {inputs(kConvolved), kind, with({.strides = {1, 1}}), "strides"},
        {inputs(kConvolved), kind, with({.strides = {0}}), "strides"},
        {inputs(kConvolved), kind, with({.dilations = {0}}), "dilations"},
        {inputs(kConvolved), kind, with({.pads_begin = {-1}}), "pads_begin"},
        {inputs(kConvolved), kind, with({.pads_end = {-1}}), "pads_end"},
        {inputs(kConvolved), kind, with({.output_padding = {-1}}), "output_padding"},
    });
  }
  const ErrorCode overflow = ErrorCode::overflow;
  const Pass pass = Pass::forward_inference;
  expect_refused({
      {inputs(kConvolved), Kind::convolution, with({.output_padding = {1}}), "output_padding"},
      {inputs(kConvolved), Kind::convolution, with({.dilations = {4}}), "dilated kernel of spatial dim 0"},
      {inputs(kConvolved), Kind::convolution, with({.dilations = {kHuge}}), "dilated kernel of spatial dim 0", pass, 0,
       overflow},
      {inputs(kConvolved), Kind::convolution, with({.pads_begin = {kHuge}, .pads_end = {1}}), "pads", pass, 0,
       overflow},
      {inputs(kConvolved), Kind::convolution, with({.pads_end = {kHuge}}), "padded extent of spatial dim 0", pass, 0,
       overflow},
      {inputs({{{1, 0, 8}}, {{2, kHuge, 0, 3}}}), Kind::convolution, with({.groups = 2}), "channels of dst", pass, 0,
       overflow},
      {inputs(kConvolved), Kind::deconvolution, with({.pads_begin = {5}, .pads_end = {5}}),
       "extent of dst of spatial dim 0"},
      {inputs(kConvolved), Kind::deconvolution, with({.strides = {kHuge}}), "extent of dst of spatial dim 0", pass, 0,
       overflow},
      {inputs({{{1, 4, 0}}, {{6, 4, 1}}}), Kind::deconvolution, with({.strides = {2}}),
       "extent of dst of spatial dim 0"},
  });
}

TEST(OpsErrors, MatmulAndInnerProduct) {
  expect_refused({
      {inputs({{{4}}, {{4}}}), Kind::matmul, MatmulAttributes{}, "a"},
      {inputs({{{2, 3, 4}}, {{4, 5}}}), Kind::matmul, MatmulAttributes{}, "b"},
      {inputs({{{3, 4}}, {{5, 6}}}), Kind::matmul, MatmulAttributes{}, "b"},
      {inputs({{{2, 3, 4}}, {{3, 4, 5}}}), Kind::matmul, MatmulAttributes{}, "b"},
      {inputs({{{3, 4}}, {{4, 5}}, {{1, 5}}}), Kind::matmul, MatmulAttributes{}, "bias"},
      {inputs({{{3}}, {{4}}}), Kind::inner_product, InnerProductAttributes{}, "src"},
      {inputs({{{2, 3, 4}}, {{5, 12}}}), Kind::inner_product, InnerProductAttributes{}, "weights"},
      {inputs({{{2, 3, 4}}, {{5, 3, 3}}}), Kind::inner_product, InnerProductAttributes{}, "weights"},
      {inputs({{{2, 3}}, {{5, 3}}, {{3}}}), Kind::inner_product, InnerProductAttributes{}, "bias"},
  });
}

TEST(OpsErrors, PoolingAndResampling) {
  const Case c = inputs({{{1, 2, 6}}});
  const auto with = [](PoolingAttributes a) { return a; };
  expect_refused({
      {inputs({{{1, 2}}}), Kind::pooling, PoolingAttributes{}, "src"},
      {c, Kind::pooling, with({.kernel = {2, 2}}), "kernel"},
      {c, Kind::pooling, with({.kernel = {0}}), "kernel"},
      {inputs({{{1, 2, 0}}}), Kind::pooling, PoolingAttributes{}, "kernel"},
      {c, Kind::pooling, with({.kernel = {7}}), "dilated kernel of spatial dim 0"},
      {c, Kind::pooling, with({.kernel = {2}, .strides = {-1}}), "strides"},
      {c, Kind::pooling, with({.kernel = {2}, .pads_begin = {2}}), "pads of spatial dim 0"},
      {c, Kind::pooling, with({.kernel = {2}, .pads_end = {2}}), "pads of spatial dim 0"},
      {inputs({{{1, 2}}}), Kind::resampling, ResamplingAttributes{}, "src"},
      {c, Kind::resampling, ResamplingAttributes{.sizes = {1, 2}}, "sizes"},
      {c, Kind::resampling, ResamplingAttributes{.sizes = {0}}, "sizes"},
      {inputs({{{1, 2, 0}}}), Kind::resampling, ResamplingAttributes{.sizes = {2}}, "src"},
  });
  EXPECT_EQ(shapes(c, Kind::pooling,
                   with({.algorithm = PoolingAlgorithm::average_include_padding, .kernel = {2}, .pads_end = {2}})),
            (Shapes{{1, 2, 7}}));
}

TEST(OpsErrors, Normalizations) {
  const NormalizationAttributes a;
  const Kind batch = Kind::batch_normalization, layer = Kind::layer_normalization;
  expect_refused({
      {inputs({{{4}}, kAbsent, kAbsent, {{4}}, {{4}}}), batch, a, "src"},
      {inputs({{{1, 4}}, kAbsent, kAbsent, {{4}}}), batch, a, "variance"},
      {inputs({{{1, 4}}, {{3}}, kAbsent, {{4}}, {{4}}}), batch, a, "scale"},
      {inputs({{{1, 4}}, kAbsent, {{3}}, {{4}}, {{4}}}), batch, a, "shift"},
      {inputs({{{1, 4}}, kAbsent, kAbsent, {{1, 4}}, {{4}}}), batch, a, "mean"},
      {inputs({{{1, 4}}, kAbsent, kAbsent, {{4}}, {{3}}}), batch, a, "variance"},
      {inputs({{{1, 4}}}, DType::u8), batch, a, "src", Pass::forward_training},
      {inputs({{{1, 4}}}), batch, NormalizationAttributes{.epsilon = -1}, "epsilon", Pass::forward_training},
      {inputs({{{1, 4}}}), layer, NormalizationAttributes{.axis = 2}, "axis"},
      {inputs({{{}}}), layer, a, "src"},
      {inputs({{{1, 4}}, {{3}}}), layer, a, "scale"},
      {inputs({{{1, 4}}, kAbsent, {{1}}}), layer, a, "shift"},
      {inputs({{{1, 4}}}), layer, a, "dst", Pass::forward_inference, 2},
      {inputs({{{0, kHuge, kHuge}}}), layer, NormalizationAttributes{.axis = 1}, "src", Pass::forward_inference, 0,
       ErrorCode::overflow},
      {inputs({{{4}}}), Kind::lrn, LrnAttributes{}, "src"},
      {inputs({{{1, 4}}}), Kind::lrn, LrnAttributes{.size = 0}, "size"},
      {inputs({{{1, 4}}}), Kind::softmax, SoftmaxAttributes{.axis = -3}, "axis"},
      {inputs({{{}}}), Kind::softmax, SoftmaxAttributes{.axis = 0}, "axis"},
      {inputs({{{1, 4}}}), Kind::softmax, SoftmaxAttributes{1, true, true}, "masked_rows_give_zero"},
      {inputs({{{1, 4}}}, DType::s32), Kind::softmax, SoftmaxAttributes{}, "src"},
  });
}

TEST(OpsErrors, ProjectedLstm) {
  const RnnAttributes lstm, tanh{.cell = RnnCell::vanilla_tanh};
  const std::optional<Dims> x{{7, 2, 5}}, w{{1, 1, 5, 4, 3}}, u{{1, 1, 2, 4, 3}}, p{{1, 1, 3, 2}};
  const auto refused = [&](const std::vector<std::optional<Dims>>& src, const std::string& field) {
    return Refused{inputs(src), Kind::rnn, lstm, field};
  };
  const std::optional<Dims> two_layers{{2, 1, 5, 4, 3}};
  expect_refused({
      refused({x, kAbsent, kAbsent, w, u, kAbsent, {{1, 3, 2}}}, "weights_projection"),
      refused({x, kAbsent, kAbsent, w, u, kAbsent, {{1, 1, 4, 2}}}, "weights_projection"),
      refused({x, kAbsent, kAbsent, w, {{1, 1, 3, 4, 3}}, kAbsent, p}, "weights_iter"),
      refused({x, {{1, 1, 2, 3}}, kAbsent, w, u, kAbsent, p}, "src_iter"),
      refused({x, {{1, 1, 2, 2}}, {{1, 1, 2, 2}}, w, u, kAbsent, p}, "src_iter_c"),
      refused({x, kAbsent, kAbsent, two_layers, {{2, 1, 2, 4, 3}}, kAbsent, {{2, 1, 3, 2}}}, "src_layer"),
      {inputs({x, kAbsent, kAbsent, {{1, 1, 5, 1, 3}}, {{1, 1, 2, 1, 3}}, kAbsent, p}), Kind::rnn, tanh,
       "weights_projection"},
  });
}

TEST(OpsErrors, Rnn) {
  const RnnAttributes tanh{.cell = RnnCell::vanilla_tanh};
  const std::optional<Dims> x{{7, 2, 5}}, w{{1, 1, 5, 1, 3}}, u{{1, 1, 3, 1, 3}}, state{{1, 1, 2, 3}};
  const auto rnn = [&](const std::vector<std::optional<Dims>>& src, const std::string& field) {
    return Refused{inputs(src), Kind::rnn, tanh, field};
  };
  expect_refused({
      rnn({{{7, 2}}, kAbsent, kAbsent, w, u}, "src_layer"),
      rnn({{{0, 2, 5}}, kAbsent, kAbsent, w, u}, "src_layer"),
      rnn({x, kAbsent, kAbsent, {{5, 1, 3}}, u}, "weights_layer"),
      rnn({x, kAbsent, kAbsent, {{0, 1, 5, 1, 3}}, u}, "weights_layer"),
      rnn({x, kAbsent, kAbsent, {{1, 2, 5, 1, 3}}, u}, "weights_layer"),
      rnn({x, kAbsent, kAbsent, {{1, 1, 5, 4, 3}}, u}, "weights_layer"),
      rnn({x, kAbsent, kAbsent, w, {{1, 1, 5, 1, 3}}}, "weights_iter"),
      rnn({x, kAbsent, kAbsent, {{2, 1, 5, 1, 3}}, {{2, 1, 3, 1, 3}}}, "src_layer"),
      rnn({x, kAbsent, kAbsent, w, u, {{1, 1, 3}}}, "bias"),
      rnn({x, {{1, 1, 3, 2}}, kAbsent, w, u}, "src_iter"),
      rnn({x, state, state, w, u}, "src_iter_c"),
      {inputs({x, kAbsent, kAbsent, w, u}, DType::u8), Kind::rnn, tanh, "weights_layer"},
      {inputs({x, kAbsent, kAbsent, w, u}), Kind::rnn, tanh, "dst", Pass::forward_inference, 3},
  });
}

TEST(OpsErrors, Pointwise) {
  expect_refused({
      {inputs({{{2, 3}}, {{3}}}), Kind::prelu, PreluAttributes{}, "weights"},
      {inputs({{{2, 1}}, {{1, 3}}}), Kind::prelu, PreluAttributes{}, "weights"},
      {inputs({{{2, 6}}}), Kind::shuffle, ShuffleAttributes{.axis = 2}, "axis"},
      {inputs({{{2, 6}}}), Kind::shuffle, ShuffleAttributes{.groups = 4}, "groups"},
      {inputs({{{2, 6}}}), Kind::shuffle, ShuffleAttributes{.groups = 0}, "groups"},
      {inputs({{{2, 6}}}), Kind::reduction, ReductionAttributes{.axes = {2}}, "axes"},
      {inputs({{{2, 6}}}), Kind::reduction, ReductionAttributes{.axes = {1, -1}}, "axes"},
      {inputs({{{2, 3}}, {{2, 4}}}), Kind::sum, SumAttributes{}, "src 1"},
      {inputs({{{2, 3}}, {{2, 3}}}), Kind::sum, SumAttributes{.scales = {1}}, "scales"},
      {inputs({{{2, 3}}, {{3}}}), Kind::binary, BinaryAttributes{}, "b"},
      {inputs({{{2, 3}}, {{2, 2}}}), Kind::binary, BinaryAttributes{}, "b"},
  });
}

TEST(OpsErrors, Shapes) {
  const Case c = inputs({{{4, 6}}});
  Case mixed = inputs({{{4, 6}}});
  mixed.src.push_back(mixed.graph.input("u8", {4, 6}, DType::u8));
  Case data = inputs({{{4, 6}}, {{2}}}), many = inputs({Dims(7, 1)});
  many.src.push_back(many.graph.input("at", Dims(7, 1), DType::s32));
  const auto slice = [&](int64_t start, int64_t stop, int64_t step) {
    return Refused{c, Kind::slice, SliceAttributes{{0, start}, {4, stop}, {1, step}}, "range of dim 1"};
  };
  const auto pad = [&](PadAttributes a, const std::string& field) { return Refused{c, Kind::pad, a, field}; };
  expect_refused({
      {inputs({{{4, 6}}, {{4, 6}}}), Kind::concat, ConcatAttributes{2}, "axis"},
      {inputs({{{4, 6}}, {{3, 6}}}), Kind::concat, ConcatAttributes{}, "src 1"},
      {inputs({{{4, 6}}, {{4}}}), Kind::concat, ConcatAttributes{}, "src 1"},
      {inputs({{{0, kHuge}}, {{0, 1}}}), Kind::concat, ConcatAttributes{}, "extent of dst along the axis",
       Pass::forward_inference, 0, ErrorCode::overflow},
      {mixed, Kind::concat, ConcatAttributes{}, "src 1"},
      {c, Kind::reshape, ReshapeAttributes{{5, 5}}, "dims"},
      {c, Kind::reshape, ReshapeAttributes{{-4, -6}}, "dims"},
      {c, Kind::reshape, ReshapeAttributes{{}}, "dims"},
      {c, Kind::transpose, TransposeAttributes{{0}}, "order"},
      {c, Kind::transpose, TransposeAttributes{{1, 1}}, "order"},
      {c, Kind::transpose, TransposeAttributes{{2, 1}}, "order"},
      {c, Kind::transpose, TransposeAttributes{{0, -1}}, "order"},
      {c, Kind::slice, SliceAttributes{{0}, {1, 1}, {1, 1}}, "starts"},
      {c, Kind::slice, SliceAttributes{{0, 0}, {1}, {1, 1}}, "stops"},
      {c, Kind::slice, SliceAttributes{{0, 0}, {1, 1}, {1}}, "steps"},
      slice(0, 6, 0),
      slice(-1, 6, 1),
      slice(4, 3, 1),
      slice(0, 7, 1),
      slice(6, -1, -1),
      slice(3, 4, -1),
      slice(3, -2, -1),
      {c, Kind::broadcast, BroadcastAttributes{{6}}, "dims"},
      {c, Kind::broadcast, BroadcastAttributes{{8, 6}}, "dims"},
      {c, Kind::broadcast, BroadcastAttributes{{-1, 4, 6}}, "dims"},
      pad({.begin = {1}, .end = {0, 0}}, "begin"),
      pad({.begin = {0, 0}, .end = {0, 0, 0}}, "end"),
      pad({.begin = {0, -1}, .end = {0, 0}}, "padding of dim 1"),
      pad({.begin = {0, 0}, .end = {4, 0}, .mode = PadMode::reflect}, "padding of dim 0"),
      {inputs({{{0}}}), Kind::pad, PadAttributes{.begin = {1}, .end = {0}, .mode = PadMode::edge}, "padding of dim 0"},
      {c, Kind::pad, PadAttributes{.begin = {0, 0}, .end = {0, kHuge}}, "extent of dim 1", Pass::forward_inference, 0,
       ErrorCode::overflow},
      {data, Kind::gather, GatherAttributes{}, "indices"},
      {many, Kind::gather, GatherAttributes{}, "rank of dst"},
      {inputs({}), Kind::barrier, BarrierAttributes{"Foo\n", {}}, "dims of 'Foo\\x0a'"},
      {inputs({}), Kind::barrier, BarrierAttributes{"Foo", {{2}}}, "dims of 'Foo'", Pass::forward_inference, 2},
      {inputs({}), Kind::barrier, BarrierAttributes{"Foo", {{-2}}}, "dims of 'Foo'"},
  });
}

/// Draws numbers at which arithmetic overflows, and some that fit.
struct Extremes {
  std::mt19937 engine;

  int64_t number() {
    static constexpr int64_t kNumbers[] = {std::numeric_limits<int64_t>::min(),
                                           -kHuge,
                                           -2,
                                           -1,
                                           0,
                                           1,
                                           1,
                                           1,
                                           2,
                                           2,
                                           3,
                                           4,
                                           int64_t{1} << 31,
                                           int64_t{1} << 32,
                                           kHuge / 2,
                                           kHuge - 1,
                                           kHuge};
    return kNumbers[std::uniform_int_distribution<std::size_t>(0, std::size(kNumbers) - 1)(engine)];
  }
  int small() { return std::uniform_int_distribution<int>(-1, 5)(engine); }
  Dims list(int count) {
    Dims out;
    while (out.size() < count) out.push_back(number());
    return out;
  }
  Dims list() { return list(std::max(small(), 0)); }
  /// Dims of an operand. Huge extents stand only beside a 0, so that no memory is needed.
  Dims dims(int rank) {
    Dims out;
    const bool empty = small() == 0;
    while (out.size() < rank) out.push_back(empty ? std::max<int64_t>(number(), 0) : std::max(small(), 1));
    if (empty && rank > 0) out[std::uniform_int_distribution<int>(0, rank - 1)(engine)] = 0;
    return out;
  }

  NodeAttributes attributes(Kind kind, int dims) {
    const int rank = std::max(dims - 2, 1);
    const auto spatial = [&](int count) { return small() <= 1 ? Dims() : list(count); };
    switch (kind) {
      case Kind::convolution:
      case Kind::deconvolution:
        return ConvolutionAttributes{spatial(rank), spatial(rank), spatial(rank), spatial(rank), number(), {}};
      case Kind::pooling:
        return PoolingAttributes{static_cast<PoolingAlgorithm>(std::abs(small()) % 3),
                                 spatial(rank),
                                 spatial(rank),
                                 spatial(rank),
                                 spatial(rank),
                                 spatial(rank)};
      case Kind::layer_normalization: return NormalizationAttributes{.axis = small()};
      case Kind::lrn: return LrnAttributes{.size = number()};
      case Kind::shuffle: return ShuffleAttributes{small(), number()};
      case Kind::resampling: return ResamplingAttributes{.sizes = list(rank)};
      case Kind::reduction: return ReductionAttributes{.axes = {small(), small()}};
      case Kind::concat: return ConcatAttributes{small()};
      case Kind::reshape: return ReshapeAttributes{list()};
      case Kind::slice: return SliceAttributes{list(dims), list(dims), list(dims)};
      case Kind::broadcast: return BroadcastAttributes{list()};
      case Kind::pad: return PadAttributes{list(dims), list(dims), static_cast<PadMode>(std::abs(small()) % 3)};
      default: return BarrierAttributes{"Foo", {list(), list()}};
    }
  }
};

TEST(OpsErrors, ExtremeNumbersGiveAnErrorOrSizesThatFit) {
  Extremes random{std::mt19937(5)};
  const Kind kinds[] = {Kind::convolution, Kind::deconvolution, Kind::pooling,    Kind::layer_normalization,
                        Kind::lrn,         Kind::shuffle,       Kind::resampling, Kind::reduction,
                        Kind::concat,      Kind::reshape,       Kind::slice,      Kind::broadcast,
                        Kind::pad,         Kind::barrier};
  std::map<Kind, int> accepted;
  int overflows = 0;
  for (int i = 0; i < 60000; ++i) {
    const Kind kind = kinds[i % std::ssize(kinds)];
    const int rank = std::max(random.small(), 1);
    Case c;
    const int sources = kind <= Kind::deconvolution || kind == Kind::concat ? 2 : 1;
    try {
      const Dims src = random.dims(rank);
      Dims other = random.dims(rank);
      if (rank > 1) other[1] = src[1];
      for (int s = 0; s < sources; ++s) c.src.push_back(c.graph.input("x", s == 0 ? src : other));
      for (const Dims& dims : shapes(c, kind, random.attributes(kind, rank))) {
        const auto elements = checked_product(dims);
        ASSERT_TRUE(elements && bytes_for(DType::f32, *elements)) << join(dims);
        for (int64_t extent : dims) ASSERT_GE(extent, 0) << name(kind) << " " << join(dims);
      }
      ++accepted[kind];
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::overflow)
          << error.message();
      overflows += error.code() == ErrorCode::overflow ? 1 : 0;
    }
  }
  for (const Kind kind : kinds) EXPECT_GT(accepted[kind], 10) << name(kind);
  EXPECT_GT(overflows, 1000);
}

}  // namespace
}  // namespace relayout::graph
