// Verbose lines of primitives of all kinds: the tensors and the dims that are read from a line are those of the
// primitive's own descriptors. The primitives are made by the interface of oneDNN 2.
#include <gtest/gtest.h>

#include <iostream>
#include <oneapi/dnnl/dnnl.hpp>

#include "relayout/interop/onednn_desc.h"
#include "verbose_lines.h"

namespace relayout {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using onednn::VerboseLine;

using Type = memory::data_type;
using Tag = memory::format_tag;
using Named = std::vector<std::pair<std::string, memory::desc> >;

class VerbosePrimitives : public testing::Test {
 protected:
  ~VerbosePrimitives() override { std::cout << texts_ << " texts of tensors are as the library writes them\n"; }

  /// Makes a primitive, and compares all tensors of its line with these descriptors, in the line's order.
  template <typename Primitive>
  void check(const typename Primitive::primitive_desc& found, const Named& expected) {
    const std::vector<VerboseLine> lines = verbose_lines_of([&] { const Primitive primitive(found); });
    ASSERT_EQ(lines.size(), 1u);
    // Tensors that the primitive does not have are written too, as undef.
    std::vector<onednn::VerboseTensor> tensors = lines[0].tensors;
    std::erase_if(tensors, [](const onednn::VerboseTensor& tensor) { return tensor.data_type == "undef"; });
    ASSERT_EQ(tensors.size(), expected.size()) << to_text(lines[0]);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const auto& [name, md] = expected[k];
      const onednn::VerboseTensor& tensor = tensors[k];
      ASSERT_EQ(tensor.name, name) << to_text(lines[0]);
      const TensorDesc desc = onednn::from_desc(md);
      ASSERT_TRUE(tensor.dims) << name << " of " << to_text(lines[0]);
      ASSERT_EQ(onednn::tensor_of(tensor), desc) << name << " of " << to_text(lines[0]);
      onednn::VerboseTensor written = onednn::verbose_tensor(desc, name, library_version());
      written.mask = tensor.mask;  // a mask is the primitive's, not the tensor's
      ASSERT_EQ(to_text(written), to_text(tensor));
      ++texts_;
    }
  }

  /// Convolutions of 1 to 3 places, with and without groups, whose layouts the library chooses or that are row-major.
  template <typename Primitive>
  void check_convolutions(algorithm kind) {
    for (std::size_t places = 1; places <= 3; ++places) {
      for (const int64_t groups : {0, 1, 2}) {
        for (const int64_t channels : {3, 16, 20}) {
          if (kind == algorithm::deconvolution_direct && places == 3) continue;
          const int64_t of_group = std::max<int64_t>(groups, 1);
          memory::dims src{2, channels * of_group}, wei{24 / of_group, channels}, dst{2, 24};
          if (groups > 0) wei.insert(wei.begin(), groups);
          for (std::size_t k = 0; k < places; ++k) {
            const int64_t small = 5 + static_cast<int64_t>(k), large = small + 2;
            src.push_back(kind == algorithm::convolution_direct ? large : small);
            wei.push_back(3);
            dst.push_back(kind == algorithm::convolution_direct ? small : large);
          }
          const memory::dims ones(places, 1), zeros(places, 0);
          const auto any = [](const memory::dims& dims) { return memory::desc(dims, Type::f32, Tag::any); };
          const typename Primitive::desc operation(prop_kind::forward_training, kind, any(src), any(wei), any({24}),
                                                   any(dst), ones, zeros, zeros);
          const typename Primitive::primitive_desc found(operation, engine_);
          check<Primitive>(found, {{"src", found.src_desc()},
                                   {"wei", found.weights_desc()},
                                   {"bia", found.bias_desc()},
                                   {"dst", found.dst_desc()}});
        }
      }
    }
  }

  static memory::desc of(const memory::dims& dims, Tag tag, Type type = Type::f32) { return {dims, type, tag}; }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  int texts_ = 0;
};

TEST_F(VerbosePrimitives, Convolutions) {
  check_convolutions<dnnl::convolution_forward>(algorithm::convolution_direct);
}

TEST_F(VerbosePrimitives, Deconvolutions) {
  check_convolutions<dnnl::deconvolution_forward>(algorithm::deconvolution_direct);
}

TEST_F(VerbosePrimitives, ProductsOfMatrices) {
  using Product = dnnl::matmul;
  for (const Tag tag : {Tag::abc, Tag::acb}) {
    const memory::desc src = of({2, 3, 4}, Tag::abc), wei = of({2, 4, 5}, tag), bia = of({1, 1, 5}, Tag::abc),
                       dst = of({2, 3, 5}, Tag::abc);
    const Product::primitive_desc found({src, wei, bia, dst}, engine_);
    check<Product>(found, {{"src", src}, {"wei", wei}, {"bia", bia}, {"dst", dst}});
  }
  using Inner = dnnl::inner_product_forward;
  for (const Tag tag : {Tag::nchw, Tag::nhwc, Tag::nChw16c}) {
    const memory::desc src = of({2, 16, 3, 4}, tag), wei({7, 16, 3, 4}, Type::f32, Tag::any), bia = of({7}, Tag::a),
                       dst = of({2, 7}, Tag::ab);
    const Inner::primitive_desc found({prop_kind::forward_inference, src, wei, bia, dst}, engine_);
    check<Inner>(found, {{"src", found.src_desc()}, {"wei", found.weights_desc()}, {"bia", bia}, {"dst", dst}});
  }
}

TEST_F(VerbosePrimitives, WindowsAndResampling) {
  for (const Tag tag : {Tag::nchw, Tag::nhwc, Tag::nChw8c, Tag::nChw16c}) {
    const memory::desc src = of({2, 20, 8, 6}, tag), half = of({2, 20, 4, 3}, tag), twice = of({2, 20, 16, 12}, tag);
    using Pooling = dnnl::pooling_forward;
    const Pooling::primitive_desc pooling(
        {prop_kind::forward_training, algorithm::pooling_max, src, half, {2, 2}, {2, 2}, {0, 0}, {0, 0}}, engine_);
    check<Pooling>(pooling, {{"src", src}, {"dst", half}, {"ws", pooling.workspace_desc()}});
    using Resampling = dnnl::resampling_forward;
    const Resampling::primitive_desc resampling(
        {prop_kind::forward_training, algorithm::resampling_nearest, src, twice}, engine_);
    check<Resampling>(resampling, {{"src", src}, {"dst", twice}});
  }
}

TEST_F(VerbosePrimitives, ElementsOneByOne) {
  for (const Tag tag : {Tag::nchw, Tag::nhwc, Tag::nChw8c, Tag::nChw16c}) {
    const memory::desc data = of({2, 20, 4, 3}, tag), one = of({1, 20, 1, 1}, tag);
    using Eltwise = dnnl::eltwise_forward;
    check<Eltwise>({{prop_kind::forward_training, algorithm::eltwise_relu, data, 0.5f, 0.f}, engine_},
                   {{"data", data}});
    check<dnnl::binary>({{algorithm::binary_add, data, one, data}, engine_},
                        {{"src", data}, {"src", one}, {"dst", data}});
    check<dnnl::sum>({{1.f, 2.f}, {data, data}, engine_}, {{"src", data}, {"src", data}, {"dst", data}});
    check<dnnl::shuffle_forward>({{prop_kind::forward_training, data, 1, 4}, engine_}, {{"data", data}});
    check<dnnl::prelu_forward>({{prop_kind::forward_training, data, one}, engine_}, {{"data", data}, {"wei", one}});
    const dnnl::concat::primitive_desc joined(1, {data, of({2, 16, 4, 3}, tag)}, engine_);
    check<dnnl::concat>(joined, {{"src", data}, {"src", of({2, 16, 4, 3}, tag)}, {"dst", joined.dst_desc()}});
  }
}

TEST_F(VerbosePrimitives, NormalizationsAndReductions) {
  for (const Tag tag : {Tag::nchw, Tag::nhwc}) {
    const memory::desc data = of({2, 20, 4, 3}, tag), one = of({2, 1, 4, 3}, tag);
    using Batch = dnnl::batch_normalization_forward;
    check<Batch>({{prop_kind::forward_training, data, 0.1f, dnnl::normalization_flags::none}, engine_},
                 {{"data", data}});
    using Lrn = dnnl::lrn_forward;
    check<Lrn>({{prop_kind::forward_training, algorithm::lrn_across_channels, data, 5, 1e-5f, 0.75f, 1.f}, engine_},
               {{"data", data}});
    using Softmax = dnnl::softmax_forward;
    check<Softmax>({{prop_kind::forward_training, data, 1}, engine_}, {{"src", data}, {"dst", data}});
    using Reduction = dnnl::reduction;
    check<Reduction>({{algorithm::reduction_sum, data, one, 0.f, 0.f}, engine_}, {{"src", data}, {"dst", one}});
  }
  const memory::desc rows = of({5, 2, 8}, Tag::abc), statistics = of({5, 2}, Tag::ab);
  using Layer = dnnl::layer_normalization_forward;
  check<Layer>({{prop_kind::forward_training, rows, statistics, 0.1f, dnnl::normalization_flags::none}, engine_},
               {{"data", rows}, {"stats", statistics}});
}

TEST_F(VerbosePrimitives, RecurrentLayers) {
  using Direction = dnnl::rnn_direction;
  for (const auto& [direction, directions, dst_channels] :
       {std::tuple(Direction::unidirectional_left2right, 1, 8), std::tuple(Direction::bidirectional_concat, 2, 16),
        std::tuple(Direction::bidirectional_sum, 2, 8)}) {
    const memory::desc src = of({4, 2, 6}, Tag::tnc), state = of({1, directions, 2, 8}, Tag::ldnc),
                       dst = of({4, 2, dst_channels}, Tag::tnc);
    const auto weights = [&](int64_t rows, int64_t gates) { return of({1, directions, rows, gates, 8}, Tag::ldigo); };
    const auto bias = [&](int64_t gates) { return of({1, directions, gates, 8}, Tag::ldgo); };
    const auto named = [&](int64_t gates, int64_t of_bias) {
      return Named{{"src_layer", src},
                   {"src_iter", state},
                   {"wei_layer", weights(6, gates)},
                   {"wei_iter", weights(8, gates)},
                   {"bias", bias(of_bias)},
                   {"dst_layer", dst},
                   {"dst_iter", state}};
    };
    check<dnnl::lstm_forward>({{prop_kind::forward_inference, direction, src, state, state, weights(6, 4),
                                weights(8, 4), bias(4), dst, state, state},
                               engine_},
                              named(4, 4));
    check<dnnl::lbr_gru_forward>(
        {{prop_kind::forward_inference, direction, src, state, weights(6, 3), weights(8, 3), bias(4), dst, state},
         engine_},
        named(3, 4));
    check<dnnl::vanilla_rnn_forward>({{prop_kind::forward_inference, algorithm::eltwise_tanh, direction, src, state,
                                       weights(6, 1), weights(8, 1), bias(1), dst, state},
                                      engine_},
                                     named(1, 1));
  }
}

TEST_F(VerbosePrimitives, OpaqueWeightsAreReadAndRefused) {
  // A convolution of s8 by s8 has weights with compensation, where the processor needs it.
  const memory::desc src({2, 32, 9, 9}, Type::s8, Tag::any), wei({32, 32, 3, 3}, Type::s8, Tag::any),
      dst({2, 32, 7, 7}, Type::s32, Tag::any);
  using Convolution = dnnl::convolution_forward;
  const Convolution::primitive_desc found(
      {prop_kind::forward_inference, algorithm::convolution_direct, src, wei, dst, {1, 1}, {0, 0}, {0, 0}}, engine_);
  const std::vector<VerboseLine> lines = verbose_lines_of([&] { const Convolution primitive(found); });
  ASSERT_EQ(lines.size(), 1u);
  const onednn::VerboseTensor& weights = lines[0].tensor("wei");
  std::cout << "weights of s8: " << to_text(weights) << "\n";
  if (weights.extra == "f0") GTEST_SKIP() << "this processor's convolution needs no compensation";
  EXPECT_THROW(onednn::tensor_of(weights), Error);
  EXPECT_EQ(onednn::tensor_of(lines[0].tensor("src")), onednn::from_desc(found.src_desc()));
}

}  // namespace
}  // namespace relayout
