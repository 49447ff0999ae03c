// Files through the C interface: written, read again, and refused.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/c/owned.h"

namespace {

using relayout::testing::Desc;

class CFile : public testing::Test {
 protected:
  CFile() { std::filesystem::create_directories(folder_); }
  ~CFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  /// Expects that the file's only tensor has this layout and type.
  void expect_reads_as(const char* name, const relayout_desc* desc) {
    relayout_file* file = nullptr;
    ASSERT_EQ(relayout_file_open(path(name).c_str(), &file), RELAYOUT_OK) << relayout_error_message();
    relayout_desc* found = nullptr;
    EXPECT_EQ(relayout_file_desc(file, 0, &found), RELAYOUT_OK) << relayout_error_message();
    int equal = 0;
    EXPECT_EQ(relayout_desc_equal(desc, found, &equal), RELAYOUT_OK);
    EXPECT_EQ(equal, 1);
    relayout_desc_free(found);
    relayout_file_close(file);
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("relayout-c-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CFile, WrittenAndRead) {
  const Desc desc("ab", {2, 3}, RELAYOUT_F32);
  const std::array<float, 6> values{0, 1, 2, 3, 4, 5};
  for (const char* name : {"x.npy", "x.safetensors"}) {
    ASSERT_EQ(relayout_file_write(path(name).c_str(), desc, values.data(), sizeof values, 0), RELAYOUT_OK)
        << relayout_error_message();
    EXPECT_EQ(relayout_file_write(path(name).c_str(), desc, values.data(), sizeof values, 0), RELAYOUT_IO);
    EXPECT_EQ(relayout_file_write(path(name).c_str(), desc, values.data(), sizeof values, 1), RELAYOUT_OK);
    relayout_file* file = nullptr;
    ASSERT_EQ(relayout_file_open(path(name).c_str(), &file), RELAYOUT_OK) << relayout_error_message();
    size_t count = 0;
    ASSERT_EQ(relayout_file_count(file, &count), RELAYOUT_OK);
    ASSERT_EQ(count, 1U);
    relayout_desc* found = nullptr;
    const void* data = nullptr;
    size_t bytes = 0;
    ASSERT_EQ(relayout_file_data(file, 0, &data, &bytes), RELAYOUT_OK);
    ASSERT_EQ(bytes, sizeof values);
    EXPECT_EQ(std::memcmp(data, values.data(), bytes), 0);
    EXPECT_EQ(relayout_file_desc(file, 1, &found), RELAYOUT_INVALID_ARGUMENT);
    EXPECT_EQ(found, nullptr);
    relayout_file_close(file);
    expect_reads_as(name, desc);
  }
}

TEST_F(CFile, BlocksAreKeptBySafetensors) {
  const Desc desc("aBcd8b", {1, 3, 2, 2}, RELAYOUT_U8);
  std::array<uint8_t, 32> values{};
  values[5] = 9;
  ASSERT_EQ(relayout_file_write(path("b.safetensors").c_str(), desc, values.data(), sizeof values, 0), RELAYOUT_OK)
      << relayout_error_message();
  expect_reads_as("b.safetensors", desc);
}

TEST_F(CFile, RowMajorIsAnArrayOfItsDims) {
  const Desc spelled("cute:((2,3),4):((4,8),1)", {6, 4}, RELAYOUT_U8);
  const std::array<uint8_t, 24> values{};
  ASSERT_EQ(relayout_file_write(path("r.npy").c_str(), spelled, values.data(), sizeof values, 0), RELAYOUT_OK);
  expect_reads_as("r.npy", spelled);
}

TEST_F(CFile, WhatIsRefused) {
  const Desc rows("ab", {2, 3}, RELAYOUT_F32), gaps("strides:5,1", {2, 3}, RELAYOUT_F32);
  const std::array<float, 8> values{};
  EXPECT_EQ(relayout_file_write(path("x.npy").c_str(), rows, values.data(), 23, 0), RELAYOUT_BUFFER_TOO_SMALL);
  EXPECT_EQ(relayout_file_write(path("x.npy").c_str(), gaps, values.data(), 32, 0), RELAYOUT_UNSUPPORTED);
  EXPECT_FALSE(std::filesystem::exists(path("x.npy")));
  // No disk has room for this one, which is not looked at.
  const Desc large("a", {int64_t{1} << 55}, RELAYOUT_F32);
  EXPECT_EQ(relayout_file_write(path("x.npy").c_str(), large, values.data(), 32, 0), RELAYOUT_BUFFER_TOO_SMALL);
  relayout_file* file = nullptr;
  EXPECT_EQ(relayout_file_open(path("none.npy").c_str(), &file), RELAYOUT_IO);
  std::ofstream(path("bad.npy")) << "\x93NUMPY\x01";
  EXPECT_EQ(relayout_file_open(path("bad.npy").c_str(), &file), RELAYOUT_CORRUPT);
  EXPECT_EQ(file, nullptr);
  std::ofstream(path("raw.bin")) << "abc";
  ASSERT_EQ(relayout_file_open(path("raw.bin").c_str(), &file), RELAYOUT_OK);
  relayout_desc* desc = nullptr;
  EXPECT_EQ(relayout_file_desc(file, 0, &desc), RELAYOUT_UNSUPPORTED);
  relayout_file_close(file);
}

TEST_F(CFile, TensorsAreFoundByName) {
  const Desc desc("a", {3}, RELAYOUT_U8);
  const std::array<uint8_t, 3> values{1, 2, 3};
  ASSERT_EQ(relayout_file_write(path("t.safetensors").c_str(), desc, values.data(), 3, 0), RELAYOUT_OK);
  relayout_file* file = nullptr;
  ASSERT_EQ(relayout_file_open(path("t.safetensors").c_str(), &file), RELAYOUT_OK) << relayout_error_message();
  size_t tensor = 99;
  EXPECT_EQ(relayout_file_find(file, "tensor", &tensor), RELAYOUT_OK);
  EXPECT_EQ(tensor, 0U);
  tensor = 99;
  EXPECT_EQ(relayout_file_find(file, "", &tensor), RELAYOUT_OK) << "the only one";
  EXPECT_EQ(tensor, 0U);
  tensor = 99;
  EXPECT_EQ(relayout_file_find(file, "tenser", &tensor), RELAYOUT_INVALID_ARGUMENT);
  EXPECT_EQ(tensor, 99U);
  EXPECT_NE(std::string(relayout_error_message()).find("did you mean \"tensor\"?"), std::string::npos);
  EXPECT_EQ(relayout_file_find(file, nullptr, &tensor), RELAYOUT_INVALID_ARGUMENT);
  relayout_file_close(file);
}

}  // namespace
