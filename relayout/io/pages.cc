// Advice to the system about the pages of a mapping.
#include "relayout/io/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace relayout::io {
namespace {

/// Calls madvise for the whole pages that these bytes lie in.
void advise(std::span<const std::byte> bytes, int advice) {
  if (bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void map_small_pages(std::span<const std::byte> mapped_bytes, bool written) {
#if defined(MADV_NOHUGEPAGE)
  advise(mapped_bytes, MADV_NOHUGEPAGE);
  if (written) advise(mapped_bytes, MADV_RANDOM);
#else
  (void)mapped_bytes;
  (void)written;
#endif
}

void release_pages(std::span<const std::byte> mapped_bytes) {
  // This loses nothing that was written to a shared mapping: the system keeps it and writes it to the file later.
  advise(mapped_bytes, MADV_DONTNEED);
}

void write_behind(int descriptor) {
#if defined(SYNC_FILE_RANGE_WRITE)
  (void)::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
#else
  (void)descriptor;
#endif
}

void release_slab(const TensorDesc& view, std::span<const std::byte> mapped_bytes) {
  // A page fault may map the whole large page of the page cache around the byte that was touched.
  static constexpr int64_t kLargePage = 2 << 20;
  const auto [low, high] = view.layout.offset_range();
  if (high < low || mapped_bytes.empty()) return;
  const int width = bits(view.dtype);
  const int64_t first = width >= 8 ? low * (width / 8) : low / 2;
  const int64_t last = width >= 8 ? (high + 1) * (width / 8) : high / 2 + 1;
  const int64_t begin = std::max<int64_t>(0, first - kLargePage);
  const int64_t end = std::min<int64_t>(static_cast<int64_t>(mapped_bytes.size()), last + kLargePage);
  if (end <= begin) return;
  release_pages(mapped_bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

}  // namespace relayout::io
