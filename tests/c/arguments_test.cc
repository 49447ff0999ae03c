// Wrong arguments of the C interface: null pointers, handles of another kind, freed handles, numbers beyond all limits.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/c/owned.h"

namespace {

using relayout::testing::Desc;

TEST(CArguments, NullIsAnErrorEverywhere) {
  const Desc good("ab", {2, 3}, RELAYOUT_F32);
  relayout_desc* desc = nullptr;
  relayout_plan* plan = nullptr;
  relayout_file* file = nullptr;
  int64_t number = 0;
  int32_t small = 0;
  int yes = 0;
  size_t size = 0;
  const void* data = nullptr;
  const std::array<relayout_status, 41> all{
      relayout_dtype_parse(nullptr, nullptr),
      relayout_dtype_parse("f32", nullptr),
      relayout_dtype_bits(RELAYOUT_F32, nullptr),
      relayout_desc_parse(nullptr, 0, nullptr, RELAYOUT_F32, &desc),
      relayout_desc_parse("ab", 2, nullptr, RELAYOUT_F32, &desc),
      relayout_desc_parse("digits:", 0, nullptr, RELAYOUT_F32, nullptr),
      relayout_desc_strided(2, nullptr, nullptr, 0, RELAYOUT_F32, &desc),
      relayout_desc_view(nullptr, "", &desc),
      relayout_desc_view(good, nullptr, &desc),
      relayout_desc_view(good, "", nullptr),
      relayout_desc_with_dtype(nullptr, RELAYOUT_F32, &desc),
      relayout_desc_dtype(good, nullptr),
      relayout_desc_ndims(nullptr, &small),
      relayout_desc_dims(good, nullptr, 2, nullptr),
      relayout_desc_padded_dims(nullptr, &number, 1, nullptr),
      relayout_desc_strides(good, nullptr, 2, nullptr),
      relayout_desc_digits(good, 0, nullptr, 1, &small),
      relayout_desc_digits(good, 0, nullptr, 0, nullptr),
      relayout_desc_elements(nullptr, &number),
      relayout_desc_offset0(good, nullptr),
      relayout_desc_swizzle(good, nullptr, nullptr, nullptr),
      relayout_desc_span_bytes(nullptr, nullptr),
      relayout_desc_offset(good, nullptr, 2, &number),
      relayout_desc_index(good, 0, nullptr, 2, nullptr),
      relayout_desc_has(good, RELAYOUT_DENSE, nullptr),
      relayout_desc_equal(good, nullptr, &yes),
      relayout_desc_overlaps(good, nullptr, &yes),
      relayout_desc_overlaps(good, good, nullptr),
      relayout_gate_places(nullptr, "a", &number, 1, nullptr),
      relayout_gate_places("a", "a", nullptr, 1, nullptr),
      relayout_file_find(nullptr, "x", &size),
      relayout_permute_gates(good, nullptr, 0, nullptr, nullptr, 0, 0, "ab", "ba", nullptr),
      relayout_desc_text(good, "tag", nullptr, 0, nullptr),
      relayout_desc_text(good, "tag", nullptr, 9, &size),
      relayout_plan_make(good, nullptr, nullptr, &plan),
      relayout_plan_make_compiled(nullptr, good, nullptr, &plan),
      relayout_plan_explain(nullptr, nullptr, 0, &size),
      relayout_plan_run(nullptr, nullptr, 0, nullptr, 0, nullptr),
      relayout_file_open(nullptr, &file),
      relayout_file_data(nullptr, 0, &data, &size),
      relayout_file_write("x.npy", good, nullptr, 24, 0)};
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_EQ(all[k], RELAYOUT_INVALID_ARGUMENT) << "call " << k;
  EXPECT_EQ(desc, nullptr);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(file, nullptr);
  relayout_desc_free(nullptr);
  relayout_plan_free(nullptr);
  relayout_file_close(nullptr);
}

TEST(CArguments, AnotherKindOfHandleIsAnError) {
  const Desc good("ab", {2, 3}, RELAYOUT_F32);
  relayout_plan* plan = nullptr;
  ASSERT_EQ(relayout_plan_make(good, good, nullptr, &plan), RELAYOUT_OK);
  auto* const mistaken = reinterpret_cast<relayout_desc*>(plan);
  int64_t elements = 0;
  EXPECT_EQ(relayout_desc_elements(mistaken, &elements), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(relayout_error_message()).find("relayout_desc"), std::string::npos);
  relayout_desc_free(mistaken);  // which leaves it alone
  size_t length = 0;
  EXPECT_EQ(relayout_plan_explain(plan, nullptr, 0, &length), RELAYOUT_OK);
  relayout_plan_free(plan);
}

TEST(CArguments, NumbersBeyondAllLimits) {
  relayout_desc* desc = nullptr;
  const std::array<int64_t, 13> dims{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const int32_t ndims : {-2, 13, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(relayout_desc_strided(ndims, dims.data(), nullptr, 0, RELAYOUT_F32, &desc), RELAYOUT_INVALID_ARGUMENT);
    EXPECT_EQ(relayout_desc_parse("contiguous", ndims, dims.data(), RELAYOUT_F32, &desc), RELAYOUT_INVALID_ARGUMENT);
  }
  const std::array<int64_t, 2> huge{INT64_MAX, 2}, negative{-1, 2};
  EXPECT_EQ(relayout_desc_strided(2, huge.data(), nullptr, 0, RELAYOUT_F32, &desc), RELAYOUT_OVERFLOW);
  EXPECT_EQ(relayout_desc_strided(2, negative.data(), nullptr, 0, RELAYOUT_F32, &desc), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_desc_strided(0, nullptr, nullptr, 0, static_cast<relayout_dtype>(99), &desc),
            RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(relayout_desc_parse(std::string(100'000, 'a').c_str(), 0, nullptr, RELAYOUT_F32, &desc), RELAYOUT_LIMIT);
  EXPECT_EQ(desc, nullptr);
}

TEST(CArguments, EveryStatusHasAName) {
  for (int status = RELAYOUT_OK; status <= RELAYOUT_OUT_OF_MEMORY; ++status)
    EXPECT_STRNE(relayout_status_name(static_cast<relayout_status>(status)), "unknown") << status;
  EXPECT_STREQ(relayout_status_name(RELAYOUT_BUFFER_TOO_SMALL), "buffer_too_small");
  EXPECT_STREQ(relayout_status_name(static_cast<relayout_status>(15)), "unknown");
  EXPECT_EQ(relayout_version(), 0x000100U);
}

}  // namespace
