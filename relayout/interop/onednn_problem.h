// The dims of the tensors of a verbose line, from its problem field (internal to onednn_verbose).
//
// clang-format off
//     reorder      2x17x5x4                                 all tensors
//     binary       2x3x4:1x3x1                              the sources; the destination has the larger of their dims
//     matmul       2x3x4:2x4x5                              source and weights; before oneDNN 3 also the destination
//     convolution  g2mb1_ic4oc6_ih5oh3kh3sh1dh0ph0_iw5...   src 1x4x5x5, wei 2x3x2x3x3, bia 6, dst 1x6x3x3
//     sdpa         1x2x384x64:1x2x64x385:1x2x385x32         query, key, values; the destination has the values' width
// clang-format on
//
// The problem of a primitive that is not known here leaves the dims of its tensors open.
//
// A problem that cannot be read, has dims that are only known at run time ("*"), or leads to dims over 63 bits leaves
// the dims open: the line is good all the same, and whoever asks for a layout is asked for the dims.
#pragma once

#include "relayout/interop/onednn_verbose.h"

namespace relayout::onednn {

/// Sets the dims of the line's tensors as far as its problem and its auxiliary field say them.
void bind_problem(VerboseLine& line);

}  // namespace relayout::onednn
