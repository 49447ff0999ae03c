// The planes of video pictures against their published places, with odd heights and widths; and formulas of digits.
#include <gtest/gtest.h>

#include "tests/support/formulas.h"

namespace relayout {
namespace {

using test::Case;
using test::error_of;
using test::row_major;
using test::up;

/// Of a plane of colours, dims (2, H, W): how many rows and columns of pixels share one.
template <int kRows, int kCols>
int64_t colour(const Dims& d, const Dims& i) {
  return i[1] / kRows * up(d[2], kCols) + i[2] / kCols;
}
template <int kRows, int kCols>
int64_t plane(const Dims& d) {
  return up(d[1], kRows) * up(d[2], kCols);
}
int64_t nv12(const Dims& d, const Dims& i) { return d[1] * d[2] + 2 * colour<2, 2>(d, i) + i[0]; }
int64_t nv21(const Dims& d, const Dims& i) { return d[1] * d[2] + 2 * colour<2, 2>(d, i) + 1 - i[0]; }
int64_t i420(const Dims& d, const Dims& i) { return d[1] * d[2] + i[0] * plane<2, 2>(d) + colour<2, 2>(d, i); }
int64_t yv12(const Dims& d, const Dims& i) { return d[1] * d[2] + (1 - i[0]) * plane<2, 2>(d) + colour<2, 2>(d, i); }
int64_t i422(const Dims& d, const Dims& i) { return d[1] * d[2] + i[0] * plane<1, 2>(d) + colour<1, 2>(d, i); }
int64_t i444(const Dims& d, const Dims& i) { return d[1] * d[2] + i[0] * plane<1, 1>(d) + colour<1, 1>(d, i); }
int64_t yuy2_y(const Dims& d, const Dims& i) { return i[0] * 4 * up(d[1], 2) + 2 * i[1]; }
int64_t uyvy_y(const Dims& d, const Dims& i) { return yuy2_y(d, i) + 1; }
int64_t uyvy_uv(const Dims& d, const Dims& i) { return i[1] * 4 * up(d[2], 2) + i[2] / 2 * 4 + 2 * i[0]; }
int64_t yuy2_uv(const Dims& d, const Dims& i) { return uyvy_uv(d, i) + 1; }

const std::vector<Dims> kPictures = {{4, 6}, {5, 7}, {1, 1}}, kColours = {{2, 4, 6}, {2, 5, 7}, {2, 1, 1}};

std::vector<Case> yuv_cases() {
  std::vector<Case> out = {
      {"yuv:NV12:UV", kColours, nv12},   {"yuv:NV21:UV", kColours, nv21},   {"yuv:P010:UV", kColours, nv12},
      {"yuv:I420:UV", kColours, i420},   {"yuv:YV12:UV", kColours, yv12},   {"yuv:I422:UV", kColours, i422},
      {"yuv:I444:UV", kColours, i444},   {"yuv:YUY2:Y", kPictures, yuy2_y}, {"yuv:YUY2:UV", kColours, yuy2_uv},
      {"yuv:UYVY:Y", kPictures, uyvy_y}, {"yuv:UYVY:UV", kColours, uyvy_uv}};
  for (const char* name :
       {"yuv:NV12:Y", "yuv:NV21:Y", "yuv:P010:Y", "yuv:I420:Y", "yuv:YV12:Y", "yuv:I422:Y", "yuv:I444:Y"})
    out.push_back({name, kPictures, row_major});
  return out;
}

TEST(Yuv, PlanesLieWhereTheyArePublished) {
  for (const Case& test : yuv_cases()) {
    for (const Dims& dims : test.dims) {
      const Layout layout = Format::parse(test.name).bind(dims);
      test::each_index(dims, [&](const Dims& i) {
        EXPECT_EQ(layout.offset(i), test.formula(dims, i)) << test.name << " " << join(dims) << " at " << join(i);
      });
      EXPECT_EQ(Format::parse(digits_expression(layout)).bind(dims), layout) << test.name;
    }
  }
  constexpr std::string_view kSystem[] = {"yuv"};
  test::expect_all_names(kSystem, yuv_cases());
  EXPECT_FALSE(Format::parse("yuv:NV12:UV").bind({2, 4, 4}).injective()) << "four pixels share a colour";
  EXPECT_EQ(Format::parse("yuv:I420:UV").bind({2, 5, 7}).span(), 5 * 7 + 2 * 3 * 4);
}

TEST(FormulasOfDigits, FollowTheDims) {
  const auto bound = [](std::string_view text, const Dims& dims) { return Format::parse(text).bind(dims); };
  EXPECT_EQ(bound("digits:(A,B)|(B,1)", {3, 5}), Layout::contiguous({3, 5}));
  const Digits row({{3, 36 * 2}}), block({{16, 2}, {2, 1}, {2, 36}});
  EXPECT_EQ(bound("digits:(A,36B/32)|(16,2)(2,1)(B/32,36)@4", {3, 64}),
            Layout::from_digits({3, 64}, std::vector<Digits>{row, block}, 4));
  EXPECT_EQ(bound("digits:(A,36B/32)|(16,2)(2,1)(B/32,36)@4", {3, 64}), bound("ggml:q4_0.q", {3, 64}));
  EXPECT_EQ(bound("digits:(A,2*B+3)|(B,2)@A*B-1", {2, 4}), Layout::strided({2, 4}, {11, 2}, 7));
  EXPECT_EQ(bound("digits:(A,-B)|(B,1)", {3, 5}), bound("strides:-5,1", {3, 5})) << "the smallest offset is 0";
  EXPECT_EQ(bound("digits:(A,B)|(B,1)@B.flip(0)", {2, 4}).offset0(), 4 + 4);
  EXPECT_EQ(Format::parse("digits:(A,B)|(B,1)").rank(), 2);
  EXPECT_FALSE(Format::parse("digits:(A,B)|(B,1)").default_dims());
  EXPECT_TRUE(bound("digits:(A,B)|(2,1)(B/2,2)", {0, 5}).empty());
}

TEST(FormulasOfDigits, Refusals) {
  const auto refusal = [](std::string_view text) { return error_of([&] { Format::parse(text); }).message(); };
  EXPECT_EQ(refusal("digits:(A,C)|(B,1)"),
            "layout: C is the extent of dim 2, and there are 2 dims\n  digits:(A,C)|(B,1)\n                    ^");
  EXPECT_NE(refusal("digits:(A,B/0)|(B,1)").find("divisor is 1 or more"), std::string::npos);
  EXPECT_NE(refusal("digits:(A,B*)|(B,1)").find("behind '*'"), std::string::npos);
  EXPECT_NE(refusal("digits:(A,a)|(B,1)").find("a dim's extent, A for dim 0"), std::string::npos);
  EXPECT_NE(refusal("digits:(A,B)|(B,1)@B+").find("expected the offset0"), std::string::npos);
  const Error overflow = error_of([] {
    Format::parse("digits:(A,AAB)|(B,1)").bind({int64_t{1} << 40, int64_t{1} << 20});
  });
  EXPECT_EQ(overflow.code(), ErrorCode::overflow);
  EXPECT_EQ(error_of([] { Format::parse("digits:(A-1,1)").bind({5}); }).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace relayout
