// The OpenCL devices of this machine: what they are called and what they allow.
//
//     const DeviceList& found = list_devices();
//     for (const Device& device : found.devices) use(device.name, device.max_image_width);
//     if (found.devices.empty()) say(found.problem);            // why there is none
//
// OpenCL is loaded at run time. A program that is built with relayout runs on a machine without it, where there are no
// devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/opencl/image.h"

namespace relayout::opencl {

struct Device {
  int number = 0;  // its place in DeviceList::devices; -1 of a wrapped runtime's, whose platform is not named either
  std::string platform, platform_version, name, vendor, version, driver;
  std::string type;  // "gpu", "cpu", "accelerator" or "other"
  /// Whether images exist at all, and whether host and device share one memory.
  bool images = false, unified_memory = false;
  /// Texels: CL_DEVICE_IMAGE2D_MAX_WIDTH and _MAX_HEIGHT; 0 without images.
  int64_t max_image_width = 0, max_image_height = 0;
  /// Bytes of one buffer or image at most (CL_DEVICE_MAX_MEM_ALLOC_SIZE), and of the device's memory.
  int64_t max_alloc_bytes = 0, memory_bytes = 0;
  /// Rows of an image begin at multiples of so many texels where an image is made of a buffer; 0 where it cannot be.
  int64_t row_pitch_alignment = 0;
  /// The channel types of which RGBA images can be both read and written.
  std::vector<ChannelType> channels;

  ImageLimits limits() const { return {max_image_width, max_image_height, max_alloc_bytes}; }
  bool has(ChannelType channel) const;
  /// Why the device takes no images of such channels, or no such image, with what is asked and what is allowed; nothing
  /// where it does.
  std::optional<Error> refusal(ChannelType channel) const;
  std::optional<Error> refusal(const Image& image) const;
};

struct DeviceList {
  std::vector<Device> devices;
  /// Why there are none, or what kept some from being listed; "" where all is well.
  std::string problem;
};

/// All devices of all platforms, GPUs first, then accelerators and CPUs. Found out once: the first call loads OpenCL
/// and its drivers, which can take a second. Never throws for want of OpenCL.
const DeviceList& list_devices();

/// The device of that number. Nothing: the one that the environment's RELAYOUT_OPENCL_DEVICE says, or the first.
/// Error{unsupported} where there is none, with the reason; Error{invalid_argument} for a number that no device has.
const Device& choose_device(std::optional<int> number = {});

}  // namespace relayout::opencl
