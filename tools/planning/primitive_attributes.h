// Primitive attributes: the texts of --attr KEY=VALUE as the attributes of a kind.
//
//     primitive_attributes({"strides=2", "pads=3"}, Kind::convolution, 2, {}, DType::f32);
#pragma once

#include <string>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::tools {

/// The attributes of a kind whose source has so many spatial dims; what is not given has its default. `dst` are the
/// dims of the destination where they were given, from which a resampling takes its sizes, and `dtype` is the type that
/// a reorder keeps. Failure (usage): a text that is no KEY=VALUE, a key that the kind does not have or that is given
/// twice, a value that is none.
graph::NodeAttributes primitive_attributes(const std::vector<std::string>& texts, graph::Kind kind, int spatial_dims,
                                           const Dims& dst, DType dtype);

}  // namespace relayout::tools
