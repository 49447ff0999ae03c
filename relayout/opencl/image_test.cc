// Images as values: their sizes, digits and pitches against MACE's formulas, and what is refused.
#include "relayout/opencl/image.h"

#include <gtest/gtest.h>

#include "relayout/interop/mace.h"
#include "relayout/opencl/mace_formulas.h"

namespace relayout::opencl {
namespace {

using mace_formulas::Content;
using mace_formulas::Four;
using mace_formulas::Texel;

Image make(std::string_view name, const Dims& dims, ChannelType type = ChannelType::f32) {
  return Image::make(Format::parse(name), dims, type);
}

/// Extents of a content type that it takes.
Four extents_of(const Content& content, Four e) {
  if (content.name == "mace:dw_conv2d_filter") e[0] = 1;
  if (content.name == "mace:argument") e = {e[0] * 3, 1, 1, 1};
  return e;
}
Dims dims_of(const Content& content, Four e) {
  return content.name == "mace:argument" ? Dims{e[0]} : Dims{e[0], e[1], e[2], e[3]};
}

/// Calls check(index) for each index of the extents.
template <typename Check>
void for_each(Four e, Check check) {
  Four i{};
  for (i[0] = 0; i[0] < e[0]; ++i[0])
    for (i[1] = 0; i[1] < e[1]; ++i[1])
      for (i[2] = 0; i[2] < e[2]; ++i[2])
        for (i[3] = 0; i[3] < e[3]; ++i[3]) check(i);
}

TEST(Image, ElementsLieWhereMacesFormulasSay) {
  for (const Content& content : mace_formulas::contents()) {
    for (const Four& wanted : {Four{1, 1, 1, 1}, Four{2, 9, 4, 5}, Four{3, 4, 8, 7}, Four{5, 13, 6, 2}}) {
      SCOPED_TRACE(content.name);
      const Four e = extents_of(content, wanted);
      const Image image = make(content.name, dims_of(content, e));
      const auto [width, height] = content.size(e);
      ASSERT_EQ(image.width(), width);
      ASSERT_EQ(image.height(), height);
      const Image apart = image.with_row_pitch(image.row_bytes() + 12);  // no multiple of a texel
      const Layout layout = image.desc().layout, pitched = apart.desc().layout;
      const std::vector<ImageDigit> digits = image_digits(image);
      for_each(e, [&](Four i) {
        const Texel at = content.texel(e, i);
        std::vector<int64_t> index(i.begin(), i.begin() + layout.ndims());
        ASSERT_EQ(layout.offset(index), (at.y * width + at.x) * 4 + at.lane);
        ASSERT_EQ(pitched.offset(index), at.y * (width * 4 + 3) + at.x * 4 + at.lane);
        int64_t axes[3] = {0, 0, 0};
        for (const ImageDigit& digit : digits)
          axes[static_cast<int>(digit.axis)] +=
              index[static_cast<std::size_t>(digit.dim)] / digit.place % digit.extent * digit.step;
        ASSERT_EQ(axes[0], at.y);
        ASSERT_EQ(axes[1], at.x);
        ASSERT_EQ(axes[2], at.lane);
      });
    }
  }
}

TEST(Image, MacesBuffersAreTags) {
  // Activations: [N, ceil(C/4), H, W, 4]; filters: [H, W, ceil(O/4), RoundUp4(I), 4], whose I is padded and not
  // blocked.
  for (const Four& e : {Four{2, 9, 4, 5}, Four{1, 4, 3, 2}, Four{5, 13, 2, 3}}) {
    const Dims dims{e[0], e[1], e[2], e[3]};
    const Layout activation = Format::parse("nChw4c").bind(dims), filter = Format::parse("hwOI4i4o").bind(dims);
    const int64_t in = (e[1] + 3) / 4 * 4, out = (e[0] + 3) / 4;
    EXPECT_EQ(activation.span(), e[0] * in * e[2] * e[3]);
    EXPECT_EQ(filter.span(), e[2] * e[3] * out * in * 4);
    for_each(e, [&](Four i) {
      ASSERT_EQ(activation.offset(i), (((i[0] * in / 4 + i[1] / 4) * e[2] + i[2]) * e[3] + i[3]) * 4 + i[1] % 4);
      ASSERT_EQ(filter.offset(i), (((i[2] * e[3] + i[3]) * out + i[0] / 4) * in + i[1]) * 4 + i[0] % 4);
    });
  }
}

TEST(Image, SizesAndWaste) {
  const Image image = make("mace:in_out_channel", {1, 9, 4, 5}, ChannelType::f16);
  EXPECT_EQ(image.row_bytes(), 120);
  EXPECT_EQ(image.bytes(), 480);
  EXPECT_EQ(image.unused_lanes(), 60);
  EXPECT_DOUBLE_EQ(image.waste(), 0.25);
  const Image pitched = image.with_row_pitch(128);
  EXPECT_EQ(pitched.bytes(), 512);
  EXPECT_EQ(pitched.pitch_bytes(), 32);
  EXPECT_DOUBLE_EQ(pitched.waste(), 1 - 360.0 / 512);
  // A pitch in the format is the image's own.
  EXPECT_EQ(make("nh|Cw4c;pitch=20", {1, 9, 4, 5}, ChannelType::f16).row_pitch_bytes(), 160);
  EXPECT_EQ(make("nh|Cw4c;align=16", {1, 9, 4, 5}, ChannelType::f16).row_pitch_bytes(), 128);
}

ErrorCode code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message) *message = error.message();
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(Image, WhatIsRefused) {
  std::string text;
  EXPECT_EQ(code_of([] { make("nchw", {1, 2, 3, 4}); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { make("nh|Cw4c.narrow(1,0,4)", {1, 8, 3, 4}); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { make("nh|Cw4c@4", {1, 8, 3, 4}); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { make("nh|Cw4c", {1, 0, 3, 4}); }), ErrorCode::unsupported);
  // MACE writes zeros for these without a word.
  EXPECT_EQ(code_of([] { make("mace:dw_conv2d_filter", {2, 8, 3, 3}); }, &text), ErrorCode::unsupported);
  EXPECT_NE(text.find("M = 2"), std::string::npos) << text;
  const Image image = make("mace:in_out_channel", {1, 64, 56, 56});
  EXPECT_EQ(code_of([&] { image.check({895, 56, 0}); }, &text), ErrorCode::limit);
  EXPECT_NE(text.find("896 x 56"), std::string::npos) << text;
  EXPECT_NE(text.find("895 x 56"), std::string::npos) << text;
  EXPECT_EQ(code_of([&] { image.check({896, 56, image.bytes() - 1}); }, &text), ErrorCode::limit);
  image.check({896, 56, image.bytes()});
  image.check({});
  EXPECT_EQ(code_of([&] { image.with_row_pitch(image.row_bytes() - 4); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { image.with_row_pitch(image.row_bytes() + 2); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { image.with_row_pitch(int64_t{1} << 60); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([] { parse_channel_type("bf16"); }), ErrorCode::parse);
  EXPECT_EQ(code_of([] { default_channel_type(DType::bf16); }), ErrorCode::unsupported);
}

TEST(Image, ChannelTypesByAllTheirNames) {
  for (const ChannelType type : kChannelTypes) {
    EXPECT_EQ(parse_channel_type(name(type)), type);
    EXPECT_EQ(parse_channel_type(cl_name(type)), type);
  }
  EXPECT_EQ(parse_channel_type("half"), ChannelType::f16);
  EXPECT_EQ(parse_channel_type("uint8"), ChannelType::u32);  // MACE keeps bytes in lanes of 32 bits
}

}  // namespace
}  // namespace relayout::opencl
