// Texts at offsets of files that are being written (internal to checkpoint).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "relayout/io/new_file.h"

namespace relayout::checkpoint {

/// Whether a file has these bytes at an offset.
inline bool has_bytes(const io::NewFile& file, int64_t offset, std::string_view bytes) {
  std::vector<std::byte> have(std::min<std::size_t>(bytes.size(), 1 << 20));
  while (!bytes.empty()) {
    const auto part = std::span(have).first(std::min(have.size(), bytes.size()));
    if (file.read_at(offset, part) != part.size()) return false;
    if (!std::ranges::equal(part, std::as_bytes(std::span(bytes.substr(0, part.size()))))) return false;
    offset += static_cast<int64_t>(part.size());
    bytes.remove_prefix(part.size());
  }
  return true;
}

inline void write_text(const io::NewFile& file, int64_t offset, std::string_view text) {
  file.write_at(offset, std::as_bytes(std::span(text)));
}

}  // namespace relayout::checkpoint
