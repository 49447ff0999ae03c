// Uploads, downloads and copies by each way: see transfer.h.
#include "relayout/opencl/transfer.h"

#include <algorithm>

#include "relayout/cpu/reorder.h"
#include "relayout/cpu/stopwatch.h"
#include "relayout/interop/mace.h"
#include "relayout/opencl/kernel_values.h"
#include "relayout/opencl/runtime_data.h"

namespace relayout::opencl {
namespace {

constexpr std::size_t kOrigin[3] = {0, 0, 0};

Operand operand(const DeviceTensor& tensor) {
  return {tensor.desc(), tensor.is_image() ? tensor.image() : std::nullopt};
}
/// The lanes of an image as a buffer, rows without gaps.
Operand staging(const DeviceTensor& image) { return {image.desc(), std::nullopt}; }

std::array<std::size_t, 3> region(const Image& image) {
  return {static_cast<std::size_t>(image.width()), static_cast<std::size_t>(image.height()), 1};
}

/// The host's side with the dims that the image has.
TensorDesc promoted(const TensorDesc& host, const DeviceTensor& tensor) {
  if (!tensor.image()) return host;
  return {mace::promote(tensor.image()->format(), host.layout), host.dtype};
}

void check_sides(const char* verb, const TensorDesc& host, std::size_t bytes, const DeviceTensor& tensor) {
  const std::string verb_text = std::string("opencl: ") + verb + ": ";
  if (host.layout.dims() != tensor.desc().layout.dims())
    throw Error(ErrorCode::invalid_argument,
                verb_text + "the tensor has dims " + join(host.layout.dims()) + ", and the device's has " +
                    join(tensor.desc().layout.dims()),
                "dims", join(host.layout.dims()), join(tensor.desc().layout.dims()));
  if (tensor.image() && !holds(tensor.image()->channel(), host.dtype))
    throw Error(ErrorCode::unsupported,
                verb_text + "an image of " + std::string(name(tensor.image()->channel())) + " does not hold " +
                    std::string(name(host.dtype)),
                "dtype", std::string(name(host.dtype)), std::string(name(tensor.image()->channel())));
  if (static_cast<int64_t>(bytes) < host.span_bytes())
    throw Error(ErrorCode::buffer_too_small,
                verb_text + "the host's tensor has " + std::to_string(bytes) + " bytes, but " +
                    std::to_string(host.span_bytes()) + " are needed",
                "bytes", std::to_string(host.span_bytes()), std::to_string(bytes));
}

/// The image's or buffer's memory in the host's address space, as long as this lives.
class Mapping {
 public:
  Mapping(const DeviceTensor& tensor, abi::Ulong flags)
      : data_(tensor.runtime().data()), memory_(tensor.memory()), desc_(tensor.desc()) {
    abi::Int status = abi::kSuccess;
    const abi::Functions& cl = data_.cl();
    if (tensor.is_image()) {
      std::size_t row_pitch = 0, slice_pitch = 0;
      const auto all = region(*tensor.image());
      address_ = cl.EnqueueMapImage(data_.queue(), memory_, abi::kTrue, flags, kOrigin, all.data(), &row_pitch,
                                    &slice_pitch, 0, nullptr, nullptr, &status);
      check_status(status, "mapping an image");
      desc_ = tensor.image()->with_row_pitch(static_cast<int64_t>(row_pitch)).desc();
    } else {
      address_ = cl.EnqueueMapBuffer(data_.queue(), memory_, abi::kTrue, flags, 0,
                                     static_cast<std::size_t>(std::max<int64_t>(desc_.span_bytes(), 1)), 0, nullptr,
                                     nullptr, &status);
      check_status(status, "mapping a buffer");
    }
  }
  ~Mapping() { data_.cl().EnqueueUnmapMemObject(data_.queue(), memory_, address_, 0, nullptr, nullptr); }
  Mapping(const Mapping&) = delete;

  std::byte* address() const { return static_cast<std::byte*>(address_); }
  const TensorDesc& desc() const { return desc_; }

 private:
  RuntimeData& data_;
  abi::Mem memory_;
  TensorDesc desc_;
  void* address_ = nullptr;
};

/// A buffer of the device that holds the host's tensor. Where both share one memory it is the host's memory itself.
/// `bytes` is not written to.
MemoryHandle host_buffer(RuntimeData& data, std::span<const std::byte> bytes) {
  auto* address = const_cast<std::byte*>(bytes.data());
  if (data.device().unified_memory) return data.buffer(static_cast<int64_t>(bytes.size()), address);
  return data.buffer(static_cast<int64_t>(bytes.size()));
}

void write_host(RuntimeData& data, std::span<const std::byte> bytes, const MemoryHandle& buffer) {
  if (data.device().unified_memory) return;
  check_status(data.cl().EnqueueWriteBuffer(data.queue(), buffer.get(), abi::kTrue, 0, bytes.size(), bytes.data(), 0,
                                            nullptr, nullptr),
               "writing a buffer");
}

/// What the device wrote becomes visible to the host.
void read_host(RuntimeData& data, std::span<std::byte> bytes, const MemoryHandle& buffer) {
  const abi::Functions& cl = data.cl();
  if (!data.device().unified_memory) {
    check_status(cl.EnqueueReadBuffer(data.queue(), buffer.get(), abi::kTrue, 0, bytes.size(), bytes.data(), 0, nullptr,
                                      nullptr),
                 "reading a buffer");
    return;
  }
  abi::Int status = abi::kSuccess;
  void* at = cl.EnqueueMapBuffer(data.queue(), buffer.get(), abi::kTrue, abi::kMapRead, 0, bytes.size(), 0, nullptr,
                                 nullptr, &status);
  check_status(status, "mapping a buffer");
  check_status(cl.EnqueueUnmapMemObject(data.queue(), buffer.get(), at, 0, nullptr, nullptr), "unmapping a buffer");
}

/// From a buffer of layout `src` into the device's tensor.
void enqueue_into(RuntimeData& data, const TensorDesc& src, abi::Mem memory, const DeviceTensor& dst, bool staged) {
  if (!staged) return data.enqueue_copy({src, std::nullopt}, memory, operand(dst), dst.memory());
  // A buffer that holds the lanes as the image does needs no kernel.
  if (src != dst.desc() || !src.layout.dense()) {
    const abi::Mem stage = data.stage(dst.desc().span_bytes()).get();
    data.enqueue_copy({src, std::nullopt}, memory, staging(dst), stage);
    memory = stage;
  }
  const auto all = region(*dst.image());
  check_status(data.cl().EnqueueCopyBufferToImage(data.queue(), memory, dst.memory(), 0, kOrigin, all.data(), 0,
                                                  nullptr, nullptr),
               "copying a buffer to an image");
}

/// From the device's tensor into a buffer or an image.
void enqueue_out_of(RuntimeData& data, const DeviceTensor& src, const Operand& dst, abi::Mem memory, bool staged) {
  if (!staged) return data.enqueue_copy(operand(src), src.memory(), dst, memory);
  const bool as_it_is = !dst.image && src.desc() == dst.desc && dst.desc.layout.dense();
  const abi::Mem stage = as_it_is ? memory : data.stage(src.desc().span_bytes()).get();
  const auto all = region(*src.image());
  check_status(data.cl().EnqueueCopyImageToBuffer(data.queue(), src.memory(), stage, kOrigin, all.data(), 0, 0, nullptr,
                                                  nullptr),
               "copying an image to a buffer");
  if (!as_it_is) data.enqueue_copy(staging(src), stage, dst, memory);
}

/// Whether both hold the same elements in the same lanes, and no lane is unused.
bool same_image(const Image& a, const Image& b) {
  return a.channel() == b.channel() && a.width() == b.width() && a.height() == b.height() && a.desc() == b.desc() &&
         a.unused_lanes() == 0;
}

/// What is moved, for remembering the times of its ways.
std::string key_of(char direction, const TensorDesc& host, const DeviceTensor& tensor) {
  const auto side = [](const TensorDesc& desc) {
    return std::string(name(desc.dtype)) + digits_expression(desc.layout) + ":" + join(desc.layout.dims());
  };
  return std::string(1, direction) + side(host) + "|" + side(tensor.desc()) + (tensor.is_image() ? "i" : "b");
}

/// Takes the way that is asked for, or chooses one and notes how long it took.
template <typename Take>
Way take_way(RuntimeData& data, char direction, const TensorDesc& host, const DeviceTensor& tensor, Way way,
             const Take& take) {
  const std::vector<Way> possible = possible_ways(host, tensor);
  if (way != Way::automatic) {
    if (std::ranges::find(possible, way) == possible.end()) {
      std::string known;
      for (const Way one : possible) known += (known.empty() ? "" : ", ") + std::string(name(one));
      throw Error(ErrorCode::unsupported,
                  "opencl: this transfer cannot go the way " + std::string(name(way)) + "; it can go " + known, "way",
                  std::string(name(way)), known);
    }
    take(way);
    return way;
  }
  constexpr std::size_t kMaxKinds = 4096;
  if (data.way_times().size() >= kMaxKinds) data.way_times().clear();
  WayTimes& times = data.way_times()[key_of(direction, host, tensor)];
  const Way chosen = times.choose(possible);
  times.add(chosen, cpu::system_stopwatch().time([&] { take(chosen); }).us * 1e-6);
  return chosen;
}

}  // namespace

std::vector<Way> possible_ways(const TensorDesc& host, const DeviceTensor& on_device) {
  std::vector<Way> out{Way::mapped};
  if (!device_converts(host.dtype, on_device.desc().dtype) || host.layout.empty()) return out;
  out.push_back(Way::kernel);
  if (on_device.is_image()) out.push_back(Way::staged);
  return out;
}

Way upload(const TensorDesc& src, std::span<const std::byte> bytes, const DeviceTensor& dst,
           const TransferOptions& options) {
  const TensorDesc host = promoted(src, dst);
  check_sides("upload", host, bytes.size(), dst);
  bytes = bytes.first(static_cast<std::size_t>(host.span_bytes()));
  RuntimeData& data = dst.runtime().data();
  const std::lock_guard lock(data.mutex());
  return take_way(data, 'u', host, dst, options.way, [&](Way way) {
    if (way == Way::mapped) {
      // Padding and elements are written whole; gaps keep what they hold, and so need the old contents.
      const bool whole = dst.is_image() || dst.desc().layout.packed();
      const Mapping mapping(dst, whole ? abi::kMapWriteInvalidate : abi::kMapRead | abi::kMapWrite);
      cpu::run(cpu::cached_plan(host, mapping.desc()), bytes.data(), mapping.address(), options.run);
    } else {
      const MemoryHandle buffer = host_buffer(data, bytes);
      write_host(data, bytes, buffer);
      enqueue_into(data, host, buffer.get(), dst, way == Way::staged);
      data.finish();  // before the buffer over the host's memory goes
    }
    data.finish();
  });
}

Way download(const DeviceTensor& src, const TensorDesc& dst, std::span<std::byte> bytes,
             const TransferOptions& options) {
  const TensorDesc host = promoted(dst, src);
  check_sides("download", host, bytes.size(), src);
  bytes = bytes.first(static_cast<std::size_t>(host.span_bytes()));
  const Plan plan = cpu::cached_plan(src.desc(), host);  // also checks that no two elements share an offset
  RuntimeData& data = src.runtime().data();
  const std::lock_guard lock(data.mutex());
  return take_way(data, 'd', host, src, options.way, [&](Way way) {
    if (way == Way::mapped) {
      const Mapping mapping(src, abi::kMapRead);
      cpu::run(cpu::cached_plan(mapping.desc(), host), mapping.address(), bytes.data(), options.run);
    } else {
      const MemoryHandle buffer = host_buffer(data, bytes);
      // Gaps of the host's layout stay as they are.
      if (!host.layout.packed()) write_host(data, bytes, buffer);
      enqueue_out_of(data, src, {host, std::nullopt}, buffer.get(), way == Way::staged);
      data.finish();
      read_host(data, bytes, buffer);
    }
    data.finish();
  });
}

void copy(const DeviceTensor& src, const DeviceTensor& dst, Way way) {
  if (src.desc().layout.dims() != dst.desc().layout.dims())
    throw Error(ErrorCode::invalid_argument,
                "opencl: copy: dims " + join(src.desc().layout.dims()) + " to dims " + join(dst.desc().layout.dims()),
                "dims", join(src.desc().layout.dims()), join(dst.desc().layout.dims()));
  if (src.memory() == dst.memory())
    throw Error(ErrorCode::overlap, "opencl: copy: source and destination are one memory", "memory");
  if (src.runtime().context() != dst.runtime().context())
    throw Error(ErrorCode::invalid_argument, "opencl: copy: source and destination belong to two contexts", "context");
  if (way == Way::mapped)
    throw Error(ErrorCode::unsupported, "opencl: copy: on a device there is no mapped way", "way", "mapped",
                "kernel, staged");
  if (dst.desc().layout.empty()) return;
  cpu::cached_plan(src.desc(), dst.desc());  // checks that no two elements of the destination share an offset
  RuntimeData& data = dst.runtime().data();
  const std::lock_guard lock(data.mutex());
  const bool staged = way == Way::staged;
  if (!src.is_image() && !dst.is_image() && src.desc() == dst.desc() && dst.desc().layout.dense()) {
    const auto bytes = static_cast<std::size_t>(dst.desc().span_bytes());
    check_status(
        data.cl().EnqueueCopyBuffer(data.queue(), src.memory(), dst.memory(), 0, 0, bytes, 0, nullptr, nullptr),
        "copying a buffer");
    return;
  }
  if (staged && dst.is_image() && !src.is_image()) return enqueue_into(data, src.desc(), src.memory(), dst, true);
  if (staged && src.is_image()) return enqueue_out_of(data, src, operand(dst), dst.memory(), true);
  if (src.is_image() && dst.is_image() && same_image(*src.image(), *dst.image())) {
    const auto all = region(*dst.image());
    check_status(data.cl().EnqueueCopyImage(data.queue(), src.memory(), dst.memory(), kOrigin, kOrigin, all.data(), 0,
                                            nullptr, nullptr),
                 "copying an image");
    return;
  }
  data.enqueue_copy(operand(src), src.memory(), operand(dst), dst.memory());
}

}  // namespace relayout::opencl
