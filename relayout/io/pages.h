// Pages of mapped files that are walked slab by slab (reorder/slabs.h), so that few are in memory at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/core/layout.h"

namespace relayout::io {

/// The most bytes that touching one byte of a mapping brings into memory. Reading maps up to 64 KiB around it (Linux's
/// fault-around); writing maps its page.
inline constexpr int64_t kReadGranule = 64 << 10;
inline constexpr int64_t kWriteGranule = 4 << 10;

/// Asks the system to map a file in small pages and, where it is written, not to read ahead: with huge pages one
/// touched byte brings in 2 MiB, and a write maps all that was read ahead around it. These are hints. A system that
/// ignores them may take several times the cap.
void map_small_pages(std::span<const std::byte> mapped_bytes, bool written);

/// Drops the pages of a file mapping from this process. Nothing written is lost. Of a page that lies partly in the
/// bytes, all is dropped.
void release_pages(std::span<const std::byte> mapped_bytes);

/// Begins to write what was changed of a file to the disk, in the order of the file, and waits for what was begun
/// before. Left to itself, a system that runs short of memory writes single pages.
void write_behind(int descriptor);

/// Gives back the pages of a mapping that a slab touched, and those that were mapped along with them. `view` is the
/// slab as a tensor.
void release_slab(const TensorDesc& view, std::span<const std::byte> mapped_bytes);

}  // namespace relayout::io
