// The OpenCL library, loaded when it is first asked for (internal to this folder).
//
//     if (const abi::Functions* cl = functions()) cl->GetPlatformIDs(...);
//     else say(absence());                  // "libOpenCL.so.1 is not installed"
//
// It is the system's loader, libOpenCL.so.1, which finds the installed drivers; or the file that the environment's
// RELAYOUT_OPENCL_LIBRARY names, e.g. one driver's own, and none at all where that is empty.
#pragma once

#include <string>

#include "relayout/opencl/abi.h"

namespace relayout::opencl {

/// The functions of the library, or null where there is none. The first call loads it. Any thread may call it.
const abi::Functions* functions();
/// Why there is none; "" where there is one.
const std::string& absence();
/// The functions; Error{unsupported} with absence() where there is none.
const abi::Functions& require_functions();

/// The name of a result, "CL_INVALID_VALUE (-30)".
std::string status_name(abi::Int status);
/// Error where a call did not succeed: limit where memory ran out or an image is too large, unsupported where there are
/// no such images, io otherwise. `what` says what was tried, e.g. "a
/// buffer of 64 bytes".
void check_status(abi::Int status, const std::string& what);

}  // namespace relayout::opencl
