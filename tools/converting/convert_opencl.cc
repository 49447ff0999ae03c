// Conversions through a device: see convert_opencl.h.
#include "tools/converting/convert_opencl.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/opencl/transfer.h"
#include "tools/imaging/opencl_device.h"

namespace relayout::tools {
namespace {

constexpr std::string_view kPossible =
    "equal types of 8 to 64 bits, f32 and f16, u8 and u32, each with padding of 0 and without scales";

[[noreturn]] void refuse(const std::string& what, std::string field, std::string value = {}) {
  throw Error(ErrorCode::unsupported,
              fmt::format("convert --via opencl: {} is not for a device, which converts {}; --via cpu does the rest",
                          what, kPossible),
              std::move(field), std::move(value), std::string(kPossible));
}

void check_possible(const TensorInput& input, const Format& to, const TensorDesc& dst, const Attributes& attributes) {
  const DType src = input.desc.dtype;
  if (!opencl::device_converts(src, dst.dtype))
    refuse(fmt::format("{} to {}", name(src), name(dst.dtype)), "dtype", std::string(name(src)));
  if (attributes.arithmetic()) refuse("a scale or a zero point", "--scale");
  if (attributes.padding.kind != Padding::Kind::value || attributes.padding.value != 0)
    refuse("padding other than 0", "--pad");
  if (input.gates || to.gates()) refuse("an order of gates that is no layout", "layout", escaped(to.text()));
  if (input.swap_item_bytes > 1) refuse("a file whose bytes stand in the other order", "input");
}

opencl::Way way_argument(const std::optional<std::string>& text) {
  for (const opencl::Way way : opencl::kWays) {
    if (text == name(way)) return way;
  }
  return opencl::Way::automatic;
}

/// What a device does not take is unsupported, also where that is a limit of its.
[[noreturn]] void not_on_device(const Error& error, opencl::Fallback fallback) {
  const char* advice = fallback == opencl::Fallback::error ? "; --fallback buffer takes a buffer in its place" : "";
  throw Failure(exit_code(error, kUnsupported),
                Error(error.code(), error.message() + advice, error.field(), error.value(), error.limit()));
}

std::string memory_text(const opencl::DeviceTensor& tensor) {
  const int64_t bytes = tensor.desc().span_bytes();
  if (!tensor.image()) return fmt::format("a buffer of {} bytes", bytes);
  const opencl::Image& image = *tensor.image();
  return fmt::format("{} {} x {} texels of {}, {} bytes",
                     tensor.is_image() ? "an image of" : "a buffer in place of an image of", image.width(),
                     image.height(), cl_name(image.channel()), tensor.is_image() ? image.bytes() : bytes);
}

Json memory_json(const opencl::DeviceTensor& tensor) {
  Json out = {{"kind", tensor.is_image() ? "image" : "buffer"}, {"bytes", tensor.desc().span_bytes()}};
  if (!tensor.image()) return out;
  out["width"] = tensor.image()->width();
  out["height"] = tensor.image()->height();
  out["channel"] = name(tensor.image()->channel());
  out["bytes"] = tensor.is_image() ? tensor.image()->bytes() : tensor.desc().span_bytes();
  return out;
}

std::string tensor_text(const TensorDesc& desc) {
  return fmt::format("{} {}, {} bytes", dims_text(desc.layout.dims()), name(desc.dtype), desc.span_bytes());
}

}  // namespace

void add_via_options(Command& command, ViaOptions& options) {
  command.add_option("--via", options.via, "Who converts: cpu (the default), or opencl, which goes through a device")
      .one_of({"cpu", "opencl"});
  add_device_option(command, options.device,
                    "With --via opencl: number of the device (see relayout doctor); the first unless given");
  command
      .add_option("--fallback", options.fallback,
                  "With --via opencl: buffer takes a buffer for an image that the device does not take; error is the "
                  "default")
      .one_of({"buffer", "error"});
  command
      .add_option("--way", options.way,
                  "With --via opencl: mapped (the CPU writes and reads mapped memory), kernel, or staged (by a buffer "
                  "and OpenCL's own copy)")
      .one_of({"mapped", "kernel", "staged"});
}

void check_via(const ViaOptions& options) {
  if (options.opencl()) return;
  const std::pair<bool, std::string_view> given[] = {{options.device.has_value(), "--device"},
                                                     {options.fallback.has_value(), "--fallback"},
                                                     {options.way.has_value(), "--way"}};
  for (const auto& [is_given, flag] : given) {
    if (is_given) usage_error(fmt::format("{} is for --via opencl", flag), std::string(flag));
  }
}

void refuse_on_device(bool given, std::string_view flag) {
  if (given) refuse(std::string(flag), std::string(flag));
}

DeviceConversion::DeviceConversion(const TensorInput& input, const Format& to, const TensorDesc& dst,
                                   const Attributes& attributes, const ViaOptions& options)
    : src_(input.desc),
      dst_(dst),
      fallback_(options.fallback == "buffer" ? opencl::Fallback::buffer : opencl::Fallback::error),
      way_(way_argument(options.way)),
      runtime_((check_possible(input, to, dst, attributes), device_argument(options.device).number)) {
  if (input.format.is_image()) tensors_.push_back(device_tensor(input.format, src_));
  if (to.is_image() || tensors_.empty()) tensors_.push_back(device_tensor(to, dst_));
}

opencl::DeviceTensor DeviceConversion::device_tensor(const Format& format, const TensorDesc& desc) {
  std::optional<opencl::Image> image;
  try {
    if (format.is_image())
      image = opencl::Image::make(format, desc.layout.dims(), opencl::default_channel_type(desc.dtype));
    if (image) return opencl::DeviceTensor::make_image(runtime_, *image, fallback_);
  } catch (const Error& error) {
    // A type without texels and a view of an image are left to a buffer, too.
    if (image || fallback_ == opencl::Fallback::error) not_on_device(error, fallback_);
  }
  try {
    return opencl::DeviceTensor::make_buffer(runtime_, desc);
  } catch (const Error& error) {
    not_on_device(error, opencl::Fallback::buffer);
  }
}

void DeviceConversion::run(std::span<const std::byte> src_bytes, std::span<std::byte> dst_bytes, int threads) {
  opencl::TransferOptions options{.way = way_, .run = {.threads = threads}};
  const opencl::DeviceTensor& first = tensors_.front();
  const std::vector<opencl::Way> possible = possible_ways(src_, first);
  // A buffer is there to be written by the device; the fastest way would be the CPU's.
  const bool by_kernel = !first.is_image() && std::ranges::find(possible, opencl::Way::kernel) != possible.end();
  if (by_kernel && way_ == opencl::Way::automatic) options.way = opencl::Way::kernel;
  uploaded_ = upload(src_, src_bytes, first, options);
  if (tensors_.size() > 1) copy(first, tensors_.back());
  options.way = way_;
  downloaded_ = download(tensors_.back(), dst_, dst_bytes, options);
}

std::string DeviceConversion::explain() const {
  std::string out =
      fmt::format("reorder of {} ({} elements) by OpenCL\n", dims_text(src_.layout.dims()), src_.layout.elements());
  out += fmt::format("  device    {}\n", device_text(runtime_.device()));
  out += fmt::format("  allows    {}\n", allowed_text(runtime_.device()));
  out += fmt::format("  upload    {}, by the way {}, to {}\n", tensor_text(src_), name(uploaded_),
                     memory_text(tensors_.front()));
  if (tensors_.size() > 1) out += fmt::format("  copy      on the device, to {}\n", memory_text(tensors_.back()));
  return out + fmt::format("  download  {}, by the way {}", tensor_text(dst_), name(downloaded_));
}

Json DeviceConversion::json() const {
  Json out = {{"device", tools::json_of(runtime_.device())}};
  out["memory"] = Json::array();
  for (const opencl::DeviceTensor& tensor : tensors_) out["memory"].push_back(memory_json(tensor));
  out["upload"] = name(uploaded_);
  out["download"] = name(downloaded_);
  return out;
}

}  // namespace relayout::tools
