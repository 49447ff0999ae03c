// Whole blocks, and parts of blocks until they are whole.
#include "relayout/redistribute/files/range_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "relayout/io/descriptor.h"

namespace relayout::redistribute {

using io::kDirectBlock;

void RangeWriter::write(Lanes& lanes, const DenseBox& box, int64_t offset, std::span<const std::byte> from) {
  most_kept_ = std::max(most_kept_, box.ranges() * kDirectBlock);
  lanes.start(box.transfers(), [&](int64_t i, std::span<std::byte> own) { write(box.transfer(i, offset), own, from); });
  lanes.wait();
}

void RangeWriter::write(const Transfer& transfer, std::span<std::byte> own, std::span<const std::byte> from) {
  std::span<const std::byte> bytes =
      from.subspan(static_cast<std::size_t>(transfer.dense), static_cast<std::size_t>(transfer.bytes));
  if (direct_ < 0) return write_at(descriptor_, transfer.at, bytes);
  int64_t at = transfer.at, filled = 0;
  const auto take = [&](int64_t count) {
    const auto part = bytes.first(static_cast<std::size_t>(count));
    bytes = bytes.subspan(part.size());
    at += count;
    return part;
  };
  // The first block, if the range begins within it; the blocks between; and what is left of the last one.
  int64_t begin = at / kDirectBlock * kDirectBlock;
  if (at != begin) {
    const int64_t inside = at - begin;
    const auto part = take(std::min<int64_t>(kDirectBlock - inside, std::ssize(bytes)));
    if (complete(begin, inside, part, own.data())) {
      filled = kDirectBlock;
    } else {
      begin += kDirectBlock;
    }
  }
  const auto middle = take(std::ssize(bytes) / kDirectBlock * kDirectBlock);
  std::ranges::copy(middle, own.data() + filled);
  filled += std::ssize(middle);
  if (!bytes.empty() && complete(at, 0, bytes, own.data() + filled)) filled += kDirectBlock;
  write_at(direct_, begin, own.first(static_cast<std::size_t>(filled)));
}

/// Adds bytes to the block at a byte of the file. Where nothing is missing then, it is forgotten and its bytes are in
/// `whole`.
bool RangeWriter::complete(int64_t at, int64_t begin, std::span<const std::byte> bytes, std::byte* whole) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = blocks_.try_emplace(at);
  Block& block = found->second;
  int64_t held = std::ssize(bytes);
  for (const Part& part : block) held += std::ssize(part.bytes);
  if (held == kDirectBlock) {
    std::ranges::copy(bytes, whole + begin);
    for (const Part& part : block) std::ranges::copy(part.bytes, whole + part.begin);
    kept_ -= held - std::ssize(bytes);
    blocks_.erase(found);
    return true;
  }
  block.push_back({begin, std::pmr::vector<std::byte>(bytes.begin(), bytes.end(), &memory_)});
  kept_ += std::ssize(bytes);
  if (is_new) oldest_.push_back(at);
  if (kept_ > most_kept_) write_oldest();
  // Those that are complete by now are dropped now and then.
  if (oldest_.size() > 4 * blocks_.size() + 64)
    std::erase_if(oldest_, [&](int64_t old) { return !blocks_.contains(old); });
  return false;
}

/// Makes room.
void RangeWriter::write_oldest() {
  while (kept_ > most_kept_ && !oldest_.empty()) {
    const auto found = blocks_.find(oldest_.front());
    oldest_.pop_front();
    if (found == blocks_.end()) continue;
    write_parts(found->first, found->second);
    blocks_.erase(found);
  }
}

void RangeWriter::write_parts(int64_t at, const Block& block) {
  for (const Part& part : block) {
    write_at(descriptor_, at + part.begin, part.bytes);
    kept_ -= std::ssize(part.bytes);
  }
}

void RangeWriter::finish() {
  for (const auto& [at, block] : blocks_) write_parts(at, block);
  blocks_.clear();
  oldest_.clear();
}

void RangeWriter::write_at(int descriptor, int64_t at, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = io::retry([&] { return ::pwrite(descriptor, bytes.data(), bytes.size(), at); });
    if (done < 0 && errno == EINVAL && descriptor != descriptor_) {  // a disk of larger blocks
      descriptor = descriptor_;
      continue;
    }
    if (done < 0) io::throw_io("write", "the output", errno);
    // What is left of a transfer past the cache may begin within a block: it goes through the cache.
    if (done % kDirectBlock != 0) descriptor = descriptor_;
    at += done;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

}  // namespace relayout::redistribute
