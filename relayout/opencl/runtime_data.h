// RuntimeData: what a Runtime holds (internal to this folder): OpenCL's handles, the kernels that were compiled, and
// which ways of moving data were the fastest. runtime_data.cc also has what runtime.h declares.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "relayout/opencl/kernel_source.h"
#include "relayout/opencl/library.h"
#include "relayout/opencl/runtime.h"
#include "relayout/opencl/ways.h"

namespace relayout::opencl {

using MemoryHandle = std::shared_ptr<_cl_mem>;

class RuntimeData {
 public:
  RuntimeData(const abi::Functions& cl, abi::DeviceId id, Device device, abi::Context context, abi::Queue queue)
      : cl_(cl), id_(id), device_(std::move(device)), context_(context), queue_(queue) {}
  ~RuntimeData();
  RuntimeData(const RuntimeData&) = delete;

  const abi::Functions& cl() const { return cl_; }
  const Device& device() const { return device_; }
  abi::Context context() const { return context_; }
  abi::Queue queue() const { return queue_; }
  /// Held while kernels get their arguments and while the staging buffer is in use. It is not held while the CPU
  /// reorders: a thread of its pool may wait for work by doing other work, which may be a transfer on this runtime.
  std::mutex& mutex() { return mutex_; }

  /// A buffer of new memory. Error{limit}.
  MemoryHandle buffer(int64_t bytes) const;
  /// A buffer over memory of the caller's, which must live as long; null where the driver refuses it.
  MemoryHandle over_host(void* host, int64_t bytes, bool read_only) const;
  /// Runs the kernel that copies from one memory to another, after all that was enqueued before. mutex() must be held.
  void enqueue_copy(const Operand& src, abi::Mem src_memory, const Operand& dst, abi::Mem dst_memory);
  /// The compiled kernel of that name: one of the last that were used, or a new one. mutex() must be held.
  abi::Kernel kernel(const std::string& text, const std::string& name);
  /// A buffer of at least so many bytes between two steps of a copy. It is kept for the next copy, which may write it
  /// as soon as this one's steps are enqueued, as the queue is in order. mutex() must be held.
  const MemoryHandle& staging_buffer(int64_t bytes);
  /// Waits for the queue.
  void finish() const { check_status(cl_.Finish(queue_), "waiting for the device"); }

  /// The way to take for what is moved, and a note of what it took; any thread may call these.
  Way choose_way(const std::string& moved, std::span<const Way> possible);
  void note_way(const std::string& moved, Way way, double seconds);

  /// A handle that releases the memory.
  MemoryHandle hold(abi::Mem memory) const;

 private:
  struct Compiled {
    std::string text, name;
    abi::Program program;
    abi::Kernel kernel;
  };
  Compiled compile(const std::string& text, const std::string& name) const;

  const abi::Functions& cl_;
  abi::DeviceId id_;
  Device device_;
  abi::Context context_;
  abi::Queue queue_;
  std::mutex mutex_, times_mutex_;
  MemoryHandle staging_;
  int64_t staging_bytes_ = 0;
  std::list<Compiled> kernels_;  // the last used first
  std::map<std::string, WayTimes> way_times_;
};

}  // namespace relayout::opencl
