// What tests of files share: a folder of their own, access to whole files, the error that a call throws, and NumPy to
// compare with.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/core/error.h"

namespace relayout {

/// A new folder, which is removed at the end of its scope.
class TestFolder {
 public:
  TestFolder() {
    std::string path = ::testing::TempDir() + "/relayout-interop-XXXXXX";
    if (!::mkdtemp(path.data())) throw std::runtime_error("mkdtemp failed");
    path_ = path;
  }
  TestFolder(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// Names in it, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The error that `call` throws. The test fails if it throws none.
template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::internal, "no error");
}

#define EXPECT_ERROR(wanted, ...)                                                                  \
  do {                                                                                             \
    const Error seen_error = error_of([&] { __VA_ARGS__; });                                       \
    EXPECT_EQ(name(seen_error.code()), name(wanted)) << #__VA_ARGS__ << ": " << seen_error.what(); \
  } while (false)

/// The path of a Python with NumPy, or nothing.
inline std::optional<std::string> python_with_numpy() {
  static const bool found = std::system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") == 0;
  return found ? std::optional<std::string>("/usr/bin/python3") : std::nullopt;
}

/// Runs `script` in the folder; its exit must be 0.
inline void run_python(const TestFolder& folder, const std::string& script) {
  write_file(folder / "script.py", script);
  const std::string command =
      "cd '" + folder.path().native() + "' && " + *python_with_numpy() + " script.py && rm script.py";
  ASSERT_EQ(std::system(command.c_str()), 0) << script;
}

#define SKIP_WITHOUT_NUMPY()                       \
  if (!python_with_numpy()) {                      \
    std::cout << "skipped: no numpy" << std::endl; \
    GTEST_SKIP() << "skipped: no numpy";           \
  }

}  // namespace relayout
