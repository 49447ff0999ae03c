// Memory that threads share for parts of a conversion that are large (internal to checkpoint).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace relayout::checkpoint {

/// So many bytes that large parts may take together. One that is larger than all of them is made alone.
class Room {
 public:
  explicit Room(int64_t bytes) : all_(bytes), free_(bytes) {}

  /// Bytes that are taken as long as this lives; it waits until they are free. 0 waits for nothing.
  class Taken {
   public:
    Taken(Room& room, int64_t bytes) : room_(room), bytes_(bytes) {
      std::unique_lock lock(room_.mutex_);
      room_.given_.wait(lock, [&] { return bytes_ == 0 || bytes_ <= room_.free_ || room_.free_ == room_.all_; });
      room_.free_ -= bytes_;
    }
    ~Taken() {
      const std::lock_guard lock(room_.mutex_);
      room_.free_ += bytes_;
      room_.given_.notify_all();
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

   private:
    Room& room_;
    int64_t bytes_;
  };

 private:
  const int64_t all_;
  int64_t free_;
  std::mutex mutex_;
  std::condition_variable given_;
};

}  // namespace relayout::checkpoint
