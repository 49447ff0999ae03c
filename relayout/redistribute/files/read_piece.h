// A box of a file's tensor, read into dense memory range by range.
//
// A mapping would bring in more than the box: around each page that is touched the system maps those that it has in its
// cache, up to 64 KiB, and where ranges are short these are most of the memory. Reading takes what the box has.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::redistribute {

/// The same digits in dense memory: those of a box of a file, in the order of their strides, without what lies between.
struct DenseBox {
  TensorDesc desc;           // in the dense memory
  int64_t range_bytes = 0;   // of each range of the file
  std::vector<Digit> outer;  // strides in bytes of the file, largest last: the ranges
  int64_t first = 0;         // byte of the file's tensor at which the first range begins
  int64_t ranges() const;
  int64_t bytes() const { return ranges() * range_bytes; }
};

/// Nothing where the box has no such form: elements that share memory or lie in each other's gaps, flipped or swizzled
/// ones, and elements of less than a byte.
std::optional<DenseBox> dense_box(const TensorDesc& view);

/// Asks the system to read the ranges from the disk, and returns at once. `offset`: where the tensor begins in the
/// file.
void fetch(const DenseBox& box, int descriptor, int64_t offset);

/// Reads the ranges into `to`, box.bytes() of them. Error{io}; Error{corrupt} where the file ends before.
void read(const DenseBox& box, int descriptor, int64_t offset, std::span<std::byte> to);

}  // namespace relayout::redistribute
