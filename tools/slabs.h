// Slabs: a tensor in parts, so that the pages of both sides that are resident at once stay under a cap.
//
// The logical index space is cut into a grid of equal boxes along borders that no block of either side
// crosses, so that each part is a view of both layouts. Padding goes with the part at the right
// border. For a 16384x8192 f32 transposition under 64 MiB the parts come out nearly square: a part
// that is whole rows on one side is a sliver of every row on the other.
//
// The parts are as large as the cap allows; blocks may force larger ones, which check_cap() refuses.
//
//     SlabGrid grid = make_slabs(dims, sides, 0, 64 << 20);
//     for (int64_t i = 0; i < grid.count(); ++i) use(grid.slab(i));
#pragma once

#include <span>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "tools/tensor_input.h"

namespace relayout::tools {

/// A box of logical indices.
struct Slab {
  Dims offsets, dims;
};

class SlabGrid {
 public:
  /// `part_bytes`: what one part takes, as make_slabs() counts.
  SlabGrid(const Dims& dims, const Dims& step, double part_bytes = 0);
  int64_t count() const { return count_; }
  /// In row-major order of their offsets.
  Slab slab(int64_t i) const;
  /// Extents of every part that is not at the right border.
  const Dims& step() const { return step_; }
  double part_bytes() const { return part_bytes_; }

 private:
  Dims dims_, step_;
  double part_bytes_ = 0;
  int64_t count_ = 1;
};

/// One tensor that the parts are cut from.
struct SlabSide {
  const TensorDesc* desc = nullptr;
  /// What touching one byte brings into memory, at most; 0 where the bytes are in memory anyway.
  int64_t granule = 0;
};
/// A read maps up to 64 KiB around it (Linux's fault-around); a write maps its page.
inline constexpr int64_t kReadGranule = 64 << 10;
inline constexpr int64_t kWriteGranule = 4 << 10;

/// The largest parts whose touched bytes on all sides, plus `scratch_bytes` an element, stay under
/// `cap`; one part where all of it fits, the smallest there are where none does. Every layout that is cut
/// must be among the sides, with a granule of 0 where its bytes do not count.
SlabGrid make_slabs(const Dims& dims, std::span<const SlabSide> sides, int64_t scratch_bytes, int64_t cap);

/// Failure (usage, limit) where a part takes more than is left of --max-memory after what is `held` anyway.
void check_cap(const SlabGrid& grid, int64_t max_memory, int64_t held);

/// Bytes that a part touches in its buffer, an upper bound.
double touched_bytes(const TensorDesc& desc, const Dims& slab_dims, int64_t granule);

/// Converts one part of an input into a layout over `dst`. `scratch` is used where the input's bytes
/// are to be swapped.
void convert_slab(const TensorInput& input, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, int threads, std::vector<std::byte>& scratch);

/// Asks the system to map a file page by page: with huge pages one touched byte brings in 2 MiB, and
/// a write maps as much as was read ahead around it, of an output all of it zeros. Only hints: without
/// them a walk in parts may take several times the cap.
void map_small_pages(std::span<const std::byte> mapped_bytes, bool written);

/// Drops the pages of a mapping that a part touched, given its view, and those that came with them.
void release_slab(const TensorDesc& view, std::span<const std::byte> mapped_bytes);

/// The view of a slab.
TensorDesc slab_view(const TensorDesc& desc, const Slab& slab);

}  // namespace relayout::tools
