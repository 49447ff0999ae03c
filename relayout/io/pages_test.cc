// Pages of mapped files: what is dropped is read again as it was, written or not, and only a file's bytes are touched.
#include "relayout/io/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "tests/support/testing.h"

namespace relayout::io {
namespace {

/// A mapping of a new file of this size, which is gone when the process ends.
class MappedFile {
 public:
  explicit MappedFile(std::size_t size) : file_(std::tmpfile()) {
    if (file_ == nullptr || ::ftruncate(::fileno(file_), static_cast<off_t>(size)) != 0) return;
    void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file_), 0);
    if (data != MAP_FAILED) bytes_ = {static_cast<std::byte*>(data), size};
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
    if (file_ != nullptr) std::fclose(file_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  /// How many of its pages this process has mapped.
  int64_t resident() const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    int64_t count = 0;
    std::FILE* maps = std::fopen("/proc/self/smaps", "r");
    if (maps == nullptr) return -1;
    char line[512];
    bool here = false;
    long kilobytes = 0;
    while (std::fgets(line, sizeof line, maps) != nullptr) {
      unsigned long begin = 0, end = 0;
      if (std::sscanf(line, "%lx-%lx ", &begin, &end) == 2) here = begin == reinterpret_cast<uintptr_t>(bytes_.data());
      if (here && std::sscanf(line, "Rss: %ld kB", &kilobytes) == 1)
        count = kilobytes * 1024 / static_cast<int64_t>(page);
    }
    std::fclose(maps);
    return count;
  }

 private:
  std::FILE* file_;
  std::span<std::byte> bytes_;
};

TEST(Pages, DroppingLosesNothingThatWasWritten) {
  const std::vector<std::byte> expected = test::counting(5 << 20);
  const MappedFile file(expected.size());
  ASSERT_EQ(file.bytes().size(), expected.size());
  map_small_pages(file.bytes(), true);
  std::ranges::copy(expected, file.bytes().begin());
  release_pages(file.bytes().subspan(100, 70'000));
  release_pages(file.bytes().first(0));
  EXPECT_TRUE(std::ranges::equal(file.bytes(), expected));
  release_pages(file.bytes());
  if (const int64_t resident = file.resident(); resident >= 0) {
    EXPECT_EQ(resident, 0);
  }
  EXPECT_TRUE(std::ranges::equal(file.bytes(), expected));
}

TEST(Pages, OfASlabAreDroppedWhereverItLies) {
  const Dims dims{1024, 1024};
  const TensorDesc tensor(Layout::strided(dims, {1024, 1}), DType::f32);
  const std::vector<std::byte> expected = test::counting(tensor.span_bytes());
  const MappedFile file(expected.size());
  ASSERT_EQ(file.bytes().size(), expected.size());
  map_small_pages(file.bytes(), false);
  for (const DType dtype : {DType::f32, DType::u8, DType::s4}) {
    for (const int64_t offset : {0, 1, 500'000, (1 << 20) - 1}) {
      std::ranges::copy(expected, file.bytes().begin());
      release_slab(TensorDesc(Layout::strided({1}, {1}, offset), dtype), file.bytes());
      EXPECT_TRUE(std::ranges::equal(file.bytes(), expected));
    }
  }
  release_slab(TensorDesc(Layout::strided({0, 3}, {3, 1}), DType::f32), file.bytes());
  release_slab(tensor, file.bytes().first(0));
  release_slab(tensor, file.bytes());
  if (const int64_t resident = file.resident(); resident >= 0) {
    EXPECT_EQ(resident, 0);
  }
  EXPECT_TRUE(std::ranges::equal(file.bytes(), expected));
}

}  // namespace
}  // namespace relayout::io
