// OpenCL devices in words and as JSON: see opencl_device.h.
#include "tools/imaging/opencl_device.h"

#include <fmt/format.h>

namespace relayout::tools {

void add_device_option(Command& command, std::optional<int>& number, const std::string& description) {
  static constexpr Range kDevices{0, 1023};
  command.add_option("--device", number, kDevices, description);
}

const opencl::Device& device_argument(std::optional<int> number) {
  return *from_command_line([&] { return &opencl::choose_device(number); });
}

std::string device_text(const opencl::Device& device) {
  return fmt::format("{}: {} ({} of {})", device.number, device.name, device.type, device.platform);
}

std::string allowed_text(const opencl::Device& device) {
  const std::string at_once = size_text(device.max_alloc_bytes) + " at once";
  if (!device.images) return "no images, " + at_once;
  return fmt::format("images of {} x {} texels, {}", device.max_image_width, device.max_image_height, at_once);
}

std::string channels_text(const opencl::Device& device) {
  std::string out;
  for (const opencl::ChannelType type : device.channels) out += (out.empty() ? "" : ", ") + std::string(name(type));
  return out.empty() ? "none" : out;
}

Json json_of(const opencl::Device& device) {
  Json out = {{"number", device.number}, {"name", device.name}, {"type", device.type}};
  out["platform"] = device.platform;
  out["platform_version"] = device.platform_version;
  out["vendor"] = device.vendor;
  out["version"] = device.version;
  out["driver"] = device.driver;
  out["images"] = device.images;
  out["max_image_width"] = device.max_image_width;
  out["max_image_height"] = device.max_image_height;
  out["max_alloc_bytes"] = device.max_alloc_bytes;
  out["memory_bytes"] = device.memory_bytes;
  out["unified_memory"] = device.unified_memory;
  out["row_pitch_alignment"] = device.row_pitch_alignment;
  out["channels"] = Json::array();
  for (const opencl::ChannelType type : device.channels) out["channels"].push_back(name(type));
  return out;
}

}  // namespace relayout::tools
