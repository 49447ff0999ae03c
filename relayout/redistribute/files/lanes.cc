// Threads for the time of one start(): to begin one takes some microseconds, and a piece many milliseconds.
#include "relayout/redistribute/files/lanes.h"

#include <algorithm>
#include <utility>

namespace relayout::redistribute {

Lanes::Lanes(int count) {
  for (int i = 0; i < count; ++i) memory_.emplace_back(static_cast<std::size_t>(kLaneBytes));
}

void Lanes::start(int64_t items, Work work) {
  wait();
  work_ = std::move(work);
  items_ = items;
  next_ = 0;
  if (memory_.empty()) run({});
  const auto lanes = static_cast<std::size_t>(std::min<int64_t>(items, std::ssize(memory_)));
  try {
    for (std::size_t i = 0; i < lanes; ++i) threads_.emplace_back([this, i] { run(memory_[i].bytes()); });
  } catch (const std::exception&) {  // no room for one more: those that began do all items
    if (threads_.empty()) run(memory_[0].bytes());
  }
}

void Lanes::run(std::span<std::byte> own) {
  try {
    for (int64_t i = next_++; i < items_; i = next_++) work_(i, own);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_ = items_;
  }
}

void Lanes::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Lanes::wait() {
  join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace relayout::redistribute
