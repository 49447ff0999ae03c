// The reference reorder on tensors small enough to write out by hand.
#include "relayout/reorder/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "relayout/reorder/plan.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

Layout bind(std::string_view format, const Dims& dims) { return Format::parse(format).bind(dims); }

using test::code_of;
using test::error_of;

TEST(Reference, NchwToNhwc) {
  const Dims dims{1, 3, 2, 2};
  std::vector<float> src(12), dst(12, -1);
  std::iota(src.begin(), src.end(), 0.0f);
  reference_reorder({bind("nchw", dims), DType::f32}, src.data(), {bind("nhwc", dims), DType::f32}, dst.data());
  EXPECT_EQ(dst, (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST(Reference, PaddingIsWhatThePolicySays) {
  const Dims dims{1, 3, 1, 2};
  const TensorDesc src_desc(bind("nchw", dims), DType::u8), dst_desc(bind("nChw4c", dims), DType::s8);
  const std::vector<uint8_t> src = {1, 2, 3, 4, 5, 200};
  std::vector<int8_t> dst(8, 99);
  reference_reorder(src_desc, src.data(), dst_desc, dst.data());
  EXPECT_EQ(dst, (std::vector<int8_t>{1, 3, 5, 0, 2, 4, 127, 0}));
  Attributes attributes;
  attributes.padding = Padding::of(-128);
  reference_reorder(src_desc, src.data(), dst_desc, dst.data(), attributes);
  EXPECT_EQ(dst, (std::vector<int8_t>{1, 3, 5, -128, 2, 4, 127, -128}));
  attributes.padding = Padding::keep();
  dst.assign(8, 99);
  reference_reorder(src_desc, src.data(), dst_desc, dst.data(), attributes);
  EXPECT_EQ(dst, (std::vector<int8_t>{1, 3, 5, 99, 2, 4, 127, 99}));
}

TEST(Reference, GapsAndOffset0AreLeftAlone) {
  const Dims dims{2, 2};
  const std::vector<uint16_t> src = {1, 2, 3, 4};
  std::vector<uint16_t> dst(8, 9);
  reference_reorder({Layout::contiguous(dims), DType::u16}, src.data(), {Layout::strided(dims, {4, 2}, 1), DType::u16},
                    dst.data());
  EXPECT_EQ(dst, (std::vector<uint16_t>{9, 1, 9, 2, 9, 3, 9, 4}));
}

TEST(Reference, SourcesMayRepeatAndWalkBackwards) {
  const Dims dims{2, 3};
  const std::vector<int32_t> src = {1, 2, 3};
  std::vector<int32_t> dst(6);
  reference_reorder({Layout::strided(dims, {0, -1}, 2), DType::s32}, src.data(), {Layout::contiguous(dims), DType::s32},
                    dst.data());
  EXPECT_EQ(dst, (std::vector<int32_t>{3, 2, 1, 3, 2, 1}));
}

TEST(Reference, NibblesMoveOneByOne) {
  const Dims dims{3, 3};
  const std::vector<uint8_t> src = {0x21, 0x43, 0x65, 0x87, 0x09};
  std::vector<uint8_t> dst(5, 0xf0);
  reference_reorder({bind("ab", dims), DType::u4}, src.data(), {bind("ba", dims), DType::u4}, dst.data());
  EXPECT_EQ(dst, (std::vector<uint8_t>{0x41, 0x27, 0x85, 0x63, 0xf9}));
}

TEST(Reference, EqualTypesMoveBits) {
  const Dims dims{3};
  const TensorDesc floats(Layout::contiguous(dims), DType::f32), bools(Layout::contiguous(dims), DType::boolean);
  const std::vector<uint32_t> nans = {0x7f800001, 0xffc00001, 0x80000000};
  std::vector<uint32_t> out(3);
  reference_reorder(floats, nans.data(), floats, out.data());
  EXPECT_EQ(out, nans);
  const std::vector<uint8_t> bytes = {0, 7, 255};
  std::vector<uint8_t> copied(3);
  reference_reorder(bools, bytes.data(), bools, copied.data());
  EXPECT_EQ(copied, bytes);
}

TEST(Reference, ArithmeticFollowsTheFormula) {
  const Dims dims{2, 2};
  const TensorDesc src_desc(Layout::contiguous(dims), DType::u8), dst_desc(Layout::contiguous(dims), DType::s8);
  const std::vector<uint8_t> src = {128, 129, 130, 255};
  std::vector<int8_t> dst = {10, 20, 30, 40};
  Attributes a;
  a.src_zero_point = {{128}, 0};
  a.src_scale = {{2.0f, 3.0f}, 1u << 1};
  a.beta = 0.5f;
  a.dst_scale = {{4.0f, 2.0f}, 1u << 0};
  a.dst_zero_point = {{-1, 1, 2, 3}, 3};
  reference_reorder(src_desc, src.data(), dst_desc, dst.data(), a);
  // (0*2 + 5)/4 - 1 = 0.25;  (1*3 + 10)/4 + 1 = 4.25;  (2*2 + 15)/2 + 2 = 11.5;  (127*3 + 20)/2 + 3 = 203.5
  EXPECT_EQ(dst, (std::vector<int8_t>{0, 4, 12, 127}));
}

// Three indices of dim 1 share a scale, the last one has its own, and two of dim 0 share a zero point.
TEST(Reference, ValuesOfGroups) {
  const Dims dims{3, 4};
  const TensorDesc bytes(Layout::contiguous(dims), DType::u8), floats(Layout::contiguous(dims), DType::f32);
  std::vector<uint8_t> src(12);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(10 * i);
  Attributes a;
  a.src_scale = {{1, 2, 3, 4, 5, 6}, 0b11, {1, 3}};
  a.src_zero_point = {{7, 9}, 0b01, {2, 1}};
  std::vector<float> dst(12);
  reference_reorder(bytes, src.data(), floats, dst.data(), a);
  const float scales[3][4] = {{1, 1, 1, 2}, {3, 3, 3, 4}, {5, 5, 5, 6}};
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(dst[i], (static_cast<float>(10 * i) - (i < 8 ? 7.0f : 9.0f)) * scales[i / 4][i % 4]) << i;
}

TEST(Attributes, OfAPartThatBeginsInsideAGroup) {
  const Dims dims{2, 10};
  Attributes whole;
  whole.src_scale = {{1, 2, 3, 4, 5, 6}, 0b11, {1, 4}};  // 4, 4 and 2 indices
  const Attributes part = part_of(whole, dims, {1, 2}, {1, 7});
  EXPECT_EQ(part.src_scale.groups, (Dims{1, 2}));
  EXPECT_EQ(part.src_scale.values, (std::vector<double>{4, 5, 5, 6}));
  EXPECT_EQ(part_of(whole, dims, {0, 4}, {2, 6}).src_scale.values, (std::vector<double>{2, 3, 5, 6}));
}

TEST(Attributes, ShapesSayGroups) {
  const Dims dims{6, 64, 5};
  const auto shaped = [&](const Dims& shape, const Dims& groups = {}) {
    return per_mask_of_shape(std::vector<double>(static_cast<std::size_t>(Layout::contiguous(shape).elements()), 1),
                             shape, dims, groups, "scale");
  };
  EXPECT_EQ(shaped({1, 1, 1}).mask, 0u);
  EXPECT_EQ(shaped({}).mask, 0u);  // one value, whatever rank it has
  EXPECT_EQ(shaped({1}, {1, 32, 1}).mask, 0u);
  EXPECT_EQ(shaped({1, 64, 1}).mask, 0b010u);
  EXPECT_TRUE(shaped({1, 64, 1}).groups.empty());
  EXPECT_EQ(shaped({6, 2, 1}).mask, 0b011u);
  EXPECT_EQ(shaped({6, 2, 1}).groups, (Dims{1, 32, 1}));
  EXPECT_EQ(shaped({1, 1, 3}, {1, 1, 2}).groups, (Dims{1, 1, 2}));
  for (const auto& [shape, groups] : {std::pair(Dims{6, 64}, Dims{}),
                                      {Dims{1, 7, 1}, Dims{}},
                                      {Dims{1, 1, 3}, Dims{}},
                                      {Dims{1, 2, 1}, Dims{1, 16, 1}},
                                      {Dims{6, 1, 1}, Dims{1, 1}}}) {
    EXPECT_EQ(code_of([&] { shaped(shape, groups); }), ErrorCode::invalid_argument) << join(shape, "x");
  }
}

// The mean is subtracted after the scale, in units of the source, and what is given is rounded to the compute type.
TEST(Reference, AMeanIsSubtracted) {
  const Dims dims{2};
  const std::vector<uint8_t> src = {124, 255};
  std::vector<float> dst(2);
  Attributes a;
  a.mean = {{123.675, 116.28}, 1};
  a.dst_scale = {{58.395, 57.12}, 1};
  const TensorDesc bytes(Layout::contiguous(dims), DType::u8), floats(Layout::contiguous(dims), DType::f32);
  reference_reorder(bytes, src.data(), floats, dst.data(), a);
  EXPECT_EQ(dst, (std::vector<float>{(124 - 123.675f) / 58.395f, (255 - 116.28f) / 57.12f}));
  a = {.src_scale = {{1.0 / 255}, 0}, .mean = {{0.485}, 0}};
  reference_reorder(bytes, src.data(), floats, dst.data(), a);
  const auto mean = static_cast<float>(0.485 / (1.0 / 255)), scale = static_cast<float>(1.0 / 255);
  EXPECT_EQ(dst, (std::vector<float>{(124 - mean) * scale, (255 - mean) * scale}));
}

TEST(Reference, ScalesOfDoublesAreDoubles) {
  const std::vector<double> src = {3, 1e10};
  std::vector<double> dst(2);
  const TensorDesc doubles(Layout::contiguous({2}), DType::f64);
  reference_reorder(doubles, src.data(), doubles, dst.data(), {.src_scale = {{0.1}, 0}});
  EXPECT_EQ(dst, (std::vector<double>{3 * 0.1, 1e10 * 0.1}));
  reference_reorder(doubles, src.data(), doubles, dst.data(), {.dst_scale = {{1e300}, 0}, .beta = 0});
  EXPECT_EQ(dst, (std::vector<double>{3 / 1e300, 1e10 / 1e300}));
}

TEST(Reference, ArithmeticNaNIsThePositiveOne) {
  const Dims dims{2};
  const TensorDesc floats(Layout::contiguous(dims), DType::f32), halves(Layout::contiguous(dims), DType::f16);
  const std::vector<uint32_t> src = {0xff812345, 0xff800000};
  std::vector<uint16_t> dst = {0, 0x7c00};  // -inf + inf is NaN
  Attributes a;
  a.beta = 1;
  reference_reorder(floats, src.data(), halves, dst.data(), a);
  EXPECT_EQ(dst, (std::vector<uint16_t>{0x7e00, 0x7e00}));
}

TEST(Reference, ProductOfBetaIsRoundedBeforeTheSum) {
  const Dims dims{1};
  const TensorDesc desc(Layout::contiguous(dims), DType::f32);
  const float src = -1.0f;
  float dst = 1.0f + 0x1p-12f;
  Attributes a;
  a.beta = 1.0f - 0x1p-12f;  // the product is 1 - 2^-24, exactly representable; squared terms need more
  reference_reorder(desc, &src, desc, &dst, a);
  EXPECT_EQ(dst, -0x1p-24f);
  const float third = 1.0f / 3;
  dst = 3.0f;
  a.beta = third;  // 3 * fl(1/3) = 1 + 2^-25: rounds to 1; fused it would leave 2^-25
  reference_reorder(desc, &src, desc, &dst, a);
  EXPECT_EQ(dst, 0.0f);
}

TEST(Reference, ScalarsAndEmptyTensors) {
  const float src = 2.5f;
  int32_t dst = 0;
  reference_reorder({Layout(), DType::f32}, &src, {Layout(), DType::s32}, &dst);
  EXPECT_EQ(dst, 2);
  const Dims empty{3, 0, 2};
  reference_reorder({Layout::contiguous(empty), DType::f32}, nullptr, {Layout::contiguous(empty), DType::u8}, nullptr);
}

TEST(Reference, Errors) {
  const TensorDesc a(Layout::contiguous({2, 3}), DType::f32), b(Layout::contiguous({3, 2}), DType::f32);
  const TensorDesc repeated(Layout::strided({2, 3}, {1, 1}), DType::f32);
  std::vector<float> buffer(6), other(6);
  const Error dims_differ = error_of([&] { reference_reorder(a, buffer.data(), b, other.data()); });
  EXPECT_EQ(dims_differ.code(), ErrorCode::invalid_argument);
  EXPECT_NE(dims_differ.message().find("2,3"), std::string::npos) << dims_differ.message();
  const Error collision = error_of([&] { reference_reorder(a, buffer.data(), repeated, other.data()); });
  EXPECT_EQ(collision.code(), ErrorCode::not_injective);
  EXPECT_NE(collision.message().find("(0,1) and (1,0)"), std::string::npos) << collision.message();

  // Only the padding of the outer digit collides, which is allowed as long as padding is not written.
  const Digits three({{4, 1}}), two({{2, 3}});
  const TensorDesc padded(Layout::from_digits({2, 3}, std::vector<Digits>{two, three}), DType::f32);
  EXPECT_EQ(code_of([&] { reference_reorder(a, buffer.data(), padded, other.data()); }), ErrorCode::not_injective);
  Attributes keep;
  keep.padding = Padding::keep();
  std::iota(buffer.begin(), buffer.end(), 1.0f);
  reference_reorder(a, buffer.data(), padded, other.data(), keep);
  EXPECT_EQ(other, buffer);
}

TEST(Attributes, AreRenamedInErrors) {
  const TensorDesc src(Layout::contiguous({2, 3}), DType::f32), dst(Layout::contiguous({2, 3}), DType::s8);
  const AttributeName names[] = {{"src_scale", "--scale"}, {"mean", "--mean"}};
  const auto message = [&](const Attributes& a) {
    const Error error = renamed(error_of([&] { check_attributes(a, src, dst); }), names);
    return error.field() + "|" + error.message();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Attributes one;
  one.src_scale = {{nan}, 0};
  EXPECT_EQ(message(one), "--scale|reorder: --scale is nan; it must be finite");
  Attributes several;
  several.src_scale = {{1, nan, 1}, 1u << 1};
  EXPECT_EQ(message(several), "--scale[1]|reorder: --scale[1] is nan; it must be finite");
  Attributes both;
  both.src_scale = {{1e-30}, 0};
  both.mean = {{1e30}, 0};
  EXPECT_EQ(message(both), "--mean|reorder: --mean is 1e+30, which overflows when it is divided by a --scale of 1e-30");
  Attributes other;
  other.dst_scale = {{0}, 0};
  EXPECT_EQ(message(other), "dst_scale[0]|reorder: dst_scale[0] is 0; values are divided by it");
}

TEST(Attributes, AreChecked) {
  const TensorDesc src(Layout::contiguous({2, 3}), DType::f32), dst(Layout::contiguous({2, 3}), DType::s8);
  const auto refused = [&](const Attributes& a, const char* field) {
    const Error error = error_of([&] { check_attributes(a, src, dst); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.field(), field);
  };
  check_attributes({}, src, dst);
  Attributes good;
  good.dst_scale = {{1, 2, 3}, 1u << 1};
  good.dst_zero_point = {{1, 2, 3, 4, 5, 6}, 3};
  check_attributes(good, src, dst);
  // A dim of extent 0 needs 0 attribute values.
  const TensorDesc none(Layout::contiguous({2, 0}), DType::s8);
  check_attributes({.src_scale = {{}, 1u << 1}}, none, none);
  const double inf = INFINITY;
  refused({.src_scale = {{1, 2}, 0}}, "src_scale");
  refused({.src_scale = {{1, 2}, 1u << 1}}, "src_scale");
  refused({.src_scale = {{1, 2, 3, 4}, 1u << 1}}, "src_scale");
  refused({.dst_scale = {{1, 2, 3}, 3}}, "dst_scale");
  refused({.src_scale = {{}, 1u << 1}}, "src_scale");
  refused({.dst_scale = {{}, 1u << 0}}, "dst_scale");
  refused({.dst_zero_point = {{}, 3}}, "dst_zero_point");
  refused({.dst_zero_point = {{1, 2}, 1u << 1}}, "dst_zero_point");
  refused({.src_scale = {{1}, 1u << 2}}, "src_scale.mask");
  refused({.src_scale = {{inf}, 0}}, "src_scale[0]");
  refused({.dst_scale = {{1, 0}, 1u << 0}}, "dst_scale[1]");
  refused({.dst_scale = {{std::nanf("")}, 0}}, "dst_scale[0]");
  refused({.beta = inf}, "beta");
  // What the types, or f32, in which is computed, do not hold.
  refused({.src_scale = {{1, 1e300}, 1u << 0}}, "src_scale[1]");
  refused({.src_scale = {{1e-60}, 0}}, "src_scale[0]");
  refused({.beta = 1e39}, "beta");
  refused({.mean = {{inf}, 0}}, "mean[0]");
  refused({.src_scale = {{0}, 0}, .mean = {{1}, 0}}, "src_scale");
  refused({.src_scale = {{1e-30}, 0}, .mean = {{1e10}, 0}}, "mean");
  refused({.dst_zero_point = {{128}, 0}}, "dst_zero_point[0]");
  refused({.dst_zero_point = {{-128.5}, 0}}, "dst_zero_point[0]");
  refused({.dst_zero_point = {{1.5}, 0}}, "dst_zero_point[0]");
  refused({.src_zero_point = {{16777217}, 0}}, "src_zero_point[0]");
  check_attributes({.src_zero_point = {{0.3}, 0}, .dst_zero_point = {{127}, 0}, .mean = {{-1e5}, 0}}, src, dst);
  refused({.padding = Padding::of(128)}, "padding");
  refused({.padding = Padding::of(0.5)}, "padding");
  const TensorDesc doubles(Layout::contiguous({2, 3}), DType::f64);
  check_attributes({.src_scale = {{1e300}, 0}, .src_zero_point = {{16777217}, 0}, .beta = 1e39}, doubles, doubles);
  // The message says what there is and what was asked for; a plan checks the same.
  const Attributes few{.dst_scale = {{}, 1u << 1}};
  for (const auto& check :
       {std::function([&] { check_attributes(few, src, dst); }), std::function([&] { Plan::make(src, dst, few); })}) {
    EXPECT_NE(std::string(error_of(check).what()).find("dst_scale has 0 values; mask 2 over dims 2x3 asks for 3"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace relayout
