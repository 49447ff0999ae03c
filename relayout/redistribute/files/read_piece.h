// A box of a file's tensor, read into dense memory range by range.
//
// A mapping would bring in more than the box: around each page that is touched the system maps those that it has in its
// cache, up to 64 KiB, and where ranges are short these are most of the memory. Reading takes what the box has.
//
//     const std::optional<DenseBox> box = dense_box(slab_view(desc, slab));
//     for (int64_t i = 0; i < box->transfers(); ++i) read(box->transfer(i, offset), file, own, memory);
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/redistribute/files/lanes.h"

namespace relayout::redistribute {

/// Bytes that follow each other in the file and in dense memory.
struct Transfer {
  int64_t at = 0;     // byte of the file
  int64_t dense = 0;  // byte of the dense memory
  int64_t bytes = 0;
};

/// The same digits in dense memory: those of a box of a file, in the order of their strides, without what lies between.
struct DenseBox {
  TensorDesc desc;           // in the dense memory
  int64_t range_bytes = 0;   // of each range of the file
  std::vector<Digit> outer;  // strides in bytes of the file, largest last: the ranges
  int64_t first = 0;         // byte of the file's tensor at which the first range begins
  int64_t ranges() const;
  int64_t bytes() const { return ranges() * range_bytes; }
  /// The ranges, of which those that are longer than kTransfer are cut at multiples of it; some may be empty. `offset`:
  /// where the tensor begins in the file. Cost: some divisions.
  int64_t transfers() const;
  Transfer transfer(int64_t i, int64_t offset) const;
};

/// A file whose bytes are read: by `direct`, past the cache, where it is not -1.
struct ReadFrom {
  int descriptor = -1, direct = -1;
};

/// Nothing where the box has no such form: elements that share memory or lie in each other's gaps, flipped or swizzled
/// ones, and elements of less than a byte.
std::optional<DenseBox> dense_box(const TensorDesc& view);

/// Asks the system to read the ranges from the disk into its cache, and returns at once. `offset`: where the tensor
/// begins in the file.
void fetch(const DenseBox& box, int descriptor, int64_t offset);

/// Reads one transfer into the dense memory `to`. `own`: kLaneBytes, which are used where the cache is passed by.
/// Error{io}; Error{corrupt} where the file ends before.
void read(const Transfer& transfer, const ReadFrom& from, std::span<std::byte> own, std::span<std::byte> to);

}  // namespace relayout::redistribute
