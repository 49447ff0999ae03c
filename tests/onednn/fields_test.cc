// interop/onednn.h against the library: the verdict of the stride rule, sizes, and the fields of random descriptors
// there and back, offset0 of submemory included.
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include <iostream>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/interop/onednn.h"
#include "tag_names.h"

namespace relayout {
namespace {

using onednn::BlockedDesc;

int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

/// The library's struct, field by field.
BlockedDesc fields_of(const dnnl_memory_desc_t& md) {
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  BlockedDesc out{.ndims = md.ndims,
                  .offset0 = md.offset0,
                  .inner_nblks = blocking.inner_nblks,
                  .data_type = static_cast<int>(md.data_type)};
  for (std::size_t d = 0; d < static_cast<std::size_t>(md.ndims); ++d) {
    out.dims[d] = md.dims[d];
    out.padded_dims[d] = md.padded_dims[d];
    out.padded_offsets[d] = md.padded_offsets[d];
    out.strides[d] = blocking.strides[d];
  }
  for (std::size_t k = 0; k < static_cast<std::size_t>(blocking.inner_nblks); ++k) {
    out.inner_blks[k] = blocking.inner_blks[k];
    out.inner_idxs[k] = blocking.inner_idxs[k];
  }
  return out;
}

int64_t theirs(const dnnl_memory_desc_t& md) { return static_cast<int64_t>(dnnl_memory_desc_get_size(&md)); }

constexpr dnnl_data_type_t kTypes[] = {dnnl_f16, dnnl_bf16, dnnl_f32, dnnl_s32, dnnl_s8, dnnl_u8};

TEST(OneDnnRule, TypesHaveTheLibrarysNumbers) {
  EXPECT_EQ(onednn::data_type_number(DType::f16), dnnl_f16);
  EXPECT_EQ(onednn::data_type_number(DType::bf16), dnnl_bf16);
  EXPECT_EQ(onednn::data_type_number(DType::f32), dnnl_f32);
  EXPECT_EQ(onednn::data_type_number(DType::s32), dnnl_s32);
  EXPECT_EQ(onednn::data_type_number(DType::s8), dnnl_s8);
  EXPECT_EQ(onednn::data_type_number(DType::u8), dnnl_u8);
  EXPECT_EQ(onednn::kRuntimeDim, DNNL_RUNTIME_DIM_VAL);
}

TEST(OneDnnRule, VerdictsAndSizesOfRandomStrides) {
  std::mt19937 rng(21);
  int accepted = 0, refused = 0, injective_all_the_same = 0;
  for (int round = 0; round < 40000; ++round) {
    const auto ndims = static_cast<int>(pick(rng, 1, 5));
    const int64_t most = round % 2 == 0 ? 12 : 300;
    Dims dims, strides;
    for (int d = 0; d < ndims; ++d) {
      dims.push_back(pick(rng, 0, 40) == 0 ? 0 : pick(rng, 1, 5));
      strides.push_back(pick(rng, 0, 5) == 0 ? 0 : pick(rng, 1, most));
    }
    const dnnl_data_type_t type = kTypes[pick(rng, 0, 5)];
    const TensorDesc desc(Layout::strided(dims, strides), onednn::data_type_of_number(type));
    dnnl_memory_desc_t md;
    const bool good = dnnl_memory_desc_init_by_strides(&md, ndims, dims.data(), type, strides.data()) == dnnl_success;
    const onednn::StrideVerdict verdict = onednn::accepts(desc);
    ASSERT_EQ(verdict.accepted, good) << join(dims) << " strides " << join(strides) << " " << verdict.reason;
    if (!good) {
      // Smaller strides than the rule demands are what it is about.
      ASSERT_GE(verdict.dim, 0);
      EXPECT_EQ(verdict.stride, strides[verdict.dim]);
      EXPECT_LT(verdict.stride, verdict.least);
      EXPECT_EQ(verdict.least, verdict.within < 0 ? 1 : strides[verdict.within] * dims[verdict.within]);
      injective_all_the_same += verdict.injective;
      ++refused;
      continue;
    }
    const BlockedDesc fields = fields_of(md);
    ASSERT_EQ(onednn::to_onednn(desc), fields) << join(dims) << " strides " << join(strides);
    ASSERT_EQ(onednn::from_onednn(fields), desc);
    ASSERT_EQ(onednn::size(fields), theirs(md)) << join(dims) << " strides " << join(strides);
    ++accepted;
  }
  std::cout << "stride rule: " << accepted << " accepted, " << refused << " refused, of which "
            << injective_all_the_same << " are injective\n";
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(refused, 5000);
  EXPECT_GT(injective_all_the_same, 500);
}

TEST(OneDnnRule, WithoutElementsAnyStrideIsAccepted) {
  const Dims dims{3, 0}, strides{-1, 1};
  dnnl_memory_desc_t md;
  ASSERT_EQ(dnnl_memory_desc_init_by_strides(&md, 2, dims.data(), dnnl_f32, strides.data()), dnnl_success);
  const TensorDesc desc(Layout::strided(dims, strides), DType::f32);
  EXPECT_TRUE(onednn::accepts(desc).accepted);
  EXPECT_EQ(onednn::to_onednn(desc), fields_of(md));
  EXPECT_EQ(onednn::size(desc), theirs(md));
}

TEST(OneDnnRule, TheDocumentedExample) {
  const Dims dims{3, 2}, strides{2, 3};
  dnnl_memory_desc_t md;
  EXPECT_EQ(dnnl_memory_desc_init_by_strides(&md, 2, dims.data(), dnnl_f32, strides.data()), dnnl_invalid_arguments);
  const onednn::StrideVerdict verdict = onednn::accepts({Layout::strided(dims, strides), DType::f32});
  EXPECT_FALSE(verdict.accepted);
  EXPECT_TRUE(verdict.injective);
}

TEST(OneDnnRule, FieldsAndSizesOfTags) {
  std::mt19937 rng(22);
  int padded = 0, parts = 0;
  std::vector<TagName> tags;
  for (const TagName& tag : onednn_tag_names()) {
    if (tag.ndims >= 1 && tag.name == tag.canonical) tags.push_back(tag);
  }
  for (int round = 0; round < 20000; ++round) {
    const TagName& tag = tags[static_cast<std::size_t>(round) % tags.size()];
    Dims dims;
    for (int d = 0; d < tag.ndims; ++d) dims.push_back(pick(rng, 0, 60) == 0 ? 0 : pick(rng, 1, 40));
    const dnnl_data_type_t type = kTypes[pick(rng, 0, 5)];
    dnnl_memory_desc_t md;
    ASSERT_EQ(dnnl_memory_desc_init_by_tag(&md, tag.ndims, dims.data(), type, tag.tag), dnnl_success);
    const BlockedDesc fields = fields_of(md);
    const TensorDesc desc = onednn::from_onednn(fields);
    ASSERT_EQ(desc.layout, Format::parse(tag.canonical).bind(dims)) << tag.name << " " << join(dims);
    // Other spellings of the layout have other fields, and these are the layout again.
    ASSERT_EQ(onednn::to_onednn(desc), fields) << tag.name << " " << join(dims);
    ASSERT_EQ(onednn::size(fields), theirs(md)) << tag.name << " " << join(dims);
    ASSERT_TRUE(onednn::accepts(desc).accepted) << tag.name << " " << join(dims);
    padded += desc.layout.padded();
    // The part from the second block of dim 0 on: offset0 goes both ways, and the size becomes 0.
    const int64_t block = desc.layout.block(0);
    if (desc.layout.empty() || dims[0] <= block) continue;
    Dims rest = dims, offsets(tag.ndims, 0);
    offsets[0] = block;
    rest[0] -= block;
    dnnl_memory_desc_t part;
    ASSERT_EQ(dnnl_memory_desc_init_submemory(&part, &md, rest.data(), offsets.data()), dnnl_success);
    const TensorDesc view(submemory(desc.layout, rest, offsets), desc.dtype);
    ASSERT_EQ(onednn::from_onednn(fields_of(part)), view) << tag.name << " " << join(dims);
    ASSERT_EQ(onednn::to_onednn(view), fields_of(part)) << tag.name << " " << join(dims);
    ASSERT_EQ(onednn::size(view), theirs(part));
    parts += part.offset0 != 0;
  }
  std::cout << "tags: " << padded << " padded, " << parts << " parts with an offset0\n";
  EXPECT_GT(padded, 5000);
  EXPECT_GT(parts, 5000);
}

TEST(OneDnnRule, RuntimeDimsAreRefusedByName) {
  const Dims dims{2, DNNL_RUNTIME_DIM_VAL}, strides{DNNL_RUNTIME_DIM_VAL, 1};
  dnnl_memory_desc_t md;
  ASSERT_EQ(dnnl_memory_desc_init_by_strides(&md, 2, dims.data(), dnnl_f32, strides.data()), dnnl_success);
  try {
    onednn::from_onednn(fields_of(md));
    FAIL() << "runtime dims were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(error.message().find("DNNL_RUNTIME_DIM_VAL"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace relayout
