// Flags about values: scales, zero points and what padding holds.
#pragma once

#include <optional>
#include <string>

#include "relayout/reorder/attributes.h"
#include "tools/command_line.h"

namespace relayout::tools {

struct ValueOptions {
  std::optional<std::string> scale, src_scale, dst_scale, zero_point, src_zero_point, dst_zero_point;
  std::string padding = "zero";
};

void add_value_options(Command& command, ValueOptions& options);

/// What --pad says: zero, keep or a number.
Padding padding_argument(const std::string& text);

/// The attributes of a conversion from src to dst. Failure (usage): flags that exclude each other, a scale
/// that f32 does not hold, a zero point that its side's type does not hold.
Attributes attributes_for(const ValueOptions& options, DType src, DType dst);

}  // namespace relayout::tools
