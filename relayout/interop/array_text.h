// Arrays as PyTorch and NumPy print them (internal to tensor_text).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout {

/// What the text of an array says: a layout expression (core/format.h) and the dims for it.
struct ArrayText {
  std::string expression{};
  Dims dims{};
  std::optional<DType> dtype{};
};

/// Whether a text begins with a name of PyTorch or NumPy and goes on as an array does.
bool is_array_text(std::string_view text);
/// Reads "torch (1,64,5,4) strides (1280,1,256,64)" and its like: see tensor_text.h. Errors: parse, invalid_argument,
/// unsupported (strides of NumPy that are no whole elements), overflow.
ArrayText read_array_text(std::string_view text);

}  // namespace relayout
