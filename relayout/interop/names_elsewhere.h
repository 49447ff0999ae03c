// Names of layouts in frameworks for phones and others: which expressions of other systems are this very layout.
//
//     names_of(Format::parse("nChw4c").bind({1, 17, 5, 4}));
//         // cudnn:NC/4HW4, cudnn:KC/4RS4, executorch:CHANNELS_PACKED, mace:dw_conv2d_filter, mnn:NC4HW4, mnn:C4NHW4,
//         // ncnn:NC4HW4, tensorrt:CHW4, tflite:DHWC4, tnn:NC4HW4, tvm:NCHW4c
//
// Systems: Arm Compute Library (acl), MACE, TVM, and all those whose layouts are lists of names (layout_systems() in
// core/format.h), from Ascend to vLLM. All names are tried: those of the lists, Arm's blocked weights with each of its
// numbers, and TVM's text. docs/layout-expressions.md says what each name means and where it comes from.
//
// A name says nothing about the type of elements. ncnn's packed Mats are these layouts for 32-bit elements; with
// smaller ones, ncnn may begin each channel at a multiple of 16 bytes. Arm's _bf16 and other suffixes are types.
#pragma once

#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// Law: Format::parse(name).bind(layout.dims()) == layout for each name, in alphabetical order of systems. The logical
/// order of the dims is that of activations (n, c, [d], h, w) or weights (o, i, h, w), whichever the name has, as a
/// layout does not say what its dims mean. Cost: each name of these lists is bound.
std::vector<std::string> names_of(const Layout& layout);

}  // namespace relayout
