// relayout check FILE --padding: whether the padding of a tensor in a file holds 0, or another value.
#pragma once

#include <optional>
#include <string>

#include "tools/input/tensor_input.h"

namespace relayout::tools {

struct PaddingOptions {
  bool given = false;  // --padding
  std::optional<std::string> layout, dims, dtype, value;
  std::string tensor;
  RawOptions raw;
};

void add_padding_options(Command& command, PaddingOptions& options);

/// Usage error where flags that belong to --padding are given without it.
void refuse_padding_flags(const PaddingOptions& options);

/// Prints what is found; kOk where all padding holds the value, else kDiffers. Failure as open_tensor().
int check_padding(const std::string& path, const PaddingOptions& options, bool json);

}  // namespace relayout::tools
