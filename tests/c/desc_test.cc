// Descriptors through the C interface: the numbers of layouts, and texts and lists into the caller's memory.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/c/owned.h"

namespace {

using relayout::testing::Desc;

std::vector<int64_t> dims_of(const relayout_desc* desc) {
  std::vector<int64_t> out(RELAYOUT_MAX_DIMS);
  int32_t n = -1;
  EXPECT_EQ(relayout_desc_dims(desc, out.data(), RELAYOUT_MAX_DIMS, &n), RELAYOUT_OK) << relayout_error_message();
  out.resize(static_cast<std::size_t>(n));
  return out;
}

std::string text_of(const relayout_desc* desc, const char* as) {
  size_t length = 0;
  EXPECT_EQ(relayout_desc_text(desc, as, nullptr, 0, &length), RELAYOUT_OK) << relayout_error_message();
  std::string out(length + 1, '#');
  EXPECT_EQ(relayout_desc_text(desc, as, out.data(), out.size(), &length), RELAYOUT_OK);
  EXPECT_EQ(out[length], '\0');
  out.resize(length);
  return out;
}

TEST(CDesc, SaysItsNumbers) {
  const Desc desc("nChw8c", {2, 17, 5, 4}, RELAYOUT_BF16);
  EXPECT_EQ(dims_of(desc), (std::vector<int64_t>{2, 17, 5, 4}));
  std::array<int64_t, 4> padded{};
  ASSERT_EQ(relayout_desc_padded_dims(desc, padded.data(), 4, nullptr), RELAYOUT_OK);
  EXPECT_EQ(padded, (std::array<int64_t, 4>{2, 24, 5, 4}));

  std::array<relayout_digit, 2> digits{};
  int32_t count = 0;
  ASSERT_EQ(relayout_desc_digits(desc, 1, nullptr, 0, &count), RELAYOUT_OK);
  ASSERT_EQ(count, 2);
  ASSERT_EQ(relayout_desc_digits(desc, 1, digits.data(), 2, &count), RELAYOUT_OK);
  EXPECT_EQ(digits[0].extent, 8);
  EXPECT_EQ(digits[0].stride, 1);
  EXPECT_EQ(digits[1].extent, 3);
  EXPECT_EQ(digits[1].stride, 160);

  int64_t number = 0;
  ASSERT_EQ(relayout_desc_elements(desc, &number), RELAYOUT_OK);
  EXPECT_EQ(number, 680);
  ASSERT_EQ(relayout_desc_span_bytes(desc, &number), RELAYOUT_OK);
  EXPECT_EQ(number, 1920);
  relayout_dtype dtype = RELAYOUT_F64;
  ASSERT_EQ(relayout_desc_dtype(desc, &dtype), RELAYOUT_OK);
  EXPECT_EQ(dtype, RELAYOUT_BF16);
}

TEST(CDesc, OffsetsAndIndicesAreInverse) {
  const Desc desc("nChw8c", {2, 17, 5, 4}, RELAYOUT_F32);
  const std::array<int64_t, 4> index{0, 16, 2, 3};
  int64_t offset = 0;
  ASSERT_EQ(relayout_desc_offset(desc, index.data(), 4, &offset), RELAYOUT_OK);
  EXPECT_EQ(offset, 408);
  std::array<int64_t, 4> back{};
  relayout_slot slot = RELAYOUT_GAP;
  ASSERT_EQ(relayout_desc_index(desc, offset, back.data(), 4, &slot), RELAYOUT_OK);
  EXPECT_EQ(slot, RELAYOUT_ELEMENT);
  EXPECT_EQ(back, index);
  ASSERT_EQ(relayout_desc_index(desc, offset + 1, back.data(), 4, &slot), RELAYOUT_OK);
  EXPECT_EQ(slot, RELAYOUT_PADDING);
  ASSERT_EQ(relayout_desc_index(desc, 1'000'000, back.data(), 4, &slot), RELAYOUT_OK);
  EXPECT_EQ(slot, RELAYOUT_GAP);

  const std::array<int64_t, 4> beyond{0, 24, 0, 0};
  EXPECT_EQ(relayout_desc_offset(desc, beyond.data(), 4, &offset), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_field(), "index[1]");
  EXPECT_STREQ(relayout_error_value(), "24");
  EXPECT_STREQ(relayout_error_limit(), "24");
  EXPECT_EQ(offset, 408) << "a failure leaves results alone";
}

TEST(CDesc, Swizzles) {
  const Desc tile("ab;swizzle=3,4,3", {8, 128}, RELAYOUT_F16);
  int32_t bits = 0, base = 0, shift = 0, count = 0;
  ASSERT_EQ(relayout_desc_swizzle(tile, &bits, &base, &shift), RELAYOUT_OK);
  EXPECT_EQ((std::array{bits, base, shift}), (std::array{3, 4, 3}));
  EXPECT_EQ(relayout_desc_digits(tile, 0, nullptr, 0, &count), RELAYOUT_UNSUPPORTED);
  std::array<int64_t, 2> strides{};
  EXPECT_EQ(relayout_desc_strides(tile, strides.data(), 2, nullptr), RELAYOUT_UNSUPPORTED);
  EXPECT_NE(std::string(relayout_error_message()).find("Sw<3,4,3>"), std::string::npos);
  const std::array<int64_t, 2> index{1, 0};
  int64_t offset = 0;
  ASSERT_EQ(relayout_desc_offset(tile, index.data(), 2, &offset), RELAYOUT_OK);
  EXPECT_EQ(offset, 128 ^ 16);
  const Desc plain("ab", {8, 128}, RELAYOUT_F16);
  ASSERT_EQ(relayout_desc_swizzle(plain, &bits, &base, &shift), RELAYOUT_OK);
  EXPECT_EQ((std::array{bits, base, shift}), (std::array{0, 0, 0}));
}

TEST(CDesc, ViewsAndStrides) {
  const Desc desc("nchw", {2, 16, 5, 4}, RELAYOUT_F32);
  relayout_desc* view = nullptr;
  ASSERT_EQ(relayout_desc_view(desc, ".narrow(1,8,8).transpose(0,1)", &view), RELAYOUT_OK) << relayout_error_message();
  EXPECT_EQ(dims_of(view), (std::vector<int64_t>{8, 2, 5, 4}));
  std::array<int64_t, 4> strides{};
  ASSERT_EQ(relayout_desc_strides(view, strides.data(), 4, nullptr), RELAYOUT_OK);
  EXPECT_EQ(strides, (std::array<int64_t, 4>{20, 320, 4, 1}));
  int64_t offset0 = 0;
  ASSERT_EQ(relayout_desc_offset0(view, &offset0), RELAYOUT_OK);
  EXPECT_EQ(offset0, 160);
  relayout_desc_free(view);

  EXPECT_EQ(relayout_desc_view(desc, "narrow(1,8,8)", &view), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_desc_view(desc, ".narrow(1,8,9)", &view), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_desc_view(desc, ".nonsense()", &view), RELAYOUT_PARSE);

  const Desc blocked("nChw8c", {2, 17, 5, 4}, RELAYOUT_F32);
  EXPECT_EQ(relayout_desc_strides(blocked, strides.data(), 4, nullptr), RELAYOUT_UNSUPPORTED);
  EXPECT_STREQ(relayout_error_field(), "dims[1]");
}

TEST(CDesc, StridedAndRowMajor) {
  const std::array<int64_t, 2> dims{3, 4}, strides{-4, 1};
  relayout_desc *rows = nullptr, *flipped = nullptr;
  ASSERT_EQ(relayout_desc_strided(2, dims.data(), nullptr, 0, RELAYOUT_U8, &rows), RELAYOUT_OK);
  ASSERT_EQ(relayout_desc_strided(2, dims.data(), strides.data(), 8, RELAYOUT_U8, &flipped), RELAYOUT_OK);
  EXPECT_EQ(text_of(rows, "digits"), "digits:(3,4)|(4,1)");
  EXPECT_EQ(text_of(rows, "tag"), "ab");
  int equal = -1;
  ASSERT_EQ(relayout_desc_equal(rows, flipped, &equal), RELAYOUT_OK);
  EXPECT_EQ(equal, 0);
  relayout_desc* again = nullptr;
  ASSERT_EQ(relayout_desc_view(flipped, ".flip(0)", &again), RELAYOUT_OK);
  ASSERT_EQ(relayout_desc_equal(rows, again, &equal), RELAYOUT_OK);
  EXPECT_EQ(equal, 1);
  relayout_desc* refused = nullptr;
  EXPECT_EQ(relayout_desc_strided(2, dims.data(), strides.data(), 0, RELAYOUT_U8, &refused), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(refused, nullptr);
  relayout_desc_free(again);
  relayout_desc_free(flipped);
  relayout_desc_free(rows);
}

TEST(CDesc, SaysItselfInOtherSystemsWords) {
  const Desc desc("nhwc", {1, 64, 5, 4}, RELAYOUT_F32);
  EXPECT_EQ(text_of(desc, "tvm"), "NHWC");
  EXPECT_EQ(text_of(desc, "pytorch"), "torch.empty_strided((1, 64, 5, 4), (1280, 1, 256, 64), dtype=torch.float32)");
  const Desc blocked("nChw8c", {2, 17, 5, 4}, RELAYOUT_F32);
  size_t length = 77;
  EXPECT_EQ(relayout_desc_text(blocked, "pytorch", nullptr, 0, &length), RELAYOUT_UNSUPPORTED);
  EXPECT_EQ(length, 77U);
  EXPECT_EQ(relayout_desc_text(desc, "nobody", nullptr, 0, &length), RELAYOUT_INVALID_ARGUMENT);
  char small[4] = "abc";
  EXPECT_EQ(relayout_desc_text(desc, "tvm", small, sizeof small, nullptr), RELAYOUT_BUFFER_TOO_SMALL);
  EXPECT_STREQ(small, "abc");
  EXPECT_STREQ(relayout_error_limit(), "5");
}

TEST(CDesc, ViewsKeepTheNamesOfDims) {
  const Desc weights("oihw", {2, 3, 4, 5}, RELAYOUT_F32);
  for (const auto& [views, axes] : {std::pair("", "OIHW"), std::pair(".transpose(2,3)", "OIHW")}) {
    relayout_desc *view = nullptr, *whole = nullptr;
    ASSERT_EQ(relayout_desc_view(weights, views, &view), RELAYOUT_OK) << relayout_error_message();
    const std::array<int64_t, 4> dims{2, 3, 4, 5};
    ASSERT_EQ(relayout_desc_parse((std::string("oihw") + views).c_str(), 4, dims.data(), RELAYOUT_F32, &whole),
              RELAYOUT_OK);
    EXPECT_EQ(text_of(view, "tvm"), axes);
    EXPECT_EQ(text_of(view, "tvm"), text_of(whole, "tvm"));
    relayout_desc_free(view);
    relayout_desc_free(whole);
  }
}

TEST(CDesc, Properties) {
  const Desc blocked("nChw8c", {2, 17, 5, 4}, RELAYOUT_F32), repeated("strides:0,1", {2, 3}, RELAYOUT_F32);
  const auto has = [](const relayout_desc* desc, relayout_property property) {
    int holds = -1;
    EXPECT_EQ(relayout_desc_has(desc, property, &holds), RELAYOUT_OK);
    return holds;
  };
  EXPECT_EQ(has(blocked, RELAYOUT_INJECTIVE), 1);
  EXPECT_EQ(has(blocked, RELAYOUT_PADDED), 1);
  EXPECT_EQ(has(blocked, RELAYOUT_DENSE), 0);
  EXPECT_EQ(has(blocked, RELAYOUT_BROADCAST), 0);
  EXPECT_EQ(has(repeated, RELAYOUT_INJECTIVE), 0);
  EXPECT_EQ(has(repeated, RELAYOUT_BROADCAST), 1);
}

TEST(CDesc, ExpressionsThatSayTheirExtents) {
  relayout_desc* desc = nullptr;
  ASSERT_EQ(relayout_desc_parse("cute:((8,3),4):((1,32),8)", -1, nullptr, RELAYOUT_F16, &desc), RELAYOUT_OK);
  EXPECT_EQ(dims_of(desc), (std::vector<int64_t>{24, 4}));
  relayout_desc_free(desc);
  desc = nullptr;
  EXPECT_EQ(relayout_desc_parse("nchw", -1, nullptr, RELAYOUT_F16, &desc), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_desc_parse("n(hw", 3, std::array<int64_t, 3>{1, 2, 3}.data(), RELAYOUT_F16, &desc),
            RELAYOUT_PARSE);
  EXPECT_EQ(desc, nullptr);
}

TEST(CDesc, Types) {
  for (int number = RELAYOUT_F64; number <= RELAYOUT_U1; ++number) {
    const auto dtype = static_cast<relayout_dtype>(number);
    relayout_dtype parsed = RELAYOUT_F64;
    ASSERT_EQ(relayout_dtype_parse(relayout_dtype_name(dtype), &parsed), RELAYOUT_OK);
    EXPECT_EQ(parsed, dtype);
    int32_t bits = 0;
    ASSERT_EQ(relayout_dtype_bits(dtype, &bits), RELAYOUT_OK);
    EXPECT_GE(bits, 1);
  }
  // The numbers are part of the interface.
  EXPECT_STREQ(relayout_dtype_name(RELAYOUT_F8_E4M3), "f8_e4m3");
  EXPECT_STREQ(relayout_dtype_name(RELAYOUT_U8), "u8");
  EXPECT_STREQ(relayout_dtype_name(RELAYOUT_BOOL), "bool");
  EXPECT_STREQ(relayout_dtype_name(RELAYOUT_U4), "u4");
  EXPECT_STREQ(relayout_dtype_name(RELAYOUT_F8_E8M0), "f8_e8m0");
  EXPECT_STREQ(relayout_dtype_name(RELAYOUT_U1), "u1");
  EXPECT_STREQ(relayout_dtype_name(static_cast<relayout_dtype>(24)), "unknown");
}

TEST(CDesc, Overlaps) {
  // The columns of a matrix of 4 x 6: the first and the last half, the even ones, the odd ones.
  const Desc left("strides:6,1", {4, 3}, RELAYOUT_F32), right("strides:6,1@3", {4, 3}, RELAYOUT_F32),
      even("strides:6,2", {4, 3}, RELAYOUT_F32), odd("strides:6,2@1", {4, 3}, RELAYOUT_S32),
      half("strides:6,1", {4, 3}, RELAYOUT_F16);
  const auto shared = [](const relayout_desc* a, const relayout_desc* b) {
    int answer = -1;
    EXPECT_EQ(relayout_desc_overlaps(a, b, &answer), RELAYOUT_OK) << relayout_error_message();
    return answer;
  };
  EXPECT_EQ(shared(left, right), 0);
  EXPECT_EQ(shared(even, odd), 0);
  EXPECT_EQ(shared(left, even), 1);
  EXPECT_EQ(shared(right, odd), 1);
  int answer = 7;
  EXPECT_EQ(relayout_desc_overlaps(left, half, &answer), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_STREQ(relayout_error_value(), "16");
  EXPECT_EQ(answer, 7);
}

TEST(CDesc, MisspeltNamesAreAnsweredWithThoseThatAreNear) {
  const auto suggests = [](relayout_status status, const char* name) {
    EXPECT_NE(status, RELAYOUT_OK);
    const std::string message = relayout_error_message();
    EXPECT_NE(message.find(std::string("did you mean ") + name), std::string::npos) << message;
  };
  relayout_dtype dtype = RELAYOUT_F64;
  suggests(relayout_dtype_parse("flaot32", &dtype), "float32?");
  suggests(relayout_dtype_parse("f33", &dtype), "f32?");
  const std::array<int64_t, 4> dims{1, 2, 3, 4};
  relayout_desc* desc = nullptr;
  suggests(relayout_desc_parse("nhcw", 4, dims.data(), RELAYOUT_F32, &desc), "nhwc, nchw?");
  suggests(relayout_desc_parse("tnn:NC4HW5", 4, dims.data(), RELAYOUT_F32, &desc), "NC4HW4?");
  suggests(relayout_desc_parse("nchw.narow(1,0,1)", 4, dims.data(), RELAYOUT_F32, &desc), "narrow?");
  const Desc good("nchw", {1, 2, 3, 4}, RELAYOUT_F32);
  suggests(relayout_desc_view(good, ".tranpose(0,1)", &desc), "transpose?");
  size_t length = 0;
  suggests(relayout_desc_text(good, "pytroch", nullptr, 0, &length), "pytorch?");
  EXPECT_EQ(desc, nullptr);
}

}  // namespace
