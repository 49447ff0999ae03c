// Runtime: one OpenCL device with its context and its queue; DeviceTensor: a tensor in its memory.
//
//     Runtime runtime;                                             // the first device, or RELAYOUT_OPENCL_DEVICE's
//     const Image image = Image::make(Format::parse("mace:in_out_channel"), {1, 64, 56, 56}, ChannelType::f16);
//     DeviceTensor on_device = DeviceTensor::make_image(runtime, image);
//     upload(desc, bytes, on_device);                              // transfer.h
//     clSetKernelArg(kernel, 0, sizeof(cl_mem), &memory);          // with cl_mem memory = on_device.memory()
//
// OpenCL's handles appear as the pointers that they are (cl_mem is _cl_mem*), so that a program that includes CL/cl.h
// can use both together, and one without it needs none of it. Both classes are handles themselves: copies share what
// they stand for, and the last one releases it. Any thread may use them; the calls on one runtime take place one after
// another.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "relayout/opencl/device.h"

struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;

namespace relayout::opencl {

class RuntimeData;

class Runtime {
 public:
  /// A context and an in-order queue on a device, by its number in list_devices(); see choose_device() for the default
  /// and for errors.
  explicit Runtime(std::optional<int> device = {});
  /// On a program's own context and queue, which are retained. Errors: unsupported (an out-of-order queue), io (OpenCL
  /// refuses them).
  static Runtime wrap(_cl_context* context, _cl_command_queue* queue);

  const Device& device() const;
  _cl_context* context() const;
  _cl_command_queue* queue() const;
  /// Waits until all that was enqueued is done.
  void finish() const;

  /// What is behind it, for the code of this folder (runtime_data.h, which is not installed).
  RuntimeData& data() const { return *data_; }

 private:
  explicit Runtime(std::shared_ptr<RuntimeData> data) : data_(std::move(data)) {}
  std::shared_ptr<RuntimeData> data_;
};

/// What becomes of an image that the device does not take.
enum class Fallback : uint8_t {
  error,   // Error{limit} or Error{unsupported}, with what is asked and what is allowed
  buffer,  // a buffer with the same lanes at the same places, row after row
};

class DeviceTensor {
 public:
  /// A new image, of undefined contents. Errors: limit (larger than the device's images or memory), unsupported (no
  /// images, or none with these channels); where `fallback` is buffer, limit alone, if a buffer does not fit either.
  static DeviceTensor make_image(const Runtime& runtime, const Image& image, Fallback fallback = Fallback::error);
  /// A new buffer of desc.span_bytes(), and of 1 byte for a tensor without elements. Error{limit} where it does not
  /// fit.
  static DeviceTensor make_buffer(const Runtime& runtime, const TensorDesc& desc);
  /// A program's own image or buffer, which is retained. Error{invalid_argument} where it is no image of this size and
  /// these channels, or no buffer; Error{buffer_too_small}.
  static DeviceTensor wrap_image(const Runtime& runtime, _cl_mem* memory, const Image& image);
  static DeviceTensor wrap_buffer(const Runtime& runtime, _cl_mem* memory, const TensorDesc& desc);

  const Runtime& runtime() const { return runtime_; }
  /// Where elements lie: of an image the lanes, with rows that follow each other.
  const TensorDesc& desc() const { return desc_; }
  /// The image, also where a buffer stands in for it; nothing for other buffers.
  const std::optional<Image>& image() const { return image_; }
  /// Whether memory() is an image and no buffer.
  bool is_image() const { return is_image_; }
  _cl_mem* memory() const { return memory_.get(); }

 private:
  DeviceTensor(const Runtime& runtime, TensorDesc desc) : runtime_(runtime), desc_(std::move(desc)) {}
  Runtime runtime_;
  TensorDesc desc_;
  std::optional<Image> image_;
  bool is_image_ = false;
  std::shared_ptr<_cl_mem> memory_;
};

/// Runs a kernel of one's own on tensors of the device: compiles `source` (OpenCL C; once, the last 256 kernels are
/// kept), sets the tensors' memory as the arguments of the kernel `name` in their order, and enqueues global[0] x
/// global[1] x global[2] work-items. It does not wait: Runtime::finish() does, and so do downloads. For tests of
/// kernels and for small programs; others call OpenCL themselves. Errors: invalid_argument (the source does not
/// compile: with the driver's words; no such kernel; other arguments), unsupported, io.
void run_kernel(const Runtime& runtime, std::string_view source, std::string_view name,
                std::span<const DeviceTensor> arguments, std::array<std::size_t, 3> global);

}  // namespace relayout::opencl
