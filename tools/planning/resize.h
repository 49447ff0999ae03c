// Resizing of pictures before a model reads them, as data loaders do it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/interop/files/tensor_file.h"

namespace relayout::tools {

/// What --resize asks for: both extents in pixels, or the shorter one alone, where the other keeps the proportions.
struct PictureSize {
  int64_t width = 0, height = 0;
  int64_t shorter = 0;
};
/// "224x224", width first as pictures have it, or "256" for the shorter side. Failure: usage.
PictureSize size_argument_of_picture(const std::string& text);

bool is_picture(FileFormat format);

/// A picture's pixels, row-major: `shape` is (1, height, width, channels).
struct Pixels {
  Dims shape;
  DType dtype = DType::u8;
  std::vector<std::byte> bytes;
};
/// The picture of a file in the size that is asked for. Each pixel is the mean of the source's pixels around its place,
/// weighted by a triangle that is two pixels wide, of the source or of the result, whichever are larger: bilinear
/// interpolation where the picture grows, and where it shrinks what Pillow calls BILINEAR and torchvision
/// antialias=True. Where the shorter side is asked for, the longer one is rounded down.
Pixels resized(const TensorFile& picture, const PictureSize& size);
/// The middle of the pixels, cut to this width and height, which are not larger than theirs.
Pixels cropped(const Pixels& pixels, int64_t width, int64_t height);

}  // namespace relayout::tools
