// Choices and splits of images: parts against brute force, coverage, limits.
#include "relayout/opencl/image_planner.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace relayout::opencl {
namespace {

TEST(ImagePlanner, ChoicesThatFitComeFirst) {
  const auto choices = plan_images({1, 64, 256, 256}, ChannelType::f16, {4096, 4096, 0});
  ASSERT_EQ(choices.size(), 7u);  // all but argument
  std::set<std::string> fitting;
  bool refused = false;
  int64_t bytes = 0;
  for (const ImageChoice& choice : choices) {
    if (choice.refusal.empty()) {
      EXPECT_FALSE(refused);
      EXPECT_GE(choice.image->bytes(), bytes);
      bytes = choice.image->bytes();
      fitting.insert(choice.name);
    }
    refused = refused || !choice.refusal.empty();
  }
  EXPECT_EQ(fitting, (std::set<std::string>{"mace:in_out_channel", "mace:in_out_width"}));
  for (const ImageChoice& choice : choices) {
    if (choice.name != "mace:in_out_height") continue;
    EXPECT_NE(choice.refusal.find("16384 x 64"), std::string::npos) << choice.refusal;
    EXPECT_NE(choice.refusal.find("4096 x 4096"), std::string::npos) << choice.refusal;
  }
}

TEST(ImagePlanner, RanksMultipliersAndPitch) {
  const auto one = plan_images({10}, ChannelType::f32, {});
  ASSERT_EQ(one.size(), 2u);  // argument and, promoted, in_out_channel
  const auto filter = plan_images({2, 8, 3, 3}, ChannelType::f32, {});
  const auto depthwise =
      std::ranges::find(filter, std::string("mace:dw_conv2d_filter"), [](const ImageChoice& c) { return c.name; });
  ASSERT_NE(depthwise, filter.end());
  EXPECT_FALSE(depthwise->image);
  EXPECT_NE(depthwise->refusal.find("M = 2"), std::string::npos) << depthwise->refusal;
  for (const ImageChoice& choice : plan_images({1, 5, 3, 7}, ChannelType::f32, {}, 16)) {
    EXPECT_EQ(choice.image->row_pitch_bytes() % 256, 0);
    EXPECT_LT(choice.image->row_pitch_bytes(), choice.image->row_bytes() + 256);
  }
  EXPECT_THROW(plan_images({10}, ChannelType::f32, {}, 0), Error);
}

TEST(ImagePlanner, TheFewestPartsWithOuterDimsCut) {
  const auto parts = split_image(Format::parse("mace:conv2d_filter"), {64, 64, 7, 7}, ChannelType::f32, {4096, 512, 0});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].begin, (Dims{32, 0, 0, 0}));
  EXPECT_EQ(parts[1].image.height(), 392);
  EXPECT_EQ(split_image(Format::parse("nh|Cw4c"), {1, 9, 4, 5}, ChannelType::f32, {}).size(), 1u);
  try {
    split_image(Format::parse("nh|Cw4c"), {1, 9, 4, 5}, ChannelType::f32, {100, 100, 15});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
  }
}

/// The fewest parts of a grid by trying all sizes of parts, in blocks of `block`.
int64_t fewest(const Format& format, const Dims& dims, const Dims& block, const ImageLimits& limits) {
  int64_t best = std::numeric_limits<int64_t>::max();
  Dims step{1, 1, 1, 1};
  const auto fits = [&] {
    Dims extent;
    for (int d = 0; d < 4; ++d) extent.push_back(std::min(step[d] * block[d], dims[d]));
    const Image image = Image::make(format, extent, ChannelType::f32);
    return image.width() <= limits.max_width && image.height() <= limits.max_height &&
           image.bytes() <= limits.max_bytes;
  };
  for (step[0] = 1; step[0] <= ceil_div(dims[0], block[0]); ++step[0])
    for (step[1] = 1; step[1] <= ceil_div(dims[1], block[1]); ++step[1])
      for (step[2] = 1; step[2] <= ceil_div(dims[2], block[2]); ++step[2])
        for (step[3] = 1; step[3] <= ceil_div(dims[3], block[3]); ++step[3]) {
          int64_t parts = 1;
          for (int d = 0; d < 4; ++d) parts *= ceil_div(dims[d], step[d] * block[d]);
          if (parts < best && fits()) best = parts;
        }
  return best;
}

TEST(ImagePlanner, PartsCoverTheTensorOnceFitAndAreFewest) {
  std::mt19937 random(4);
  struct Tag {
    const char* text;
    Dims block;
  };
  const Tag tags[] = {
      {"nh|Cw4c", {1, 4, 1, 1}}, {"Ohw|i4o", {4, 1, 1, 1}}, {"nH|cw4h", {1, 1, 4, 1}}, {"o|hwI4i", {1, 4, 1, 1}}};
  for (int round = 0; round < 300; ++round) {
    const Tag& tag = tags[random() % 4];
    Dims dims;
    for (int d = 0; d < 4; ++d) dims.push_back(1 + static_cast<int64_t>(random() % 11));
    const ImageLimits limits{1 + static_cast<int64_t>(random() % 30), 1 + static_cast<int64_t>(random() % 30),
                             16 * (1 + static_cast<int64_t>(random() % 200))};
    SCOPED_TRACE(std::string(tag.text) + " " + join(dims));
    const Format format = Format::parse(tag.text);
    const std::vector<ImagePart> parts = split_image(format, dims, ChannelType::f32, limits);
    ASSERT_EQ(static_cast<int64_t>(parts.size()), fewest(format, dims, tag.block, limits));
    std::set<std::vector<int64_t>> seen;
    for (const ImagePart& part : parts) {
      part.image.check(limits);
      const Dims& e = part.image.dims();
      for (int64_t a = 0; a < e[0]; ++a)
        for (int64_t b = 0; b < e[1]; ++b)
          for (int64_t c = 0; c < e[2]; ++c)
            for (int64_t d = 0; d < e[3]; ++d)
              ASSERT_TRUE(
                  seen.insert({part.begin[0] + a, part.begin[1] + b, part.begin[2] + c, part.begin[3] + d}).second);
    }
    ASSERT_EQ(static_cast<int64_t>(seen.size()), dims[0] * dims[1] * dims[2] * dims[3]);
  }
}

}  // namespace
}  // namespace relayout::opencl
