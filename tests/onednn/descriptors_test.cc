// Compares layouts with oneDNN's memory descriptors that are not made by a tag alone: given strides (and their sizes),
// submemory, and permuted axes.
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include <iostream>
#include <numeric>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tag_names.h"

namespace relayout {
namespace {

int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

/// Expects that a descriptor of oneDNN and a layout of f32 have the same strides, padded dims, offset0 and size.
void expect_same(const dnnl_memory_desc_t& md, const Layout& layout) {
  for (int d = 0; d < md.ndims; ++d) {
    EXPECT_EQ(layout.dim(d), md.dims[d]);
    EXPECT_EQ(layout.capacity(d), md.padded_dims[d]);
    EXPECT_EQ(layout.outer_stride(d), md.format_desc.blocking.strides[d]);
  }
  EXPECT_EQ(layout.offset0(), md.offset0);
  // oneDNN gives every descriptor with an offset the size 0.
  const auto theirs = static_cast<int64_t>(dnnl_memory_desc_get_size(&md));
  EXPECT_EQ(theirs, md.offset0 == 0 ? TensorDesc(layout, DType::f32).size_bytes() : 0);
}

TEST(OneDnnDescriptors, SizeOfStridedTensors) {
  std::mt19937 rng(3);
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto ndims = static_cast<int>(pick(rng, 1, 5));
    Dims dims, strides;
    for (int d = 0; d < ndims; ++d) {
      dims.push_back(pick(rng, 1, 6));
      strides.push_back(pick(rng, 0, 4) == 0 ? 0 : pick(rng, 1, 400));
    }
    dnnl_memory_desc_t md;
    if (dnnl_memory_desc_init_by_strides(&md, ndims, dims.data(), dnnl_f32, strides.data()) != dnnl_success) continue;
    expect_same(md, Layout::strided(dims, strides));
    ++compared;
  }
  std::cout << "compared " << compared << " strided descriptors with oneDNN\n";
  EXPECT_GT(compared, 500);
}

TEST(OneDnnDescriptors, SubmemoryAcceptsAndGivesTheSame) {
  std::mt19937 rng(4);
  std::vector<TagName> tags;
  for (const TagName& tag : onednn_tag_names()) {
    if (tag.ndims >= 1 && tag.ndims <= 5 && tag.name == tag.canonical) tags.push_back(tag);
  }
  int accepted = 0, refused = 0, parts = 0;
  for (int round = 0; round < 20000 && !testing::Test::HasFailure(); ++round) {
    const TagName& tag = tags[static_cast<std::size_t>(pick(rng, 0, static_cast<int64_t>(tags.size()) - 1))];
    Dims dims, sub, offsets;
    for (int d = 0; d < tag.ndims; ++d) {
      dims.push_back(pick(rng, 1, 40));
      // Offsets are mostly multiples of 8, a likely block; extents are mostly all that is left of the dim.
      offsets.push_back(pick(rng, 0, 2) == 0 ? pick(rng, 0, dims[d] - 1) : pick(rng, 0, (dims[d] - 1) / 8) * 8);
      sub.push_back(pick(rng, 0, 2) == 0 ? pick(rng, 1, dims[d] - offsets[d]) : dims[d] - offsets[d]);
    }
    dnnl_memory_desc_t parent, md;
    ASSERT_EQ(dnnl_memory_desc_init_by_tag(&parent, tag.ndims, dims.data(), dnnl_f32, tag.tag), dnnl_success);
    const bool theirs = dnnl_memory_desc_init_submemory(&md, &parent, sub.data(), offsets.data()) == dnnl_success;
    const Layout layout = Format::parse(tag.canonical).bind(dims);
    bool ours = true;
    Layout view;
    try {
      view = submemory(layout, sub, offsets);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      ours = false;
    }
    // If the part ends inside a block, only the offsets are compared: the strides of submemory() differ from oneDNN's,
    // and it refuses parts of blocks that have two levels (view.h).
    bool inside = false;
    for (int d = 0; d < tag.ndims; ++d) inside = inside || (offsets[d] + sub[d] < dims[d] && sub[d] < layout.block(d));
    if (inside && theirs) {
      parts += ours;
      if (ours) {
        EXPECT_EQ(view.offset0(), md.offset0);
      }
      continue;
    }
    ASSERT_EQ(ours, theirs) << tag.name << " " << join(dims) << " part " << join(sub) << " at " << join(offsets);
    (ours ? accepted : refused)++;
    if (ours) expect_same(md, view);
  }
  std::cout << "submemory: " << accepted << " accepted, " << refused << " refused, as oneDNN does; " << parts
            << " parts of blocks\n";
  EXPECT_GT(parts, 100);
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(OneDnnDescriptors, PermuteAxes) {
  std::mt19937 rng(5);
  for (const char* text : {"abcd", "acdb", "aBcd16b", "ABcd4b16a4b", "bcda"}) {
    const Dims dims{2, 17, 5, 4};
    dnnl_format_tag_t tag = dnnl_format_tag_undef;
    for (const TagName& name : onednn_tag_names()) {
      if (name.name == text) tag = name.tag;
    }
    ASSERT_NE(tag, dnnl_format_tag_undef) << text;
    dnnl_memory_desc_t in, out;
    ASSERT_EQ(dnnl_memory_desc_init_by_tag(&in, 4, dims.data(), dnnl_f32, tag), dnnl_success);
    std::vector<int> perm(4);
    std::iota(perm.begin(), perm.end(), 0);
    do {
      ASSERT_EQ(dnnl_memory_desc_permute_axes(&out, &in, perm.data()), dnnl_success);
      expect_same(out, permute_axes(Format::parse(text).bind(dims), perm));
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

}  // namespace
}  // namespace relayout
