// Verbose lines of oneDNN as text: tensors in the three ways of writing, whole lines of documented and real programs,
// dims from problems, and what is refused. The test `onednn` has lines of the library that is installed.
#include "relayout/interop/onednn_verbose.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/core/view.h"

namespace relayout {
namespace {

using onednn::from_verbose;
using onednn::LibraryVersion;
using onednn::parse_verbose_line;
using onednn::parse_verbose_tensor;
using onednn::tensor_of;
using onednn::to_verbose;
using onednn::VerboseLine;
using onednn::VerboseSyntax;
using onednn::VerboseTensor;

/// The error's code and field, as "parse strides"; "none" where there is none.
template <typename F>
std::string verbose_error(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(name(error.code())) + " " + error.field();
  }
  return "none";
}

TensorDesc verbose_desc(const char* tag, const Dims& dims, DType dtype = DType::f32) {
  return {Format::parse(tag).bind(dims), dtype};
}

const Dims kDims{2, 17, 5, 4};

TEST(OneDnnVerbose, TheThreeWaysOfWriting) {
  const TensorDesc desc = verbose_desc("aBcd16b", kDims);
  const std::pair<LibraryVersion, const char*> texts[] = {
      {{2, 6}, "src_f32:p:blocked:aBcd16b:f0"},  {{3, 1}, "src_f32:p:blocked:aBcd16b:f0"},
      {{3, 2}, "src_f32:p:blocked:aBcd16b::f0"}, {{3, 5}, "src_f32:p:blocked:aBcd16b::f0"},
      {{3, 6}, "src:f32:p:blocked:aBcd16b::f0"}, {{3, 13}, "src:f32:p:blocked:aBcd16b::f0"}};
  for (const auto& [version, text] : texts) {
    EXPECT_EQ(to_verbose(desc, "src", version), text);
    EXPECT_EQ(from_verbose(text, kDims), desc) << text;
    const VerboseTensor tensor = parse_verbose_tensor(text);
    EXPECT_EQ(tensor.syntax, onednn::syntax_of(version)) << text;
    EXPECT_EQ(tensor.name, "src");
    EXPECT_EQ(tensor.data_type, "f32");
    EXPECT_EQ(tensor.format_kind, "blocked");
    EXPECT_EQ(onednn::expression_of(tensor), "aBcd16b");
  }
}

TEST(OneDnnVerbose, TextsStayAsTheyAre) {
  for (const char* text : {"src_f32::blocked:aBcd16b:f0",
                           "src_f32::blocked:abcd::f0",
                           "wei_f32:a:blocked:ABcd16b16a::f0",
                           "src_f32:p:blocked:aBcd16b:f0",
                           "wei_s8::blocked:ABcd4b16a4b:f1:s8m1",
                           "wei_s8:a:blocked:ABcd4b16a4b::f8:zpm1",
                           "wei_s8:p:blocked:Acdb16a:f3:s8m1:sa0.5",
                           "bia_undef::undef::",
                           "bia_undef::undef:::",
                           "bia:undef::undef:::",
                           "wei_f32::wino::f0",
                           "wei_f32::wino:::f0",
                           "src_f32:a:any:any::f0",
                           "wei_layer_bf16::rnn_packed::f0",
                           "bia_f32::blocked:ab:f0_mask2",
                           "bia:f32:a:blocked:ab::f0_mask3",
                           "dst_f8_e5m2::blocked:ab:f0",
                           "dst:f8_e4m3::blocked:ab:4x1:f0",
                           "src_layer_f16::blocked:abc:f0",
                           "src_f32::blocked:*:f0",
                           "diff_wei_f32:po0:blocked:AB16b16a:f0",
                           "src:boolean::blocked:a:2:f0"}) {
    EXPECT_EQ(onednn::to_text(parse_verbose_tensor(text)), text);
  }
  EXPECT_EQ(parse_verbose_tensor("wei_layer_bf16::rnn_packed::f0").name, "wei_layer");
  EXPECT_EQ(parse_verbose_tensor("dst_f8_e5m2::blocked:ab:f0").data_type, "f8_e5m2");
  EXPECT_EQ(parse_verbose_tensor("bia_f32::blocked:ab:f0_mask2").mask, "2");
}

TEST(OneDnnVerbose, StridesOffsetsAndRepeatedDims) {
  const TensorDesc gaps(Layout::strided({2, 3}, {5, 1}), DType::u8);
  EXPECT_EQ(to_verbose(gaps, "src", {2, 6}), "src_u8::blocked:ab:f0");  // which does not say the strides
  EXPECT_EQ(to_verbose(gaps, "src", {3, 2}), "src_u8::blocked:ab:5x1:f0");
  EXPECT_EQ(from_verbose("src_u8::blocked:ab:5x1:f0", {2, 3}), gaps);
  EXPECT_EQ(onednn::expression_of(parse_verbose_tensor("src_u8::blocked:ab:5x1:f0")), "strides:5,1");

  const Layout whole = Format::parse("nChw8c").bind({2, 16, 5, 4});
  const TensorDesc part(submemory(whole, {2, 8, 5, 4}, {0, 8, 0, 0}), DType::f32);
  EXPECT_EQ(to_verbose(part, "src", {2, 6}), "src_f32:0:blocked:aBcd8b:f0");
  const std::string text = to_verbose(part, "src", {3, 7});
  EXPECT_EQ(text, "src:f32:0:blocked:aBcd8b:320x160x32x8:f0");
  EXPECT_EQ(from_verbose(text, part.layout.dims(), 160), part);
  VerboseTensor tensor = parse_verbose_tensor(text);
  EXPECT_EQ(onednn::expression_of(tensor), "");
  tensor.dims = part.layout.dims();
  EXPECT_EQ(onednn::expression_of(tensor), "") << "it does not begin at offset 0, and the text does not say where";
  tensor.properties = "";
  EXPECT_EQ(onednn::expression_of(tensor), "digits:(2,320)|(8,1)(1,160)|(5,32)|(4,8)");

  // A stride of 0 came to stand outermost with 3.7.
  const TensorDesc repeated(Layout::strided({5, 4}, {1, 0}), DType::f32);
  EXPECT_EQ(to_verbose(repeated, "src", {3, 6}), "src:f32::blocked:ab:1x0:f0");
  EXPECT_EQ(to_verbose(repeated, "src", {3, 7}), "src:f32::blocked:ba:1x0:f0");
  EXPECT_EQ(from_verbose("src:f32::blocked:ba:1x0:f0", {5, 4}), repeated);
}

TEST(OneDnnVerbose, WhatIsNoLayoutIsRefusedByName) {
  const auto refused = [](const char* text, const Dims& dims = kDims) {
    return verbose_error([&] { from_verbose(text, dims); });
  };
  EXPECT_EQ(refused("src_f32:a:any:any::f0"), "unsupported format_kind");
  EXPECT_EQ(refused("bia_undef::undef::"), "unsupported format_kind");
  EXPECT_EQ(refused("wei_f32::wino::f0"), "unsupported format_kind");
  EXPECT_EQ(refused("wei_f32::rnn_packed:::f0"), "unsupported format_kind");
  EXPECT_EQ(refused("src_f32::blocked:*:f0"), "unsupported format_tag");
  EXPECT_EQ(refused("wei_s8::blocked:abcd:f1:s8m1"), "unsupported extra");
  EXPECT_EQ(refused("src_f32:o:blocked:abcd:f0"), "unsupported properties");
  EXPECT_EQ(refused("src_f32:0:blocked:abcd:f0"), "unsupported properties");
  EXPECT_EQ(refused("src_f4_e3m0::blocked:abcd:f0"), "unsupported data_type");
  EXPECT_EQ(refused("src_f32:p:blocked:abcd:f0"), "invalid_argument properties");
  EXPECT_EQ(refused("src_f32::blocked:aBcd16b:f0"), "invalid_argument properties");
  EXPECT_EQ(refused("src_f32::blocked:abcd:4x1:f0"), "invalid_argument strides");
  EXPECT_EQ(refused("src_f32::blocked:abc:f0").substr(0, 16), "invalid_argument");
  try {
    from_verbose("wei_f32::wino::f0", kDims);
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("wino"), std::string::npos) << error.message();
  }
}

TEST(OneDnnVerbose, ExpressionsAreEmptyWhereThereIsNoLayout) {
  for (const char* text :
       {"wei:s8::blocked:ABcd4b16a4b::f1:s8m1", "src:f32:o:blocked:abcd::f0", "src:f32:0:blocked:abcd::f0",
        "src:f32:0:blocked:abcd:480x160x32x8:f0", "src:f32::blocked:*:*:f0",
        "src:undef::undef:::", "src:f32::any:any::f0", "src:f32::blocked:aacd::f0", "src:f32::blocked:ab:1xa:f0"})
    EXPECT_EQ(onednn::expression_of(parse_verbose_tensor(text)), "") << text;
  VerboseTensor contradiction = parse_verbose_tensor("src:f32:p:blocked:aB8b:16x8:f0");
  contradiction.dims = Dims{2, 8};
  EXPECT_EQ(onednn::expression_of(contradiction), "");
  EXPECT_EQ(onednn::expression_of(parse_verbose_tensor("src:f4_e2m1::blocked:ab::f0")), "ab");
}

TEST(OneDnnVerbose, OffsetsThatThePropertiesContradictAreRefused) {
  const auto refused = [](const char* text, int64_t offset0) {
    return verbose_error([&] { from_verbose(text, {2, 3}, offset0); });
  };
  EXPECT_EQ(refused("src:f32:0:blocked:ab::f0", 0), "invalid_argument properties");
  EXPECT_EQ(refused("src:f32::blocked:ab::f0", 4), "invalid_argument properties");
  EXPECT_EQ(refused("src:f32::blocked:ab::f0", 0), "none");
  EXPECT_EQ(refused("src:f32:0:blocked:ab::f0", 4), "none");
}

TEST(OneDnnVerbose, SizesAtTheLimitOf63Bits) {
  const int64_t many = int64_t{1} << 59;
  EXPECT_EQ(to_verbose({Layout::contiguous({many}), DType::f32}, "src", {3, 7}), "src:f32::blocked:a::f0");
  EXPECT_EQ(to_verbose({Layout::contiguous({many * 8 - 1}), DType::u4}, "src", {3, 7}), "src:u4::blocked:a::f0");
  EXPECT_EQ(to_verbose({Layout::contiguous({many / 4}), DType::f64}, "src", {3, 7}), "src:f64::blocked:a::f0");
  EXPECT_EQ(to_verbose({Layout::strided({2, 3}, {many / 2, 1}), DType::f32}, "src", {3, 7}),
            "src:f32::blocked:ab:" + std::to_string(many / 2) + "x1:f0");
  const TensorDesc spread = from_verbose("src:s8::blocked:ab:2305843009213693952x1:f0", {2, 3});
  EXPECT_EQ(spread.layout, Layout::strided({2, 3}, {int64_t{1} << 61, 1}));
}

TEST(OneDnnVerbose, WrongTextsNameTheField) {
  const auto wrong = [](const char* text) { return verbose_error([&] { parse_verbose_tensor(text); }); };
  EXPECT_EQ(wrong(""), "parse data_type");
  EXPECT_EQ(wrong("src_f31::blocked:abcd:f0"), "parse data_type");
  EXPECT_EQ(wrong("_f32::blocked:abcd:f0"), "parse name");
  EXPECT_EQ(wrong("src_f32:q:blocked:abcd:f0"), "parse properties");
  EXPECT_EQ(wrong("src_f32:::abcd:f0"), "parse format_kind");
  EXPECT_EQ(wrong("src_f32"), "parse format_kind");
  EXPECT_EQ(wrong("src_f32::blocked:nchw:f0"), "parse format_tag");
  EXPECT_EQ(wrong("src_f32::blocked:aBcd16:f0"), "parse format_tag");
  EXPECT_EQ(wrong("src_f32::blocked:abcd"), "parse extra");
  EXPECT_EQ(wrong("src_f32::blocked:abcd:x:y:f0"), "parse extra");
  EXPECT_EQ(wrong("src:f32::blocked:abcd:f0"), "parse strides");
  EXPECT_EQ(wrong("src_f32::blocked:abcd:f0_maskx"), "parse mask");
  EXPECT_EQ(verbose_error([] { from_verbose("src_f32::blocked:abcd:1xax2x3:f0", kDims); }), "parse strides");
}

TEST(OneDnnVerbose, AConvolution) {
  const char* text =
      "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_training,src_f32::blocked:abcd:f0 "
      "wei_f32:p:blocked:Acdb16a:f0 bia_f32::blocked:a:f0 dst_f32:p:blocked:aBcd16b:f0,,alg:convolution_direct,"
      "mb1_ic3oc60_ih224oh112kh7sh2dh0ph3_iw220ow110kw5sw2dw0pw2,1.2";
  const VerboseLine line = parse_verbose_line(text);
  EXPECT_EQ(line.operation, "exec");
  EXPECT_EQ(line.engine, "cpu");
  EXPECT_EQ(line.primitive, "convolution");
  EXPECT_EQ(line.implementation, "jit:avx512_core");
  EXPECT_EQ(line.propagation, "forward_training");
  EXPECT_EQ(line.auxiliary, "alg:convolution_direct");
  EXPECT_EQ(line.time, "1.2");
  EXPECT_EQ(tensor_of(line.tensor("src")), verbose_desc("abcd", {1, 3, 224, 220}));
  EXPECT_EQ(tensor_of(line.tensor("wei")), verbose_desc("Acdb16a", {60, 3, 7, 5}));
  EXPECT_EQ(tensor_of(line.tensor("bia")), verbose_desc("a", {60}));
  EXPECT_EQ(tensor_of(line.tensor("dst")), verbose_desc("aBcd16b", {1, 60, 112, 110}));
  EXPECT_EQ(verbose_error([&] { line.tensor("diff_src"); }), "invalid_argument name");
  EXPECT_EQ(onednn::to_text(line), text);
}

/// The dims that a line's tensors got, as "src 2x3, dst ?".
std::string dims_text(const std::string& line) {
  std::string out;
  const VerboseLine parsed = parse_verbose_line(line);
  EXPECT_EQ(onednn::to_text(parsed), line);
  for (const VerboseTensor& tensor : parsed.tensors) {
    out += (out.empty() ? "" : ", ") + tensor.name + " " + (tensor.dims ? join(*tensor.dims, "x") : "?");
  }
  return out;
}

TEST(OneDnnVerbose, DimsOfEachPrimitive) {
  const std::pair<const char*, const char*> lines[] = {
      {"reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32::blocked:aBcd16b:f0,,,1x64x56x56",
       "src 1x64x56x56, dst 1x64x56x56"},
      {"reorder,jit:uni,undef,src_f32::blocked:*:f0 dst_f32::blocked:ab:f0,,runtime-dim-mask:1,*x3", "src ?, dst ?"},
      {"convolution,jit,forward_training,src_f32::blocked:abc:f0 wei_f32::blocked:abcd:f0 dst_f32::blocked:abc:f0,,alg:"
       "convolution_direct,g2mb5_ic4oc6_iw9ow7kw3sw1dw0pw0",
       "src 5x4x9, wei 2x3x2x3, dst 5x6x7"},
      {"convolution,jit,forward_training,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 dst_f32::blocked:abcd:f0,"
       "attr-post-ops:dw:k3s2p1 ,alg:convolution_direct,mb5_ic4oc6_ih9oh9kh1sh1dh0ph0_iw9ow9kw1sw1dw0pw0",
       "src 5x4x9x9, wei 6x4x1x1, dst ?"},
      {"deconvolution,ref,forward_training,src_f32::blocked:abcde:f0 wei_f32::blocked:abcde:f0 bia_undef::undef:: "
       "dst_f32::blocked:abcde:f0,,alg:deconvolution_direct,mb1_ic4oc6_id1od3kd3sd1dd0pd0_ih2oh4kh3sh1dh0ph0_iw3ow5kw3"
       "sw1dw0pw-1",
       "src 1x4x1x2x3, wei 6x4x3x3x3, bia ?, dst 1x6x3x4x5"},
      {"inner_product,gemm,forward_training,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 bia_f32::blocked:a:f0 "
       "dst_f32::blocked:ab:f0,,,mb2ic3ih4iw5oc7",
       "src 2x3x4x5, wei 7x3x4x5, bia 7, dst 2x7"},
      {"pooling,jit,forward_training,src_f32::blocked:abcd:f0 dst_f32::blocked:abcd:f0 ws_u8::blocked:abcd:f0,,alg:"
       "pooling_max,mb2ic3_ih6oh3kh2sh2dh0ph0_iw8ow4kw2sw2dw0pw0",
       "src 2x3x6x8, dst 2x3x3x4, ws 2x3x3x4"},
      {"resampling,ref,forward_training,src_f32::blocked:abc:f0 dst_f32::blocked:abc:f0,,alg:resampling_linear,mb2ic3_"
       "iw4ow8",
       "src 2x3x4, dst 2x3x8"},
      {"batch_normalization,bnorm_jit,forward_training,data_f32::blocked:abcd:f0,,flags:,mb2ic3ih4iw5", "data 2x3x4x5"},
      {"batch_normalization,ref,forward_training,data_f32::blocked:ab:f0 diff_f32::blocked:ab:f0,,flags:,mb2ic3",
       "data 2x3, diff 2x3"},
      {"lrn,ref,forward_training,data_f32::blocked:abcd:f0,,alg:lrn_across_channels,mb2ic3ih4iw5ls5beta0.75",
       "data 2x3x4x5"},
      {"layer_normalization,ref,forward_training,data_f32::blocked:abc:f0 stats_f32::blocked:ab:f0,,flags:,2x3x4",
       "data 2x3x4, stats 2x3"},
      {"layer_normalization,ref,forward_training,src:f32::blocked:abc::f0 dst:f32::blocked:abc::f0 stats:f32::blocked:"
       "ab::f0 scale:f32::blocked:a::f0,,flags:C,2x3x4",
       "src 2x3x4, dst 2x3x4, stats 2x3, scale 4"},
      {"matmul,brg,undef,src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 bia_f32::blocked:abc:f0_mask4 "
       "dst_f32::blocked:abc:f0,,,2x3x4:1x4x5:2x3x5",
       "src 2x3x4, wei 1x4x5, bia 1x1x5, dst 2x3x5"},
      {"matmul,brg,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,3x4:4x5",
       "src 3x4, wei 4x5, dst 3x5"},
      {"matmul,brg,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,*x4:4x5",
       "src ?, wei 4x5, dst ?"},
      {"binary,jit,undef,src_f32::blocked:ab:f0 src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,alg:binary_add,2x1:1x3",
       "src 2x1, src 1x3, dst 2x3"},
      {"concat,simple,undef,src_f32::blocked:ab:f0 src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,axis:1,2x3:2x4",
       "src 2x3, src 2x4, dst 2x7"},
      {"sum,simple,undef,src_f32::blocked:ab:f0 src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,2x3",
       "src 2x3, src 2x3, dst 2x3"},
      {"reduction,ref,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,alg:reduction_max p:0 eps:0,2x3:2x1",
       "src 2x3, dst 2x1"},
      {"prelu,jit,forward_training,data_f32::blocked:ab:f0 wei_f32::blocked:ab:f0,,,2x3:1x3", "data 2x3, wei 1x3"},
      {"eltwise,jit,forward_training,data_f32::blocked:a:f0,,alg:eltwise_relu alpha:0 beta:0,7", "data 7"},
      {"rnn,ref,forward_training,src_layer_f32::blocked:abc:f0 src_iter_f32::blocked:abcd:f0 wei_layer_f32::blocked:"
       "abcde:f0 wei_iter_f32::blocked:abcde:f0 bias_f32::blocked:abcd:f0 dst_layer_f32::blocked:abc:f0 dst_iter_f32::"
       "blocked:abcd:f0,,alg:lbr_gru direction:bidirectional_concat activation:undef,l1t2mb3sic4slc5dhc4dic4",
       "src_layer 2x3x5, src_iter 1x2x3x4, wei_layer 1x2x5x3x4, wei_iter 1x2x4x3x4, bias 1x2x4x4, dst_layer 2x3x8, "
       "dst_iter 1x2x3x4"}};
  for (const auto& [text, expected] : lines) {
    EXPECT_EQ(dims_text("onednn_verbose,exec,cpu," + std::string(text) + ",0.5"), expected) << text;
  }
}

TEST(OneDnnVerbose, DimsOfPrimitivesOfGpus) {
  const std::pair<const char*, const char*> lines[] = {
      {"exec,gpu:0,sdpa,ocl:micro:any,undef,query:f16::blocked:abcd::f0 key:s8::blocked:abcd::f0 "
       "val:s8::blocked:abcd::f0 msk:f16::blocked:abcd::f0 dst:f16::blocked:abcd::f0,"
       "attr-scales:kq:11:f16+vs:7:f16,msk:1d,1x2x384x128:1x2x128x385:1x2x385x64",
       "query 1x2x384x128, key 1x2x128x385, val 1x2x385x64, msk ?, dst 1x2x384x64"},
      {"exec,gpu,sdpa,ocl:micro:reusable,undef,query:f32::blocked:abcd::f0 key:f32::blocked:abdc::f0 "
       "val:f32::blocked:abcd::f0 dst:f32::blocked:abcd::f0,,alg:softmax_accurate_inf_as_zero scl:div:f32:host,"
       "1x2x1x128:*x2x128x385:1x2x385x128",
       "query 1x2x1x128, key ?, val 1x2x385x128, dst 1x2x1x128"},
      {"create_nested:kernel_cache_hit,gpu:0,gemm,jit:gemm:any,undef,src_a:bf16::blocked:ab::f0 "
       "src_b:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,,,4x1024:1024x4096",
       "src_a 4x1024, src_b 1024x4096, dst 4x4096"},
      {"exec,gpu,gated_mlp,ocl:micro,undef,src:f16::blocked:ab::f0 wei_gate:f16::blocked:ab::f0 "
       "wei_up:f16::blocked:ab::f0 wei_down:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,,alg:eltwise_swish,mb2ic8oc32",
       "src 2x8, wei_gate 8x32, wei_up 8x32, wei_down 32x8, dst 2x8"},
      {"exec,gpu,a_primitive_of_tomorrow,ocl,undef,src:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,,,2x3:3x2:7",
       "src ?, dst ?"}};
  for (const auto& [text, expected] : lines) {
    EXPECT_EQ(dims_text("onednn_verbose,v1,primitive," + std::string(text) + ",0.5"), expected) << text;
  }
}

TEST(OneDnnVerbose, LinesOfDnnl1) {
  const std::pair<const char*, const char*> lines[] = {
      {"create,cpu,inner_product,gemm:ref,forward_training,src_f32::blocked:abcd:f0 wei_f32::blocked:bcda:f0 "
       "bia_undef::undef::f0 dst_f32::blocked:ab:f0,,,mb2ic512ih2iw2oc48",
       "src 2x512x2x2, wei 48x512x2x2, bia ?, dst 2x48"},
      {"exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 dst_f32::blocked:abc:f0,,,"
       "b10m20n40k30",
       "src 10x20x30, wei 10x30x40, dst 10x20x40"},
      {"exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ba:f0 dst_f32::blocked:ab:f0,,,m2n4k3",
       "src 2x3, wei 3x4, dst 2x4"},
      {"exec,cpu,binary,jit:uni,undef,src_f32::blocked:abc:f0 src_f32::blocked:abc:f0 dst_f32::blocked:abc:f0,,"
       "alg:binary_add,10x20x30:10x1x30 10x20x30",
       "src 10x20x30, src 10x1x30, dst 10x20x30"}};
  for (const auto& [text, expected] : lines) {
    EXPECT_EQ(dims_text("dnnl_verbose," + std::string(text) + ",0.5"), expected) << text;
  }
}

TEST(OneDnnVerbose, DimsOver63BitsStayOpen) {
  std::string sources, sizes;
  for (int k = 0; k < 10; ++k) {
    sources += "src_f32::blocked:ab:f0 ";
    sizes += (k > 0 ? ":" : "") + std::string("999999999999999999x2");
  }
  const VerboseLine line = parse_verbose_line("onednn_verbose,exec,cpu,concat,simple,undef," + sources +
                                              "dst_f32::blocked:ab:f0,,axis:0," + sizes + ",0.5");
  EXPECT_EQ(line.tensor("src", 9).dims, (Dims{999999999999999999, 2}));
  EXPECT_EQ(line.tensor("dst").dims, std::nullopt);
}

TEST(OneDnnVerbose, HeadsOfAllVersions) {
  const std::string rest = "cpu,reorder,jit:uni,undef,src_f32::blocked:ab::f0 dst_f32::blocked:ba::f0,,,2x3,0.5";
  for (const std::string head :
       {"exec,", "create,", "create:cache_miss,", "1693533460193.346924,exec,", "primitive,exec,", "v0,primitive,exec,",
        "v0,1693533460193.346924,primitive,create:cache_hit,", "v1,primitive,exec,",
        "v1,primitive,create_nested:cache_miss,", "v1,primitive,create_nested:kernel_cache_hit,"}) {
    for (const std::string marker : {"onednn_verbose,", "dnnl_verbose,"}) {
      const VerboseLine line = parse_verbose_line(marker + head + rest);
      EXPECT_EQ(line.primitive, "reorder") << head;
      EXPECT_EQ(line.timestamp.empty(), head.find("1693") == std::string::npos) << head;
      EXPECT_EQ(onednn::to_text(line), marker + head + rest);
    }
  }
  EXPECT_EQ(parse_verbose_line("onednn_verbose,exec," + rest + "\r\n").time, "0.5");
}

TEST(OneDnnVerbose, WrongLinesNameTheField) {
  const auto wrong = [](const std::string& text) { return verbose_error([&] { parse_verbose_line(text); }); };
  EXPECT_EQ(wrong(""), "parse marker");
  EXPECT_EQ(wrong("hello"), "parse marker");
  EXPECT_EQ(wrong("onednn_verbose,info,cpu,runtime:OpenMP,nthr:128"), "unsupported operation");
  EXPECT_EQ(wrong("onednn_verbose,v0,graph,exec,cpu,100002"), "unsupported operation");
  EXPECT_EQ(wrong("onednn_verbose,v0,primitive,create:check,matmul,dimension src:1,src/common/matmul.cpp:144"),
            "unsupported operation");
  EXPECT_EQ(wrong("onednn_verbose,v1,primitive,create_nested:dispatch,gemm,gpu:0,gemm"), "unsupported operation");
  EXPECT_EQ(wrong("onednn_verbose,primitive,exec:check,primitive,unused argument"), "unsupported operation");
  EXPECT_EQ(wrong("mkldnn_verbose,exec,reorder,jit:uni,undef,in:f32_nchw out:f32_nChw8c,num:1,1x8x2x2,0.5"),
            "unsupported marker");
  EXPECT_EQ(wrong("onednn_verbose,exec,cpu,reorder"), "parse fields");
  EXPECT_EQ(wrong("onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0 dst_f32::blockd,,,2x3,0.5"),
            "parse descriptors[1].format_kind");
  EXPECT_EQ(wrong("onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f33::blocked:ab:f0,,,2x3,0.5"),
            "parse descriptors[0].data_type");
  const VerboseLine open =
      parse_verbose_line("onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0,,,*x3,0.5");
  EXPECT_EQ(verbose_error([&] { tensor_of(open.tensors[0]); }), "invalid_argument dims");
  EXPECT_EQ(tensor_of(open.tensors[0], {2, 3}), verbose_desc("ab", {2, 3}));
}

}  // namespace
}  // namespace relayout
