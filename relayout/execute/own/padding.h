// Padding: writing zeros to it (internal to execute).
#pragma once

#include <cstddef>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::execute {

/// Writes zeros to a layout's padding. It is made once and run often. Elements must have 1 to 8 bytes.
class ZeroPadding {
 public:
  ZeroPadding() = default;
  ZeroPadding(const Layout& layout, DType dtype);
  /// Writes the zeros. The layout's offsets count from `data`.
  void run(void* data) const noexcept;

 private:
  struct Run {
    int64_t offset, bytes;
  };
  /// The padding of one dim: runs of bytes, which repeat at each place of the other dims.
  struct Part {
    std::vector<Run> runs{};
    /// Digits of the other dims, strides in bytes.
    std::vector<Digit> axes{};
  };
  static void run(const Part& part, std::size_t axis, std::byte* at) noexcept;
  std::vector<Part> parts_{};
};

}  // namespace relayout::execute
