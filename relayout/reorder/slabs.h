// Slabs: the boxes of indices in which a tensor is walked, one after the other, so that little memory is touched at
// once.
//
// The logical index space is cut into a grid of equal slabs along borders that no block of either side
// crosses, so that each slab is a view of both layouts. Padding belongs to the last slab of its dim.
// For a 16384x8192 f32 transposition under 64 MiB the slabs are nearly square, because a slab that is
// whole rows of one side touches a few bytes of every row of the other, and so nearly all of its pages.
//
// The slabs are as large as the cap allows. Large blocks, which are not cut, may force slabs over the
// cap, which slab_bytes() tells.
//
//     SlabGrid grid = make_slabs(dims, sides, 0, 64 << 20);
//     for (int64_t i = 0; i < grid.count(); ++i) use(grid.slab(i));
#pragma once

#include <span>

#include "relayout/core/layout.h"

namespace relayout {

/// Indices from `offsets` on, `dims` of each dim.
struct Slab {
  Dims offsets, dims;
};

class SlabGrid {
 public:
  /// `slab_bytes`: the memory that one slab takes, by the estimate of make_slabs().
  SlabGrid(const Dims& dims, const Dims& step, double slab_bytes = 0);
  int64_t count() const { return count_; }
  /// Slab i, in row-major order of the slabs' offsets.
  Slab slab(int64_t i) const;
  /// Extents of a slab; the last one of a dim may be smaller.
  const Dims& step() const { return step_; }
  double slab_bytes() const { return slab_bytes_; }

 private:
  Dims dims_, step_;
  double slab_bytes_ = 0;
  int64_t count_ = 1;
};

/// One of the tensors that are cut into slabs: a source or a destination.
struct SlabSide {
  const TensorDesc* desc = nullptr;
  /// The most bytes that touching one byte brings into memory; 0 where all bytes are in memory anyway.
  int64_t granule = 0;
};

/// The largest slabs whose touched bytes on all sides, plus `scratch_bytes` for each element, stay under `cap`: one
/// slab where the whole tensor fits, and the smallest possible slabs where even those do not fit. `sides` must have
/// every layout that is cut; a granule of 0 says that its bytes do not count.
SlabGrid make_slabs(const Dims& dims, std::span<const SlabSide> sides, int64_t scratch_bytes, int64_t cap);

/// An upper bound for the bytes that touching a slab of these dims brings into memory, if each run of its bytes begins
/// where a granule does. A run that does not may touch one granule more.
double touched_bytes(const TensorDesc& desc, const Dims& slab_dims, int64_t granule);

/// A slab of a tensor as a tensor: its layout is a view.
TensorDesc slab_view(const TensorDesc& desc, const Slab& slab);

}  // namespace relayout
