// oneDNN's views without the library: the page's examples, what each refusal says, and the elements of every result.
// tests/onednn compares verdicts and fields with the library.
#include "relayout/interop/onednn_views.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"

namespace relayout {
namespace {

using onednn::BlockedDesc;

TensorDesc f32_desc(const Layout& layout) { return {layout, DType::f32}; }
BlockedDesc fields_of(std::string_view tag, const Dims& dims) {
  return onednn::to_onednn(f32_desc(Format::parse(tag).bind(dims)));
}
Dims shape(const BlockedDesc& fields) {
  return Dims(std::span(fields.dims).first(static_cast<std::size_t>(fields.ndims)));
}

/// The code, the field and the message of the error that f() ends with.
struct Refusal {
  ErrorCode code = ErrorCode::internal;
  std::string field{}, message{};
};
Refusal view_refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.code(), error.field(), error.message()};
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}
void expect_refused(const std::function<void()>& f, ErrorCode code, std::string_view field, std::string_view part) {
  const Refusal refusal = view_refused(f);
  EXPECT_EQ(refusal.code, code) << refusal.message;
  EXPECT_EQ(refusal.field, field) << refusal.message;
  EXPECT_NE(refusal.message.find(part), std::string::npos) << refusal.message;
}

TEST(OneDnnViews, ThePagesExamples) {
  const BlockedDesc fields = fields_of("nChw8c", {2, 17, 5, 4});
  BlockedDesc want = fields;
  want.dims[1] = 9;
  want.padded_dims[1] = 16;
  want.offset0 = 160;
  EXPECT_EQ(onednn::submemory(fields, {2, 9, 5, 4}, {0, 8, 0, 0}), want);
  EXPECT_EQ(onednn::permute_axes(fields, std::array{0, 3, 1, 2}), (BlockedDesc{.ndims = 4,
                                                                               .dims = {2, 5, 4, 17},
                                                                               .padded_dims = {2, 5, 4, 24},
                                                                               .strides = {480, 32, 8, 160},
                                                                               .inner_nblks = 1,
                                                                               .inner_blks = {8},
                                                                               .inner_idxs = {3},
                                                                               .data_type = 3}));
  EXPECT_EQ(onednn::reshape(fields, {1, 2, 17, 20}), (BlockedDesc{.ndims = 4,
                                                                  .dims = {1, 2, 17, 20},
                                                                  .padded_dims = {1, 2, 24, 20},
                                                                  .strides = {960, 480, 160, 8},
                                                                  .inner_nblks = 1,
                                                                  .inner_blks = {8},
                                                                  .inner_idxs = {2},
                                                                  .data_type = 3}));
  expect_refused(
      [&] {
        onednn::reshape(fields, {34, 5, 4});
      },
      ErrorCode::invalid_argument, "strides[0]",
      "dim 1 covers 17 x 160 = 2720 elements, and the stride of dim 0 is 480");
  EXPECT_EQ(onednn::difference(fields, onednn::reshape(fields, {2, 17, 20, 1})), "dims[2] is 5 and 20");
}

TEST(OneDnnViews, PartsThatAreRefused) {
  const BlockedDesc fields = fields_of("aB8b", {4, 20});
  const auto part = [&](const BlockedDesc& of, const Dims& dims, const Dims& offsets) {
    return [=] { onednn::submemory(of, dims, offsets); };
  };
  const ErrorCode invalid = ErrorCode::invalid_argument, unsupported = ErrorCode::unsupported;
  expect_refused(part(fields, {4, 13}, {0, 8}), invalid, "offsets[1]", "dim 1 has the extent 13 at the offset 8");
  expect_refused(part(fields, {-1, 8}, {0, 0}), invalid, "dims[0]", "dims[0] is -1");
  expect_refused(part(fields, {4, 8}, {0, -8}), invalid, "offsets[1]", "-8");
  expect_refused(part(fields, {4, 8}, {std::numeric_limits<int64_t>::max(), 0}), invalid, "offsets[0]", "extent 4");
  expect_refused(part(fields, {4}, {0, 0}), invalid, "dims", "dims has 1 entry for 2 dims");
  expect_refused(part(fields, {4, 8}, {0, 0, 0}), invalid, "offsets", "offsets has 3 entries for 2 dims");
  expect_refused(part(fields, {4, 8}, {0, 4}), unsupported, "offsets[1]", "begins at 4, which is no multiple");
  expect_refused(part(fields, {4, 12}, {0, 0}), unsupported, "dims[1]", "has the extent 12");
  expect_refused(part(fields, {4, onednn::kRuntimeDim}, {0, 0}), unsupported, "dims[1]", "DNNL_RUNTIME_DIM_VAL");
  expect_refused(part(fields, {4, -1}, {0, onednn::kRuntimeDim}), unsupported, "offsets[1]", "DNNL_RUNTIME_DIM_VAL");
  BlockedDesc inside = fields;
  inside.dims[1] = 8;
  inside.padded_offsets[1] = 8;
  expect_refused(part(inside, {4, 8}, {0, 0}), unsupported, "padded_offsets[1]", "padded offset 8");
  BlockedDesc far = fields;
  far.offset0 = std::numeric_limits<int64_t>::max();
  expect_refused(part(far, {2, 8}, {2, 8}), ErrorCode::overflow, "offset0", "offset0 is 9223372036854775807");
  expect_refused(part(BlockedDesc{}, {}, {}), unsupported, "ndims", "ndims is 0");
}

TEST(OneDnnViews, FieldsThatAreRefused) {
  const BlockedDesc good = fields_of("aB8b", {4, 20});
  const auto with = [&](auto change, ErrorCode submemory_code, ErrorCode others, std::string_view field) {
    BlockedDesc bad = good;
    change(bad);
    expect_refused([&] { onednn::submemory(bad, {4, 20}, {0, 0}); }, submemory_code, field, "submemory: ");
    expect_refused([&] { onednn::permute_axes(bad, std::array{1, 0}); }, others, field, "permute_axes: ");
    expect_refused([&] { onednn::reshape(bad, {4, 20}); }, others, field, "reshape: ");
  };
  const ErrorCode invalid = ErrorCode::invalid_argument;
  with([](BlockedDesc& f) { f.dims[1] = onednn::kRuntimeDim; }, ErrorCode::unsupported, invalid, "dims[1]");
  with([](BlockedDesc& f) { f.strides[0] = onednn::kRuntimeDim; }, ErrorCode::unsupported, invalid, "strides[0]");
  with([](BlockedDesc& f) { f.ndims = 0; }, ErrorCode::unsupported, invalid, "ndims");
  with([](BlockedDesc& f) { f.ndims = 13; }, invalid, invalid, "ndims");
  with([](BlockedDesc& f) { f.dims[0] = -4; }, invalid, invalid, "dims[0]");
  with([](BlockedDesc& f) { f.data_type = 0; }, invalid, invalid, "data_type");
  with([](BlockedDesc& f) { f.inner_nblks = 13; }, invalid, invalid, "inner_nblks");
  with([](BlockedDesc& f) { f.inner_blks[0] = 0; }, invalid, invalid, "inner_blks[0]");
  with([](BlockedDesc& f) { f.inner_idxs[0] = 2; }, invalid, invalid, "inner_idxs[0]");
}

TEST(OneDnnViews, PermutationsThatAreRefused) {
  const BlockedDesc fields = fields_of("abc", {2, 3, 4});
  const auto axes = [&](std::vector<int> permutation) { return [=] { onednn::permute_axes(fields, permutation); }; };
  const ErrorCode invalid = ErrorCode::invalid_argument;
  expect_refused(axes({0, 2, 0}), invalid, "permutation[2]", "permutation[2] is 0, as permutation[0] is");
  expect_refused(axes({0, 3, 1}), invalid, "permutation[1]", "permutation[1] is 3, and there are 3 dims");
  expect_refused(axes({-1, 1, 2}), invalid, "permutation[0]", "-1");
  expect_refused(axes({0, 1}), invalid, "permutation", "permutation has 2 entries for 3 dims");
}

TEST(OneDnnViews, ReshapesThatAreRefused) {
  const ErrorCode invalid = ErrorCode::invalid_argument;
  const auto to = [](const BlockedDesc& fields, const Dims& dims) { return [=] { onednn::reshape(fields, dims); }; };
  const auto strided = [](const Dims& dims, const Dims& strides) {
    return onednn::to_onednn(f32_desc(Layout::strided(dims, strides)));
  };
  expect_refused(to(fields_of("ab", {4, 6}), {5, 5}), invalid, "dims", "4x6 have the product 24, and 5x5 have 25");
  expect_refused(to(fields_of("ab", {4, 6}), {-4, -6}), invalid, "dims[0]", "dims[0] is -4");
  // Padding and blocks: dims of 1 with padding only stay, blocked dims are never split nor joined.
  expect_refused(to(fields_of("aB8b", {4, 1}), {4}), invalid, "padded_dims[1]", "the extent 1 padded to 8");
  expect_refused(to(fields_of("aB8b", {4, 16}), {4, 2, 8}), invalid, "dims[1]", "blocks of 8, and it would be split");
  expect_refused(to(fields_of("Ab8a", {16, 3}), {48}), invalid, "dims[0]", "dim 0 has blocks of 8");
  BlockedDesc padded = fields_of("ab", {4, 6});
  padded.padded_dims[0] = 5;
  expect_refused(to(padded, {2, 2, 6}), invalid, "padded_dims[0]", "the extent 4 padded to 5");
  padded.padded_offsets[0] = 1;
  padded.padded_dims[0] = 4;
  expect_refused(to(padded, {2, 2, 6}), invalid, "padded_offsets[0]", "the padded offset 1");
  // The stride of a dim of 1 counts where it is in the middle of a group, and only there.
  EXPECT_EQ(onednn::reshape(strided({2, 1, 3}, {3, 3, 1}), {6}).strides[0], 1);
  expect_refused(to(strided({2, 1, 3}, {3, 7, 1}), {6}), invalid, "strides[1]", "dims 0 to 2 are no single one");
  EXPECT_EQ(shape(onednn::reshape(strided({6, 1, 3}, {3, 7, 1}), {2, 3, 3})), (Dims{2, 3, 3}));
  // Dims of 0.
  EXPECT_EQ(shape(onednn::reshape(fields_of("abc", {2, 3, 0}), {6, 0, 1})), (Dims{6, 0, 1}));
  expect_refused(to(fields_of("ab", {0, 3}), {3, 0}), invalid, "dims", "0,3 would become 3,0");
  expect_refused(to(fields_of("ab", {0, 1}), {1, 1}), invalid, "dims", "a dim of 0");
  expect_refused(to(fields_of("ab", {1, 1}), {0}), invalid, "dims", "a dim of 0");
  BlockedDesc large = fields_of("ab", {4, 6});
  large.dims = {int64_t{1} << 40, int64_t{1} << 40};
  expect_refused(to(large, {4, 6}), ErrorCode::overflow, "dims[0]", "overflow 64 bits");
}

TEST(OneDnnViews, ReshapesOfWhichOneDnnGivesOtherElements) {
  // 1 channel of 8 has no step of its own, so that all strides continue each other.
  const BlockedDesc channel = fields_of("aBc8b", {2, 1, 3});
  expect_refused([&] { onednn::reshape(channel, {6}); }, ErrorCode::needs_copy, "inner_idxs[0]",
                 "dim 1 has blocks of 8 and does not stay, for which oneDNN leaves the blocks to dim 1 of the result, "
                 "which does not exist");
  expect_refused([&] { onednn::reshape(channel, {3, 2}); }, ErrorCode::needs_copy, "inner_idxs[0]", "of extent 2");
  EXPECT_EQ(onednn::reshape(channel, {6, 1}).strides[0], 8);
  // A part inside a block is a dim of 1 without padding, but with blocks.
  const BlockedDesc part = onednn::submemory(fields_of("aBc8b", {2, 8, 3}), {2, 1, 3}, {0, 0, 0});
  expect_refused([&] { onednn::reshape(part, {2, 3}); }, ErrorCode::needs_copy, "inner_idxs[0]", "of extent 3");
  EXPECT_TRUE(onednn::equal(onednn::reshape(part, {2, 1, 3}), part));
  BlockedDesc begun = onednn::to_onednn(f32_desc(Layout::strided({4, 3}, {3, 1})));
  begun.padded_offsets[1] = 1;
  begun.padded_dims[1] = 4;
  expect_refused([&] { onednn::reshape(begun, {12}); }, ErrorCode::needs_copy, "padded_offsets[1]",
                 "the padded offset 1, and it would be joined, for which oneDNN drops the offset");
}

TEST(OneDnnViews, OneElementWithoutDims) {
  const BlockedDesc fields = onednn::reshape(fields_of("ab", {1, 1}), {});
  EXPECT_EQ(fields, (BlockedDesc{.data_type = 3}));
  EXPECT_EQ(onednn::size(fields), 0);
  EXPECT_TRUE(onednn::equal(fields, BlockedDesc{}));
}

TEST(OneDnnViews, WhatCountsForEquality) {
  const BlockedDesc fields = fields_of("aB8b", {1, 1});  // dim 1 is padded to 8
  const auto with = [&](auto change) {
    BlockedDesc other = fields;
    change(other);
    EXPECT_EQ(onednn::equal(fields, other), onednn::difference(fields, other).empty());
    return onednn::difference(fields, other);
  };
  EXPECT_EQ(with([](BlockedDesc& f) { f.strides[0] = 77; }), "");
  EXPECT_EQ(with([](BlockedDesc& f) { f.strides[1] = 77; }), "strides[1] is 8 and 77");
  EXPECT_EQ(with([](BlockedDesc& f) { f.offset0 = 5; }), "offset0 is 0 and 5");
  EXPECT_EQ(with([](BlockedDesc& f) { f.data_type = 1; }), "data_type is 3 and 1");
  EXPECT_EQ(with([](BlockedDesc& f) { f.padded_dims[1] = 16; }), "padded_dims[1] is 8 and 16");
  EXPECT_EQ(with([](BlockedDesc& f) { f.padded_offsets[1] = 1; }), "padded_offsets[1] is 0 and 1");
  EXPECT_EQ(with([](BlockedDesc& f) { f.inner_blks[0] = 4; }), "inner_blks[0] is 8 and 4");
  EXPECT_EQ(with([](BlockedDesc& f) { f.inner_idxs[0] = 0; }), "inner_idxs[0] is 1 and 0");
  EXPECT_EQ(with([](BlockedDesc& f) { f.inner_nblks = 0; }), "inner_nblks is 1 and 0");
  EXPECT_EQ(with([](BlockedDesc& f) { f.dims[1] = onednn::kRuntimeDim; }), "dims[1] is 1 and DNNL_RUNTIME_DIM_VAL");
  EXPECT_EQ(with([](BlockedDesc& f) { f.ndims = 1; }), "ndims is 2 and 1");
  // One layout, two descriptors.
  const BlockedDesc nhwc = fields_of("nhwc", {2, 8, 1, 1}), blocked = fields_of("nChw8c", {2, 8, 1, 1});
  EXPECT_EQ(onednn::from_onednn(nhwc), onednn::from_onednn(blocked));
  EXPECT_EQ(onednn::difference(nhwc, blocked), "inner_nblks is 0 and 1");
}

TEST(OneDnnViews, ResultsAreTheViewsOfLayouts) {
  std::mt19937 rng(31);
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  const char* tags[] = {"abc", "acb", "cba", "aBc4b", "ABc2a4b", "bCa8c", "ABc2b4a2b"};
  int parts = 0, inside = 0, permuted = 0, reshaped = 0;
  for (int round = 0; round < 4000; ++round) {
    const Dims dims{pick(1, 9), pick(1, 20), pick(1, 17)};
    const Layout layout = Format::parse(tags[round % 7]).bind(dims);
    const BlockedDesc fields = onednn::to_onednn(f32_desc(layout));
    Dims part, offsets;
    for (int d = 0; d < 3; ++d) {
      offsets.push_back(pick(0, (dims[d] - 1) / 4) * 4);
      part.push_back(pick(0, 1) == 0 ? dims[d] - offsets[d] : pick(1, dims[d] - offsets[d]));
    }
    try {
      const Layout view = onednn::from_onednn(onednn::submemory(fields, part, offsets)).layout;
      EXPECT_EQ(view, submemory(layout, part, offsets))
          << tags[round % 7] << " " << join(dims) << " part " << join(part) << " at " << join(offsets);
      ++parts;
      for (int d = 0; d < 3; ++d) inside += part[d] < layout.block(d) && part[d] + offsets[d] < dims[d];
    } catch (const Error& error) {
      // oneDNN makes parts of blocks that are no single run; neither function for layouts does.
      if (error.code() == ErrorCode::needs_copy) {
        EXPECT_THROW(submemory(layout, part, offsets), Error);
      } else {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
      }
    }
    const std::array permutation{static_cast<int>(pick(0, 2)), static_cast<int>(pick(0, 2)), 0};
    if (permutation[0] != permutation[1]) {
      const std::array whole{permutation[0], permutation[1], 3 - permutation[0] - permutation[1]};
      EXPECT_EQ(onednn::from_onednn(onednn::permute_axes(fields, whole)).layout, permute_axes(layout, whole));
      ++permuted;
    }
    Dims to{1, dims[0], dims[1] * dims[2]};
    if (round % 2 == 0) to = {dims[0] * dims[1], 1, dims[2], 1};
    try {
      const Layout view = onednn::from_onednn(onednn::reshape(fields, to)).layout;
      // The padding of a dim of 1 may stand in another dim of 1 here, so that only the elements are compared.
      const Layout want = relayout::view(layout, to);
      Dims index(to.size(), 0);
      for (int64_t i = 0; i < layout.elements(); ++i) {
        int64_t rest = i;
        for (int d = to.size() - 1; d >= 0; --d) {
          index[d] = rest % to[d];
          rest /= to[d];
        }
        ASSERT_EQ(view.offset(index), want.offset(index)) << tags[round % 7] << " " << join(dims) << " to " << join(to);
      }
      ++reshaped;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::needs_copy);
    }
  }
  EXPECT_GT(parts, 500);
  EXPECT_GT(inside, 50);
  EXPECT_GT(permuted, 1000);
  EXPECT_GT(reshaped, 200);
}

}  // namespace
}  // namespace relayout
