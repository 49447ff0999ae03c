// Uploads, downloads and copies by each way: see transfer.h.
#include "relayout/opencl/transfer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "relayout/cpu/parts.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/stopwatch.h"
#include "relayout/interop/mace.h"
#include "relayout/opencl/kernel_values.h"
#include "relayout/opencl/runtime_data.h"

namespace relayout::opencl {
namespace {

constexpr std::size_t kOrigin[3] = {0, 0, 0};

[[noreturn]] void throw_ended() { throw Error(ErrorCode::interrupted, "opencl: the transfer was ended"); }

/// Whether to go on, for transfers by the device. The host's bytes count each time that they are written to the
/// device's memory or read from it, and once for what the device does with them.
class Asked {
 public:
  Asked(const TransferOptions& options, std::size_t bytes, int times)
      : go_on_(options.go_on), total_(static_cast<int64_t>(bytes) * times) {}
  void done(std::size_t bytes) {
    done_ += static_cast<int64_t>(bytes);
    if (go_on_ && !go_on_(done_, total_)) throw_ended();
  }

 private:
  const std::function<bool(int64_t, int64_t)>& go_on_;
  int64_t total_, done_ = 0;
};

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

void check_sides(const char* verb, const TensorDesc& host, const DeviceTensor& tensor) {
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
}

/// The bytes that the host's tensor occupies.
template <typename Side>
auto used_bytes(const char* operation, const TensorDesc& host, const Side& elements) {
  return checked_bytes(elements, host, operation, "host's").first(static_cast<std::size_t>(host.span_bytes()));
}

/// Whether a buffer of this layout holds nothing but elements and padding, from its first byte to its last.
bool fills_span(const Layout& layout) { return layout.packed() && layout.span() == layout.padded_elements(); }

/// The image's or buffer's memory in the host's address space.
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
      row_pitch_ = static_cast<int64_t>(row_pitch);
    } else {
      address_ = cl.EnqueueMapBuffer(data_.queue(), memory_, abi::kTrue, flags, 0,
                                     static_cast<std::size_t>(std::max<int64_t>(desc_.span_bytes(), 1)), 0, nullptr,
                                     nullptr, &status);
      check_status(status, "mapping a buffer");
    }
  }
  /// Where something failed in between; what this says does not matter then.
  ~Mapping() {
    if (address_) data_.cl().EnqueueUnmapMemObject(data_.queue(), memory_, address_, 0, nullptr, nullptr);
  }
  Mapping(const Mapping&) = delete;

  std::byte* address() const { return static_cast<std::byte*>(address_); }
  /// Where elements lie in it.
  TensorDesc desc(const DeviceTensor& tensor) const {
    return tensor.is_image() ? tensor.image()->with_row_pitch(row_pitch_).desc() : desc_;
  }
  /// Gives the memory back to the device and waits: on a card, this is what moves it.
  void unmap() {
    check_status(
        data_.cl().EnqueueUnmapMemObject(data_.queue(), memory_, std::exchange(address_, nullptr), 0, nullptr, nullptr),
        "unmapping");
    data_.finish();
  }

 private:
  RuntimeData& data_;
  abi::Mem memory_;
  TensorDesc desc_;
  int64_t row_pitch_ = 0;
  void* address_ = nullptr;
};

/// A buffer of the device that holds the host's tensor. Where both share one memory it is the host's memory itself, as
/// long as that is aligned to its elements, which OpenCL asks for, and the driver takes it.
class HostBuffer {
 public:
  HostBuffer(RuntimeData& data, std::span<const std::byte> bytes, DType dtype, bool read_only) : data_(data) {
    const auto unit = static_cast<uintptr_t>(std::max(bits(dtype) / 8, 1));
    const auto size = static_cast<int64_t>(bytes.size());
    if (data.device().unified_memory && reinterpret_cast<uintptr_t>(bytes.data()) % unit == 0) {
      // Memory that is read only may be a file's, which drivers cannot pin for writing.
      buffer_ = data.over_host(const_cast<std::byte*>(bytes.data()), size, read_only);
      in_place_ = buffer_ != nullptr;
    }
    if (!in_place_) buffer_ = data.buffer(size);
  }
  /// Where a step failed, those before it may still use the host's memory.
  ~HostBuffer() {
    if (in_place_) data_.cl().Finish(data_.queue());
  }
  HostBuffer(const HostBuffer&) = delete;
  abi::Mem get() const { return buffer_.get(); }

  /// In parts, after each of which it asks whether to go on.
  void write(std::span<const std::byte> bytes, Asked& asked) const {
    if (in_place_) return asked.done(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += kPartBytes) {
      const std::size_t size = std::min(kPartBytes, bytes.size() - at);
      check_status(data_.cl().EnqueueWriteBuffer(data_.queue(), get(), abi::kTrue, at, size, bytes.data() + at, 0,
                                                 nullptr, nullptr),
                   "writing a buffer");
      asked.done(size);
    }
  }

  /// What the device wrote becomes visible to the host.
  void read(std::span<std::byte> bytes, Asked& asked) const {
    const abi::Functions& cl = data_.cl();
    for (std::size_t at = 0; at < bytes.size() && !in_place_; at += kPartBytes) {
      const std::size_t size = std::min(kPartBytes, bytes.size() - at);
      check_status(
          cl.EnqueueReadBuffer(data_.queue(), get(), abi::kTrue, at, size, bytes.data() + at, 0, nullptr, nullptr),
          "reading a buffer");
      asked.done(size);
    }
    if (!in_place_) return;
    abi::Int status = abi::kSuccess;
    void* at = cl.EnqueueMapBuffer(data_.queue(), get(), abi::kTrue, abi::kMapRead, 0, bytes.size(), 0, nullptr,
                                   nullptr, &status);
    check_status(status, "mapping a buffer");
    check_status(cl.EnqueueUnmapMemObject(data_.queue(), get(), at, 0, nullptr, nullptr), "unmapping a buffer");
    data_.finish();
    asked.done(bytes.size());
  }

 private:
  static constexpr std::size_t kPartBytes = std::size_t{32} << 20;

  RuntimeData& data_;
  bool in_place_ = false;
  MemoryHandle buffer_;
};

/// From a buffer of layout `src` into the device's tensor.
void enqueue_into(RuntimeData& data, const TensorDesc& src, abi::Mem memory, const DeviceTensor& dst, bool staged) {
  if (!staged) return data.enqueue_copy({src, std::nullopt}, memory, operand(dst), dst.memory());
  // A buffer that holds the lanes as the image does needs no kernel.
  if (src != dst.desc() || !src.layout.dense() || !fills_span(src.layout)) {
    const abi::Mem between = data.staging_buffer(dst.desc().span_bytes()).get();
    data.enqueue_copy({src, std::nullopt}, memory, staging(dst), between);
    memory = between;
  }
  const auto all = region(*dst.image());
  check_status(data.cl().EnqueueCopyBufferToImage(data.queue(), memory, dst.memory(), 0, kOrigin, all.data(), 0,
                                                  nullptr, nullptr),
               "copying a buffer to an image");
}

/// From the device's tensor into a buffer or an image.
void enqueue_out_of(RuntimeData& data, const DeviceTensor& src, const Operand& dst, abi::Mem memory, bool staged) {
  if (!staged) return data.enqueue_copy(operand(src), src.memory(), dst, memory);
  const bool as_it_is = !dst.image && src.desc() == dst.desc && dst.desc.layout.dense() && fills_span(dst.desc.layout);
  const abi::Mem between = as_it_is ? memory : data.staging_buffer(src.desc().span_bytes()).get();
  const auto all = region(*src.image());
  check_status(data.cl().EnqueueCopyImageToBuffer(data.queue(), src.memory(), between, kOrigin, all.data(), 0, 0,
                                                  nullptr, nullptr),
               "copying an image to a buffer");
  if (!as_it_is) data.enqueue_copy(staging(src), between, dst, memory);
}

/// Whether both hold the same elements in the same lanes, and no lane is unused.
bool same_image(const Image& a, const Image& b) {
  return a.channel() == b.channel() && a.width() == b.width() && a.height() == b.height() && a.desc() == b.desc() &&
         a.unused_lanes() == 0;
}

/// What is moved and by how many threads, for remembering the times of its ways.
std::string key_of(char direction, const TensorDesc& host, const DeviceTensor& tensor, const TransferOptions& options) {
  const auto side = [](const TensorDesc& desc) {
    return std::string(name(desc.dtype)) + digits_expression(desc.layout) + ":" + join(desc.layout.dims());
  };
  return std::string(1, direction) + side(host) + "|" + side(tensor.desc()) + (tensor.is_image() ? "i" : "b") +
         std::to_string(options.run.threads) + (options.run.pool ? "p" : "");
}

/// From one tensor of the device to another.
void enqueue_between(RuntimeData& data, const DeviceTensor& src, const DeviceTensor& dst, bool staged) {
  if (!src.is_image() && !dst.is_image() && src.desc() == dst.desc() && dst.desc().layout.dense() &&
      fills_span(dst.desc().layout)) {
    const auto bytes = static_cast<std::size_t>(dst.desc().span_bytes());
    return check_status(
        data.cl().EnqueueCopyBuffer(data.queue(), src.memory(), dst.memory(), 0, 0, bytes, 0, nullptr, nullptr),
        "copying a buffer");
  }
  if (src.is_image() && dst.is_image() && same_image(*src.image(), *dst.image())) {
    const auto all = region(*dst.image());
    return check_status(data.cl().EnqueueCopyImage(data.queue(), src.memory(), dst.memory(), kOrigin, kOrigin,
                                                   all.data(), 0, nullptr, nullptr),
                        "copying an image");
  }
  if (staged && src.is_image()) return enqueue_out_of(data, src, operand(dst), dst.memory(), true);
  if (staged && dst.is_image()) return enqueue_into(data, src.desc(), src.memory(), dst, true);
  data.enqueue_copy(operand(src), src.memory(), operand(dst), dst.memory());
}

/// Whether a way that is chosen by times may be this one: those must give equal bits. An image that a kernel reads or
/// writes keeps numbers and not bits, of floating types and of snorm8.
bool keeps_bits(Way way, const DeviceTensor& tensor) {
  if (way != Way::kernel || !tensor.is_image()) return true;
  const ChannelType channel = tensor.image()->channel();
  return channel == ChannelType::s32 || channel == ChannelType::u32 || channel == ChannelType::unorm8;
}

/// Takes a way and returns how many seconds it took; nothing where it failed and another one can be taken.
template <typename Take>
std::optional<double> try_way(Way way, bool last_resort, cpu::Stopwatch* stopwatch, const Take& take) {
  try {
    return cpu::stopwatch_or_systems(stopwatch).time([&] { take(way); }).us * 1e-6;
  } catch (const Error& error) {
    if (last_resort || error.code() == ErrorCode::interrupted) throw;
    return std::nullopt;
  }
}

/// The CPU's part of a mapped transfer.
void run_asking(const Plan& plan, const void* src, void* dst, const TransferOptions& options) {
  if (!options.go_on) return cpu::run(plan, src, dst, options.run);
  if (!cpu::run_in_parts(plan, src, dst, options.run, {}, options.go_on)) throw_ended();
}

/// Takes the way that is asked for, or chooses one and notes how long it took.
template <typename Take>
Way take_way(RuntimeData& data, char direction, const TensorDesc& host, const DeviceTensor& tensor,
             const TransferOptions& options, const Take& take) {
  std::vector<Way> possible = possible_ways(host, tensor);
  if (options.way != Way::automatic) {
    if (std::ranges::find(possible, options.way) == possible.end()) {
      std::string known;
      for (const Way one : possible) known += (known.empty() ? "" : ", ") + std::string(name(one));
      throw Error(ErrorCode::unsupported,
                  "opencl: this transfer cannot go the way " + std::string(name(options.way)) + "; it can go " + known,
                  "way", std::string(name(options.way)), known);
    }
    take(options.way);
    return options.way;
  }
  std::erase_if(possible, [&](Way way) { return !keeps_bits(way, tensor); });
  const std::string key = key_of(direction, host, tensor, options);
  for (;;) {
    const Way chosen = data.choose_way(key, possible);
    const bool first = chosen == possible.front();
    const std::optional<double> seconds = try_way(chosen, first, options.stopwatch, take);
    // A way that failed (no memory for a staging buffer, a driver without a compiler) is not taken again.
    data.note_way(key, chosen, seconds.value_or(std::numeric_limits<double>::infinity()));
    if (seconds) return chosen;
  }
}

}  // namespace

std::vector<Way> possible_ways(const TensorDesc& host, const DeviceTensor& on_device) {
  std::vector<Way> out{Way::mapped};
  if (!device_converts(host.dtype, on_device.desc().dtype) || host.layout.empty()) return out;
  out.push_back(Way::kernel);
  if (on_device.is_image()) out.push_back(Way::staged);
  return out;
}

Way upload(const TensorDesc& src, const ConstElements& elements, const DeviceTensor& dst,
           const TransferOptions& options) {
  const TensorDesc host = promoted(src, dst);
  check_sides("upload", host, dst);
  const auto bytes = used_bytes("opencl: upload", host, elements);
  cpu::cached_plan(host, dst.desc());  // checks that no two elements of the destination share an offset
  RuntimeData& data = dst.runtime().data();
  return take_way(data, 'u', host, dst, options, [&](Way way) {
    if (way == Way::mapped) {
      // Padding and elements are written whole; gaps keep what they hold, and so need the old contents.
      const bool whole = dst.is_image() || fills_span(dst.desc().layout);
      Mapping mapping(dst, whole ? abi::kMapWriteInvalidate : abi::kMapRead | abi::kMapWrite);
      run_asking(cpu::cached_plan(host, mapping.desc(dst)), bytes.data(), mapping.address(), options);
      mapping.unmap();
    } else {
      const std::lock_guard lock(data.mutex());
      const HostBuffer buffer(data, bytes, host.dtype, true);
      Asked asked(options, bytes.size(), 2);
      buffer.write(bytes, asked);
      enqueue_into(data, host, buffer.get(), dst, way == Way::staged);
      data.finish();  // before the buffer over the host's memory goes
      asked.done(bytes.size());
    }
  });
}

Way download(const DeviceTensor& src, const TensorDesc& dst, const Elements& elements, const TransferOptions& options) {
  const TensorDesc host = promoted(dst, src);
  check_sides("download", host, src);
  const auto bytes = used_bytes("opencl: download", host, elements);
  cpu::cached_plan(src.desc(), host);  // checks that no two elements of the destination share an offset
  RuntimeData& data = src.runtime().data();
  return take_way(data, 'd', host, src, options, [&](Way way) {
    if (way == Way::mapped) {
      Mapping mapping(src, abi::kMapRead);
      run_asking(cpu::cached_plan(mapping.desc(src), host), mapping.address(), bytes.data(), options);
      mapping.unmap();
    } else {
      const std::lock_guard lock(data.mutex());
      const HostBuffer buffer(data, bytes, host.dtype, false);
      // Gaps of the host's layout stay as they are.
      const bool gaps = !fills_span(host.layout);
      Asked asked(options, bytes.size(), gaps ? 3 : 2);
      if (gaps) buffer.write(bytes, asked);
      enqueue_out_of(data, src, {host, std::nullopt}, buffer.get(), way == Way::staged);
      data.finish();
      asked.done(bytes.size());
      buffer.read(bytes, asked);
    }
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
  check_values(operand(src), operand(dst));
  if (dst.desc().layout.empty()) return;
  cpu::cached_plan(src.desc(), dst.desc());  // checks that no two elements of the destination share an offset
  RuntimeData& data = dst.runtime().data();
  // Commands of two queues are not in order by themselves.
  const bool two_queues = src.runtime().queue() != dst.runtime().queue();
  if (two_queues) src.runtime().finish();
  {
    const std::lock_guard lock(data.mutex());
    enqueue_between(data, src, dst, way == Way::staged);
  }
  if (two_queues) dst.runtime().finish();
}

}  // namespace relayout::opencl
