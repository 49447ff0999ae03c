// Store: where a tensor lies outside memory, and what it costs to read or to write a box of it.
//
// There are two kinds. Of a file any range of bytes can be read, and its layout says which ranges a box of indices is.
// Of an array in chunks (zarr, HDF5) only whole chunks can be read and written, as they are compressed or are objects
// of their own. A store of either kind is asked for boxes of indices of the same tensor, in the same order of dims, so
// that a chunk of an array whose axes stand in another order is said by its extents in the tensor's order.
//
//     const Store from = Store::file({Layout::contiguous({40000, 50000}), DType::f32});
//     const Store to = Store::chunked({40000, 50000}, DType::f32, {1000, 500});
//     from.access({1000, 2000});       // 1000 ranges, 8 MB
#pragma once

#include <optional>

#include "relayout/core/layout.h"

namespace relayout::redistribute {

/// What is read or written: how many ranges or chunks, and their bytes.
struct Access {
  double count = 0, bytes = 0;
};

/// What a disk takes. Time of an access = seconds_for_each + bytes / bytes_per_second.
struct Speed {
  double seconds_for_each = 0;
  double bytes_per_second = 1e9;
  double seconds(const Access& access) const {
    return access.count * seconds_for_each + access.bytes / bytes_per_second;
  }
};

/// Those of a disk of a server, with enough reads under way at once: a range takes as long as 16 KiB more when it is
/// read and, through the system's cache, 32 KiB more when it is written (docs/lab/larger-than-memory.md). Only their
/// proportion decides a plan.
inline constexpr Speed kReadSpeed{16e-6, 1e9};
inline constexpr Speed kWriteSpeed{32e-6, 1e9};
/// Past the cache, where a range is written as it is read.
inline constexpr Speed kDirectWriteSpeed{16e-6, 1e9};

class Store {
 public:
  /// A file in which elements lie as the layout says. `granule`: the bytes of memory that a range takes beside its own,
  /// a page where it is written through a mapping. A swizzled layout counts as the plain one under its exclusive or,
  /// which moves elements by a few lines only.
  static Store file(const TensorDesc& desc, int64_t granule = 0);
  /// An array in chunks of these extents; those at the end of a dim may be cut. Errors: invalid_argument (another
  /// number of extents than dims, an extent below 1).
  static Store chunked(const Dims& dims, DType dtype, const Dims& chunk);

  bool in_chunks() const { return !chunk_.empty(); }
  const Dims& dims() const { return desc_.layout.dims(); }
  DType dtype() const { return desc_.dtype; }
  /// Of a file: its layout. In chunks: the row-major one of the whole array, for its dims alone.
  const TensorDesc& desc() const { return desc_; }
  /// Extents of a chunk; none of a file.
  const Dims& chunk() const { return chunk_; }
  int64_t granule() const { return granule_; }

  /// What writers share out whole: the chunks, or the blocks of the layout, of each dim. Boxes that are written begin
  /// at multiples of it, so that two writers never meet in one chunk.
  Dims unit() const;
  /// What reading or writing one box takes that begins at multiples of unit() or, where a chunk is larger, anywhere.
  Access access(const Dims& box) const;
  /// The same for all boxes of a grid of such boxes over the whole tensor.
  Access access_of_grid(const Dims& box) const;
  /// Bytes of all elements, without padding.
  double bytes() const;
  /// Bytes of memory that a box takes: those of its elements and, of a file, a granule for each range.
  double memory(const Dims& box) const;

 private:
  TensorDesc desc_;
  Dims chunk_;
  int64_t granule_ = 0;
};

}  // namespace relayout::redistribute
