// Layouts in the words of other programs on the command line: relayout describe "torch (2,3) strides (1,2)".
#pragma once

#include <optional>
#include <string>

namespace relayout::tools {

/// Where a layout is a text of another program (interop/tensor_text.h), makes it the expression that it means, and
/// fills in dims and type that were not given. A usage error where the text is wrong, has several tensors, or says
/// other dims or another type than were given.
void read_tensor_text(std::string& layout, std::optional<std::string>& dims, std::optional<std::string>& dtype);
/// The same for a verb without --dtype.
void read_tensor_text(std::string& layout, std::optional<std::string>& dims);

}  // namespace relayout::tools
