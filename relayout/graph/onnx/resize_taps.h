// Resizing along one dim as sums of taps: which elements of the source make an element of the destination, and with
// which weights. All forms of ONNX's Resize are such sums, one dim after the other; those that the graph's resampling
// has are not done so (ops_resize.cc).
#pragma once

#include <string>
#include <vector>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {

struct ResizeForm {
  std::string mode, coordinates, rounding;
  double cubic_a = -0.75, extrapolated = 0;
  bool antialias = false, exclude_outside = false;
};

struct ResizeExtents {
  int64_t src, dst;
  double scale;
  /// Of tf_crop_and_resize: the part of the source that is shown, from 0 to 1.
  double roi_start = 0, roi_end = 1;
};

/// The source resized along one dim; where a position lies beyond the source, `outside` has 1 for that index, if given.
Value resize_dim(Op& op, const Value& src, int d, const ResizeExtents& extents, const ResizeForm& form,
                 std::vector<int64_t>& outside);

}  // namespace relayout::graph::importing
