// Contexts, queues, memory and compiled kernels: see runtime_data.h and runtime.h.
#include "relayout/opencl/runtime_data.h"

#include "relayout/opencl/channel_format.h"
#include "relayout/opencl/probe.h"

namespace relayout::opencl {
namespace {

/// Kernels that stay compiled. A program that needs more of them in turn compiles some again.
constexpr std::size_t kMaxKernels = 256;
/// The kernel of a generated source.
constexpr const char* kCopyKernel = "relayout_copy";

std::string bytes_text(int64_t bytes) { return std::to_string(bytes) + " bytes"; }

template <typename T>
T memory_info(const abi::Functions& cl, abi::Mem memory, abi::Uint question, const char* what) {
  T value{};
  check_status(cl.GetMemObjectInfo(memory, question, sizeof value, &value, nullptr), what);
  return value;
}

void check_context(const Runtime& runtime, abi::Mem memory) {
  const auto context =
      memory_info<abi::Context>(runtime.data().cl(), memory, abi::kMemContext, "asking for a memory's context");
  if (context != runtime.context())
    throw Error(ErrorCode::invalid_argument, "opencl: this memory belongs to another context", "memory");
}

void check_image_size(const abi::Functions& cl, abi::Mem memory, const Image& image) {
  std::size_t width = 0, height = 0;
  abi::ImageFormat format{};
  const auto ask = [&](abi::Uint question, auto& value) {
    check_status(cl.GetImageInfo(memory, question, sizeof value, &value, nullptr), "asking for an image's size");
  };
  ask(abi::kImageWidth, width);
  ask(abi::kImageHeight, height);
  ask(abi::kImageFormat, format);
  const auto text = [](auto w, auto h) { return std::to_string(w) + " x " + std::to_string(h); };
  const std::string have = text(width, height), need = text(image.width(), image.height());
  if (have != need)
    throw Error(ErrorCode::invalid_argument, "opencl: the image has " + have + " texels, and " + need + " are meant",
                "image", have, need);
  const abi::ImageFormat meant = channel_format(image.channel());
  if (format.channel_order != meant.channel_order || format.channel_type != meant.channel_type)
    throw Error(ErrorCode::invalid_argument,
                "opencl: the image's texels are not CL_RGBA of " + std::string(cl_name(image.channel())), "image",
                std::to_string(format.channel_type), std::string(cl_name(image.channel())));
}

}  // namespace

RuntimeData::~RuntimeData() {
  cl_.Finish(queue_);
  for (const Compiled& one : kernels_) {
    cl_.ReleaseKernel(one.kernel);
    cl_.ReleaseProgram(one.program);
  }
  cl_.ReleaseCommandQueue(queue_);
  cl_.ReleaseContext(context_);
}

MemoryHandle RuntimeData::hold(abi::Mem memory) const {
  return {memory, [cl = &cl_](abi::Mem held) { cl->ReleaseMemObject(held); }};
}

MemoryHandle RuntimeData::buffer(int64_t bytes) const {
  const int64_t most = device_.max_alloc_bytes;
  if (most > 0 && bytes > most)
    throw Error(ErrorCode::limit,
                "opencl: a buffer of " + bytes_text(bytes) + ", and " + device_.name + " allows " + bytes_text(most) +
                    " at once",
                "bytes", std::to_string(bytes), std::to_string(most));
  abi::Int status = abi::kSuccess;
  const abi::Mem memory = cl_.CreateBuffer(context_, abi::kMemReadWrite,
                                           static_cast<std::size_t>(std::max<int64_t>(bytes, 1)), nullptr, &status);
  check_status(status, "a buffer of " + bytes_text(bytes) + " on " + device_.name + ", which allows " +
                           bytes_text(most) + " at once");
  return hold(memory);
}

MemoryHandle RuntimeData::over_host(void* host, int64_t bytes, bool read_only) const {
  abi::Int status = abi::kSuccess;
  const abi::Ulong flags = (read_only ? abi::kMemReadOnly : abi::kMemReadWrite) | abi::kMemUseHostPtr;
  const abi::Mem memory = cl_.CreateBuffer(context_, flags, static_cast<std::size_t>(bytes), host, &status);
  return status == abi::kSuccess ? hold(memory) : nullptr;
}

Way RuntimeData::choose_way(const std::string& moved, std::span<const Way> possible) {
  const std::lock_guard lock(times_mutex_);
  constexpr std::size_t kMaxKinds = 4096;
  if (way_times_.size() >= kMaxKinds) way_times_.clear();
  return way_times_[moved].choose(possible);
}

void RuntimeData::note_way(const std::string& moved, Way way, double seconds) {
  const std::lock_guard lock(times_mutex_);
  way_times_[moved].add(way, seconds);
}

const MemoryHandle& RuntimeData::staging_buffer(int64_t bytes) {
  if (bytes > staging_bytes_) {
    staging_.reset();  // before the new one is made: both may not fit
    staging_bytes_ = 0;
    staging_ = buffer(bytes);
    staging_bytes_ = bytes;
  }
  return staging_;
}

RuntimeData::Compiled RuntimeData::compile(const std::string& text, const std::string& name) const {
  abi::Int status = abi::kSuccess;
  const char* source = text.c_str();
  const abi::Program program = cl_.CreateProgramWithSource(context_, 1, &source, nullptr, &status);
  check_status(status, "making a program");
  status = cl_.BuildProgram(program, 1, &id_, "", nullptr, nullptr);
  if (status != abi::kSuccess) {
    constexpr std::size_t kMostWords = 4096;
    std::size_t size = 0;
    cl_.GetProgramBuildInfo(program, id_, abi::kProgramBuildLog, 0, nullptr, &size);
    std::string log(size, '\0');
    cl_.GetProgramBuildInfo(program, id_, abi::kProgramBuildLog, size, log.data(), nullptr);
    cl_.ReleaseProgram(program);
    log.resize(std::min(std::min(log.find('\0'), log.size()), kMostWords));
    // A kernel of relayout's own is right: there the driver lacks something, its compiler maybe.
    throw Error(name == kCopyKernel ? ErrorCode::unsupported : ErrorCode::invalid_argument,
                "opencl: " + device_.name + " does not compile the kernel " + escaped(name) + ": " +
                    status_name(status) + (log.empty() ? "" : ":\n" + log),
                "source", escaped(name));
  }
  const abi::Kernel kernel = cl_.CreateKernel(program, name.c_str(), &status);
  if (status != abi::kSuccess) {
    cl_.ReleaseProgram(program);
    throw Error(ErrorCode::invalid_argument,
                "opencl: the source has no kernel \"" + escaped(name) + "\": " + status_name(status), "name",
                escaped(name));
  }
  return {text, name, program, kernel};
}

abi::Kernel RuntimeData::kernel(const std::string& text, const std::string& name) {
  for (auto one = kernels_.begin(); one != kernels_.end(); ++one) {
    if (one->text != text || one->name != name) continue;
    kernels_.splice(kernels_.begin(), kernels_, one);
    return one->kernel;
  }
  kernels_.push_front(compile(text, name));
  if (kernels_.size() > kMaxKernels) {
    cl_.ReleaseKernel(kernels_.back().kernel);
    cl_.ReleaseProgram(kernels_.back().program);
    kernels_.pop_back();
  }
  return kernels_.front().kernel;
}

void RuntimeData::enqueue_copy(const Operand& src, abi::Mem src_memory, const Operand& dst, abi::Mem dst_memory) {
  KernelSource source = kernel_source(src, dst);
  const abi::Kernel compiled = kernel(source.text, kCopyKernel);
  check_status(cl_.SetKernelArg(compiled, 0, sizeof src_memory, &src_memory), "a kernel's source");
  check_status(cl_.SetKernelArg(compiled, 1, sizeof dst_memory, &dst_memory), "a kernel's destination");
  std::size_t most = 0;
  check_status(cl_.GetKernelWorkGroupInfo(compiled, id_, abi::kKernelWorkGroupSize, sizeof most, &most, nullptr),
               "asking for a kernel's size");
  // A device of smaller groups chooses its own: the kernel itself needs none.
  const bool fits = source.local[0] * source.local[1] * source.local[2] <= most;
  check_status(cl_.EnqueueNDRangeKernel(queue_, compiled, 3, nullptr, source.global.data(),
                                        fits ? source.local.data() : nullptr, 0, nullptr, nullptr),
               "running a kernel");
}

Runtime::Runtime(std::optional<int> number) {
  const Device& device = choose_device(number);
  const abi::Functions& cl = require_functions();
  const abi::DeviceId id = device_id(device);
  abi::Int status = abi::kSuccess;
  const abi::Context context = cl.CreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
  check_status(status, "a context on " + device.name);
  const abi::Queue queue = cl.CreateCommandQueue(context, id, 0, &status);
  if (status != abi::kSuccess) cl.ReleaseContext(context);
  check_status(status, "a queue on " + device.name);
  data_ = std::make_shared<RuntimeData>(cl, id, device, context, queue);
}

Runtime Runtime::wrap(_cl_context* context, _cl_command_queue* queue) {
  const abi::Functions& cl = require_functions();
  if (!context || !queue)
    throw Error(ErrorCode::invalid_argument, "opencl: a context or a queue is null", "queue", "null", "a handle");
  abi::DeviceId id = nullptr;
  check_status(cl.GetCommandQueueInfo(queue, abi::kQueueDevice, sizeof id, &id, nullptr),
               "asking for a queue's device");
  abi::Context own = nullptr;
  check_status(cl.GetCommandQueueInfo(queue, abi::kQueueContext, sizeof own, &own, nullptr),
               "asking for a queue's context");
  if (own != context) throw Error(ErrorCode::invalid_argument, "opencl: the queue belongs to another context", "queue");
  abi::Ulong properties = 0;
  check_status(cl.GetCommandQueueInfo(queue, abi::kQueueProperties, sizeof properties, &properties, nullptr),
               "asking for a queue's properties");
  if (properties & abi::kQueueOutOfOrder)
    throw Error(ErrorCode::unsupported, "opencl: the queue is out of order, and the steps of a copy follow each other",
                "queue", "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE", "an in-order queue");
  Device device = describe_device(cl, id, context);
  check_status(cl.RetainContext(context), "retaining a context");
  const abi::Int status = cl.RetainCommandQueue(queue);
  if (status != abi::kSuccess) cl.ReleaseContext(context);
  check_status(status, "retaining a queue");
  return Runtime(std::make_shared<RuntimeData>(cl, id, std::move(device), context, queue));
}

const Device& Runtime::device() const { return data_->device(); }
_cl_context* Runtime::context() const { return data_->context(); }
_cl_command_queue* Runtime::queue() const { return data_->queue(); }
void Runtime::finish() const { data_->finish(); }

DeviceTensor DeviceTensor::make_image(const Runtime& runtime, const Image& image, Fallback fallback) {
  const RuntimeData& data = runtime.data();
  const Image tight = image.with_row_pitch(image.row_bytes());
  const auto as_buffer = [&] {
    DeviceTensor out = make_buffer(runtime, tight.desc());
    out.image_ = tight;
    return out;
  };
  if (const std::optional<Error> why = data.device().refusal(tight)) {
    if (fallback == Fallback::buffer) return as_buffer();
    throw Error(*why);
  }
  DeviceTensor out(runtime, tight.desc());
  abi::ImageDesc desc{};
  desc.type = abi::kMemObjectImage2d;
  desc.width = static_cast<std::size_t>(image.width());
  desc.height = static_cast<std::size_t>(image.height());
  const abi::ImageFormat format = channel_format(image.channel());
  abi::Int status = abi::kSuccess;
  const abi::Mem memory = data.cl().CreateImage(data.context(), abi::kMemReadWrite, &format, &desc, nullptr, &status);
  if (status != abi::kSuccess && fallback == Fallback::buffer) return as_buffer();
  check_status(status, "an image of " + std::to_string(image.width()) + " x " + std::to_string(image.height()) +
                           " texels (" + bytes_text(tight.bytes()) + ") on " + data.device().name + ", which allows " +
                           bytes_text(data.device().max_alloc_bytes));
  out.memory_ = data.hold(memory);
  out.image_ = tight;
  out.is_image_ = true;
  return out;
}

DeviceTensor DeviceTensor::make_buffer(const Runtime& runtime, const TensorDesc& desc) {
  DeviceTensor out(runtime, desc);
  out.memory_ = runtime.data().buffer(desc.span_bytes());
  return out;
}

DeviceTensor DeviceTensor::wrap_image(const Runtime& runtime, _cl_mem* memory, const Image& image) {
  const abi::Functions& cl = runtime.data().cl();
  if (!memory || memory_info<abi::Uint>(cl, memory, abi::kMemType, "asking what a memory is") != abi::kMemObjectImage2d)
    throw Error(ErrorCode::invalid_argument, "opencl: this memory is no two-dimensional image", "memory");
  check_context(runtime, memory);
  check_image_size(cl, memory, image);
  const Image tight = image.with_row_pitch(image.row_bytes());
  check_status(cl.RetainMemObject(memory), "retaining an image");
  DeviceTensor out(runtime, tight.desc());
  out.memory_ = runtime.data().hold(memory);
  out.image_ = tight;
  out.is_image_ = true;
  return out;
}

DeviceTensor DeviceTensor::wrap_buffer(const Runtime& runtime, _cl_mem* memory, const TensorDesc& desc) {
  const abi::Functions& cl = runtime.data().cl();
  if (!memory || memory_info<abi::Uint>(cl, memory, abi::kMemType, "asking what a memory is") != abi::kMemObjectBuffer)
    throw Error(ErrorCode::invalid_argument, "opencl: this memory is no buffer", "memory");
  check_context(runtime, memory);
  const auto have = static_cast<int64_t>(memory_info<std::size_t>(cl, memory, abi::kMemSize, "a buffer's size"));
  if (have < desc.span_bytes())
    throw Error(ErrorCode::buffer_too_small,
                "opencl: the buffer has " + bytes_text(have) + ", but " + bytes_text(desc.span_bytes()) + " are needed",
                "memory", std::to_string(desc.span_bytes()), std::to_string(have));
  check_status(cl.RetainMemObject(memory), "retaining a buffer");
  DeviceTensor out(runtime, desc);
  out.memory_ = runtime.data().hold(memory);
  return out;
}

void run_kernel(const Runtime& runtime, std::string_view source, std::string_view name,
                std::span<const DeviceTensor> arguments, std::array<std::size_t, 3> global) {
  RuntimeData& data = runtime.data();
  const abi::Functions& cl = data.cl();
  const std::lock_guard lock(data.mutex());
  const abi::Kernel kernel = data.kernel(std::string(source), std::string(name));
  abi::Uint wanted = 0;
  check_status(cl.GetKernelInfo(kernel, abi::kKernelNumArgs, sizeof wanted, &wanted, nullptr), "asking for arguments");
  if (wanted != arguments.size())
    throw Error(ErrorCode::invalid_argument,
                "opencl: the kernel \"" + escaped(name) + "\" has " + std::to_string(wanted) + " arguments, and " +
                    std::to_string(arguments.size()) + " tensors are given",
                "arguments", std::to_string(arguments.size()), std::to_string(wanted));
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const abi::Mem memory = arguments[k].memory();
    if (arguments[k].runtime().context() != runtime.context())
      throw Error(ErrorCode::invalid_argument,
                  "opencl: argument " + std::to_string(k) + " of the kernel \"" + escaped(name) +
                      "\" belongs to another context",
                  "arguments[" + std::to_string(k) + "]");
    const abi::Int status = cl.SetKernelArg(kernel, static_cast<abi::Uint>(k), sizeof memory, &memory);
    if (status != abi::kSuccess)
      throw Error(ErrorCode::invalid_argument,
                  "opencl: argument " + std::to_string(k) + " of the kernel \"" + escaped(name) +
                      "\" is no such memory: " + status_name(status),
                  "arguments[" + std::to_string(k) + "]");
  }
  check_status(cl.EnqueueNDRangeKernel(data.queue(), kernel, 3, nullptr, global.data(), nullptr, 0, nullptr, nullptr),
               "running the kernel \"" + escaped(name) + "\"");
}

}  // namespace relayout::opencl
