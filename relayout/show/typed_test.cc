// Scenes of typed texts: what counts where dims and types are said in several places, and at which side a problem is.
#include "relayout/show/typed.h"

#include <gtest/gtest.h>

namespace relayout::show {
namespace {

TypedScene typed(const std::vector<TypedSide>& sides) { return typed_scene(sides); }

TEST(Typed, OneSide) {
  const TypedScene found = typed({{"nChw8c", "2,17,5,4", "f16"}});
  ASSERT_TRUE(found.scene);
  EXPECT_EQ(found.scene->title, "nChw8c  2x17x5x4");
  EXPECT_EQ(found.scene->views[0].dtype, DType::f16);
  EXPECT_EQ(found.scene->views[0].layout.offset({0, 16, 2, 3}), 408);
  EXPECT_EQ(found.scene->typed[0].dims, "2,17,5,4");
}

TEST(Typed, WhatATextSaysCounts) {
  const TypedScene found = typed({{"torch (2,3) strides (1,2) float16", "9,9,9", "u8"}, {"ba"}});
  ASSERT_TRUE(found.scene) << found.problem->message();
  EXPECT_EQ(found.scene->typed[0].dims, "2,3");
  EXPECT_EQ(found.scene->typed[0].dtype, "f16");
  EXPECT_EQ(found.scene->views[1].layout.dims(), (Dims{2, 3}));
  EXPECT_EQ(found.scene->views[1].dtype, DType::f16);
  EXPECT_EQ(comparison(found.scene->views[0], found.scene->views[1]).index, std::nullopt);
}

TEST(Typed, DimsOfTheOtherSide) {
  // The capacity of the digits is 24, and what is given for the other side is 17.
  const TypedScene found = typed({{"nChw8c", "2,17,5,4"}, {"digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)"}});
  ASSERT_TRUE(found.scene) << found.problem->message();
  EXPECT_EQ(found.scene->views[1].layout, found.scene->views[0].layout);
  EXPECT_EQ(found.scene->typed[1].dims, "");
  const TypedScene own = typed({{"ab"}, {"cute:(4,8):(8,1)"}});
  ASSERT_TRUE(own.scene) << own.problem->message();
  EXPECT_EQ(own.scene->views[0].layout.dims(), (Dims{4, 8}));
  // Dims are those before the views, which the other side cannot know.
  EXPECT_EQ(typed({{"ab"}, {"ba.transpose(0,1)", "2,3"}}).side, 0U);
  EXPECT_TRUE(typed({{"strides:"}}).scene) << "a scalar needs no dims";
}

TEST(Typed, Records) {
  const TypedScene found = typed({{"ggml:q4_0", "1,64"}});
  ASSERT_TRUE(found.scene);
  EXPECT_EQ(found.scene->kind, Scene::Kind::fields);
  EXPECT_EQ(found.scene->title, "ggml:q4_0  1x64");
  EXPECT_EQ(typed({{"ab", "1,64"}, {"ggml:q4_0"}}).side, 1U);
}

TEST(Typed, ProblemsAreThoseOfASide) {
  const auto message = [](const std::vector<TypedSide>& sides, std::size_t side) {
    const TypedScene found = typed(sides);
    EXPECT_FALSE(found.scene);
    EXPECT_EQ(found.side, side);
    return found.problem ? found.problem->message() : "";
  };
  EXPECT_EQ(message({{"nchw"}}, 0), "dims are needed, such as 2,17,5,4: nchw does not say the extents");
  EXPECT_NE(message({{"nchw", "1,2,3,4"}, {"nChv8c"}}, 1).find("letter 'v'"), std::string::npos);
  EXPECT_NE(message({{"nchw", "1,2,3"}, {"nhwc"}}, 0).find("has 4 dims"), std::string::npos);
  EXPECT_NE(message({{"nchw", "1,2,3,4"}, {"nhwc", "1,2,3,5"}}, 1).find("both describe one tensor"), std::string::npos);
  EXPECT_NE(message({{"nchw", "1,2,3,4", "f31"}}, 0).find("f31"), std::string::npos);
  EXPECT_NE(message({{"dml:{1,1,3,5}", "", "bf16"}}, 0).find("bf16"), std::string::npos);
}

}  // namespace
}  // namespace relayout::show
