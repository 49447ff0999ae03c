// Memory that detects accesses outside of it: it lies between two pages without access, and the rest of its own pages
// has known bytes.
//
//     Guarded buffer(100, Guarded::Side::end);       // reading or writing buffer.data()[100] crashes
//     Guarded odd(100, Guarded::Side::start, 3);     // data() is 3 bytes past a page's start
//     ... EXPECT_TRUE(odd.intact());                 // nothing was written around it
//
// Tests make hundreds of thousands of small buffers, and mapping pages takes the system longer than a test needs them.
// So a thread keeps the pages of small buffers for the next one of the same size.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <system_error>
#include <vector>

namespace relayout::test {

class Guarded {
 public:
  /// Which of the two forbidden pages the memory touches.
  enum class Side { start, end };

  /// `slack` bytes lie between the memory and that page. Throws std::system_error if the system has no memory.
  Guarded(int64_t bytes, Side side, int64_t slack = 0) : bytes_(static_cast<std::size_t>(bytes)) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto gap = static_cast<std::size_t>(slack);
    inner_ = (bytes_ + gap + page_ - 1) / page_ * page_;
    base_ = take_pages();
    data_ = base_ + page_ + (side == Side::start ? gap : inner_ - gap - bytes_);
    std::fill(base_ + page_, base_ + page_ + inner_, kAround);
  }
  ~Guarded() { keep_pages(); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::span<std::byte> bytes() { return {data_, bytes_}; }
  /// Whether the bytes around the memory, within its own pages, are unchanged.
  bool intact() const {
    const auto same = [](std::byte b) { return b == kAround; };
    return std::all_of(base_ + page_, data_, same) && std::all_of(data_ + bytes_, base_ + page_ + inner_, same);
  }

 private:
  static constexpr std::byte kAround{0xa7};
  /// Pages are kept for at most kKept buffers of each size, and only up to kLargestKept bytes.
  static constexpr std::size_t kKept = 4, kLargestKept = std::size_t{1} << 16;

  /// Kept pages, with a forbidden page at either end, by the number of bytes between these.
  struct Pages {
    ~Pages() {
      const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
      for (const auto& [inner, free] : free_of) {
        for (std::byte* base : free) munmap(base, inner + 2 * page);
      }
    }
    std::map<std::size_t, std::vector<std::byte*>> free_of;
  };
  static Pages& kept_pages() {
    thread_local Pages pages;
    return pages;
  }

  std::byte* take_pages() const {
    if (auto& free = kept_pages().free_of[inner_]; !free.empty()) {
      std::byte* base = free.back();
      free.pop_back();
      return base;
    }
    void* mapped = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    auto* base = static_cast<std::byte*>(mapped);
    if (inner_ > 0 && mprotect(base + page_, inner_, PROT_READ | PROT_WRITE) != 0) {
      const int error = errno;
      munmap(base, inner_ + 2 * page_);
      throw std::system_error(error, std::generic_category(), "mprotect");
    }
    return base;
  }
  void keep_pages() const {
    auto& free = kept_pages().free_of[inner_];
    if (inner_ <= kLargestKept && free.size() < kKept)
      free.push_back(base_);
    else
      munmap(base_, inner_ + 2 * page_);
  }

  std::size_t bytes_, page_ = 0, inner_ = 0;
  std::byte *base_ = nullptr, *data_ = nullptr;
};

}  // namespace relayout::test
