// A window over the spatial dims of a source, and the places of the maxima in it (internal to graph/onnx).
#pragma once

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {

/// Every list is filled in, an entry for each spatial dim.
struct SpatialWindow {
  Dims kernel, strides, dilations, pads_begin, pads_end;
};

/// MaxPool's second result, of `dims`: where in the whole source the first largest element of each window lies. NaN is
/// passed over where there is a number. `by_columns` counts the places of a plane by columns (storage_order 1). All
/// elements of all windows are put side by side, which takes as much memory as they have. Error{limit} as by charge().
Value indices_of_maxima(Op& op, const Value& src, const SpatialWindow& window, const Dims& dims, bool by_columns);

}  // namespace relayout::graph::importing
