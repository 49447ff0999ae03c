// Asking OpenCL for its devices (internal to this folder): from a device's number to OpenCL's own handle, and what a
// handle's device is. probe.cc also has what device.h declares.
#pragma once

#include "relayout/opencl/abi.h"
#include "relayout/opencl/device.h"

namespace relayout::opencl {

/// The handle of one of list_devices().devices.
abi::DeviceId device_id(const Device& device);
/// What a handle's device is and allows, asked in a context of it. Its number is -1.
Device describe_device(const abi::Functions& cl, abi::DeviceId id, abi::Context context);

}  // namespace relayout::opencl
