// A tensor's layout in the words of another system, and read back from them: for tests of all systems alike.
//
//     there_and_back("numpy", desc) == desc       what NumPy is told, read back
//
// The systems are those that have both directions, and "tag", the tag in letters a to l.
#pragma once

#include <span>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::test {

std::span<const std::string_view> systems_there_and_back();

/// Errors: those of the system, where it does not have the tensor. std::logic_error where more than one thing is said
/// of the tensor and these contradict each other, which is a bug.
TensorDesc there_and_back(std::string_view system, const TensorDesc& desc);

}  // namespace relayout::test
