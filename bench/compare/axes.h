// Two layouts as one strided nest, for competitors that know tensors as extents and strides only.
//
//     nchw -> nChw16c of 2x32x5x4:  n (2 | 640,640)  c/16 (2 | 320,320)  hw (20 | 1,16)  c%16 (16 | 20,1)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/competitor.h"

namespace relayout::bench {

/// Index j adds j * stride elements on each side.
struct CommonAxis {
  int64_t extent = 1, src_stride = 0, dst_stride = 0;
};

/// The axes along which both layouts are affine, joined where they continue each other on both sides, largest
/// destination stride first; at least one. Nothing, with `*why`, where no one nest has every element: blocks that do
/// not divide, an extent that does not fill its blocks, destination padding, a negative stride, no element at all.
std::optional<std::vector<CommonAxis>> common_axes(const Layout& src, const Layout& dst, const Padding& padding,
                                                   std::string* why);

/// A side of a nest as a dense array.
struct DenseSide {
  std::vector<int> order;        // axes by stride, largest first
  std::vector<int64_t> extents;  // of the array's dims in that order: those of the axes, or more where rows have gaps
};

/// The array that one side of the nest lies in; nothing, with `*why`, where its strides are those of no array, as a
/// repeated (stride 0) axis, or one whose innermost stride is not 1.
std::optional<DenseSide> dense_side(const std::vector<CommonAxis>& axes, int64_t CommonAxis::*stride, std::string* why);

/// Whether the array of this side has gaps: some extent of it is larger than that of its axis.
bool has_gaps(const std::vector<CommonAxis>& axes, const DenseSide& side);

}  // namespace relayout::bench
