// RangeWriter: writes the ranges of boxes to a file, past the system's cache where it can.
//
// A mapped file would do it without a buffer, but each page that is touched first costs a fault, stays in memory until
// the system has written it, and where little memory is allowed, the program waits for that. Past the cache only whole
// blocks can be written. The ends of ranges are parts of blocks; they are kept until the box beside them brings the
// rest, which is soon where tasks follow each other as they are written. What nobody completes goes through the cache.
//
//     RangeWriter writer(descriptor, direct.get());
//     writer.write(lanes, *dense_box(slab_view(desc, task)), offset, bytes);
//     writer.finish();
#pragma once

#include <cstddef>
#include <deque>
#include <memory_resource>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "relayout/redistribute/files/lanes.h"
#include "relayout/redistribute/files/read_piece.h"

namespace relayout::redistribute {

class RangeWriter {
 public:
  /// `direct`: a descriptor past the cache; -1: everything goes through the cache.
  RangeWriter(int descriptor, int direct) : descriptor_(descriptor), direct_(direct) {}

  /// Writes all ranges of a box whose bytes lie dense in `from`, and waits. No byte of the file may be written twice.
  /// `offset`: where the tensor begins in the file. Of parts of blocks it keeps at most a block for each range of
  /// the largest box. Error{io}.
  void write(Lanes& lanes, const DenseBox& box, int64_t offset, std::span<const std::byte> from);
  /// Writes what is kept. Error{io}.
  void finish();

 private:
  /// Bytes of a block, from a place in it on.
  struct Part {
    int64_t begin = 0;
    std::pmr::vector<std::byte> bytes;
  };
  using Block = std::vector<Part>;

  void write(const Transfer& transfer, std::span<std::byte> own, std::span<const std::byte> from);
  bool complete(int64_t at, int64_t begin, std::span<const std::byte> bytes, std::byte* whole);
  void write_oldest();
  void write_parts(int64_t at, const Block& block);
  void write_at(int descriptor, int64_t at, std::span<const std::byte> bytes) const;

  int descriptor_, direct_;
  int64_t most_kept_ = 0, kept_ = 0;  // bytes
  std::mutex mutex_;
  // Lanes free what others made, for which the heap would take half as much again.
  std::pmr::unsynchronized_pool_resource memory_{{.max_blocks_per_chunk = 64, .largest_required_pool_block = 4096}};
  std::unordered_map<int64_t, Block> blocks_;  // by the byte of the file at which they begin
  std::deque<int64_t> oldest_;                 // as they came, with some that are complete by now
};

}  // namespace relayout::redistribute
