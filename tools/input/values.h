// Flags about values: scales, zero points and what padding holds.
#pragma once

#include <optional>
#include <string>

#include "relayout/core/format.h"
#include "relayout/reorder/attributes.h"
#include "tools/command/command_line.h"

namespace relayout::tools {

struct ValueOptions {
  std::optional<std::string> scale, src_scale, dst_scale, zero_point, src_zero_point, dst_zero_point, mean, std, per,
      groups;
  std::string padding = "zero";
};

void add_value_options(Command& command, ValueOptions& options);

/// What --pad says: zero, keep or a value of the type.
Padding padding_argument(const std::string& text, DType dtype);

/// One side of a conversion, for attributes_for(): its layout expression and its tensor.
struct ValueSide {
  const Format& format;
  const TensorDesc& desc;
};

/// The attributes of a conversion from src to dst. Failure (usage): flags that exclude each other, numbers that their
/// types do not hold, lists of other lengths than the dim that they are for, or of no known dim.
/// `tables` has the index tables, through which the dims may differ.
Attributes attributes_for(const ValueOptions& options, const ValueSide& src, const ValueSide& dst,
                          const Attributes& tables = {});

/// An error about the attributes that these flags say, which names the flags. `scale_flag`: that of src_scale.
Error with_flags(const Error& error, const ValueOptions& options, const std::string& scale_flag = "--scale");

}  // namespace relayout::tools
