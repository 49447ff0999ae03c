// Descriptors and layouts: random tags and strides there and back, and what one side cannot say.
#include "relayout/execute/onednn/descriptor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"

namespace relayout::execute {
namespace {

int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

/// A tag of the grammar: a permutation of the dims, and up to three blocks.
std::string random_tag(std::mt19937& rng, int ndims) {
  std::string outer;
  for (int d = 0; d < ndims; ++d) outer += static_cast<char>('a' + d);
  std::shuffle(outer.begin(), outer.end(), rng);
  std::string inner;
  for (int64_t k = pick(rng, 0, 3); k > 0; --k) {
    const auto letter = static_cast<char>('a' + pick(rng, 0, ndims - 1));
    inner += std::to_string(int64_t{1} << pick(rng, 1, 4)) + letter;
    for (char& c : outer) {
      if (c == letter) c = static_cast<char>(letter - 'a' + 'A');
    }
  }
  return outer + inner;
}

TEST(Descriptor, TagsThereAndBack) {
  std::mt19937 rng(1);
  int blocked = 0, padded = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto ndims = static_cast<int>(pick(rng, 1, 6));
    const std::string tag = random_tag(rng, ndims);
    Dims dims;
    for (int d = 0; d < ndims; ++d) dims.push_back(pick(rng, 1, 40));
    const Layout layout = Format::parse(tag).bind(dims);
    const auto desc = descriptor(layout, DType::f32);
    ASSERT_TRUE(desc) << tag << " " << join(dims);
    EXPECT_EQ(static_cast<int64_t>(desc->get_size()), TensorDesc(layout, DType::f32).size_bytes())
        << tag << " " << join(dims);
    const auto back = layout_of(*desc);
    ASSERT_TRUE(back) << tag << " " << join(dims);
    EXPECT_EQ(*back, layout) << tag << " " << join(dims);
    // A layout in its simplest digits says the same.
    const auto simplest = descriptor(layout.canonical(), DType::f32);
    ASSERT_TRUE(simplest) << tag << " " << join(dims);
    EXPECT_EQ(layout_of(*simplest), layout) << tag << " " << join(dims);
    blocked += layout.block(0) > 1;
    padded += layout.padded();
  }
  std::cout << "5000 tags, " << blocked << " with dim 0 blocked, " << padded << " padded\n";
  EXPECT_GT(padded, 1000);
}

TEST(Descriptor, StridesThereAndBack) {
  std::mt19937 rng(2);
  for (int round = 0; round < 2000; ++round) {
    const auto ndims = static_cast<int>(pick(rng, 1, 5));
    Dims dims, strides;
    for (int d = 0; d < ndims; ++d) {
      dims.push_back(pick(rng, 1, 9));
      strides.push_back(pick(rng, 0, 300));
    }
    const Layout layout = Layout::strided(dims, strides);
    const auto desc = descriptor(layout, DType::bf16);
    ASSERT_TRUE(desc) << join(dims) << " " << join(strides);
    EXPECT_EQ(layout_of(*desc), layout) << join(dims) << " " << join(strides);
  }
}

TEST(Descriptor, OneDnnsOwnTags) {
  using Tag = dnnl::memory::format_tag;
  const std::pair<Tag, const char*> tags[] = {{Tag::nchw, "nchw"},
                                              {Tag::nhwc, "nhwc"},
                                              {Tag::nChw16c, "nChw16c"},
                                              {Tag::nChw8c, "nChw8c"},
                                              {Tag::OIhw16i16o, "OIhw16i16o"},
                                              {Tag::OIhw4i16o4i, "OIhw4i16o4i"},
                                              {Tag::Ohwi16o, "Ohwi16o"},
                                              {Tag::hwio, "hwio"}};
  for (const auto& [tag, text] : tags) {
    for (const Dims& dims : {Dims{2, 17, 5, 4}, Dims{16, 32, 1, 1}, Dims{1, 1, 1, 1}, Dims{33, 3, 3, 3}}) {
      const dnnl::memory::desc theirs(dnnl::memory::dims(dims.begin(), dims.end()), dnnl::memory::data_type::f32, tag);
      const Layout layout = Format::parse(text).bind(dims);
      EXPECT_EQ(layout_of(theirs), layout) << text << " " << join(dims);
      // Said in its own spelling, it is the descriptor of the tag, strides of dims of extent 1 too.
      const auto ours = descriptor(layout, DType::f32);
      ASSERT_TRUE(ours);
      EXPECT_EQ(*ours, theirs) << text << " " << join(dims);
    }
  }
}

TEST(Descriptor, EqualLayoutsBySpellings) {
  // With one place, row-major and channels last are one layout, and with 16 channels so is the blocked one.
  const Layout layout = Format::parse("nhwc").bind({4, 16, 1, 1});
  for (Spelling s : {Spelling::plain, Spelling::channels_last, Spelling::blocked16, Spelling::blocked8}) {
    const auto other = spelled(layout, s);
    ASSERT_TRUE(other);
    EXPECT_EQ(*other, layout);
  }
  EXPECT_FALSE(spelled(Format::parse("nhwc").bind({4, 17, 1, 1}), Spelling::blocked16));
  EXPECT_FALSE(spelled(Format::parse("nhwc").bind({4, 16, 2, 1}), Spelling::plain));
}

TEST(Descriptor, OneBlockThatIsFullMayGoUnsaid) {
  const Dims dims{32, 5, 3, 3};
  const Layout blocks = Format::parse("Acdb32a").bind(dims), plain = Format::parse("cdba").bind(dims);
  const auto other = spelled(Format::parse("cdbA32a").bind(dims), Spelling::unblocked);
  ASSERT_TRUE(other);
  EXPECT_EQ(*other, plain);
  EXPECT_EQ(descriptor(*other, DType::f32), descriptor(plain, DType::f32));
  EXPECT_TRUE(spelled(blocks, Spelling::unblocked));
  EXPECT_FALSE(spelled(plain, Spelling::unblocked));                                         // no blocks
  EXPECT_FALSE(spelled(Format::parse("Acdb16a").bind(dims), Spelling::unblocked));           // two of them
  EXPECT_FALSE(spelled(Format::parse("Acdb32a").bind({31, 5, 3, 3}), Spelling::unblocked));  // with padding
}

TEST(Descriptor, StridesOfSingleElementsAreThoseOfTheTag) {
  const Dims dims{1, 2, 1, 3};
  for (const Dims& strides : {Dims{6, 3, 6, 1}, Dims{12, 3, 12, 1}, Dims{0, 3, 0, 1}, Dims{-1, 3, 1, 1}}) {
    const auto desc = descriptor(with_plain_strides(Layout::strided(dims, strides)), DType::f32);
    ASSERT_TRUE(desc);
    EXPECT_EQ(*desc, descriptor(Layout::contiguous(dims), DType::f32)) << join(strides);
  }
}

TEST(Descriptor, WhatCannotBeSaid) {
  const Layout plain = Layout::contiguous({2, 8, 4});
  EXPECT_FALSE(descriptor(flip(plain, 1), DType::f32));  // a negative stride
  EXPECT_FALSE(descriptor(plain, DType::s64));           // no such type
  EXPECT_FALSE(descriptor(Layout(), DType::f32));        // a scalar
  // Blocks that are not dense: two levels with a gap between.
  const Digits gap[] = {{{2, 1}, {2, 4}, {2, 16}}};
  EXPECT_FALSE(descriptor(Layout::from_digits({8}, gap), DType::f32));
  // Element 0 elsewhere is the data pointer's business.
  const Layout moved = Layout::strided({2, 3}, {3, 1}, 7);
  ASSERT_TRUE(descriptor(moved, DType::f32));
  EXPECT_EQ(layout_of(*descriptor(moved, DType::f32)), Layout::contiguous({2, 3}));
  EXPECT_FALSE(layout_of(dnnl::memory::desc()));
  EXPECT_FALSE(layout_of(*any_descriptor({2, 3}, DType::f32)));
}

TEST(Descriptor, CompensationIsNoLayout) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  using Type = dnnl::memory::data_type;
  using Tag = dnnl::memory::format_tag;
  // Signed sources make oneDNN add compensation terms to the weights it chooses.
  dnnl::memory::desc src({1, 64, 8, 8}, Type::s8, Tag::any), weights({64, 64, 3, 3}, Type::s8, Tag::any),
      dst({1, 64, 6, 6}, Type::f32, Tag::any);
  const dnnl::convolution_forward::primitive_desc chosen({dnnl::prop_kind::forward_inference,
                                                          dnnl::algorithm::convolution_direct,
                                                          src,
                                                          weights,
                                                          dst,
                                                          {1, 1},
                                                          {0, 0},
                                                          {0, 0}},
                                                         engine);
  if (chosen.weights_desc().data.extra.flags == 0) GTEST_SKIP() << "no compensation on this machine";
  EXPECT_FALSE(layout_of(chosen.weights_desc()));
}

}  // namespace
}  // namespace relayout::execute
