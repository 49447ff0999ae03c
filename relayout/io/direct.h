// Reading and writing past the system's cache, for files that are larger than memory: what goes through the cache takes
// memory from it page by page, and a program in a group with little memory waits for each page to be given back.
//
// Such a transfer moves whole blocks between memory and file that begin at multiples of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/io/descriptor.h"

namespace relayout::io {

/// What the ends of a transfer, and its memory, are multiples of: the block of usual file systems, and no less than
/// that of any disk.
inline constexpr int64_t kDirectBlock = 4096;

/// A second descriptor of an open file, past the cache: for reading, or for writing too. None (-1) where the system or
/// the file system has no such thing. What the file has in the cache stays right: the system writes it first, or drops
/// it.
Descriptor open_direct(int descriptor, bool written);

/// Whether most of these bytes of a file are in the system's cache, from where they come faster than from a disk. Looks
/// at some bytes; where the system does not say, they are not.
bool mostly_cached(int descriptor, int64_t offset, int64_t bytes);

/// Memory that begins at a multiple of a block. Its contents are anything.
class BlockMemory {
 public:
  BlockMemory() = default;
  explicit BlockMemory(std::size_t size);
  BlockMemory(BlockMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  BlockMemory& operator=(BlockMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BlockMemory();
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace relayout::io
