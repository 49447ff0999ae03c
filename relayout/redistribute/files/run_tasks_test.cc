// Tasks between mapped files: what is written is what one reorder writes, in one pass and in two, under any bound.
#include "relayout/redistribute/files/run_tasks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "relayout/core/error.h"
#include "relayout/cpu/reorder.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

/// A mapping of a new file of this size, which is gone when the process ends.
class MappedFile {
 public:
  explicit MappedFile(int64_t size) : file_(std::fopen(path().c_str(), "w+b")) {
    std::remove(path().c_str());
    if (file_ == nullptr || ::ftruncate(::fileno(file_), size) != 0) return;
    void* data =
        ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file_), 0);
    if (data != MAP_FAILED) bytes_ = {static_cast<std::byte*>(data), static_cast<std::size_t>(size)};
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
    if (file_ != nullptr) std::fclose(file_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return ::fileno(file_); }

 private:
  /// In the folder of tests, which is on a disk where the system's temporary files may not be.
  static std::string path() { return testing::TempDir() + "/run_tasks_file"; }
  std::FILE* file_;
  std::span<std::byte> bytes_;
};

std::string output_path() { return testing::TempDir() + "/run_tasks_output"; }

struct Case {
  const char *from, *to;
  DType src, dst;
  Dims dims;
  int64_t memory;
  std::size_t passes;
};

/// A file of these bytes, and where the reorder of one plan would bring them.
TEST(RunTasks, WriteWhatOneReorderWrites) {
  for (const Case& c : {Case{"ab", "ba", DType::f32, DType::f32, {900, 700}, 1 << 16, 2},
                        Case{"ab", "ba", DType::f32, DType::f32, {900, 700}, 1 << 21, 1},
                        Case{"ab", "ba", DType::f32, DType::f16, {900, 700}, 1 << 16, 2},
                        Case{"ab", "ba", DType::u8, DType::f64, {900, 700}, 1 << 17, 2},
                        Case{"abcd", "aBcd8b", DType::f32, DType::f32, {3, 21, 50, 40}, 1 << 18, 1},
                        Case{"aBcd8b", "acdb", DType::f32, DType::f32, {3, 21, 50, 40}, 1 << 17, 1},
                        Case{"abc", "cba", DType::u16, DType::u16, {60, 70, 80}, 1 << 16, 2},
                        Case{"ab", "ba", DType::f32, DType::f32, {6000, 1251}, 20 << 20, 2},
                        Case{"ab", "ba", DType::f32, DType::f32, {3000, 2501}, 5 << 20, 2},
                        Case{"ab", "Ba16b", DType::u16, DType::f32, {3000, 2501}, 6 << 20, 1},
                        Case{"abc", "bac", DType::f32, DType::f32, {30, 40, 5001}, 5 << 20, 1},
                        Case{"ab", "ab", DType::u4, DType::u4, {900, 700}, 1 << 18, 1},
                        Case{"a", "a", DType::f32, DType::f32, {100000}, 1 << 16, 1}}) {
    const TensorDesc src(Format::parse(c.from).bind(c.dims), c.src), dst(Format::parse(c.to).bind(c.dims), c.dst);
    const std::vector<std::byte> values = test::counting(static_cast<std::size_t>(src.span_bytes()));
    const MappedFile in(src.span_bytes()), out(dst.span_bytes());
    ASSERT_EQ(in.bytes().size(), values.size());
    std::ranges::copy(values, in.bytes().begin());
    cpu::SlabSource from{.desc = src, .bytes = in.bytes(), .mapped = true};
    from.descriptor = in.descriptor();
    const cpu::SlabDestination to{.desc = dst, .bytes = out.bytes(), .mapped = true, .descriptor = out.descriptor()};
    const TaskPlan plan = file_plan(from, to, c.memory);
    EXPECT_EQ(plan.passes.size(), c.passes) << c.from << " " << c.to << "\n" << plan.explain();
    int64_t last = 0, total = 0;
    ASSERT_TRUE(run_tasks(plan, from, to, {}, {.threads = 1}, output_path(), [&](int64_t done, int64_t all) {
      EXPECT_GT(done, last);
      last = done;
      total = all;
      return true;
    }));
    EXPECT_EQ(last, total);
    std::vector<std::byte> expected(out.bytes().size());
    cpu::reorder(src, values, dst, expected);
    EXPECT_TRUE(std::ranges::equal(out.bytes(), expected)) << c.from << " " << c.to;
  }
}

TEST(RunTasks, EndsWhereItIsTold) {
  const TensorDesc src(Layout::contiguous({100, 100}), DType::f32);
  const std::vector<std::byte> values = test::counting(static_cast<std::size_t>(src.span_bytes()));
  std::vector<std::byte> out(values.size());
  const cpu::SlabSource from{.desc = src, .bytes = values};
  const cpu::SlabDestination to{.desc = src, .bytes = out};
  int calls = 0;
  EXPECT_FALSE(run_tasks(file_plan(from, to, 40000 + 40000 + 200000), from, to, {}, {}, output_path(),
                         [&](int64_t, int64_t) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2);
}

TEST(RunTasks, TooLittleMemoryIsSaid) {
  const TensorDesc blocks(Format::parse("A4096a").bind({8192}), DType::f64);
  const std::vector<std::byte> values(static_cast<std::size_t>(blocks.span_bytes()));
  std::vector<std::byte> out(values.size());
  const cpu::SlabSource from{.desc = blocks, .bytes = values, .mapped = true};
  const cpu::SlabDestination to{.desc = blocks, .bytes = out, .mapped = true};
  try {
    (void)file_plan(from, to, 20000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
    EXPECT_GE(std::stod(error.limit()), 2 * 4096 * 8);
  }
}

}  // namespace
}  // namespace relayout::redistribute
