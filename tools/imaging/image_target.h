// What an image must fit into, for `relayout image`: the limits of a device of this machine, or limits given by hand,
// with which one can plan for a phone on another machine.
//
//     const ImageTarget target = image_target(options);
//     if (const std::optional<Error> why = target.refusal(image)) say(why->message());
#pragma once

#include <optional>
#include <string>

#include "relayout/opencl/device.h"
#include "tools/command/common.h"

namespace relayout::tools {

struct TargetOptions {
  std::optional<int> device;
  std::optional<std::string> max_size;
  std::optional<int64_t> pitch_alignment;
};

void add_target_options(Command& command, TargetOptions& options);

struct ImageTarget {
  /// Nothing where limits were given by hand, or where there is no device.
  std::optional<opencl::Device> device;
  /// Nothing where neither a device nor a limit is known: then whether an image fits is not known either.
  std::optional<opencl::ImageLimits> limits;
  /// Rows begin at multiples of so many texels, by --pitch-alignment; 1 without it.
  int64_t pitch_alignment = 1;
  /// Why no device was asked; "" where one was.
  std::string no_device;

  /// The image with the rows that --pitch-alignment gives it.
  opencl::Image with_pitch(const opencl::Image& image) const;
  /// Why there are no images with such lanes; nothing where there are, or where no device is known.
  std::optional<Error> refusal(opencl::ChannelType channel) const;
  /// Why the image does not fit, with what it asks and what is allowed; nothing where it fits, or where no limit is
  /// known.
  std::optional<Error> refusal(const opencl::Image& image) const;
};

/// The device of --device, or the first one if there is any, unless --max-size gives the limits. Failure: usage (a size
/// that is none; a number that no device has), unsupported (--device without any device).
ImageTarget image_target(const TargetOptions& options);

/// The lines of text about the target, and whether an image fits.
std::string target_text(const ImageTarget& target);
std::string fits_text(const ImageTarget& target, const std::optional<Error>& refusal);
/// Adds the fields "device", "no_device" and "limits".
void add_target(Json& out, const ImageTarget& target);

}  // namespace relayout::tools
