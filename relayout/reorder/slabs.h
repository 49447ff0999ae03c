// Slabs: the boxes in which a tensor is walked part by part, so that little memory is touched at once.
//
// The logical index space is cut into a grid of equal boxes along borders that no block of either side
// crosses, so that each part is a view of both layouts. Padding belongs to the last part of its dim.
// For a 16384x8192 f32 transposition under 64 MiB the parts are nearly square, because a part that is
// whole rows of one side touches a few bytes of every row of the other, and so nearly all of its pages.
//
// The parts are as large as the cap allows. Large blocks, which are not cut, may force parts over the
// cap, which part_bytes() tells.
//
//     SlabGrid grid = make_slabs(dims, sides, 0, 64 << 20);
//     for (int64_t i = 0; i < grid.count(); ++i) use(grid.slab(i));
#pragma once

#include <span>

#include "relayout/core/layout.h"

namespace relayout {

/// A box of logical indices.
struct Slab {
  Dims offsets, dims;
};

class SlabGrid {
 public:
  /// `part_bytes`: the memory that one part takes, by the estimate of make_slabs().
  SlabGrid(const Dims& dims, const Dims& step, double part_bytes = 0);
  int64_t count() const { return count_; }
  /// Part i, in row-major order of the parts' offsets.
  Slab slab(int64_t i) const;
  /// Extents of a part; the last one of a dim may be smaller.
  const Dims& step() const { return step_; }
  double part_bytes() const { return part_bytes_; }

 private:
  Dims dims_, step_;
  double part_bytes_ = 0;
  int64_t count_ = 1;
};

/// One of the tensors that are cut into parts: a source or a destination.
struct SlabSide {
  const TensorDesc* desc = nullptr;
  /// The most bytes that touching one byte brings into memory; 0 where all bytes are in memory anyway.
  int64_t granule = 0;
};
/// Reading a byte maps up to 64 KiB around it (Linux's fault-around); writing one maps its page.
inline constexpr int64_t kReadGranule = 64 << 10;
inline constexpr int64_t kWriteGranule = 4 << 10;

/// The largest parts whose touched bytes on all sides, plus `scratch_bytes` for each element, stay under `cap`: one
/// part where the whole tensor fits, and the smallest possible parts where even those do not fit. `sides` must have
/// every layout that is cut; a granule of 0 says that its bytes do not count.
SlabGrid make_slabs(const Dims& dims, std::span<const SlabSide> sides, int64_t scratch_bytes, int64_t cap);

/// An upper bound for the bytes that touching a part of these dims brings into memory.
double touched_bytes(const TensorDesc& desc, const Dims& slab_dims, int64_t granule);

/// A slab of a tensor as a tensor: its layout is a view.
TensorDesc slab_view(const TensorDesc& desc, const Slab& slab);

}  // namespace relayout
