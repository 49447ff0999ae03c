// MACE: which of its OpenCL images a layout is, and back, and the image's size in pixels.
//
// On GPUs, MACE keeps tensors in two-dimensional images of RGBA pixels, four elements each. Which dim the lanes hold,
// and how rows and columns run through the others, is said by the name of a buffer type:
//
//     const Layout layout = mace::from_mace("in_out_channel", {1, 9, 4, 5});
//     mace::to_mace(layout);                         // in_out_channel, 15 x 4: three groups of channels of 5 pixels
//
// The names are those of mace::OpenCLBufferType in small letters; docs/layout-expressions.md has them with their
// formulas. Rows may lie further apart than they are wide. WINOGRAD_FILTER holds transformed weights and is no layout.
//
// Source: MACE, mace/runtimes/opencl/core/opencl_util.h, mace/ops/opencl/cl/buffer_to_image.cl, docs "Memory layout".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/format.h"

namespace relayout::mace {

struct Image {
  /// "in_out_channel".
  std::string_view name;
  /// Width, height, and pixels from one row to the next.
  ImageExtent extent;

  friend bool operator==(const Image& a, const Image& b) {
    return a.name == b.name && a.extent.width == b.extent.width && a.extent.height == b.extent.height &&
           a.extent.pitch == b.extent.pitch;
  }
};

/// The image's layout for dims in the order of docs/layout-expressions.md (n,c,h,w of activations; o,i,h,w and m,i,h,w
/// of filters; w of an argument). `pitch` in pixels; 0: the width. Errors: parse (no such name; the names are listed),
/// unsupported (a depthwise filter with a multiplier other than 1, of which MACE silently writes zeros),
/// invalid_argument (another rank, a pitch below the width), overflow.
Layout from_mace(std::string_view name, const Dims& dims, int64_t pitch = 0);

/// The dims that MACE makes of fewer ones: (c) and (n,c) are (1,c,1,1) and (n,c,1,1) in in_out_channel, and a scalar is
/// (1,1,1,1); (n,h,w) is (n,1,h,w) in in_out_height and in_out_width; (w,1,...,1) is (w) in argument. All other dims,
/// and those of formats that are no image of MACE, stay as they are.
Dims promoted_dims(const Format& format, const Dims& dims);
/// The layout with those dims, each element where it was.
Layout promote(const Format& format, const Layout& layout);

/// All images that this layout is, in MACE's order. Names coincide where dims are 1, and where rows without a pitch
/// follow each other alike: conv2d_filter is weight_height, in an image of another size.
std::vector<Image> images_of(const Layout& layout);
/// The first of them. Error{unsupported} where there is none, which says what each image of the rank demands.
Image to_mace(const Layout& layout);

/// "CL_FLOAT", "CL_HALF_FLOAT", "CL_SIGNED_INT32" or "CL_UNSIGNED_INT32" (u32): the type of a pixel's lanes, whose
/// width is the element's. Error{unsupported} for all other types; u8 is named, as MACE keeps it in lanes of 32 bits.
std::string_view channel_type(DType dtype);

/// Error{limit} where an image exceeds CL_DEVICE_IMAGE2D_MAX_WIDTH or _MAX_HEIGHT; both numbers are named.
void check_size(const Image& image, int64_t max_width, int64_t max_height);

/// The image as C++ of OpenCL (opencl.hpp), and its buffer types in a comment; with a row pitch in bytes where rows lie
/// apart. Errors as to_mace() and channel_type().
std::string code(const TensorDesc& desc);

}  // namespace relayout::mace
