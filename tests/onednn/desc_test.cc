// interop/onednn_desc.h against the library: random descriptors by tags, by strides and as parts of others, there and
// back, and what is refused. It compiles with oneDNN 2 and 3.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "relayout/core/view.h"
#include "relayout/interop/onednn_desc.h"
#include "tag_names.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using dnnl::memory;

int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}
memory::dims list_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

constexpr memory::data_type kTypes[] = {memory::data_type::f32, memory::data_type::bf16, memory::data_type::f16,
                                        memory::data_type::s32, memory::data_type::s8,   memory::data_type::u8};

std::vector<TagName> canonical_tags() {
  std::vector<TagName> out;
  for (const TagName& tag : onednn_tag_names()) {
    if (tag.ndims >= 1 && tag.ndims <= 6 && tag.name == tag.canonical) out.push_back(tag);
  }
  return out;
}

/// Expects that the descriptor is this tensor, and the tensor this descriptor.
void expect_both_ways(const memory::desc& md, const TensorDesc& desc, const std::string& text) {
  ASSERT_EQ(onednn::from_desc(md), desc) << text;
  // Without elements, strides that are not those of the library say the same layout.
  ASSERT_TRUE(onednn::to_desc(desc.layout.empty() ? onednn::from_desc(md) : desc) == md) << text;
#if DNNL_VERSION_MAJOR >= 3
  ASSERT_EQ(onednn::from_desc(md.get()), desc) << text;
#else
  ASSERT_EQ(onednn::from_desc(md.data), desc) << text;
#endif
}

TEST(OneDnnDesc, TagsAndTheirParts) {
  std::mt19937 rng(31);
  const std::vector<TagName> tags = canonical_tags();
  int whole = 0, parts = 0, padded = 0;
  for (int round = 0; round < 3000 && !testing::Test::HasFatalFailure(); ++round) {
    const TagName& tag = tags[static_cast<std::size_t>(round) % tags.size()];
    Dims dims, sub, offsets;
    for (int d = 0; d < tag.ndims; ++d) dims.push_back(pick(rng, 0, 80) == 0 ? 0 : pick(rng, 1, 40));
    const memory::data_type type = kTypes[pick(rng, 0, 5)];
    const TensorDesc desc(Format::parse(tag.canonical).bind(dims), onednn::data_type_of_number(static_cast<int>(type)));
    const memory::desc md(list_of(dims), type, static_cast<memory::format_tag>(tag.tag));
    const std::string text = tag.name + " " + join(dims);
    expect_both_ways(md, desc, text);
    ++whole;
    padded += desc.layout.padded();
    if (desc.layout.empty()) continue;
    // A part that begins and ends with blocks.
    for (int d = 0; d < tag.ndims; ++d) {
      const int64_t block = desc.layout.block(d), count = ceil_div(dims[d], block), first = pick(rng, 0, count - 1);
      offsets.push_back(first * block);
      const int64_t blocks = pick(rng, 0, 2) == 0 ? pick(rng, 1, count - first) : count - first;
      sub.push_back(std::min(blocks * block, dims[d] - offsets[d]));
    }
    const memory::desc part = md.submemory_desc(list_of(sub), list_of(offsets));
    expect_both_ways(part, {submemory(desc.layout, sub, offsets), desc.dtype},
                     text + " part " + join(sub) + " at " + join(offsets));
    ++parts;
  }
  std::cout << "descriptors by tags: " << whole << ", " << padded << " padded, and " << parts << " parts of them\n";
  EXPECT_GT(parts, 2500);
  EXPECT_GT(padded, 1000);
}

TEST(OneDnnDesc, StridesAndTheirParts) {
  std::mt19937 rng(32);
  int whole = 0, parts = 0;
  while (whole < 2000 && !testing::Test::HasFatalFailure()) {
    const auto ndims = static_cast<int>(pick(rng, 1, 5));
    Dims dims, strides;
    for (int d = 0; d < ndims; ++d) {
      dims.push_back(pick(rng, 1, 6));
      strides.push_back(pick(rng, 0, 5) == 0 ? 0 : pick(rng, 1, 400));
    }
    const memory::desc md(list_of(dims), memory::data_type::f32, list_of(strides), true);
    if (!onednn::fields_of(md)) continue;  // refused by the rule about strides
    const TensorDesc desc(Layout::strided(dims, strides), DType::f32);
    const std::string text = join(dims) + " strides " + join(strides);
    expect_both_ways(md, desc, text);
    ++whole;
    Dims sub, offsets;
    for (int d = 0; d < ndims; ++d) {
      offsets.push_back(pick(rng, 0, dims[d] - 1));
      sub.push_back(pick(rng, 1, dims[d] - offsets[d]));
    }
    const memory::desc part = md.submemory_desc(list_of(sub), list_of(offsets));
    expect_both_ways(part, {submemory(desc.layout, sub, offsets), desc.dtype},
                     text + " part " + join(sub) + " at " + join(offsets));
    ++parts;
  }
  std::cout << "descriptors by strides: " << whole << ", and " << parts << " parts of them\n";
}

/// Expects Error{unsupported} with this word in the message.
template <typename F>
void expect_refused(const F& call, const std::string& word) {
  const Error error = test::error_of(call);
  EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
  EXPECT_NE(error.message().find(word), std::string::npos) << error.message();
}

TEST(OneDnnDesc, WhatNoLayoutCanSay) {
  const auto f32 = memory::data_type::f32;
  expect_refused([] { onednn::from_desc(memory::desc()); }, "empty");
  expect_refused([&] { onednn::from_desc(memory::desc({2, 3}, f32, memory::format_tag::any)); }, "any");
  const memory::desc runtime({DNNL_RUNTIME_DIM_VAL, 3}, f32, memory::dims{3, 1});
  expect_refused([&] { onednn::from_desc(runtime); }, "DNNL_RUNTIME_DIM_VAL");
#if DNNL_VERSION_MAJOR == 2
  memory::desc odd({2, 3}, f32, memory::format_tag::ab);
  odd.data.format_kind = dnnl_format_kind_wino;
  expect_refused([&] { onednn::from_desc(odd); }, "wino");
  odd.data.format_kind = dnnl_format_kind_rnn_packed;
  expect_refused([&] { onednn::from_desc(odd); }, "rnn_packed");
  odd.data.format_kind = dnnl_blocked;
  odd.data.extra.flags = dnnl_memory_extra_flag_compensation_conv_s8s8;
  expect_refused([&] { onednn::from_desc(odd); }, "compensation");
#endif
}

#if DNNL_VERSION_MAJOR >= 3
using Convolution = dnnl::convolution_forward::primitive_desc;
#endif

TEST(OneDnnDesc, CompensatedWeightsOfARealPrimitive) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto any = memory::format_tag::any;
  const memory::desc src({2, 32, 9, 9}, memory::data_type::s8, any), wei({32, 32, 3, 3}, memory::data_type::s8, any),
      dst({2, 32, 7, 7}, memory::data_type::s32, any);
  const memory::dims ones{1, 1}, zeros{0, 0};
#if DNNL_VERSION_MAJOR >= 3
  const Convolution found(engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, wei,
                          dst, ones, zeros, zeros);
#else
  const dnnl::convolution_forward::desc operation(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, wei, dst, ones, zeros, zeros);
  const dnnl::convolution_forward::primitive_desc found(operation, engine);
#endif
  const memory::desc weights = found.weights_desc();
  const std::optional<onednn::BlockedDesc> fields = onednn::fields_of(weights);
  ASSERT_TRUE(fields);
  if (static_cast<int64_t>(weights.get_size()) == onednn::size(*fields)) {
    GTEST_SKIP() << "this processor's convolution needs no compensation";
  }
  EXPECT_TRUE(onednn::has_extra(weights, *fields));
  expect_refused([&] { onednn::from_desc(weights); }, "no layout");
  EXPECT_FALSE(onednn::has_extra(found.src_desc(), *onednn::fields_of(found.src_desc())));
}

TEST(OneDnnDesc, WhatTheLibraryCannotSay) {
  expect_refused([] { onednn::to_desc({Layout::strided({2, 3}, {-3, 1}, 3), DType::f32}); }, "negative");
  expect_refused([] { onednn::to_desc({Layout::contiguous({2, 3}), DType::s16}); }, "s16");
  expect_refused(
      [] {
        onednn::to_desc({Format::parse("aBc32b48b").bind({2, 1600, 3}).canonical(), DType::u64});
      },
      "u64");
  expect_refused([] { onednn::to_desc(TensorDesc()); }, "rank 0");
  const TensorDesc crossed(Layout::strided({3, 2}, {2, 3}), DType::f32), unnamed = test::desc("aBc3b", {2, 7, 5});
#if DNNL_VERSION_MAJOR >= 3
  expect_refused([&] { onednn::to_desc(crossed); }, "stride of dim 1 is 3");
  expect_refused([&] { onednn::to_desc(unnamed); }, "no name for its tag, aBc3b");
#else
  EXPECT_EQ(onednn::from_desc(onednn::to_desc(crossed)), crossed);
  EXPECT_EQ(onednn::from_desc(onednn::to_desc(unnamed)), unnamed);
  expect_refused([] { onednn::to_desc(test::desc("ab", {2, 3}, DType::s4)); }, "s4");
#endif
}

}  // namespace
}  // namespace relayout
