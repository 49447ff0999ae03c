// MACE's images both ways: every name, against the formulas of the table in the documents; pitches; what is refused.
#include "relayout/interop/mace.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::desc;
using test::each_index;
using test::error_of;

struct Pixel {
  int64_t x, y, lane;
};
struct Formula {
  std::string_view name;
  Dims dims;
  int64_t width, height;
  std::function<Pixel(const Dims&)> pixel;
};

TEST(Mace, NoImageOfNothing) {
  EXPECT_EQ(test::error_of([] {
              mace::to_mace(Format::parse("nchw").bind({2, 0, 5, 4}));
            }).message(),
            "to_mace: dim 1 has no elements, and an image has one pixel or more");
  EXPECT_EQ(test::error_of([] { mace::to_mace(Layout()); }).message(),
            "to_mace: a scalar is no image of MACE: its images have 1 or 4 dims, and this layout has 0");
}

TEST(Mace, EveryImageByItsFormula) {
  const Dims n{2, 9, 7, 5}, f{9, 6, 3, 2}, m{1, 9, 3, 2};
  const int64_t cb = 3, hb = 2, wb = 2, ob = 3;
  const Formula formulas[] = {
      {"in_out_channel", n, n[3] * cb, n[0] * n[2],
       [&](const Dims& i) {
         return Pixel{i[1] / 4 * n[3] + i[3], i[0] * n[2] + i[2], i[1] % 4};
       }},
      {"in_out_height", n, n[3] * n[1], n[0] * hb,
       [&](const Dims& i) {
         return Pixel{i[1] * n[3] + i[3], i[0] * hb + i[2] / 4, i[2] % 4};
       }},
      {"in_out_width", n, wb * n[1], n[0] * n[2],
       [&](const Dims& i) {
         return Pixel{i[1] * wb + i[3] / 4, i[0] * n[2] + i[2], i[3] % 4};
       }},
      {"conv2d_filter", f, f[1], f[2] * f[3] * ob,
       [&](const Dims& i) {
         return Pixel{i[1], (i[0] / 4 * f[2] + i[2]) * f[3] + i[3], i[0] % 4};
       }},
      {"dw_conv2d_filter", m, m[2] * m[3], 3,
       [&](const Dims& i) {
         return Pixel{i[2] * m[3] + i[3], i[1] / 4, i[1] % 4};
       }},
      {"argument",
       {10},
       3,
       1,
       [](const Dims& i) {
         return Pixel{i[0] / 4, 0, i[0] % 4};
       }},
      {"weight_height", f, f[1] * f[2] * f[3], ob,
       [&](const Dims& i) {
         return Pixel{(i[2] * f[3] + i[3]) * f[1] + i[1], i[0] / 4, i[0] % 4};
       }},
      {"weight_width", f, 2 * f[2] * f[3], f[0],
       [&](const Dims& i) {
         return Pixel{(i[2] * f[3] + i[3]) * 2 + i[1] / 4, i[0], i[1] % 4};
       }},
  };
  EXPECT_EQ(std::size(formulas), mace_names().size());
  for (const Formula& formula : formulas) {
    for (const int64_t pitch : {formula.width, formula.width + 5}) {
      const Layout layout = mace::from_mace(formula.name, formula.dims, pitch);
      each_index(formula.dims, [&](const Dims& i) {
        const Pixel at = formula.pixel(i);
        ASSERT_EQ(layout.offset(i), (at.y * pitch + at.x) * 4 + at.lane) << formula.name << " " << join(i);
        ASSERT_TRUE(at.x < formula.width && at.y < formula.height);
      });
      const std::vector<mace::Image> images = mace::images_of(layout);
      const int64_t found = formula.height == 1 ? formula.width : pitch;
      const mace::Image image{formula.name, {formula.width, formula.height, found}};
      EXPECT_NE(std::ranges::find(images, image), images.end()) << formula.name;
      // With a pitch, a name is the only one.
      if (pitch > formula.width && formula.height > 1) {
        EXPECT_EQ(mace::to_mace(layout), image) << formula.name;
      }
    }
  }
}

TEST(Mace, NamesThatCoincide) {
  const auto names = [](const Layout& layout) {
    std::set<std::string_view> out;
    for (const mace::Image& image : mace::images_of(layout)) out.insert(image.name);
    return out;
  };
  // One pixel a row of four lanes; of one channel in one row, the lanes are the only difference.
  EXPECT_TRUE(names(mace::from_mace("in_out_channel", {1, 4, 3, 1})).contains("in_out_channel"));
  EXPECT_EQ(names(mace::from_mace("weight_width", {3, 4, 1, 1})).count("in_out_channel"), 1U)
      << "3 rows of one pixel, and n = 3, c = 4 are that too";
  EXPECT_TRUE(mace::images_of(Layout::contiguous({2, 3, 4, 5})).empty());
  EXPECT_TRUE(mace::images_of(Layout::contiguous({2, 0, 4, 5})).empty());
}

TEST(Mace, Refusals) {
  EXPECT_EQ(code_of([] { mace::from_mace("dw_conv2d_filter", {2, 9, 3, 3}); }), ErrorCode::unsupported);
  EXPECT_NE(error_of([] {
              mace::from_mace("dw_conv2d_filter", {2, 9, 3, 3});
            })
                .message()
                .find("multiplier 1"),
            std::string::npos);
  EXPECT_EQ(code_of([] { mace::from_mace("winograd_filter", {2, 9, 3, 3}); }), ErrorCode::parse);
  EXPECT_EQ(code_of([] { mace::from_mace("argument", {2, 9}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { mace::from_mace("in_out_channel", {1, 9, 4, 5}, 14); }), ErrorCode::invalid_argument);
  const std::string four = error_of([] { mace::to_mace(Layout::contiguous({2, 3, 4, 5})); }).message();
  EXPECT_NE(four.find("in_out_channel is nh|Cw4c, in_out_height is nH|cw4h"), std::string::npos) << four;
  EXPECT_NE(four.find("dw_conv2d_filter is I|mhw4i (of multiplier 1, and dim 0 has 2)"), std::string::npos) << four;
  const std::string two = error_of([] { mace::to_mace(Layout::contiguous({2, 3})); }).message();
  EXPECT_NE(two.find("its images have 1 or 4 dims, and this layout has 2"), std::string::npos) << two;
  EXPECT_NE(error_of([] { mace::channel_type(DType::u8); }).message().find("convert it to u32"), std::string::npos);
  EXPECT_EQ(code_of([] { mace::channel_type(DType::bf16); }), ErrorCode::unsupported);
  const mace::Image image{"in_out_channel", {20000, 4, 20000}};
  EXPECT_EQ(error_of([&] { mace::check_size(image, 16384, 16384); }).message(),
            "mace: the image in_out_channel has 20000 x 4 pixels, and the device's end at 16384 x 16384");
  mace::check_size(image, 20000, 4);
}

TEST(Mace, Code) {
  EXPECT_EQ(mace::code(desc("mace:in_out_channel", {2, 9, 4, 5})),
            "cl::Image2D image(context, CL_MEM_READ_WRITE, cl::ImageFormat(CL_RGBA, CL_FLOAT), 15, 8);"
            "  // mace::OpenCLBufferType: IN_OUT_CHANNEL");
  EXPECT_EQ(mace::code(desc("mace:in_out_channel;pitch=64", {2, 9, 4, 5}, DType::f16)),
            "cl::Image2D image(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, cl::ImageFormat(CL_RGBA, "
            "CL_HALF_FLOAT), 15, 8, 512, host_ptr);  // mace::OpenCLBufferType: IN_OUT_CHANNEL");
  EXPECT_EQ(mace::code(desc("mace:weight_height", {9, 6, 3, 2})),
            "cl::Image2D image(context, CL_MEM_READ_WRITE, cl::ImageFormat(CL_RGBA, CL_FLOAT), 6, 18);"
            "  // mace::OpenCLBufferType: CONV2D_FILTER, WEIGHT_HEIGHT as 36 x 3");
  EXPECT_EQ(code_of([] { mace::code(desc("nchw", {2, 9, 4, 5})); }), ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout
