// Asking OpenCL for its devices: see probe.h and device.h.
#include "relayout/opencl/probe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "relayout/opencl/channel_format.h"
#include "relayout/opencl/library.h"

namespace relayout::opencl {
namespace {

/// What a device answers to a question about a number; 0 where it refuses, as devices of old versions may.
template <typename T>
int64_t number(const abi::Functions& cl, abi::DeviceId id, abi::Uint question) {
  T value{};
  if (cl.GetDeviceInfo(id, question, sizeof value, &value, nullptr) != abi::kSuccess) return 0;
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

template <typename Handle>
std::string text(abi::Int (*ask)(Handle, abi::Uint, std::size_t, void*, std::size_t*), Handle handle,
                 abi::Uint question) {
  std::size_t size = 0;
  if (ask(handle, question, 0, nullptr, &size) != abi::kSuccess || size == 0) return "";
  std::string out(size, '\0');
  if (ask(handle, question, size, out.data(), nullptr) != abi::kSuccess) return "";
  out.resize(out.find_last_not_of(" \0", std::string::npos, 2) + 1);
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  return escaped(out, 256);
}

std::string type_name(int64_t type) {
  if (type & static_cast<int64_t>(abi::kDeviceTypeGpu)) return "gpu";
  if (type & static_cast<int64_t>(abi::kDeviceTypeAccelerator)) return "accelerator";
  return type & static_cast<int64_t>(abi::kDeviceTypeCpu) ? "cpu" : "other";
}

int rank(const Device& device) {
  constexpr std::string_view kOrder[] = {"gpu", "accelerator", "cpu", "other"};
  return static_cast<int>(std::ranges::find(kOrder, std::string_view(device.type)) - std::begin(kOrder));
}

std::vector<ChannelType> channels_of(const abi::Functions& cl, abi::Context context) {
  abi::Uint count = 0;
  std::vector<ChannelType> out;
  if (cl.GetSupportedImageFormats(context, abi::kMemReadWrite, abi::kMemObjectImage2d, 0, nullptr, &count) !=
      abi::kSuccess)
    return out;
  std::vector<abi::ImageFormat> formats(count);
  if (cl.GetSupportedImageFormats(context, abi::kMemReadWrite, abi::kMemObjectImage2d, count, formats.data(),
                                  nullptr) != abi::kSuccess)
    return out;
  for (const ChannelType type : kChannelTypes) {
    const abi::ImageFormat wanted = channel_format(type);
    if (std::ranges::any_of(formats, [&](const abi::ImageFormat& one) {
          return one.channel_order == wanted.channel_order && one.channel_type == wanted.channel_type;
        }))
      out.push_back(type);
  }
  return out;
}

struct Found {
  DeviceList list;
  std::vector<abi::DeviceId> ids;
};

struct Numbered {
  Device device;
  abi::DeviceId id;
};

/// The devices of a platform; problems are added to `problem`.
void list_platform(const abi::Functions& cl, abi::Platform platform, std::vector<Numbered>& out, std::string& problem) {
  abi::Uint count = 0;
  const std::string platform_name = text(cl.GetPlatformInfo, platform, abi::kPlatformName);
  const auto add_problem = [&](const std::string& what) {
    problem += (problem.empty() ? "" : "; ") + platform_name + ": " + what;
  };
  if (cl.GetDeviceIDs(platform, abi::kDeviceTypeAll, 0, nullptr, &count) != abi::kSuccess || count == 0)
    return add_problem("it has no device");
  std::vector<abi::DeviceId> ids(count);
  if (cl.GetDeviceIDs(platform, abi::kDeviceTypeAll, count, ids.data(), nullptr) != abi::kSuccess)
    return add_problem("its devices cannot be listed");
  for (const abi::DeviceId id : ids) {
    if (number<abi::Uint>(cl, id, abi::kDeviceAvailable) == 0) {
      add_problem(text(cl.GetDeviceInfo, id, abi::kDeviceName) + " is not available");
      continue;
    }
    abi::Int status = abi::kSuccess;
    const abi::Context context = cl.CreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
    if (status != abi::kSuccess) {
      add_problem(text(cl.GetDeviceInfo, id, abi::kDeviceName) + " makes no context: " + status_name(status));
      continue;
    }
    out.push_back({describe_device(cl, id, context), id});
    out.back().device.platform = platform_name;
    out.back().device.platform_version = text(cl.GetPlatformInfo, platform, abi::kPlatformVersion);
    cl.ReleaseContext(context);
  }
}

Found find_devices() {
  Found out;
  const abi::Functions* cl = functions();
  if (!cl) {
    out.list.problem = absence();
    return out;
  }
  abi::Uint count = 0;
  std::vector<abi::Platform> platforms;
  if (cl->GetPlatformIDs(0, nullptr, &count) == abi::kSuccess && count > 0) {
    platforms.resize(count);
    if (cl->GetPlatformIDs(count, platforms.data(), nullptr) != abi::kSuccess) platforms.clear();
  }
  if (platforms.empty())
    out.list.problem = "OpenCL is installed, but no driver for it (on Debian: apt install pocl-opencl-icd)";
  std::vector<Numbered> devices;
  for (const abi::Platform platform : platforms) list_platform(*cl, platform, devices, out.list.problem);
  std::ranges::stable_sort(devices, {}, [](const Numbered& one) { return rank(one.device); });
  for (Numbered& one : devices) {
    one.device.number = static_cast<int>(out.ids.size());
    out.list.devices.push_back(std::move(one.device));
    out.ids.push_back(one.id);
  }
  return out;
}

const Found& found() {
  static const Found once = find_devices();
  return once;
}

std::optional<int> number_in_environment() {
  const char* text = std::getenv("RELAYOUT_OPENCL_DEVICE");
  if (!text || !*text) return std::nullopt;
  int value = 0;
  const char* end = text + std::string_view(text).size();
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || at != end || value < 0)
    throw Error(ErrorCode::invalid_argument,
                "opencl: RELAYOUT_OPENCL_DEVICE is \"" + escaped(text) + "\" and should be a device's number",
                "RELAYOUT_OPENCL_DEVICE", escaped(text), "0 or more");
  return value;
}

}  // namespace

bool Device::has(ChannelType channel) const { return std::ranges::find(channels, channel) != channels.end(); }

std::optional<Error> Device::refusal(ChannelType channel) const {
  const std::string who = "opencl: " + name;
  if (!images) return Error(ErrorCode::unsupported, who + " has no images", "images", "0", "1");
  if (has(channel)) return std::nullopt;
  std::string known;
  for (const ChannelType one : channels) known += (known.empty() ? "" : ", ") + std::string(opencl::name(one));
  return Error(
      ErrorCode::unsupported,
      who + " has no RGBA images of " + std::string(cl_name(channel)) + "; it has " + (known.empty() ? "none" : known),
      "channel", std::string(opencl::name(channel)), known);
}

std::optional<Error> Device::refusal(const Image& image) const {
  if (std::optional<Error> no_texels = refusal(image.channel())) return no_texels;
  try {
    image.check(limits());
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

Device describe_device(const abi::Functions& cl, abi::DeviceId id, abi::Context context) {
  Device out;
  out.number = -1;
  out.name = text(cl.GetDeviceInfo, id, abi::kDeviceName);
  out.vendor = text(cl.GetDeviceInfo, id, abi::kDeviceVendor);
  out.version = text(cl.GetDeviceInfo, id, abi::kDeviceVersion);
  out.driver = text(cl.GetDeviceInfo, id, abi::kDriverVersion);
  out.type = type_name(number<abi::Ulong>(cl, id, abi::kDeviceType));
  out.images = number<abi::Uint>(cl, id, abi::kDeviceImageSupport) != 0;
  out.unified_memory = number<abi::Uint>(cl, id, abi::kDeviceHostUnifiedMemory) != 0;
  out.max_alloc_bytes = number<abi::Ulong>(cl, id, abi::kDeviceMaxAllocBytes);
  out.memory_bytes = number<abi::Ulong>(cl, id, abi::kDeviceMemoryBytes);
  if (!out.images) return out;
  out.max_image_width = number<std::size_t>(cl, id, abi::kDeviceImage2dMaxWidth);
  out.max_image_height = number<std::size_t>(cl, id, abi::kDeviceImage2dMaxHeight);
  out.row_pitch_alignment = number<abi::Uint>(cl, id, abi::kDeviceImagePitchAlignment);
  out.channels = channels_of(cl, context);
  return out;
}

const DeviceList& list_devices() { return found().list; }

const Device& choose_device(std::optional<int> wanted) {
  const DeviceList& all = list_devices();
  if (all.devices.empty()) throw Error(ErrorCode::unsupported, "opencl: " + all.problem, "opencl");
  const int number = wanted ? *wanted : number_in_environment().value_or(0);
  if (number < 0 || number >= static_cast<int>(all.devices.size())) {
    const std::string most = std::to_string(all.devices.size() - 1);
    throw Error(ErrorCode::invalid_argument,
                std::string("opencl: ") + (wanted ? "" : "RELAYOUT_OPENCL_DEVICE: ") + "there is no device " +
                    std::to_string(number) + "; the last one is " + most,
                "device", std::to_string(number), most);
  }
  return all.devices[static_cast<std::size_t>(number)];
}

abi::DeviceId device_id(const Device& device) { return found().ids.at(static_cast<std::size_t>(device.number)); }

}  // namespace relayout::opencl
