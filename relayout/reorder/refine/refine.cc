// Refinement of two layouts, a dim at a time.
#include "relayout/reorder/refine/refine.h"

#include <string>
#include <utility>

#include "relayout/reorder/refine/refine_dim.h"
#include "relayout/reorder/refine/swizzled_boxes.h"

namespace relayout {
namespace {

/// Replaces the ranges of whole dims by one range with a table, the shortest dim first, until the boxes are few enough.
void bound_boxes(std::vector<DimRefiner>& dims, const Tables& tables) {
  int64_t left = kMaxTableEntries - entries_of(tables);
  double boxes = 1;
  for (const DimRefiner& dim : dims) boxes *= static_cast<double>(dim.ranges());
  while (boxes > kMaxBoxes) {
    DimRefiner* best = nullptr;
    for (DimRefiner& dim : dims) {
      if (dim.ranges() > 1 && (!best || dim.coarse_entries() < best->coarse_entries())) best = &dim;
    }
    if (best->coarse_entries() > left) {
      const std::string need = std::to_string(boxes), limit = std::to_string(kMaxBoxes);
      throw Error(ErrorCode::limit, "reorder: the tails need " + need + " boxes; at most " + limit + " are made",
                  "dims", need, limit);
    }
    left -= best->coarse_entries();
    boxes /= static_cast<double>(best->ranges());
    best->coarsen();
  }
}

}  // namespace

std::vector<Box> refine(const Layout& src_layout, const Layout& dst_layout, const AttributeSteps& attributes,
                        const Dims& begin, const Dims& end, Tables& tables) {
  if (src_layout.swizzled() || dst_layout.swizzled()) {
    auto boxes = refine(src_layout.plain(), dst_layout.plain(), attributes, begin, end, tables);
    for (const Operand side : {kSrc, kDst}) {
      const Swizzle& swizzle = (side == kSrc ? src_layout : dst_layout).swizzle();
      const std::size_t most = kMaxBoxes / std::max<std::size_t>(1, boxes.size());
      boxes = swizzled(std::move(boxes), side, swizzle, {std::max<std::size_t>(1, most), kMaxTableEntries}, tables);
    }
    return boxes;
  }
  const auto ndims = static_cast<std::size_t>(begin.size());
  for (int d = 0; d < begin.size(); ++d) {
    if (begin[d] >= end[d]) return {};
  }
  const Layout src = src_layout.canonical(), dst = dst_layout.canonical();
  std::vector<DimRefiner> dims;
  dims.reserve(ndims);
  for (int d = 0; d < dst.ndims(); ++d)
    dims.emplace_back(src, dst, d, attributes[static_cast<std::size_t>(d)], begin[d], end[d]);
  bound_boxes(dims, tables);

  Axes axes;
  DimRanges ranges;
  std::array<std::size_t, kMaxDims + 1> first_range{};  // by dim
  std::size_t count = 1;
  for (std::size_t d = 0; d < ndims; ++d) {
    dims[d].make_ranges(tables, axes, ranges);
    first_range[d + 1] = ranges.size();
    count *= ranges.size() - first_range[d];
  }
  // A box for each choice of one range a dim, the last dim's ranges changing fastest.
  std::vector<Box> boxes;
  boxes.reserve(count);
  std::array<std::size_t, kMaxDims + 1> at = first_range;
  for (std::size_t b = 0; b < count; ++b) {
    Box& box = boxes.emplace_back(Box{{src.offset0(), dst.offset0(), 0}, {}});
    std::size_t box_axes = 0;
    for (std::size_t d = 0; d < ndims; ++d) box_axes += ranges[at[d]].axes;
    box.axes.reserve(box_axes);
    for (std::size_t d = 0; d < ndims; ++d) {
      const DimRange& range = ranges[at[d]];
      for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += range.offset[k];
      for (std::size_t k = 0; k < range.axes; ++k) box.axes.push_back(axes[range.first_axis + k]);
    }
    for (std::size_t d = ndims; d-- > 0;) {
      if (++at[d] < first_range[d + 1]) break;
      at[d] = first_range[d];
    }
  }
  return boxes;
}

std::vector<Box> refine_padding(const Layout& layout, uint32_t without, Tables& tables) {
  std::vector<Box> out;
  const Dims zero(layout.ndims(), 0);
  // The indices in the padding of dim d that are not in the padding of an earlier dim, dims in `without` left out.
  Dims end = layout.padded_dims();
  for (int d = 0; d < layout.ndims(); ++d) {
    if (without >> d & 1) continue;
    Dims begin = zero;
    begin[d] = layout.dim(d);
    for (Box& box : refine(layout, layout, no_attributes(layout.ndims()), begin, end, tables))
      out.push_back(std::move(box));
    end[d] = layout.dim(d);
  }
  return out;
}

}  // namespace relayout
