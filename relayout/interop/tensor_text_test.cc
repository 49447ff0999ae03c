// Texts of PyTorch, NumPy, oneDNN and safetensors: documented and printed ones, what the library's own spellings read
// back as, and what is refused.
#include "relayout/interop/tensor_text.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/interop/spelling.h"

namespace relayout {
namespace {

/// "strides:3,1 2,3 f32", with "-" for what the text does not say.
std::string read_text(std::string_view text) {
  const TextTensor read = tensor_in_text(text);
  return read.expression + " " + (read.dims ? join(*read.dims) : "-") + " " +
         (read.dtype ? std::string(name(*read.dtype)) : "-");
}

std::string refused_text(std::string_view text) {
  try {
    return "read: " + read_text(text);
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(TensorText, ArraysAsPeopleTypeThem) {
  EXPECT_EQ(read_text("torch (1,64,5,4) strides (1280,1,256,64)"), "strides:1280,1,256,64 1,64,5,4 -");
  EXPECT_EQ(read_text("  torch (2, 3) (1, 2) torch.bfloat16\n"), "strides:1,2 2,3 bf16");
  EXPECT_EQ(read_text("torch.Size([2, 3]) stride=(3, 1), dtype=torch.float16, storage_offset=4"),
            "strides:3,1@4 2,3 f16");
  EXPECT_EQ(read_text("torch.empty_strided((2, 3), (1, 2), dtype=torch.int8)"), "strides:1,2 2,3 s8");
  EXPECT_EQ(read_text("torch ()"), "contiguous  -");
  EXPECT_EQ(read_text("torch (5,)"), "contiguous 5 -");
  EXPECT_EQ(read_text("torch strides [3, 1] sizes [2, 3]"), "strides:3,1 2,3 -");
  EXPECT_EQ(read_text("numpy (2,3) strides (24,8) float64"), "strides:3,1 2,3 f64");
  EXPECT_EQ(read_text("np shape (2, 3), strides (4, 8), dtype '<f4'"), "strides:1,2 2,3 f32");
  EXPECT_EQ(read_text("numpy (4,) strides (-8,) int64"), "strides:-1 4 s64");
  EXPECT_EQ(read_text("numpy (3, 1) strides (4, 17) float32"), "strides:1,0 3,1 f32");
  EXPECT_EQ(read_text("numpy (2, 3)"), "contiguous 2,3 -");
}

TEST(TensorText, ArraysThatAreRefused) {
  const auto has = [](std::string_view text, std::string_view words) {
    const std::string message = refused_text(text);
    EXPECT_NE(message.find(words), std::string::npos) << text << ": " << message;
  };
  has("torch (2,3) (1)", "1 strides of a shape of 2 dims");
  has("torch (2,3) (1,2) (3,4)", "a list too many");
  has("torch (2,3", "the closing ')' is missing");
  has("torch (2,3) 7", "a number that is in no list");
  has("torch (2,3) wibble", "wibble");
  has("torch (2,3) f32 f16", "a second type");
  has("torch strides (3,1)", "no shape");
  has("numpy (2,3) strides (24,8)", "must also say the type");
  has("numpy (2,3) strides (7,4) float32", "no whole number");
  has("numpy (2,3) strides (3,1) u4", "no whole number");
  has("torch (2,99999999999999999999)", "shape");
  has("torch (2,3) offset -1", "0 or more");
}

/// What spelling() writes for PyTorch and NumPy is the same layout again.
TEST(TensorText, SpellingsAreReadAgain) {
  std::mt19937_64 random(7);
  const auto upto = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
  int read = 0;
  for (int round = 0; round < 2000; ++round) {
    Dims dims, strides;
    for (int64_t d = upto(4); d > 0; --d) {
      dims.push_back(1 + upto(5));
      strides.push_back(upto(40) - (round % 3 == 0 ? 20 : 0));
    }
    const TensorDesc desc(Format::parse("strides:" + join(strides)).bind(dims), round % 2 ? DType::f32 : DType::u16);
    for (const char* system : {"pytorch", "numpy"}) {
      const Spelling spelled = spelling(system, desc);
      // A torch.as_strided() inside another call is no plain array.
      if (spelled.text.empty() || spelled.text.starts_with("torch.as_strided")) continue;
      const TextTensor back = tensor_in_text(spelled.text);
      EXPECT_EQ(TensorDesc(Format::parse(back.expression).bind(*back.dims), *back.dtype), desc) << spelled.text;
      ++read;
    }
  }
  EXPECT_GT(read, 2500);
}

constexpr const char* kLine =
    "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32:p:blocked:aBcd16b:f0,,,2x17x5x4,"
    "0.01";

TEST(TensorText, LinesOfOneDnn) {
  const std::vector<TextTensor> tensors = tensors_in_text(kLine);
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "src");
  EXPECT_EQ(tensors[1].name, "dst");
  EXPECT_EQ(read_text(std::string("src of ") + kLine), "abcd 2,17,5,4 f32");
  EXPECT_EQ(read_text(std::string("dst of ") + kLine), "aBcd16b 2,17,5,4 f32");
  EXPECT_EQ(refused_text(kLine), "text: it has 2 tensors: src, dst; write, for example, \"src of \" before the text");
  EXPECT_EQ(refused_text(std::string("wei of ") + kLine),
            "text: no tensor is called wei; it has 2 tensors: src, dst; write, for example, \"src of \" "
            "before the text");
  EXPECT_EQ(read_text("src_f32:p:blocked:aBcd16b:f0 2x17x5x4"), "aBcd16b 2,17,5,4 f32");
  EXPECT_EQ(read_text("src:u8::blocked:ab:5x1:f0 2x3"), "strides:5,1 2,3 u8");
  EXPECT_EQ(read_text("src_f32:p:blocked:aBcd16b:f0"), "aBcd16b - f32");
  EXPECT_NE(refused_text("src_f32:0:blocked:abcd:f0 1x2x3x4").find("offset"), std::string::npos);

  const std::vector<TextTensor> sums = tensors_in_text(
      "dnnl_verbose,exec,cpu,sum,jit:avx2,undef,src_f32::blocked:ab:f0 src_f32::blocked:ba:f0 "
      "dst_f32::blocked:ab:f0,,,2x3:2x3:2x3,0.01");
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(sums[1].name, "src 1");
  EXPECT_EQ(sums[1].expression, "ba");
}

TEST(TensorText, HeadersOfSafetensors) {
  constexpr const char* kHeader =
      R"({"__metadata__":{"relayout":"{\"version\":1,\"tensors\":{\"w\":{\"layout\":\"aBcd16b\",)"
      R"(\"dims\":[2,17,5,4]}}}"},)"
      R"("w":{"dtype":"F16","shape":[2,2,5,4,16],"data_offsets":[0,1280]},)"
      R"("b of w":{"dtype":"BF16","shape":[7],"data_offsets":[1280,1294]},)"
      R"("z":{"dtype":"F8_E4M3FNUZ","shape":[2],"data_offsets":[1294,1296]}})";
  const std::vector<TextTensor> tensors = tensors_in_text(kHeader);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].expression, "aBcd16b");
  EXPECT_EQ(*tensors[0].dims, (Dims{2, 17, 5, 4}));
  EXPECT_EQ(*tensors[0].dtype, DType::f16);
  EXPECT_EQ(tensors[1].expression, "contiguous");
  EXPECT_TRUE(tensors[2].problem);
  EXPECT_EQ(read_text(std::string("b of w of ") + kHeader), "contiguous 7 bf16");
  EXPECT_NE(refused_text(std::string("z of ") + kHeader).find("F8_E4M3FNUZ"), std::string::npos);
  EXPECT_NE(refused_text(R"({"w":{"shape":[1],"data_offsets":)").find("is not JSON"), std::string::npos);
  EXPECT_NE(refused_text(R"({"w":{"dtype":"F16","shape":[-1],"data_offsets":[0,1]}})").find("extent"),
            std::string::npos);
}

TEST(TensorText, ExpressionsAreNoTexts) {
  for (const char* text : {"nchw", "cute:(4,8):(8,1)", "xla:[3,5]{1,0:T(2,2)}", "strides:-8,1@24", "torch", "",
                           "dml:{1,1,3,5},{15,1,5,1}", R"({"fields": [{"name": "x", "dims": [2]}]})", "record{x:f32}"})
    EXPECT_FALSE(is_tensor_text(text)) << text;
  for (const char* text : {"torch (2)", "np.ndarray(shape=(2,))", kLine, "src_f32::blocked:ab:f0"})
    EXPECT_TRUE(is_tensor_text(text)) << text;
}

/// Texts with letters changed, left out and said twice are read or refused by an Error, and what is read can be bound.
TEST(TensorText, WrongTextsAreReadOrRefused) {
  std::mt19937_64 random(11);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  const std::string texts[] = {"torch (1,64,5,4) strides (1280,1,256,64) offset 3 torch.float16",
                               "np.ndarray(shape=(2, 3), dtype=np.float64, buffer=buf, offset=0, strides=(8, -16))",
                               kLine,
                               std::string("dst of ") + kLine,
                               "src_f32:p:blocked:aBcd16b:f0 2x17x5x4",
                               R"({"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})"};
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = texts[below(std::size(texts))];
    for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = "0123456789()[]{},x:-_ abf\"\0\xff"[below(31)]; break;
        case 1: text.erase(at, 1 + below(6)); break;
        default: text.insert(at, text.substr(below(text.size()), 1 + below(6)));
      }
    }
    try {
      const TextTensor tensor = tensor_in_text(text);
      const Format format = Format::parse(tensor.expression);
      if (tensor.dims) (void)format.bind(*tensor.dims);
      ++read;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << text;
      ++refused;
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 5000);
}

TEST(TensorText, WhatIsSaidApartAgrees) {
  const auto typed = [](const char* text, std::optional<std::string> dims, std::optional<std::string> dtype) {
    const TypedLayout out = in_expressions({text, std::move(dims), std::move(dtype)});
    return out.text + " " + out.dims.value_or("-") + " " + out.dtype.value_or("-");
  };
  EXPECT_EQ(typed("nchw", "1,2,3,4", {}), "nchw 1,2,3,4 -");
  EXPECT_EQ(typed("torch (2,3) (1,2)", {}, "f16"), "strides:1,2 2,3 f16");
  EXPECT_EQ(typed("torch (2,3) (1,2)", "2x3", {}), "strides:1,2 2,3 -");
  EXPECT_EQ(typed("src_f32:p:blocked:aBcd16b:f0", "2,17,5,4", {}), "aBcd16b 2,17,5,4 f32");
  EXPECT_THROW(typed("torch (2,3)", "3,2", {}), Error);
  EXPECT_THROW(typed("torch (2,3) float16", "2,3", "f32"), Error);
}

}  // namespace
}  // namespace relayout
