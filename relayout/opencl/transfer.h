// Moving tensors between the host and a device, and on a device, between any two layouts.
//
//     upload({Format::parse("nchw").bind(dims), DType::f32}, bytes, image);     // into an image of half floats, say
//     copy(image, other);                                                       // on the device
//     download(other, {Format::parse("nhwc").bind(dims), DType::f32}, result);
//
// Unused lanes of an image, and padding of a buffer, are written with 0. Dims that are fewer than an image of MACE has
// are promoted as MACE does it (mace::promote). See ways.h for the ways and how they are chosen.
//
// Values: equal types are moved bit by bit; f32 becomes f16 rounded to the nearest, and u8 a lane of 32 bits, which on
// the way back is saturated. Where a kernel reads or writes an image (Way::kernel, and copies), it keeps numbers and
// not bits: NaNs may change theirs, denormal numbers may become 0 on some devices, and in snorm8 the byte -128 becomes
// -127, which is the same number. Way::automatic takes a kernel only where this cannot be: which way is the fastest
// does not change a byte.
#pragma once

#include <functional>
#include <vector>

#include "relayout/core/elements.h"
#include "relayout/cpu/threads.h"
#include "relayout/opencl/runtime.h"
#include "relayout/opencl/ways.h"

namespace relayout::cpu {
class Stopwatch;
}

namespace relayout::opencl {

struct TransferOptions {
  Way way = Way::automatic;
  /// The CPU's threads of a mapped transfer.
  cpu::RunOptions run{};
  /// Asked after parts of the work, with the bytes that were moved and with all of them, whether to go on. Where it
  /// answers false, the transfer ends with Error{interrupted}, and the destination holds new elements in some places.
  /// What the device has begun is waited for first, as it uses the memory: a kernel, and the moves of a mapped card.
  std::function<bool(int64_t done, int64_t total)> go_on{};
  /// What measures the ways (cpu/stopwatch.h, which is not installed); null for the system's.
  cpu::Stopwatch* stopwatch = nullptr;
};

/// Copies a tensor of the host, given as elements or as bytes (core/elements.h), to the device, and waits for it.
/// Returns the way that was taken. Errors: invalid_argument (other dims; elements of another type than `src` says),
/// unsupported (a type that the image does not hold; a way that is asked for and is not one of possible_ways()),
/// buffer_too_small, not_injective (of the destination), limit (no memory on the device), io (OpenCL's own).
Way upload(const TensorDesc& src, const ConstElements& elements, const DeviceTensor& dst,
           const TransferOptions& options = {});
/// The way back, with the same errors.
Way download(const DeviceTensor& src, const TensorDesc& dst, const Elements& elements,
             const TransferOptions& options = {});
/// Copies on the device, by Way::kernel or Way::staged; enqueued, and not waited for. Dense buffers of one layout and
/// type are copied by OpenCL's own copy. Both must belong to one context; where their runtimes have two queues, it
/// waits for the source's before and for the destination's after. Errors: overlap (both are one memory),
/// invalid_argument (other dims, two contexts), unsupported (types that a device does not convert; normalized texels
/// with others), not_injective.
void copy(const DeviceTensor& src, const DeviceTensor& dst, Way way = Way::automatic);

/// The ways that an upload or a download can take, the first of which is tried first.
std::vector<Way> possible_ways(const TensorDesc& host, const DeviceTensor& on_device);

}  // namespace relayout::opencl
