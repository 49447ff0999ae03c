// O_DIRECT, and what of a file the cache has.
#include "relayout/io/direct.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <new>
#include <string>

namespace relayout::io {

Descriptor open_direct(int descriptor, bool written) {
#if defined(O_DIRECT)
  // The link in /proc leads to the open file, also where it has no name.
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const int mode = (written ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC;
  return Descriptor(retry([&] { return ::open(path.c_str(), mode); }));
#else
  (void)descriptor;
  (void)written;
  return Descriptor();
#endif
}

bool mostly_cached(int descriptor, int64_t offset, int64_t bytes) {
#if defined(RWF_NOWAIT)
  constexpr int kSamples = 64;
  int cached = 0;
  for (int i = 0; i < kSamples; ++i) {
    std::byte read{};
    const iovec to{&read, 1};
    if (::preadv2(descriptor, &to, 1, offset + bytes / kSamples * i, RWF_NOWAIT) == 1) ++cached;
  }
  return cached > kSamples / 2;
#else
  (void)descriptor;
  (void)offset;
  (void)bytes;
  return false;
#endif
}

namespace {

/// Of memory that is at least so large, the system is asked for pages of this size.
constexpr std::size_t kLargePage = 2 << 20, kLarge = 8 << 20;

std::align_val_t alignment(std::size_t size) {
  return std::align_val_t(size >= kLarge ? kLargePage : static_cast<std::size_t>(kDirectBlock));
}

}  // namespace

BlockMemory::BlockMemory(std::size_t size) {
  if (size == 0) return;
  bytes_ = {static_cast<std::byte*>(::operator new(size, alignment(size))), size};
#if defined(MADV_HUGEPAGE)
  if (size >= kLarge) ::madvise(bytes_.data(), size / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

BlockMemory::~BlockMemory() {
  if (!bytes_.empty()) ::operator delete(bytes_.data(), alignment(bytes_.size()));
}

}  // namespace relayout::io
