// Names of types that people type: what they mean, and what those that mean two things are answered.
#include <gtest/gtest.h>

#include "relayout/core/dtype.h"
#include "relayout/core/error.h"

namespace relayout {
namespace {

std::string refused(std::string_view text) {
  try {
    return "a type: " + std::string(name(parse_dtype(text)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.message();
  }
}

void expect_contains(std::string_view text, std::initializer_list<const char*> words) {
  const std::string message = refused(text);
  for (const char* word : words) EXPECT_NE(message.find(word), std::string::npos) << text << ": " << message;
}

TEST(DTypeNames, OurNamesMeanThemselves) {
  for (DType dtype : all_dtypes()) EXPECT_EQ(parse_dtype(name(dtype)), dtype) << name(dtype);
}

TEST(DTypeNames, NamesOfOtherSystemsAreUnderstood) {
  const std::pair<DType, std::vector<const char*>> kNames[] = {
      {DType::f64,
       {"float64", "double", "fp64", "F64", "torch.double", "<f8", "=f8", "np.float64", "jax.numpy.float64"}},
      {DType::f32, {"float32", "single", "fp32", "Float32", "torch.float", "torch.float32", "<f4", "|f4"}},
      {DType::f16, {"float16", "half", "fp16", "FP16", "torch.half", "numpy.float16", "<f2"}},
      {DType::bf16, {"bfloat16", "BF16", "torch.bfloat16", "ml_dtypes.bfloat16", "jnp.bfloat16"}},
      {DType::f8_e4m3, {"float8_e4m3fn", "fp8_e4m3", "F8_E4M3", "f8e4m3fn", "e4m3", "torch.float8_e4m3fn"}},
      {DType::f8_e5m2, {"float8_e5m2", "fp8_e5m2", "F8_E5M2", "f8e5m2", "e5m2"}},
      {DType::f8_e8m0, {"float8_e8m0fnu", "torch.float8_e8m0fnu", "F8_E8M0", "f8e8m0fnu", "e8m0fnu", "e8m0"}},
      {DType::f6_e3m2, {"float6_e3m2fn", "f6_e3m2fn", "F6_E3M2", "fp6_e3m2", "e3m2"}},
      {DType::f6_e2m3, {"ml_dtypes.float6_e2m3fn", "F6_E2M3", "f6e2m3fn", "e2m3fn"}},
      {DType::f4_e2m1, {"float4_e2m1fn", "torch.float4_e2m1fn_x2", "fp4_e2m1", "f4_e2m1fn", "e2m1fn", "e2m1"}},
      {DType::s64, {"int64", "i64", "I64", "long", "torch.long", "<i8"}},
      {DType::s32, {"int32", "i32", "torch.int", "<i4"}},
      {DType::s16, {"int16", "i16", "short", "<i2"}},
      {DType::s8, {"int8", "sint8", "torch.int8", "np.byte", "numpy.byte", "|i1", ">i1"}},
      {DType::u64, {"uint64", "U64", "<u8"}},
      {DType::u32, {"uint32", "<u4"}},
      {DType::u16, {"uint16", "ushort", "<u2", "=u2"}},
      {DType::u8, {"uint8", "ubyte", "U8", "torch.uint8", "torch.byte", "|u1"}},
      {DType::boolean, {"bool_", "bool8", "boolean", "BOOL", "torch.bool", "|b1", "|?"}},
      {DType::s4, {"int4", "torch.int4", "ml_dtypes.int4", "S4"}},
      {DType::u4, {"uint4", "U4"}},
      {DType::s2, {"int2", "ml_dtypes.int2", "torch.int2"}},
      {DType::u2, {"uint2", "U2", "torch.uint2"}},
      {DType::u1, {"uint1", "bit", "U1", "torch.uint1"}},
  };
  for (const auto& [dtype, texts] : kNames) {
    for (const char* text : texts) {
      EXPECT_NO_THROW(EXPECT_EQ(parse_dtype(text), dtype) << text) << text;
    }
  }
}

TEST(DTypeNames, WhatMeansTwoTypesIsRefusedWithBoth) {
  expect_contains("i4", {"s4", "s32"});
  expect_contains("i8", {"s8", "s64"});
  expect_contains("f4", {"f32", "NumPy"});
  expect_contains("f8", {"f64", "NumPy"});
  expect_contains("i2", {"s2", "s16"});
  expect_contains("i1", {"s8", "NumPy"});
  expect_contains("float", {"f32", "f64"});
  expect_contains("int", {"s32", "s64"});
  expect_contains("byte", {"s8", "u8"});
  expect_contains("float8_e4m3", {"float8_e4m3fn", "infinities"});
}

TEST(DTypeNames, OtherTextsAreRefusedWithWhatIsNear) {
  expect_contains("f33", {"did you mean f32?"});
  expect_contains("flaot32", {"did you mean float32?"});
  expect_contains("duoble", {"did you mean double?"});
  expect_contains(">f4", {"highest"});
  for (const char* text : {"",       "float",   "f",           "<",    "<f1",         "<f3",     "<i3",
                           "<c8",    "float12", "fp",          "fp8",  "f8_e4m3fnuz", "e4m3b11", "complex64",
                           "torch.", "torch",   "foo.float32", "int1", "bfloat32",    "F64 ",    "u 8"})
    EXPECT_EQ(refused(text).find("a type: "), std::string::npos) << text << " is " << refused(text);
}

}  // namespace
}  // namespace relayout
