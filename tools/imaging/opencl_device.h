// OpenCL devices for the verbs of the command: the one that --device names, and what is said of it.
#pragma once

#include <optional>
#include <string>

#include "relayout/opencl/device.h"
#include "tools/command/common.h"

namespace relayout::tools {

void add_device_option(Command& command, std::optional<int>& number, const std::string& description);

/// The device of --device; without it that of RELAYOUT_OPENCL_DEVICE in the environment, or the first. Failure: usage
/// (a number that no device has), unsupported (there is none, and why).
const opencl::Device& device_argument(std::optional<int> number);

/// "0: Adreno 640 (gpu of QUALCOMM Snapdragon)".
std::string device_text(const opencl::Device& device);
/// "images of 16384 x 16384 texels, 1.5 GiB at once"; "no images, ..." where it has none.
std::string allowed_text(const opencl::Device& device);
/// "f32, f16, u32".
std::string channels_text(const opencl::Device& device);
Json json_of(const opencl::Device& device);

}  // namespace relayout::tools
