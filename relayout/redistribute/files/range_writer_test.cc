// Ranges past the cache: a file written in boxes, in any order and through few lanes or many, is what one copy makes,
// and what was there around them stays.
#include "relayout/redistribute/files/range_writer.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include "relayout/core/error.h"
#include "relayout/cpu/reorder.h"
#include "relayout/io/direct.h"
#include "relayout/reorder/slabs.h"
#include "tests/support/testing.h"

namespace relayout::redistribute {
namespace {

/// A file in the folder of tests, which is on a disk where the system's temporary files may not be.
class WrittenFile {
 public:
  explicit WrittenFile(int64_t size) : path_(testing::TempDir() + "/range_writer_test"), file_(open(path_)) {
    EXPECT_EQ(::ftruncate(::fileno(file_), size), 0);
  }
  ~WrittenFile() { std::fclose(file_); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  int descriptor() const { return ::fileno(file_); }

 private:
  static std::FILE* open(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w+b");
    std::remove(path.c_str());
    return file;
  }
  std::string path_;
  std::FILE* file_;
};

struct Boxes {
  Dims dims, step;
  int64_t offset;
  int lanes;
};

TEST(RangeWriter, WritesWhatBoxesHave) {
  for (const Boxes& c : {Boxes{{40, 5000}, {7, 1300}, 128, 3}, Boxes{{300, 1000}, {64, 1000}, 128, 16},
                         Boxes{{3, 200'000}, {1, 70'001}, 10, 4}, Boxes{{9, 100}, {2, 33}, 4096, 2},
                         Boxes{{50, 2048}, {50, 1024}, 0, 1}, Boxes{{2, 150'000}, {2, 150'000}, 77, 5}}) {
    for (const bool backwards : {false, true}) {
      const TensorDesc whole(Layout::contiguous(c.dims), DType::f32);
      const std::vector<std::byte> values = test::counting(static_cast<std::size_t>(whole.span_bytes()));
      const int64_t size = c.offset + whole.span_bytes() + 100;
      const WrittenFile file(size);
      const std::vector<std::byte> around(static_cast<std::size_t>(size), std::byte{0xa5});
      ASSERT_EQ(::pwrite(file.descriptor(), around.data(), around.size(), 0), std::ssize(around));
      const io::Descriptor direct = io::open_direct(file.descriptor(), true);
      RangeWriter writer(file.descriptor(), direct.get());
      Lanes lanes(c.lanes);
      const SlabGrid grid(c.dims, c.step);
      for (int64_t i = 0; i < grid.count(); ++i) {
        const TensorDesc view = slab_view(whole, grid.slab(backwards ? grid.count() - 1 - i : i));
        const std::optional<DenseBox> box = dense_box(view);
        ASSERT_TRUE(box.has_value());
        std::vector<std::byte> dense(static_cast<std::size_t>(box->bytes()));
        cpu::reorder(view, values, box->desc, dense);
        writer.write(lanes, *box, c.offset, dense);
      }
      writer.finish();
      std::vector<std::byte> expected = around, found(around.size());
      std::ranges::copy(values, expected.begin() + c.offset);
      ASSERT_EQ(::pread(file.descriptor(), found.data(), found.size(), 0), std::ssize(found));
      EXPECT_TRUE(found == expected) << join(c.dims) << " in boxes of " << join(c.step);
      // Lanes read past the cache what lanes wrote.
      const std::optional<DenseBox> box = dense_box(slab_view(whole, grid.slab(grid.count() - 1)));
      std::vector<std::byte> dense(static_cast<std::size_t>(box->bytes())), same(dense.size());
      const ReadFrom from{.descriptor = file.descriptor(), .direct = direct.get()};
      lanes.start(box->transfers(),
                  [&](int64_t k, std::span<std::byte> own) { read(box->transfer(k, c.offset), from, own, dense); });
      lanes.wait();
      cpu::reorder(slab_view(whole, grid.slab(grid.count() - 1)), values, box->desc, same);
      EXPECT_TRUE(dense == same);
    }
  }
}

TEST(RangeWriter, SaysWhereTheFileEnds) {
  const WrittenFile file(10'000);
  const io::Descriptor direct = io::open_direct(file.descriptor(), false);
  std::vector<std::byte> own(static_cast<std::size_t>(kLaneBytes)), to(10'000);
  const ReadFrom from{.descriptor = file.descriptor(), .direct = direct.get()};
  io::BlockMemory memory(static_cast<std::size_t>(kLaneBytes));
  read({.at = 5000, .dense = 0, .bytes = 5000}, from, memory.bytes(), to);
  EXPECT_THROW(read({.at = 5000, .dense = 0, .bytes = 5001}, from, memory.bytes(), to), Error);
  EXPECT_THROW(read({.at = 50'000, .dense = 0, .bytes = 10}, from, memory.bytes(), to), Error);
}

/// While it lives no thread can begin: its stack would be larger than the memory that can be addressed.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t attributes;
    EXPECT_EQ(::pthread_getattr_default_np(&attributes), 0);
    EXPECT_EQ(::pthread_attr_getstacksize(&attributes, &bytes_), 0);
    set(std::size_t{1} << 60);
  }
  ~NoThreads() { set(bytes_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static void set(std::size_t bytes) {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    EXPECT_EQ(::pthread_attr_setstacksize(&attributes, bytes), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&attributes), 0);
    ::pthread_attr_destroy(&attributes);
  }
  std::size_t bytes_ = 0;
};

TEST(Lanes, DoAllWhereNoThreadBegins) {
  const NoThreads none;
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  Lanes lanes(3);
  int64_t sum = 0;
  lanes.start(100, [&](int64_t i, std::span<std::byte> own) { sum += std::ssize(own) >= kLaneBytes ? i : -1000; });
  lanes.wait();
  EXPECT_EQ(sum, 4950);
  lanes.start(100, [](int64_t i, std::span<std::byte>) {
    if (i == 40) throw Error(ErrorCode::io, "40");
  });
  EXPECT_THROW(lanes.wait(), Error);
}

TEST(Lanes, SayWhatOneOfThemMet) {
  Lanes lanes(3);
  lanes.start(100, [](int64_t i, std::span<std::byte>) {
    if (i == 40) throw Error(ErrorCode::io, "40");
  });
  EXPECT_THROW(lanes.wait(), Error);
  std::atomic<int64_t> sum = 0;
  lanes.start(100, [&](int64_t i, std::span<std::byte>) { sum += i; });
  lanes.wait();
  EXPECT_EQ(sum, 4950);
}

}  // namespace
}  // namespace relayout::redistribute
