// Limits of images: see image_target.h.
#include "tools/imaging/image_target.h"

#include <fmt/format.h>

#include "relayout/core/extents.h"
#include "tools/imaging/opencl_device.h"

namespace relayout::tools {
namespace {

/// "16384x8192" as limits of width and height.
opencl::ImageLimits size_limits(const std::string& text) {
  const std::size_t cross = text.find('x');
  opencl::ImageLimits out;
  if (cross != std::string::npos) {
    out.max_width = from_command_line([&] { return parse_int(text.substr(0, cross), "--max-size"); });
    out.max_height = from_command_line([&] { return parse_int(text.substr(cross + 1), "--max-size"); });
  }
  if (out.max_width < 1 || out.max_height < 1) {
    usage_error(
        fmt::format("--max-size {}: write the texels of the largest width and height, as 16384x16384", escaped(text)),
        "--max-size", escaped(text), "1x1 or more");
  }
  return out;
}

std::string limits_text(const opencl::ImageLimits& limits) {
  return fmt::format("{} x {} texels", limits.max_width, limits.max_height);
}

}  // namespace

void add_target_options(Command& command, TargetOptions& options) {
  add_device_option(command, options.device,
                    "Number of the OpenCL device that the image is for (see relayout doctor); the first unless given");
  command
      .add_option("--max-size", options.max_size,
                  "Largest width and height in texels, as 16384x16384, for a device that is not here")
      .excludes("--device");
  command.add_option("--pitch-alignment", options.pitch_alignment, {1, 1 << 20},
                     "Rows begin at multiples of so many texels; 1 unless given");
}

opencl::Image ImageTarget::with_pitch(const opencl::Image& image) const {
  if (pitch_alignment == 1) return image;
  const int64_t unit = pitch_alignment * texel_bytes(image.channel());
  const std::optional<int64_t> pitch = checked_mul((image.row_pitch_bytes() - 1) / unit + 1, unit);
  if (!pitch) {
    throw Failure(kUsage, Error(ErrorCode::overflow, "--pitch-alignment: a row's bytes overflow 63 bits",
                                "--pitch-alignment", std::to_string(pitch_alignment)));
  }
  return from_command_line([&] { return image.with_row_pitch(*pitch); });
}

std::optional<Error> ImageTarget::refusal(opencl::ChannelType channel) const {
  return device ? device->refusal(channel) : std::nullopt;
}

std::optional<Error> ImageTarget::refusal(const opencl::Image& image) const {
  if (std::optional<Error> no_texels = refusal(image.channel())) return no_texels;
  try {
    if (limits) image.check(*limits);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

ImageTarget image_target(const TargetOptions& options) {
  ImageTarget out;
  out.pitch_alignment = options.pitch_alignment.value_or(1);
  if (options.max_size) {
    out.limits = size_limits(*options.max_size);
    out.no_device = "--max-size gives the limits";
    return out;
  }
  if (!options.device && opencl::list_devices().devices.empty()) {
    out.no_device = opencl::list_devices().problem;
    return out;
  }
  out.device = device_argument(options.device);
  out.limits = out.device->limits();
  return out;
}

std::string target_text(const ImageTarget& target) {
  std::string out =
      labelled("device", target.device ? device_text(*target.device) : "none was asked: " + target.no_device);
  if (!target.limits) return out;
  return out + labelled("allows", target.device ? allowed_text(*target.device) : limits_text(*target.limits));
}

std::string fits_text(const ImageTarget& target, const std::optional<Error>& refusal) {
  if (!target.limits) return "";
  if (!refusal) return labelled("fits", "yes");
  std::string why = refusal->message();
  if (why.starts_with("image: ") || why.starts_with("opencl: ")) why.erase(0, why.find(' ') + 1);
  return labelled("fits", "no: " + why);
}

void add_target(Json& out, const ImageTarget& target) {
  out["device"] = target.device ? json_of(*target.device) : Json(nullptr);
  out["no_device"] = target.device ? Json(nullptr) : Json(target.no_device);
  out["limits"] = nullptr;
  if (target.limits) {
    const auto number = [](int64_t value) { return value > 0 ? Json(value) : Json(nullptr); };
    out["limits"] = {{"max_width", number(target.limits->max_width)},
                     {"max_height", number(target.limits->max_height)},
                     {"max_bytes", number(target.limits->max_bytes)}};
  }
}

}  // namespace relayout::tools
