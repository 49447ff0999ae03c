// The image planner: which images a tensor can be on a device, what they cost, and several images where none fits.
//
//     for (const ImageChoice& choice : plan_images({1, 64, 256, 256}, ChannelType::f16, {4096, 4096, 0}))
//       say(choice.name, choice.image, choice.refusal);
//     // mace:in_out_channel: 4096 x 256; mace:in_out_width: 4096 x 256; mace:in_out_height: 16384 x 64, refused; ...
//
//     split_image(Format::parse("mace:conv2d_filter"), {64, 64, 7, 7}, ChannelType::f32, {4096, 512, 0});
//     // two parts: output channels 0 to 31 and 32 to 63, 64 x 392 texels each
//
// It computes with numbers alone and needs no device: the limits of a phone can be planned for on any machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/opencl/image.h"

namespace relayout::opencl {

/// A content type for a tensor. The image says what it costs: bytes(), unused_lanes(), pitch_bytes().
struct ImageChoice {
  std::string name;            // "mace:in_out_channel"; of another candidate its text
  std::optional<Image> image;  // with rows as far apart as the device has them; nothing where there is none at all
  std::string refusal;         // why it does not fit, with what is asked and what is allowed; "" where it fits
};

/// The candidates that take tensors of these dims: those that fit first, then by memory, then in the candidates' order;
/// last those of which there is no image at all. Candidates for another rank are left out. Without candidates they are
/// MACE's content types in MACE's order. Dims can be meant as n,c,h,w or as o,i,h,w, so all that the rank allows are
/// there. A content type that exists for the rank but not for these dims (a depthwise multiplier other than 1) is there
/// with its refusal. Rows begin at multiples of `row_alignment` texels.
/// Error{invalid_argument} where row_alignment is below 1.
std::vector<ImageChoice> plan_images(const Dims& dims, ChannelType channel, const ImageLimits& limits,
                                     int64_t row_alignment = 1, std::span<const Format> candidates = {});

/// A part of a tensor: indices begin[d] to begin[d] + image.dims()[d] - 1 of each dim of the image. Those are the
/// tensor's dims, or what MACE makes of them where they are fewer (mace::promoted_dims).
struct ImagePart {
  Dims begin;
  Image image;
};

/// More parts than these are refused: so many images are a mistake in the limits rather than a way to keep a tensor.
inline constexpr int64_t kMostImageParts = 65'536;

/// The tensor as images that a device takes, each index in one of them, in row-major order of the parts.
///
/// The parts are a grid: each dim is cut into pieces of one size, the smallest that makes so many pieces, and the last
/// piece may be smaller. Cuts lie between blocks, so that a part's lanes are the whole's and only a dim's last piece
/// has unused ones. The grid has the fewest parts that a grid can have. Of several such grids it is the one that cuts
/// the innermost dim of the tag into the fewest pieces, then the next one outwards, columns before rows. So where one
/// axis of the image is too long and cutting its outermost dim helps as much as anything, that alone is cut, and the
/// parts are ranges of rows or columns of the whole image.
///
/// Rows lie as far apart as the format says (`;align=`, `;pitch=`), rounded up to `row_alignment` texels, as in
/// plan_images. Views of the tensor (narrow() of view.h) upload the parts without a copy.
///
/// Errors: limit (a single block exceeds the limits; more than kMostImageParts), invalid_argument (row_alignment below
/// 1), those of Image::make. Cost: the search grows with the square roots of the dims, the rest with the number of
/// parts; where there are too many, none is made.
std::vector<ImagePart> split_image(const Format& format, const Dims& dims, ChannelType channel,
                                   const ImageLimits& limits, int64_t row_alignment = 1);

}  // namespace relayout::opencl
