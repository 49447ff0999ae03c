// relayout convert --via opencl: the tensor goes through the memory of an OpenCL device, and comes back as the CPU
// would have written it.
//
//     DeviceConversion conversion(input, to, dst, options);      // refuses what a device does not do
//     conversion.run(input.bytes, writer.bytes(), 0);
//     write_stdout(conversion.explain());
//
// An image layout is a real image there, on either side of the conversion; a copy on the device leads from one image to
// another. Where neither side is an image, a kernel of the device writes a buffer in the destination's layout.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/opencl/runtime.h"
#include "relayout/opencl/ways.h"
#include "relayout/reorder/attributes.h"
#include "tools/input/tensor_input.h"

namespace relayout::tools {

struct ViaOptions {
  std::string via = "cpu";
  std::optional<int> device;
  std::optional<std::string> fallback, way;

  bool opencl() const { return via == "opencl"; }
};

/// --via, --device, --fallback and --way.
void add_via_options(Command& command, ViaOptions& options);
/// Failure (usage) where flags of a device are given without --via opencl.
void check_via(const ViaOptions& options);
/// Error{unsupported} for a flag that is given and that a device has no part in, as --tune.
void refuse_on_device(bool given, std::string_view flag);

class DeviceConversion {
 public:
  /// Makes the images and buffers on the device. Errors: unsupported (types, scales, padding, files in the other order
  /// of bytes, gates; no device; an image that it does not take, with what it asks and what is allowed, unless
  /// --fallback buffer is given), invalid_argument (a number that no device has).
  DeviceConversion(const TensorInput& input, const Format& to, const TensorDesc& dst, const Attributes& attributes,
                   const ViaOptions& options);

  /// `dst_bytes` are those of the output. `threads` are the CPU's, where it reads or writes mapped memory.
  void run(std::span<const std::byte> src_bytes, std::span<std::byte> dst_bytes, int threads);

  /// What was done, after run(): the device, its images and buffers, the ways and the sizes.
  std::string explain() const;
  Json json() const;

 private:
  opencl::DeviceTensor device_tensor(const Format& format, const TensorDesc& desc);

  TensorDesc src_, dst_;
  opencl::Fallback fallback_;
  opencl::Way way_, uploaded_ = opencl::Way::automatic, downloaded_ = opencl::Way::automatic;
  opencl::Runtime runtime_;
  std::vector<opencl::DeviceTensor> tensors_;  // in the order in which the tensor passes them
};

}  // namespace relayout::tools
