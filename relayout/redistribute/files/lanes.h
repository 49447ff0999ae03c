// Lanes: threads that read or write many short ranges at once, because a disk serves one alone slowly.
//
// They wait for the disk most of the time, so there are more of them than processors, and they are no part of the pool
// that reorders. Each has memory for one transfer past the system's cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "relayout/io/direct.h"

namespace relayout::redistribute {

/// The most bytes of one transfer, beside the blocks that its ends are cut from.
inline constexpr int64_t kTransfer = 64 << 10;
inline constexpr int64_t kLaneBytes = kTransfer + 2 * io::kDirectBlock;

class Lanes {
 public:
  /// What a lane does for item i, with the lane's memory of kLaneBytes.
  using Work = std::function<void(int64_t i, std::span<std::byte> own)>;

  /// Without any, start() does all items itself, and gives no memory.
  explicit Lanes(int count);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes() { join(); }

  /// Begins to do all items, and returns at once. What `work` uses must stay until wait() returns. Where the system
  /// gives fewer threads, these do all; where it gives none, start() does, and returns when it has.
  void start(int64_t items, Work work);
  /// Until all items are done. Throws what the first lane threw; the others then end early.
  void wait();

 private:
  void run(std::span<std::byte> own);
  void join();

  std::vector<io::BlockMemory> memory_;
  std::vector<std::thread> threads_;
  Work work_;
  int64_t items_ = 0;
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace relayout::redistribute
