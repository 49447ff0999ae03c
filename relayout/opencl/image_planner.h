// The image planner: which images a tensor can be on a device, what they cost, and several images where none fits.
//
//     for (const ImageChoice& choice : plan_images({1, 64, 256, 256}, ChannelType::f16, {4096, 4096, 0}))
//       say(choice.name, choice.image, choice.refusal);
//     // mace:in_out_height: 16384 x 64, refused; mace:in_out_channel: 4096 x 256; ...
//
//     split_image(Format::parse("mace:conv2d_filter"), {64, 64, 7, 7}, ChannelType::f32, {4096, 512, 0});
//     // two parts: output channels 0 to 31 and 32 to 63, 64 x 392 texels each
//
// It computes with numbers alone and needs no device: the limits of a phone can be planned for on any machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/opencl/image.h"

namespace relayout::opencl {

/// A content type for a tensor.
struct ImageChoice {
  std::string name;            // "mace:in_out_channel"
  std::optional<Image> image;  // with rows as far apart as the device has them; nothing where there is none at all
  std::string refusal;         // why it does not fit, with what is asked and what is allowed; "" where it fits
};

/// MACE's content types that take tensors of these dims: those that fit first, then by memory, then in MACE's order.
/// Dims can be meant as n,c,h,w or as o,i,h,w, so all that the rank allows are there. Rows begin at multiples of
/// `row_alignment` texels. A type that exists for the rank but not for these dims (a depthwise multiplier other than 1)
/// is there with its refusal. Error{invalid_argument} where row_alignment is below 1.
std::vector<ImageChoice> plan_images(const Dims& dims, ChannelType channel, const ImageLimits& limits,
                                     int64_t row_alignment = 1);

/// A part of a tensor: indices begin[d] to begin[d] + image.dims()[d] - 1 of each dim.
struct ImagePart {
  Dims begin;
  Image image;
};

/// The tensor as images that a device takes, each index in one of them: one where it fits, else a grid of parts of
/// about equal sizes. Dims are cut between blocks, so that only a dim's last part has unused lanes. The grid has as few
/// parts as there can be; of several such grids it is one that cuts the outer dims of the tag, which leaves rows and
/// columns whole. (Of more than a million grids, the best of those that were looked at.) Views of the tensor (narrow()
/// of view.h) upload the parts without a copy. Errors: limit (a single texel exceeds the limits), those of Image::make.
std::vector<ImagePart> split_image(const Format& format, const Dims& dims, ChannelType channel,
                                   const ImageLimits& limits);

}  // namespace relayout::opencl
