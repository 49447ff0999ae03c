// Files that are written, cut, replaced or left alone between two looks at them.
#include "relayout/io/file_version.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "tests/support/tensor_files.h"
#include "tests/support/testing.h"

namespace relayout::io {
namespace {

void write(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

TEST(FileVersion, FindsWhatWasWritten) {
  const TestFolder folder;
  const std::filesystem::path path = folder / "x.npy";
  write(path, "four");
  const FileVersion before(path);
  EXPECT_NO_THROW(before.check("convert"));
  write(path, "longer");
  const Error error = test::error_of([&] { before.check("convert"); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_NE(error.message().find("x.npy"), std::string::npos);
  // As long as before, at another time.
  const FileVersion longer(path);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_EQ(test::code_of([&] { longer.check("convert"); }), ErrorCode::corrupt);
}

TEST(FileVersion, WhatIsReplacedOrNoFileIsUnchanged) {
  const TestFolder folder;
  const std::filesystem::path path = folder / "x.npy", other = folder / "y.npy";
  write(path, "four");
  write(other, "another one");
  const FileVersion before(path), none(folder / "none"), device("/dev/null");
  std::filesystem::rename(other, path);
  EXPECT_NO_THROW(before.check("convert"));
  write(folder / "none", "now");
  EXPECT_NO_THROW(none.check("convert"));
  EXPECT_NO_THROW(device.check("convert"));
}

}  // namespace
}  // namespace relayout::io
