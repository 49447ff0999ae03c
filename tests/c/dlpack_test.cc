// DLPack through the C interface: a tensor there and back, and its owner let go once.
#include <gtest/gtest.h>

#include <array>

#include "relayout/interop/dlpack_abi.h"
#include "tests/c/owned.h"

namespace {

using relayout::dlpack::DLManagedTensorVersioned;
using relayout::testing::Desc;

TEST(CDLPack, ThereAndBack) {
  std::array<float, 12> values{};
  const Desc desc("strides:-4,1@8", {3, 4}, RELAYOUT_F32);
  int released = 0;
  struct ::DLManagedTensorVersioned* opaque = nullptr;
  ASSERT_EQ(relayout_desc_to_dlpack(
                desc, values.data(), [](void* count) { ++*static_cast<int*>(count); }, &released, &opaque),
            RELAYOUT_OK)
      << relayout_error_message();
  auto* managed = reinterpret_cast<DLManagedTensorVersioned*>(opaque);
  relayout_desc* found = nullptr;
  void* data = nullptr;
  ASSERT_EQ(relayout_desc_from_dlpack(reinterpret_cast<const struct ::DLTensor*>(&managed->dl_tensor), &found, &data),
            RELAYOUT_OK)
      << relayout_error_message();
  EXPECT_EQ(data, values.data());
  int equal = 0;
  ASSERT_EQ(relayout_desc_equal(desc, found, &equal), RELAYOUT_OK);
  EXPECT_EQ(equal, 1);
  EXPECT_EQ(released, 0);
  managed->deleter(managed);
  EXPECT_EQ(released, 1);
  relayout_desc_free(found);
}

TEST(CDLPack, WhatIsRefusedReleasesNothing) {
  std::array<float, 960> values{};
  const Desc blocked("nChw8c", {2, 17, 5, 4}, RELAYOUT_F32);
  int released = 0;
  struct ::DLManagedTensorVersioned* opaque = nullptr;
  EXPECT_EQ(relayout_desc_to_dlpack(
                blocked, values.data(), [](void* count) { ++*static_cast<int*>(count); }, &released, &opaque),
            RELAYOUT_UNSUPPORTED);
  EXPECT_EQ(opaque, nullptr);
  EXPECT_EQ(released, 0);
  relayout_desc* desc = nullptr;
  void* data = nullptr;
  EXPECT_EQ(relayout_desc_from_dlpack(nullptr, &desc, &data), RELAYOUT_INVALID_ARGUMENT);
}

}  // namespace
